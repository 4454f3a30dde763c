#include "command.h"

#include <errno.h>
#include <float.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

typedef struct options {
    const char *graph, *plan, *dot, *html;
    compile_options compile;
    uint32_t threads, repeat;
    bool verify, stats, list;
} options;

/* ---- command line ---- */

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return errno == 0 && *end == 0 && value >= least && value <= most;
}

/* A price in microseconds. 0 is the least that is not the default. */
static bool parse_price(const char *text, float *out)
{
    char *end;
    errno = 0;
    *out = strtof(text, &end);
    bool good = *text >= '0' && *text <= '9' && end != text && *end == 0 && *out <= FLT_MAX;
    *out = *out > FLT_MIN ? *out : FLT_MIN;
    return good && errno == 0;
}

static bool parse_option(int option, const char *value, options *o)
{
    uint64_t number = 0;
    bool good = true;
    switch (option) {
    case 'q':
        return parse_queues(value, &o->compile.queues);
    case 'o':
        o->compile.has_order = true;
        return parse_order(value, &o->compile.order);
    case 'm':
        return parse_number(value, 1, UINT64_MAX, &o->compile.budget);
    case 'e':
        good = parse_number(value, 0, 1000000, &number);
        o->compile.effort = (uint32_t)number;
        o->compile.has_effort = true;
        return good;
    case 'f':
        return parse_price(value, &o->compile.handoff_us);
    case 't':
        good = parse_number(value, 1, HD_MAX_WORKERS, &number);
        o->threads = (uint32_t)number;
        return good;
    case 'r':
        good = parse_number(value, 1, 1000000, &number);
        o->repeat = (uint32_t)number;
        return good;
    case 'p':
        o->plan = value;
        return *value != 0;
    case 'd':
        o->dot = value;
        return *value != 0;
    case 'h':
        o->html = value;
        return *value != 0;
    case 'v':
        o->verify = true;
        return true;
    case 'g':
        o->compile.merge_rendering = true;
        return true;
    case 'l':
        o->list = true;
        return true;
    default:
        o->stats = true;
        return true;
    }
}

static int check_outputs(const options *o)
{
    const char *paths[] = {o->plan, o->dot, o->html};
    for (int b = 0; b < 3; b++) {
        if (paths[b] && is_graph_too(o->graph, paths[b]))
            return complain(EXIT_COMMAND_LINE, "%s: is the graph too", paths[b]);
        for (int a = 0; a < b; a++) {
            if (paths[a] && paths[b] && is_same_file(paths[a], paths[b]))
                return complain(EXIT_COMMAND_LINE, "%s: is another output too", paths[b]);
        }
    }
    return EXIT_DONE;
}

static int parse(int argc, char **argv, options *o)
{
    static const struct option longs[] = {
        {"queues", required_argument, NULL, 'q'},
        {"order", required_argument, NULL, 'o'},
        {"memory-budget", required_argument, NULL, 'm'},
        {"handoff", required_argument, NULL, 'f'},
        {"threads", required_argument, NULL, 't'},
        {"repeat", required_argument, NULL, 'r'},
        {"plan", required_argument, NULL, 'p'},
        {"dot", required_argument, NULL, 'd'},
        {"html", required_argument, NULL, 'h'},
        {"verify", no_argument, NULL, 'v'},
        {"stats", no_argument, NULL, 's'},
        {"list", no_argument, NULL, 'l'},
        {"merge-rendering", no_argument, NULL, 'g'},
        {"packing-effort", required_argument, NULL, 'e'},
        {0},
    };
    *o = (options){.threads = 1, .repeat = 1};
    int option, index = 0;
    while ((option = getopt_long(argc, argv, ":", longs, &index)) != -1) {
        if (option == '?' || option == ':')
            return complain_option(argv, option);
        if (!parse_option(option, optarg, o))
            return complain_value(optarg, longs[index].name);
    }
    if (argc - optind != 1)
        return complain(EXIT_COMMAND_LINE, "compile takes one GRAPH.fgt; see heddle --help");
    o->graph = argv[optind];
    return check_outputs(o);
}

/* ---- statistics ---- */

