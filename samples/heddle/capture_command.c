#include "command.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* heddle capture: what the commands of a captured stream need, which of them are dead, and a smaller stream. */

/* Vulkan's numbers. */
enum {
    PRESENT_SRC = 1000001002,
    HOST_READ = 0x2000,
    HOST_WRITE = 0x4000,
    MEMORY_READ = 0x8000,
    MEMORY_WRITE = 0x10000
};

typedef struct options {
    const char *frames;
    const char *graph, *needs, *reduce, *file, *out;
    bool dead;
} options;

typedef struct capture {
    hd_stream *stream;
    hd_stream_graph *graph;
    uint8_t *keep;
} capture;

static int open_capture(const char *path, capture *c)
{
    size_t bytes;
    char *text = read_whole_file(path, &bytes), error[512] = "";
    if (!text)
        return EXIT_INPUT;
    hd_result result = hd_stream_read(text, bytes, NULL, &c->stream, error, sizeof(error));
    free(text);
    if (result != HD_OK)
        return complain(EXIT_INPUT, "%s: %s", path, error[0] ? error : hd_result_text(result));
    result = hd_stream_graph_build(c->stream, NULL, &c->graph);
    c->keep = result == HD_OK ? calloc((size_t)c->graph->node_count + 1, 1) : NULL;
    if (!c->keep)
        return complain(EXIT_INPUT, "%s: %s", path, hd_result_text(result == HD_OK ? HD_OUT_OF_MEMORY : result));
    return EXIT_DONE;
}

static void close_capture(capture *c)
{
    free(c->keep);
    hd_stream_graph_free(c->graph);
    hd_stream_free(c->stream);
}

/* A command that the display or the host reads something by. seen: one whose content the capture looked at. */
static bool is_read(const hd_stream *s, const hd_stream_node *node, bool seen)
{
    const hd_stream_command *x = &s->commands[node->command];
    bool host = s->queues[s->submits[node->submit].queue].kind == HD_QUEUE_HOST;
    for (uint32_t i = x->begin; i < x->begin + x->count; i++) {
        const hd_stream_access *a = &s->accesses[i];
        if (!(a->flags & HD_STREAM_OBSERVED) == seen)
            continue;
        if (seen ? !(a->access & (HOST_WRITE | MEMORY_WRITE)) : host && a->access & (HOST_READ | MEMORY_READ))
            return true;
    }
    return false;
}

/* Keeps the last present or read by the host that was seen, so that a replay can compare it; else the last read by the
 * host or barrier before a present. */
static bool keep_last(capture *c)
{
    for (int seen = 1; seen >= 0; seen--) {
        for (uint32_t n = c->graph->node_count; n-- > 0;) {
            const hd_stream_node *node = &c->graph->nodes[n];
            bool barrier = node->kind == HD_STREAM_NODE_BARRIER;
            if (barrier ? !seen && c->stream->barriers[node->element].new_layout == PRESENT_SRC
                        : node->kind == HD_STREAM_NODE_COMMAND && is_read(c->stream, node, seen)) {
                c->keep[n] = 1;
                return true;
            }
        }
    }
    return false;
}

/* SUBMIT:COMMAND, as --list of heddle verify and --dead print it, or "last". */
static int keep_named(capture *c, const char *path, const char *name)
{
    unsigned submit, command;
    char behind;
    bool any = false;
    if (strcmp(name, "last") == 0)
        return keep_last(c) ? EXIT_DONE : complain(EXIT_INPUT, "%s: nothing is presented or read by the host", path);
    if (sscanf(name, "%u:%u%c", &submit, &command, &behind) != 2)
        return complain(EXIT_COMMAND_LINE, "'%s' is no command: SUBMIT:COMMAND or last; see heddle --help", name);
    for (uint32_t n = 0; n < c->graph->node_count; n++) {
        const hd_stream_node *node = &c->graph->nodes[n];
        if (node->command != HD_NONE && node->submit == submit &&
            node->command == c->stream->submits[submit].command_begin + command) {
            c->keep[n] = 1;
            any = true;
        }
    }
    return any ? EXIT_DONE
               : complain(EXIT_INPUT, "%s: submit %u has no command %u that accesses or orders anything", path, submit,
                          command);
}

