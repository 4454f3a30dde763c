#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>

/* heddle: compiles frame graphs from files, verifies and explains plans, and executes them. */

#define COMPILE_OPTIONS                                                                                                \
    "  --queues LIST           comma list of gfx, compute, transfer; a kind may stand more than once\n"                \
    "  --order ORDER           overlap, memory or declared\n"                                                          \
    "  --merge-rendering       passes that go on with the same attachments share a scope, without barriers between\n"
#define FROM_TEXT                                                                                                      \
    "What is not said is as the queue, option and need lines of GRAPH.fgt have it, else gfx,compute,transfer and\n"    \
    "overlap.\n"
#define FILES "A FILE may be - for standard output, GRAPH.fgt for standard input.\n"

typedef struct command {
    const char *name;
    int (*run)(int, char **);
    const char *form, *says, *options;
} command;

static const command commands[] = {
    {"compile", compile_command, "GRAPH.fgt [options]", "makes a plan",
     COMPILE_OPTIONS
     "  --memory-budget BYTES   fail unless the heaps stay within it\n"
     "  --packing-effort N      up to N times as much work again to make heaps smaller (at most 1000000)\n"
     "  --handoff US            price of a hand-off between queues in microseconds\n"
     "  --threads N             workers of the compile (default 1, at most 256)\n"
     "  --plan FILE             write the plan as JSON\n"
     "  --dot FILE              write the plan as a Graphviz picture\n"
     "  --html FILE             write the plan as a page to look at\n"
     "  --list                  print the plan in words, a command a line, by queue\n"
     "  --verify                verify the plan\n"
     "  --stats                 print key=value figures\n"
     "  --repeat N              compile N times; times are medians\n" FROM_TEXT FILES},
    {"verify", verify_command, "GRAPH.fgt PLAN.json [--list] | --capture FILE [--list] [--dot OUT] [--html OUT]",
     "judges a plan, or what an engine gave to Vulkan",
     "  --capture FILE          a captured stream in place of a frame and its plan\n"
     "  --list                  print the plan or the stream in words, too\n"
     "  --dot OUT, --html OUT   of a capture: pictures of what is broken\n"
     "Sizes are those of the need lines of GRAPH.fgt, else those of the format.\n"},
    {"capture", capture_command, "[--frames N] [OUT] -- PROGRAM ...\n"
     "       heddle capture FILE --graph dot|json|html [OUT] | --needs COMMAND | --dead | --reduce COMMAND OUT",
     "captures what a program gives to Vulkan; or says which command of a capture needs which",
     "  --frames N              write OUT (default capture.json) after N presents; PROGRAM goes on until it ends by\n"
     "                          itself (default: when PROGRAM destroys its device)\n"
     "  --graph FORMAT          dot, json or html: a picture of what needs what\n"
     "  --needs COMMAND         all that a command needs; with --graph: drawn alone\n"
     "  --dead                  commands and barriers that nothing needs\n"
     "  --reduce COMMAND OUT    a smaller capture: what the command needs\n"
     "COMMAND is SUBMIT:COMMAND, as verify --capture --list numbers them, or last: what is presented, or read by the\n"
     "host, last.\n" FILES},
    {"replay", replay_command, "FILE [options]", "runs a captured stream on a Vulkan device",
     "  --check                 compare what is presented, and what the host can read, with what the capture saw\n"
     "  --pictures FOLDER       write what is presented or copied for the host as PNG, by submit and command\n"
     "  --device NAME           a part of the device's name (default: the first that has what is needed)\n"
     "  --validate              under the Khronos validation layer, whose messages count as failures\n"
     "FILE is whole or what capture --reduce wrote, of a capture that can be replayed. No window is needed.\n" FILES},
    {"explain", explain_command, "GRAPH.fgt PASS PASS [options]", "what orders two passes, or why nothing does",
     "  --queues LIST           comma list of gfx, compute, transfer; a kind may stand more than once\n"
     "  --plan PLAN.json        of this plan, in place of what compiling gives\n"
     "PASS is a number or a name.\n"},
    {"diff", diff_command, "BEFORE.fgt AFTER.fgt [options]", "what two frames' plans have in figures, and as a page",
     COMPILE_OPTIONS
     "  --html FILE             write both as a page to look at\n"
     "  --before-plan FILE, --plan FILE   a plan as JSON in place of what compiling gives\n" FROM_TEXT FILES},
    {"view", view_command, "GRAPH.fgt [options]", "compiles it and opens its page in the browser",
     COMPILE_OPTIONS FROM_TEXT},
    {"run", run_command, "GRAPH.fgt [options]",
     "executes it on a Vulkan device; every pass writes what it declares",
     "  --frames N              how often (default 1)\n"
     "  --queues LIST           comma list of gfx, compute, transfer, folded onto what the device has\n"
     "  --workers N             threads that record (default 1, at most 256)\n"
     "  --check                 compare what every pass reads with what was written last\n"
     "  --device K              in the loader's order (default 0)\n"
     "  --capture FILE          write what is given to Vulkan, for heddle verify --capture\n"
     "  --scale N               divide sizes of images and buffers by N, as far as levels and ranges stay (default 1)\n"
     FILES},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* null: of all commands. */
static void print_usage(const command *one, FILE *stream)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (!one || one == &commands[i])
            fprintf(stream, "%s heddle %s %s\n%s%s\n", i == 0 || one ? "usage:" : "      ", commands[i].name,
                    commands[i].form, one ? "" : "           ", commands[i].says);
    }
    if (one)
        fprintf(stream, "%s  --help                  print this\n", one->options);
    for (size_t i = 0; i < COMMANDS && !one; i++)
        fprintf(stream, "\n%s:\n%s", commands[i].name, commands[i].options);
    fprintf(stream, "\n%s", one ? "" : "heddle COMMAND --help says one part of this, heddle --version which it is.\n");
    fputs("Exit status: 0 done; 1 wrong command line; 2 bad input, I/O or no device; 3 the plan or capture fails\n"
          "verification, or run --check found a wrong value, or replay --check other content.\n",
          stream);
}

