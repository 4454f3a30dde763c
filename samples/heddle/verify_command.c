#include "command.h"

#include <getopt.h>
#include <stdlib.h>

static void print_violation(const char *text, void *user)
{
    fprintf(stderr, "%s: %s\n", (const char *)user, text);
}

/* With the sizes that the frame's text gives. */
static int verify_plan(const framed *f, const char *path)
{
    const hd_compile_desc *desc = hd_graph_fgt_desc(f->graph);
    const hd_verify_desc verify = {
        .message = print_violation, .user = (void *)path, .size = desc->size, .size_user = desc->size_user};
    hd_result result = hd_plan_verify(f->graph, f->plan, &verify);
    if (result == HD_OK) {
        printf("%s: verified\n", path);
        return EXIT_DONE;
    }
    return complain(result == HD_PLAN_INVALID ? EXIT_PROOF : EXIT_INPUT, "%s: %s", path, hd_result_text(result));
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
    if (capture.dot || capture.html)
        return complain(EXIT_COMMAND_LINE, "--dot and --html go with --capture; see heddle --help");
    if (argc - optind != 2)
        return complain(EXIT_COMMAND_LINE,
                        "verify takes GRAPH.fgt and PLAN.json, or --capture FILE; see heddle --help");
    const char *plan_path = argv[optind + 1];
    framed f;
    int status = open_frame(argv[optind], plan_path, NULL, &f);
    if (status == EXIT_DONE && capture.list && hd_plan_write_list(f.graph, f.plan, stdout) != HD_OK)
        status = complain(EXIT_INPUT, "%s: %s", plan_path, hd_result_text(HD_IO));
    if (status == EXIT_DONE)
        status = verify_plan(&f, plan_path);
    close_frame(&f);
    return status;
}