static void print_node(const capture *c, uint32_t n)
{
    const hd_stream *s = c->stream;
    const hd_stream_node *node = &c->graph->nodes[n];
    const hd_stream_submit *submit = &s->submits[node->submit];
    if (node->command == HD_NONE) {
        printf("%u    %s: %s semaphore %u value %llu\n", node->submit, s->strings[submit->name],
               node->kind == HD_STREAM_NODE_WAIT ? "waits for" : "signals", s->syncs[node->element].semaphore,
               (unsigned long long)s->syncs[node->element].value);
        return;
    }
    const hd_stream_command *command = &s->commands[node->command];
    printf("%u:%u  %s", node->submit, node->command - submit->command_begin, s->strings[command->name]);
    if (command->label != HD_NONE)
        printf(" of '%s'", s->strings[command->label]);
    if (node->kind == HD_STREAM_NODE_BARRIER) {
        uint32_t resource = s->barriers[node->element].resource;
        printf(": barrier %u of ", node->element - command->begin);
        if (resource == HD_NONE)
            fputs("all memory", stdout);
        else
            print_resource(s, resource);
    } else if (command->changes)
        printf(", changes %u %s", command->changes, s->strings[s->objects[command->changes].name]);
    printf(", queue %u, frame %u\n", submit->queue, submit->frame);
}

/* Semaphores of frames that wait for one another are left out: what they keep apart is not content. */
static int print_dead(const capture *c)
{
    uint32_t commands = 0, barriers = 0;
    if (hd_stream_graph_live(c->graph, true, c->keep) != HD_OK)
        return complain(EXIT_INPUT, "%s", hd_result_text(HD_OUT_OF_MEMORY));
    for (uint32_t n = 0; n < c->graph->node_count; n++) {
        const hd_stream_node *node = &c->graph->nodes[n];
        if (c->keep[n] || node->kind == HD_STREAM_NODE_WAIT || node->kind == HD_STREAM_NODE_SIGNAL)
            continue;
        print_node(c, n);
        commands += node->kind == HD_STREAM_NODE_COMMAND;
        barriers += node->kind == HD_STREAM_NODE_BARRIER;
    }
    printf("%u commands and %u barriers are dead\n", commands, barriers);
    return EXIT_DONE;
}

static int write_graph(const capture *c, const options *o, const uint8_t *keep)
{
    static const char *const formats[] = {"dot", "json", "html"};
    outputs all = {0};
    int format = 0;
    while (format < 3 && strcmp(o->graph, formats[format]) != 0)
        format++;
    if (format == 3)
        return complain_value(o->graph, "graph");
    FILE *file = open_output(&all, o->out ? o->out : "-");
    if (!file)
        return EXIT_INPUT;
    hd_result result = hd_stream_graph_write(c->stream, c->graph, keep, (hd_stream_graph_format)format, file);
    if (result == HD_OK)
        return commit_outputs(&all) ? EXIT_DONE : EXIT_INPUT;
    drop_outputs(&all);
    return complain(EXIT_INPUT, "%s: %s", o->out ? o->out : "-", hd_result_text(result));
}

static int write_smaller(const capture *c, const options *o)
{
    outputs all = {0};
    hd_stream *smaller = NULL;
    if (is_same_file(o->file, o->out))
        return complain(EXIT_COMMAND_LINE, "%s: is the capture too", o->out);
    FILE *file = open_output(&all, o->out);
    if (!file)
        return EXIT_INPUT;
    hd_result result = hd_stream_graph_reduce(c->stream, c->graph, c->keep, &smaller);
    if (result == HD_OK)
        result = hd_stream_write(smaller, file);
    if (result == HD_OK) {
        const hd_stream *s = c->stream;
        fprintf(stderr, "%s: %u of %u commands, %u of %u barriers, %u of %u objects\n", o->out, smaller->command_count,
                s->command_count, smaller->barrier_count, s->barrier_count,
                smaller->object_count - (smaller->object_count > 0), s->object_count - (s->object_count > 0));
        hd_stream_free(smaller);
        return commit_outputs(&all) ? EXIT_DONE : EXIT_INPUT;
    }
    hd_stream_free(smaller);
    drop_outputs(&all);
    return complain(EXIT_INPUT, "%s: %s", o->out, hd_result_text(result));
}

