#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* heddle diff and heddle view: plans side by side in figures, and as a page for people. */

extern char **environ;

typedef struct options {
    const char *html, *plan_path[2];
    compile_options compile;
} options;

static bool parse_option(int option, const char *value, options *o)
{
    switch (option) {
    case 'q':
        return parse_queues(value, &o->compile.queues);
    case 'o':
        o->compile.has_order = true;
        return parse_order(value, &o->compile.order);
    case 'h':
        o->html = value;
        return *value != 0;
    case 'b':
    case 'p':
        o->plan_path[option == 'p'] = value;
        return *value != 0;
    default:
        o->compile.merge_rendering = true;
        return true;
    }
}

/* EXIT_DONE, and optind at the first graph. */
static int parse(int argc, char **argv, bool is_diff, options *o)
{
    static const struct option all[] = {
        {"html", required_argument, NULL, 'h'},   {"before-plan", required_argument, NULL, 'b'},
        {"plan", required_argument, NULL, 'p'},   {"queues", required_argument, NULL, 'q'},
        {"order", required_argument, NULL, 'o'},  {"merge-rendering", no_argument, NULL, 'g'},
        {0}};
    const struct option *longs = is_diff ? all : all + 3;
    *o = (options){0};
    int option, index = 0;
    while ((option = getopt_long(argc, argv, ":", longs, &index)) != -1) {
        if (option == '?' || option == ':')
            return complain_option(argv, option);
        if (!parse_option(option, optarg, o))
            return complain(EXIT_COMMAND_LINE, "'%s' is no value for --%s; see heddle --help", optarg,
                            longs[index].name);
    }
    return EXIT_DONE;
}

/* ---- diff ---- */

static void print_figures(const hd_plan_stats *a, const hd_plan_stats *b)
{
    const struct {
        const char *name;
        uint64_t before, now;
    } rows[] = {{"passes", a->passes, b->passes},
                {"kept", a->kept, b->kept},
                {"resources", a->resources, b->resources},
                {"barriers", a->barriers, b->barriers},
                {"barrier_batches", a->barrier_batches, b->barrier_batches},
                {"submits", a->submits, b->submits},
                {"semaphore_waits", a->semaphore_waits, b->semaphore_waits},
                {"heap_bytes", a->heap_bytes, b->heap_bytes},
                {"unaliased_bytes", a->unaliased_bytes, b->unaliased_bytes},
                {"peak_live_bytes", a->peak_live_bytes, b->peak_live_bytes}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        printf("%s=%llu %llu %+lld\n", rows[i].name, (unsigned long long)rows[i].before,
               (unsigned long long)rows[i].now, (long long)(rows[i].now - rows[i].before));
    printf("makespan_us=%.3f %.3f %+.3f\n", a->makespan_us, b->makespan_us, b->makespan_us - a->makespan_us);
    printf("critical_path_us=%.3f %.3f %+.3f\n", a->critical_path_us, b->critical_path_us,
           b->critical_path_us - a->critical_path_us);
}

static int write_page(const char *path, const framed *now, const hd_page_desc *desc)
{
    outputs all = {.count = 0};
    FILE *stream = open_output(&all, path);
    hd_result result = stream ? hd_plan_write_page(now->graph, now->plan, desc, stream) : HD_IO;
    if (stream && result == HD_OK)
        return commit_outputs(&all) ? EXIT_DONE : EXIT_INPUT;
    if (stream)
        complain(0, "%s: %s", path, hd_result_text(result));
    drop_outputs(&all);
    return EXIT_INPUT;
}

static int compare(const options *o, const framed *before, const framed *now)
{
    hd_plan_stats stats[2];
    hd_result result = hd_plan_stats_get(before->graph, before->plan, 0, &stats[0]);
    if (result == HD_OK)
        result = hd_plan_stats_get(now->graph, now->plan, 0, &stats[1]);
    if (result != HD_OK)
        return complain(EXIT_INPUT, "%s", hd_result_text(result));
    int status = EXIT_DONE;
    if (o->html)
        status = write_page(o->html, now, &(hd_page_desc){.before_graph = before->graph, .before = before->plan});
    if (status == EXIT_DONE)
        print_figures(&stats[0], &stats[1]);
    return status;
}

int diff_command(int argc, char **argv)
{
    options o;
    int status = parse(argc, argv, true, &o);
    if (status != EXIT_DONE)
        return status;
    if (argc - optind != 2)
        return complain(EXIT_COMMAND_LINE, "diff takes BEFORE.fgt and AFTER.fgt; see heddle --help");
    framed sides[2] = {0};
    for (int i = 0; i < 2 && o.html; i++)
        if (is_graph_too(argv[optind + i], o.html))
            return complain(EXIT_COMMAND_LINE, "%s: is the graph too", o.html);
    for (int i = 0; i < 2 && status == EXIT_DONE; i++)
        status = open_frame(argv[optind + i], o.plan_path[i], &o.compile, &sides[i]);
    if (status == EXIT_DONE)
        status = compare(&o, &sides[0], &sides[1]);
    close_frame(&sides[0]);
    close_frame(&sides[1]);
    return status;
}

/* ---- view ---- */

/* The browser of the user: the first that BROWSER names, else what xdg-open finds. */
static bool show(const char *path)
{
    const char *list = getenv("BROWSER");
    char *name = list && *list ? strndup(list, strcspn(list, ":")) : strdup("xdg-open"), *page = strdup(path);
    char *arguments[] = {name, page, NULL};
    pid_t child;
    int status = 1;
    if (name && page && posix_spawnp(&child, name, NULL, NULL, arguments, environ) == 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    free(name);
    free(page);
    return status == 0;
}

/* The page stays: the browser reads it when this command has ended. */
static int view(const framed *s)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/heddle-XXXXXX.html", folder && *folder ? folder : "/tmp");
    int number = mkstemps(path, 5);
    FILE *stream = number >= 0 ? fdopen(number, "w") : NULL;
    if (!stream)
        return complain(EXIT_INPUT, "%s: %s", path, strerror(errno));
    hd_result result = hd_plan_write_html(s->graph, s->plan, stream);
    if (fclose(stream) != 0 && result == HD_OK)
        result = HD_IO;
    if (result != HD_OK) {
        remove(path);
        return complain(EXIT_INPUT, "%s: %s", path, hd_result_text(result));
    }
    puts(path);
    fflush(stdout);
    return show(path) ? EXIT_DONE : complain(EXIT_INPUT, "no browser could be started: open %s", path);
}

int view_command(int argc, char **argv)
{
    options o;
    int status = parse(argc, argv, false, &o);
    if (status != EXIT_DONE)
        return status;
    if (argc - optind != 1)
        return complain(EXIT_COMMAND_LINE, "view takes one GRAPH.fgt; see heddle --help");
    framed s;
    status = open_frame(argv[optind], NULL, &o.compile, &s);
    if (status == EXIT_DONE)
        status = view(&s);
    close_frame(&s);
    return status;
}
