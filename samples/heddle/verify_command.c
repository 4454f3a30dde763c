#include "command.h"

#include <getopt.h>
#include <stdlib.h>

static void print_violation(const char *text, void *user)
{
    fprintf(stderr, "%s: %s\n", (const char *)user, text);
}

static int verify_capture(const char *path, bool list)
{
    size_t bytes;
    char *text = read_whole_file(path, &bytes), error[512] = "";
    hd_stream *stream = NULL;
    int status = EXIT_INPUT;
    if (text && hd_stream_read(text, bytes, NULL, &stream, error, sizeof(error)) != HD_OK)
        fprintf(stderr, "%s: %s\n", path, error);
    if (stream && list)
        print_stream(stream);
    if (stream) {
        hd_verify_desc desc = {.message = print_violation, .user = (void *)path};
        hd_result result = hd_stream_verify(stream, &desc);
        if (stream->unseen)
            complain(0, "%s: %llu calls whose accesses are not known", path, (unsigned long long)stream->unseen);
        if (result == HD_OK) {
            printf("%s: verified: %u submits, %u commands, %u accesses, %u barriers, %u resources\n", path,
                   stream->submit_count, stream->command_count, stream->access_count, stream->barrier_count,
                   stream->resource_count);
            status = EXIT_DONE;
        } else if (result == HD_PLAN_INVALID) {
            status = complain(EXIT_PROOF, "%s: what was captured breaks a rule of synchronization", path);
        } else {
            complain(EXIT_INPUT, "%s: %s", path, hd_result_text(result));
        }
    }
    free(text);
    hd_stream_free(stream);
    return status;
}

int verify_command(int argc, char **argv)
{
    static const struct option longs[] = {
        {"capture", required_argument, NULL, 'c'}, {"list", no_argument, NULL, 'l'}, {0}};
    const char *capture = NULL;
    bool list = false;
    int option;
    while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        if (option == 'c')
            capture = optarg;
        else if (option == 'l')
            list = true;
        else
            return complain_option(argv, option);
    }
    if (capture && argc != optind)
        return complain(EXIT_COMMAND_LINE, "verify --capture takes one FILE; see heddle --help");
    if (capture)
        return verify_capture(capture, list);
    if (list)
        return complain(EXIT_COMMAND_LINE, "--list goes with --capture; see heddle --help");
    if (argc - optind != 2)
        return complain(EXIT_COMMAND_LINE, "verify takes GRAPH.fgt and PLAN.json; see heddle --help");
    const char *plan_path = argv[optind + 1];
    int status;
    hd_graph *graph = read_graph(argv[optind], &status);
    if (!graph)
        return status;
    size_t bytes;
    char *text = read_whole_file(plan_path, &bytes), error[512] = "";
    hd_plan *plan = NULL;
    status = EXIT_INPUT;
    if (text && hd_plan_read_json(graph, text, bytes, NULL, &plan, error, sizeof(error)) != HD_OK)
        fprintf(stderr, "%s: %s\n", plan_path, error);
    if (plan) {
        hd_verify_desc desc = {.message = print_violation, .user = (void *)plan_path};
        hd_result result = hd_plan_verify(graph, plan, &desc);
        if (result == HD_OK) {
            printf("%s: verified\n", plan_path);
            status = EXIT_DONE;
        } else if (result == HD_PLAN_INVALID) {
            status = complain(EXIT_PROOF, "%s: %s", plan_path, hd_result_text(result));
        } else {
            complain(EXIT_INPUT, "%s: %s", plan_path, hd_result_text(result));
        }
    }
    free(text);
    hd_plan_free(plan, NULL);
    hd_graph_destroy(graph);
    return status;
}
