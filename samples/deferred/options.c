#include "app.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: deferred [options]\n"
                            "  --frames N       frames to render (60)\n"
                            "  --width N        pixels across (960)\n"
                            "  --height N       pixels down (540)\n"
                            "  --device K       Vulkan device, in the order of enumeration (0)\n"
                            "  --workers N      threads that record, 0: one a processor (0)\n"
                            "  --queues LIST    kinds of queues, as gfx,compute,transfer (those)\n"
                            "  --out DIR        where the files go (out)\n"
                            "  --every N        also keep the picture of every Nth frame\n"
                            "  --capture        what was given to Vulkan goes to capture.json, and is verified\n"
                            "  --view PORT      the plan of the running frames in a browser, at http://127.0.0.1:PORT/\n"
                            "  --thumbnails     plan.html has what each pass left in its images\n"
                            "  --detail N       how finely light is sampled, 1 to 16 (16 on a discrete GPU, else 1)\n"
                            "  --bench N        no files: measures N frames\n"
                            "  --passes         with --bench: the GPU time of each pass\n"
                            "  --untimed        with --bench: no timestamps on the GPU\n";

static bool parse_number(const char *text, uint32_t lowest, uint32_t highest, uint32_t *out)
{
    char *stop;
    unsigned long value = strtoul(text, &stop, 10);
    if (*text < '0' || *text > '9' || *stop != '\0' || value < lowest || value > highest)
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool parse_queues(const char *text, struct app *app)
{
    static const char *const names[] = {"gfx", "compute", "transfer"};
    static const hd_queue_kind kinds[] = {HD_QUEUE_GFX, HD_QUEUE_COMPUTE, HD_QUEUE_TRANSFER};
    app->queue_kind_count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        uint32_t kind = 0;
        while (kind < 3 && (strlen(names[kind]) != length || strncmp(names[kind], text, length) != 0))
            kind++;
        if (kind == 3 || app->queue_kind_count == HD_MAX_QUEUES - 1)
            return false;
        app->queue_kinds[app->queue_kind_count++] = kinds[kind];
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

bool options_parse(struct app *app, int argc, char **argv)
{
    static const struct option options[] = {{"frames", required_argument, NULL, 'f'},
                                            {"width", required_argument, NULL, 'w'},
                                            {"height", required_argument, NULL, 'h'},
                                            {"device", required_argument, NULL, 'd'},
                                            {"workers", required_argument, NULL, 'j'},
                                            {"queues", required_argument, NULL, 'q'},
                                            {"out", required_argument, NULL, 'o'},
                                            {"every", required_argument, NULL, 'e'},
                                            {"detail", required_argument, NULL, 'l'},
                                            {"capture", no_argument, NULL, 'c'},
                                            {"bench", required_argument, NULL, 'b'},
                                            {"passes", no_argument, NULL, 'p'},
                                            {"untimed", no_argument, NULL, 'u'},
                                            {"view", required_argument, NULL, 'v'},
                                            {"thumbnails", no_argument, NULL, 't'},
                                            {0}};
    app->frame_count = 60;
    app->width = 960;
    app->height = 540;
    app->out = "out";
    parse_queues("gfx,compute,transfer", app);
    bool good = true;
    for (int c; good && (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'f':
            good = parse_number(optarg, 1, 100000, &app->frame_count);
            break;
        case 'w':
            good = parse_number(optarg, 64, 8192, &app->width);
            break;
        case 'h':
            good = parse_number(optarg, 64, 8192, &app->height);
            break;
        case 'd':
            good = parse_number(optarg, 0, 1000, &app->device);
            break;
        case 'j':
            good = parse_number(optarg, 0, 256, &app->workers);
            break;
        case 'q':
            good = parse_queues(optarg, app);
            break;
        case 'o':
            app->out = optarg;
            break;
        case 'e':
            good = parse_number(optarg, 1, 100000, &app->every);
            break;
        case 'l':
            good = parse_number(optarg, 1, 16, &app->detail);
            break;
        case 'b':
            good = parse_number(optarg, 1, 100000, &app->bench);
            break;
        case 'p':
            app->passes = true;
            break;
        case 'c':
            app->capture = true;
            break;
        case 'v':
            good = parse_number(optarg, 1, 65535, &app->view_port);
            break;
        case 't':
            app->thumbnails = true;
            break;
        case 'u':
            app->untimed = true;
            break;
        default:
            good = false;
        }
    }
    if (!good || optind != argc) {
        fputs(usage, stderr);
        return false;
    }
    if (app->bench)
        app->frame_count = BENCH_WARM_UP + app->bench + 1;
    return true;
}
