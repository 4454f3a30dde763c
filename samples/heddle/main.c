#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>

/* heddle: compiles frame graphs from files, verifies and explains plans, and executes them. */

static const char usage[] =
    "usage: heddle compile GRAPH.fgt [options]\n"
    "       heddle verify GRAPH.fgt PLAN.json\n"
    "       heddle verify --capture FILE [--list] [--dot OUT] [--html OUT]   what an engine gave to Vulkan\n"
    "       heddle capture FILE --graph dot|json|html [OUT]      which command of a capture needs which\n"
    "       heddle capture FILE --needs COMMAND                  all that a command needs; with --graph: drawn alone\n"
    "       heddle capture FILE --dead                           commands and barriers that nothing needs\n"
    "       heddle capture FILE --reduce COMMAND OUT             a smaller capture: what the command needs\n"
    "       heddle explain GRAPH.fgt PASS PASS [--queues LIST]   what orders two passes, or why nothing does\n"
    "       heddle diff BEFORE.fgt AFTER.fgt [--html FILE]       what two frames' plans have in figures, and as a page\n"
    "       heddle view GRAPH.fgt                                 compiles it and opens its page in the browser\n"
    "       heddle run GRAPH.fgt [options]\n"
    "\n"
    "compile options:\n"
    "  --queues LIST           comma list of gfx, compute, transfer; a kind may stand more than once\n"
    "                          (default gfx,compute,transfer)\n"
    "  --order ORDER           overlap (default), memory or declared\n"
    "  --memory-budget BYTES   fail unless the heaps stay within it\n"
    "  --packing-effort N      up to N times as much work again to make heaps smaller (default 0, at most 1000000)\n"
    "  --handoff US            price of a hand-off between queues in microseconds (default 6)\n"
    "  --merge-rendering       passes that go on with the same attachments share a scope, without barriers between\n"
    "  --threads N             workers of the compile (default 1, at most 256)\n"
    "  --plan FILE             write the plan as JSON\n"
    "  --dot FILE              write the plan as a Graphviz picture\n"
    "  --html FILE             write the plan as a page to look at\n"
    "  --verify                verify the plan\n"
    "  --stats                 print key=value figures\n"
    "  --repeat N              compile N times; times are medians\n"
    "\n"
    "diff and view: --queues, --order and --merge-rendering as above; diff also\n"
    "  --before-plan FILE, --plan FILE   a plan as JSON instead of what compiling gives\n"
    "\n"
    "run options: executes it on a Vulkan device; every pass writes what it declares\n"
    "  --frames N              how often (default 1)\n"
    "  --queues LIST           as above, folded onto what the device has\n"
    "  --workers N             threads that record (default 1, at most 256)\n"
    "  --check                 compare what every pass reads with what was written last\n"
    "  --device K              in the loader's order (default 0)\n"
    "  --capture FILE          write what is given to Vulkan, for heddle verify --capture\n"
    "  --scale N               divide sizes of images and buffers by N, as far as levels and ranges stay (default 1)\n"
    "\n"
    "COMMAND is SUBMIT:COMMAND, as verify --capture --list numbers them, or last: what is presented, or read by the\n"
    "host, last.\n"
    "heddle --help says this, heddle --version which one it is.\n"
    "A FILE may be - for standard output, GRAPH.fgt for standard input.\n"
    "Exit status: 0 done; 1 wrong command line; 2 bad input, I/O or no device; 3 the plan or capture fails\n"
    "verification, or run --check found a wrong value.\n";

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

#ifdef HEDDLE_NO_VK
int run_command(int argc, char **argv)
{
    (void)argc, (void)argv;
    return complain(EXIT_INPUT, "run: this build has no executor (HEDDLE_VK=OFF)");
}
#endif

static int run_command_line(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int, char **);
    } commands[] = {
        {"compile", compile_command}, {"verify", verify_command}, {"explain", explain_command},
        {"run", run_command}, {"diff", diff_command}, {"view", view_command}, {"capture", capture_command}};
    if (argc < 2) {
        fputs(usage, stderr);
        return EXIT_COMMAND_LINE;
    }
    _Static_assert(HD_MAX_WORKERS == 256, "the usage says so");
    if (is_help(argv[1]) || (argc > 2 && is_help(argv[2]))) {
        fputs(usage, stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("heddle 0.1.0");
        return EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    return complain(EXIT_COMMAND_LINE, "unknown command '%s'; see heddle --help", argv[1]);
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
