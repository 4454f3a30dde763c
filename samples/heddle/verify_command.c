#include "command.h"

#include <getopt.h>
#include <stdlib.h>

static void print_violation(const char *text, void *user)
{
    fprintf(stderr, "%s: %s\n", (const char *)user, text);
}

int verify_command(int argc, char **argv)
{
    static const struct option longs[] = {
        {"capture", required_argument, NULL, 'c'}, {"list", no_argument, NULL, 'l'},
        {"dot", required_argument, NULL, 'd'},     {"html", required_argument, NULL, 'h'},
        {0}};
    verify_capture_options capture = {0};
    int option;
    while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        if (option == 'c')
            capture.path = optarg;
        else if (option == 'l')
            capture.list = true;
        else if (option == 'd')
            capture.dot = optarg;
        else if (option == 'h')
            capture.html = optarg;
        else
            return complain_option(argv, option);
    }
    if (capture.path && argc != optind)
        return complain(EXIT_COMMAND_LINE, "verify --capture takes one FILE; see heddle --help");
    if (capture.path)
        return verify_capture(&capture);
    if (capture.list || capture.dot || capture.html)
        return complain(EXIT_COMMAND_LINE, "--list, --dot and --html go with --capture; see heddle --help");
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