static int run_options(capture *c, const options *o)
{
    const char *named = o->needs ? o->needs : o->reduce;
    int status = open_capture(o->file, c);
    if (status == EXIT_DONE && o->dead)
        return print_dead(c);
    if (status == EXIT_DONE && named) {
        status = keep_named(c, o->file, named);
        if (status == EXIT_DONE && hd_stream_graph_needs(c->graph, c->keep) != HD_OK)
            status = complain(EXIT_INPUT, "%s", hd_result_text(HD_OUT_OF_MEMORY));
    }
    if (status != EXIT_DONE)
        return status;
    if (o->graph)
        return write_graph(c, o, named ? c->keep : NULL);
    if (o->reduce)
        return write_smaller(c, o);
    for (uint32_t n = 0; n < c->graph->node_count; n++) {
        if (c->keep[n])
            print_node(c, n);
    }
    return EXIT_DONE;
}

/* capture [--frames N] [OUT] -- PROGRAM ARGUMENTS */
static int run_program(int argc, char **argv, int at, const options *o)
{
    char *end = NULL;
    const char *path = optind < at ? argv[optind] : "capture.json";
    if (o->frames && (strtoul(o->frames, &end, 10) == 0 || *end))
        return complain_value(o->frames, "frames");
    if (at + 1 == argc || at - optind > 1 || o->graph || o->needs || o->dead || o->reduce)
        return complain(EXIT_COMMAND_LINE,
                        "capture takes [--frames N] [OUT] before --, and a program behind; see heddle "
                        "--help");
    return capture_program(path, o->frames ? o->frames : "0", argv + at + 1);
}

int capture_command(int argc, char **argv)
{
    static const struct option longs[] = {
        {"graph", required_argument, NULL, 'g'},  {"needs", required_argument, NULL, 'n'},
        {"dead", no_argument, NULL, 'd'},         {"reduce", required_argument, NULL, 'r'},
        {"frames", required_argument, NULL, 'f'}, {0}};
    options o = {0};
    capture c = {0};
    int option, program = 1;
    while (program < argc && strcmp(argv[program], "--") != 0)
        program++;
    while ((option = getopt_long(program < argc ? program : argc, argv, ":", longs, NULL)) != -1) {
        if (option == 'g')
            o.graph = optarg;
        else if (option == 'n')
            o.needs = optarg;
        else if (option == 'd')
            o.dead = true;
        else if (option == 'r')
            o.reduce = optarg;
        else if (option == 'f')
            o.frames = optarg;
        else
            return complain_option(argv, option);
    }
    if (program < argc)
        return run_program(argc, argv, program, &o);
    int files = argc - optind;
    if (!(o.graph || o.needs || o.dead || o.reduce) || (o.needs && o.reduce) ||
        (o.dead && (o.graph || o.needs || o.reduce)))
        return complain(EXIT_COMMAND_LINE,
                        "capture takes one of --graph, --needs, --dead and --reduce, or --needs with "
                        "--graph; see heddle --help");
    if (files < 1 || files > 2 || (o.reduce && files != 2) || (!o.reduce && !o.graph && files != 1) ||
        (o.reduce && o.graph))
        return complain(EXIT_COMMAND_LINE,
                        "capture takes one FILE, and OUT for --reduce and --graph; see heddle --help");
    o.file = argv[optind];
    o.out = files == 2 ? argv[optind + 1] : NULL;
    int status = run_options(&c, &o);
    close_capture(&c);
    return status;
}
