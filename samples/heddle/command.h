/* The heddle command: what its files share. */
#ifndef COMMAND_H
#define COMMAND_H

#include <limits.h>

#include <heddle/graph.h>
#include <heddle/stream.h>

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_COMMAND_LINE = 1, EXIT_INPUT = 2, EXIT_PROOF = 3 };

/* Each takes the arguments from its own name on. */
int compile_command(int argc, char **argv);
int verify_command(int argc, char **argv);
int explain_command(int argc, char **argv);
int run_command(int argc, char **argv);
int diff_command(int argc, char **argv);
int view_command(int argc, char **argv);
int capture_command(int argc, char **argv);
int replay_command(int argc, char **argv);
/* Runs a program, and captures what it gives to Vulkan: frames of it, "0": until its device goes. */
int capture_program(const char *path, const char *frames, char **arguments);

/* heddle verify --capture; dot and html may be null. */
typedef struct verify_capture_options {
    const char *path, *dot, *html;
    bool list;
} verify_capture_options;
int verify_capture(const verify_capture_options *options);

/* The queues of --queues. */
typedef struct queue_list {
    hd_queue_desc queue[HD_MAX_QUEUES - 1];
    uint32_t count;
} queue_list;
bool parse_queues(const char *list, queue_list *out);
/* The word of --order. */
bool parse_order(const char *word, hd_order *out);

/* What a command line says of compiling; all else is as the graph's text has it. */
typedef struct compile_options {
    queue_list queues; /* none: those of the text, else gfx, compute and transfer */
    bool has_order, has_effort, merge_rendering;
    hd_order order;
    uint64_t budget; /* 0: not said */
    uint32_t effort;
    float handoff_us; /* 0: not said */
} compile_options;
/* desc points into graph and options. */
hd_compile_desc compile_desc_of(const hd_graph *graph, const compile_options *options);

/* A frame from a file, with its plan: from another file, or compiled. */
typedef struct framed {
    hd_graph *graph;
    const hd_plan *plan;
    hd_plan *read; /* the plan, where it comes from a file */
} framed;
/* plan_path: null, or where the plan is. EXIT_DONE, or a status after a complaint; close_frame in any case. */
int open_frame(const char *path, const char *plan_path, const compile_options *options, framed *out);
void close_frame(framed *f);

/* One line on standard error, "heddle: " before it; returns status. */
int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What getopt_long returned for an option that is unknown or lacks its value. */
int complain_option(char **argv, int option);
int complain_value(const char *value, const char *option);

/* VkPipelineStageFlags2 and VkAccessFlags2 as words, on standard output. */
void print_stages(uint64_t mask);
void print_accesses(uint64_t mask);
/* A captured stream, a line a submit, command, barrier and access. */
void print_resource(const hd_stream *stream, uint32_t index);
void print_stream(const hd_stream *stream);

/* A whole file ("-": standard input) in malloc'ed memory, or null after a complaint. */
char *read_whole_file(const char *path, size_t *bytes);
/* "file:line: sentence", whatever path it was read from. */
enum { ERROR_BYTES = PATH_MAX + 512 };
/* A graph from a .fgt file, or null after a complaint; *status says how to exit. */
hd_graph *read_graph(const char *path, int *status);

/* Files that appear all together or not at all: written beside their places, then renamed. What is no file ("-":
 * standard output; devices, pipes) gets its bytes when all are made. */
enum { MAX_OUTPUTS = 4 };
typedef struct output {
    const char *path;
    char *temporary, *becomes; /* null without a file */
    FILE *stream, *target;     /* target: what is no file */
    bool exchanged;            /* temporary holds what stood there before */
} output;
typedef struct outputs {
    output item[MAX_OUTPUTS];
    int count;
} outputs;
/* Whether writing one would take the other away: a file by two names. */
bool is_same_file(const char *a, const char *b);
/* The same of an output and the graph, which may be standard input. */
bool is_graph_too(const char *graph, const char *path);
/* From here on a signal that ends the command leaves no file behind that is not finished. */
void clean_up_on_signals(void);
/* A stream to write to, or null after a complaint. */
FILE *open_output(outputs *all, const char *path);
/* Both close everything; commit returns false after a complaint, with nothing left behind and all as it was. */
bool commit_outputs(outputs *all);
void drop_outputs(outputs *all);

/* Prepares what it takes to declare a graph's frame again through the public API, so that only the calls are timed. */
typedef struct declaration declaration;
declaration *copy_declaration(const hd_graph *graph);
void free_declaration(declaration *d);
/* Declares it into another graph. */
void declare_again(declaration *d, hd_graph *graph);

#endif