int complain(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("heddle: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

int complain_option(char **argv, int option)
{
    if (option == ':')
        return complain(EXIT_COMMAND_LINE, "option '%s' needs a value; see heddle --help", argv[optind - 1]);
    /* Of letters in one argument the next one may be due: then that argument is not done with. */
    const char *next = argv[optind];
    bool letters = next && next[0] == '-' && next[1] != '-' && optopt && strchr(next, optopt);
    return complain(EXIT_COMMAND_LINE, "unknown option '%s'; see heddle --help", letters ? next : argv[optind - 1]);
}

int complain_value(const char *value, const char *option)
{
    _Static_assert(HD_MAX_QUEUES - 1 == 15, "the sentence says so");
    uint32_t commas = 0;
    for (const char *at = value; *at && strcmp(option, "queues") == 0; at++)
        commas += *at == ',';
    return complain(EXIT_COMMAND_LINE, "'%s' is no value for --%s%s; see heddle --help", value, option,
                    commas >= HD_MAX_QUEUES - 1 ? ": at most 15 queues" : "");
}

#ifdef HEDDLE_NO_VK
int run_command(int argc, char **argv)
{
    (void)argc, (void)argv;
    return complain(EXIT_INPUT, "run: this build has no executor (HEDDLE_VK=OFF)");
}
int replay_command(int argc, char **argv)
{
    (void)argc, (void)argv;
    return complain(EXIT_INPUT, "replay: this build has no executor (HEDDLE_VK=OFF)");
}
#endif

/* The number of a closed standard stream must not go to the next file that is opened. Its stand-in can be neither read
 * nor written in the stream's direction, so each attempt fails visibly. */
static void open_standard_streams(void)
{
    for (int number = 0; number < 3; number++) {
        if (fcntl(number, F_GETFD) == -1)
            open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY); /* the lowest number that is free */
    }
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_command_line(int argc, char **argv)
{
    const command *named = NULL;
    _Static_assert(HD_MAX_WORKERS == 256, "the usage says so");
    if (argc < 2) {
        print_usage(NULL, stderr);
        return EXIT_COMMAND_LINE;
    }
    for (size_t i = 0; i < COMMANDS; i++)
        named = strcmp(argv[1], commands[i].name) == 0 ? &commands[i] : named;
    for (int i = 1; i < argc; i++) {
        if (is_help(argv[i]) && (named || i == 1)) {
            print_usage(named, stdout);
            return EXIT_DONE;
        }
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("heddle 0.1.0");
        return EXIT_DONE;
    }
    return named ? named->run(argc - 1, argv + 1)
                 : complain(EXIT_COMMAND_LINE, "unknown command '%s'; see heddle --help", argv[1]);
}

int main(int argc, char **argv)
{
    open_standard_streams();
    clean_up_on_signals();
    int status = run_command_line(argc, argv);
    bool written = !ferror(stdout);
    written = fflush(stdout) == 0 && written;
    if (written || status != EXIT_DONE)
        return status;
    return complain(EXIT_INPUT, "standard output: %s", errno ? strerror(errno) : hd_result_text(HD_IO));
}
