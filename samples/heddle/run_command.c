#include "command.h"

#include <heddle/capture.h>

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "lavapipe.h"
#include "run.h"

/* heddle run: its command line, and what it prints. */

typedef struct options {
    uint64_t frames, workers, device, scale;
    queue_list queues;
    bool check;
    const char *capture;
} options;

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 && *out >= least && *out <= most;
}

static int parse(int argc, char **argv, options *o)
{
    static const struct option longs[] = {
        {"frames", required_argument, NULL, 'f'}, {"queues", required_argument, NULL, 'q'},
        {"workers", required_argument, NULL, 'w'}, {"device", required_argument, NULL, 'd'},
        {"scale", required_argument, NULL, 's'},  {"check", no_argument, NULL, 'c'},
        {"capture", required_argument, NULL, 'p'},
        {0},
    };
    *o = (options){.frames = 1, .workers = 1, .scale = 1};
    parse_queues("gfx,compute,transfer", &o->queues);
    int option, index = 0;
    while ((option = getopt_long(argc, argv, ":", longs, &index)) != -1) {
        bool good = true;
        switch (option) {
        case '?':
        case ':':
            return complain_option(argv, option);
        case 'f':
            good = parse_number(optarg, 1, 1000000, &o->frames);
            break;
        case 'q':
            good = parse_queues(optarg, &o->queues);
            break;
        case 'w':
            good = parse_number(optarg, 1, HD_MAX_WORKERS, &o->workers);
            break;
        case 'd':
            good = parse_number(optarg, 0, 1023, &o->device);
            break;
        case 's':
            good = parse_number(optarg, 1, 1 << 20, &o->scale);
            break;
        case 'p':
            o->capture = optarg;
            break;
        default:
            o->check = true;
        }
        if (!good)
            return complain_value(optarg, longs[index].name);
    }
    if (argc - optind != 1)
        return complain(EXIT_COMMAND_LINE, "run takes one GRAPH.fgt; see heddle --help");
    if (o->capture && is_graph_too(argv[optind], o->capture))
        return complain(EXIT_COMMAND_LINE, "%s: is the graph too", o->capture);
    return EXIT_DONE;
}

static void print_wrong(const char *text, void *user)
{
    fprintf(stderr, "%s: %s\n", (const char *)user, text);
}

static void print_report(const options *o, const run_report *report)
{
    static const char *const kinds[] = {"gfx", "compute", "transfer", "host"};
    printf("device=%s\nframes=%llu\n", report->device, (unsigned long long)o->frames);
    if (o->check)
        printf("checks=%llu\nunchecked=%llu\nwrong=%llu\n", (unsigned long long)report->checks,
               (unsigned long long)report->unchecked, (unsigned long long)report->wrong);
    for (uint32_t q = 0; q < report->queue_count; q++) {
        bool known = false;
        for (uint32_t p = 0; p < report->pass_count; p++)
            known |= report->pass_queue[p] == q && report->pass_us[p] >= 0;
        if (known)
            printf("queue %u %s us=%.3f\n", q, kinds[report->queue_kind[q] & 3], report->queue_us[q]);
        else
            printf("queue %u %s us=unknown\n", q, kinds[report->queue_kind[q] & 3]);
    }
    for (uint32_t p = 0; p < report->pass_count; p++) {
        if (report->pass_queue[p] == HD_NONE)
            printf("pass %u culled\n", p);
        else if (report->pass_us[p] < 0)
            printf("pass %u queue=%u us=unknown\n", p, report->pass_queue[p]);
        else
            printf("pass %u queue=%u us=%.3f\n", p, report->pass_queue[p], report->pass_us[p]);
    }
}

/* Everything from before the device is made until it is destroyed. */
static hd_result begin_capture(const options *o, run_desc *desc)
{
    if (!o->capture)
        return HD_OK;
    hd_result result = hd_capture_open(&(hd_capture_desc){.replay = true});
    desc->vk.get_instance_proc = hd_capture_get_instance_proc;
    return result == HD_OK ? hd_capture_begin() : result;
}

static int write_capture(const options *o, outputs *all, FILE *file, int status)
{
    hd_stream *stream = NULL;
    if (!o->capture)
        return status;
    hd_result result = hd_capture_end(&stream);
    hd_capture_close();
    if (result != HD_OK) {
        complain(0, "%s: %s", o->capture, hd_result_text(result));
        drop_outputs(all);
        return status == EXIT_DONE ? EXIT_INPUT : status;
    }
    bool good = true;
    if (hd_stream_write(stream, file) != HD_OK)
        good = complain(0, "%s: %s", o->capture, hd_result_text(HD_IO));
    if (good)
        good = commit_outputs(all);
    else
        drop_outputs(all);
    hd_stream_free(stream);
    return good || status != EXIT_DONE ? status : EXIT_INPUT;
}

int run_command(int argc, char **argv)
{
    options o;
    int status = parse(argc, argv, &o);
    if (status != EXIT_DONE)
        return status;
    const char *path = argv[optind];
    hd_graph *graph = read_graph(path, &status);
    if (!graph)
        return status;
    outputs all = {0};
    FILE *file = o.capture ? open_output(&all, o.capture) : NULL; /* before the work */
    if (o.capture && !file) {
        hd_graph_destroy(graph);
        return EXIT_INPUT;
    }
    hd_queue_kind kinds[HD_MAX_QUEUES];
    for (uint32_t q = 0; q < o.queues.count; q++)
        kinds[q] = o.queues.queue[q].kind;
    avoid_lavapipe_threads();
    hd_jobs *jobs = NULL;
    hd_result result = o.workers > 1
                           ? hd_jobs_create(&(hd_jobs_desc){.worker_count = (uint32_t)o.workers}, &jobs)
                           : HD_OK;
    run_desc desc = {.graph = graph,
                     .frames = (uint32_t)o.frames,
                     .scale = (uint32_t)o.scale,
                     .check = o.check,
                     .vk = {.jobs = jobs,
                            .device_index = (uint32_t)o.device,
                            .queue_kinds = kinds,
                            .queue_kind_count = o.queues.count},
                     .wrong = print_wrong,
                     .wrong_user = (void *)path};
    run_report report = {0};
    char error[512] = "";
    if (result == HD_OK)
        result = begin_capture(&o, &desc);
    if (result == HD_OK)
        result = run_graph(&desc, &report, error, sizeof(error));
    if (result != HD_OK) {
        status = complain(result == HD_PLAN_INVALID ? EXIT_PROOF : EXIT_INPUT, "%s: %s", path,
                          error[0] ? error : hd_result_text(result));
    } else {
        print_report(&o, &report);
        status = report.wrong ? EXIT_PROOF : EXIT_DONE;
    }
    status = write_capture(&o, &all, file, status);
    run_report_free(&report);
    hd_jobs_destroy(jobs);
    hd_graph_destroy(graph);
    return status;
}