typedef struct timings {
    uint64_t *build, *compile, *phase[HD_PHASE_COUNT];
} timings;

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static unsigned long long median(uint64_t *values, uint32_t count)
{
    qsort(values, count, sizeof(*values), compare_u64);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void print_stats(const options *o, const hd_plan_stats *s, timings *t)
{
    printf("passes=%u\nkept=%u\nuses=%u\nresources=%u\nqueues=%u\nbarriers=%u\nbarrier_batches=%u\nsubmits=%u\n"
           "semaphore_waits=%u\n",
           s->passes, s->kept, s->uses, s->resources, s->queues, s->barriers, s->barrier_batches, s->submits,
           s->semaphore_waits);
    printf("heap_bytes=%llu\nunaliased_bytes=%llu\npeak_live_bytes=%llu\n", (unsigned long long)s->heap_bytes,
           (unsigned long long)s->unaliased_bytes, (unsigned long long)s->peak_live_bytes);
    printf("makespan_us=%.3f\nmakespan_priced_us=%.3f\ncritical_path_us=%.3f\nthreads=%u\n", s->makespan_us,
           s->makespan_priced_us, s->critical_path_us, o->threads);
    printf("build_ns=%llu\ncompile_ns=%llu\n", median(t->build, o->repeat), median(t->compile, o->repeat));
    for (int p = 0; p < HD_PHASE_COUNT; p++)
        printf("compile_ns_%s=%llu\n", hd_phase_name(p), median(t->phase[p], o->repeat));
}

/* ---- the work ---- */

static void print_violation(const char *text, void *user)
{
    fprintf(stderr, "%s: %s\n", (const char *)user, text);
}

static bool make_timings(timings *t, uint32_t repeat)
{
    uint64_t *all = calloc((size_t)repeat * (2 + HD_PHASE_COUNT), sizeof(*all));
    t->build = all;
    t->compile = all + repeat;
    for (int p = 0; p < HD_PHASE_COUNT; p++)
        t->phase[p] = all + (size_t)repeat * (size_t)(2 + p);
    return all != NULL;
}

/* Declares and compiles `repeat` times; the plan of the last time stays with the graph. */
static hd_result compile_repeatedly(const options *o, hd_graph *graph, declaration *d, hd_compile_desc desc, timings *t,
                                    const hd_plan **plan)
{
    uint64_t phase_ns[HD_PHASE_COUNT];
    desc.phase_ns = phase_ns;
    desc.cache = HD_CACHE_OFF; /* each time is a compile */
    hd_result result = HD_OK;
    for (uint32_t i = 0; result == HD_OK && i < o->repeat; i++) {
        uint64_t begin = hdi_clock_ns();
        declare_again(d, graph);
        uint64_t declared = hdi_clock_ns();
        result = hd_graph_compile(graph, &desc, plan);
        t->build[i] = declared - begin;
        t->compile[i] = hdi_clock_ns() - declared;
        for (int p = 0; p < HD_PHASE_COUNT; p++)
            t->phase[p][i] = phase_ns[p];
    }
    return result;
}

static int write_outputs(const options *o, const hd_graph *graph, const hd_plan *plan)
{
    const struct {
        const char *path;
        hd_result (*write)(const hd_graph *, const hd_plan *, FILE *);
    } files[] = {{o->plan, hd_plan_write_json}, {o->dot, hd_plan_write_dot}, {o->html, hd_plan_write_html}};
    outputs all = {.count = 0};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (!files[i].path)
            continue;
        FILE *stream = open_output(&all, files[i].path);
        hd_result result = stream ? files[i].write(graph, plan, stream) : HD_OK;
        if (stream && result == HD_OK)
            continue;
        if (result != HD_OK)
            complain(0, "%s: %s", files[i].path, hd_result_text(result));
        drop_outputs(&all);
        return EXIT_INPUT;
    }
    return commit_outputs(&all) ? EXIT_DONE : EXIT_INPUT;
}

static int finish(const options *o, const hd_graph *graph, const hd_plan *plan, const hd_compile_desc *desc, timings *t)
{
    if (o->verify) {
        const hd_verify_desc verify = {
            .message = print_violation, .user = (void *)o->graph, .size = desc->size, .size_user = desc->size_user};
        hd_result result = hd_plan_verify(graph, plan, &verify);
        if (result != HD_OK)
            return complain(result == HD_PLAN_INVALID ? EXIT_PROOF : EXIT_INPUT, "%s: %s", o->graph,
                            hd_result_text(result));
    }
    hd_plan_stats stats;
    hd_result result = hd_plan_stats_get(graph, plan, desc->handoff_us, &stats);
    if (result != HD_OK)
        return complain(EXIT_INPUT, "%s: %s", o->graph, hd_result_text(result));
    int status = write_outputs(o, graph, plan);
    if (status == EXIT_DONE && o->list)
        result = hd_plan_write_list(graph, plan, stdout);
    if (result != HD_OK)
        return complain(EXIT_INPUT, "standard output: %s", hd_result_text(result));
    if (status == EXIT_DONE && o->stats)
        print_stats(o, &stats, t);
    return status;
}

int compile_command(int argc, char **argv)
{
    options o;
    int status = parse(argc, argv, &o);
    if (status != EXIT_DONE)
        return status;
    hd_graph *graph = read_graph(o.graph, &status), *frame = NULL;
    if (!graph)
        return status;
    hd_jobs *jobs = NULL;
    timings t = {0};
    const hd_plan *plan = NULL;
    hd_graph_desc frame_desc = {.name = hd_graph_name(graph)};
    declaration *d = copy_declaration(graph);
    hd_compile_desc desc = compile_desc_of(graph, &o.compile);
    hd_result result = hd_graph_create(&frame_desc, &frame);
    if (result == HD_OK && o.threads > 1)
        result = hd_jobs_create(&(hd_jobs_desc){.worker_count = o.threads}, &jobs);
    desc.jobs = jobs;
    if (!d || !make_timings(&t, o.repeat))
        result = HD_OUT_OF_MEMORY;
    if (result != HD_OK) {
        status = complain(EXIT_INPUT, "%s: %s", o.graph, hd_result_text(result));
    } else if (compile_repeatedly(&o, frame, d, desc, &t, &plan) == HD_OK) {
        status = finish(&o, frame, plan, &desc, &t);
    } else {
        /* The same error again, from the graph that knows the lines. */
        char error[ERROR_BYTES];
        hd_graph_compile(graph, &desc, &plan);
        hd_graph_fgt_error(graph, o.graph, error, sizeof(error));
        fprintf(stderr, "%s\n", error);
        status = EXIT_INPUT;
    }
    free(t.build);
    free_declaration(d);
    hd_jobs_destroy(jobs);
    hd_graph_destroy(frame);
    hd_graph_destroy(graph);
    return status;
}
