#include "engine.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: engine [options]\n"
    "Two views of a field of basalt, by an engine that owns its device, memory, threads, log, images and windows.\n"
    "  --frames N       frames to render (90); with --window and none given: until a window is closed\n"
    "  --size WxH       pixels of the first view (640x360); the second is HxH\n"
    "  --side N         columns along a side of the field, 8 to 200 (40)\n"
    "  --window         show two windows. 1 to 4 switch waves, shadows, glow, samples; R writes a report; Esc closes\n"
    "  --exercise       at fixed frames: switches passes, resizes windows, reloads all shaders\n"
    "  --steady         textures are made before the first frame: pictures are the same in each run\n"
    "  --shaders FOLDER shaders that are watched, and taken over when they change (those of the source)\n"
    "  --report FOLDER  write a report of the last frame there; it must not exist\n"
    "  --capture        what Vulkan was given goes to capture.json, and is verified\n"
    "  --validate       run under Khronos' validation layer, with synchronization validation\n"
    "  --device K       Vulkan device, in the order of enumeration (0)\n"
    "  --workers N      threads of the engine, 1 to 64 (one a processor)\n"
    "  --out FOLDER     where files go (out/engine)\n"
    "  --help           this\n";

static _Noreturn void leave(int status)
{
    FILE *stream = status ? stderr : stdout;
    fputs(usage, stream);
    exit(fflush(stream) == 0 ? status : 2);
}

static uint32_t number(const char *text, char end, uint32_t least, uint32_t most)
{
    char *stop;
    unsigned long value = strtoul(text, &stop, 10);
    if (*text < '0' || *text > '9' || *stop != end || value < least || value > most)
        leave(1);
    return (uint32_t)value;
}

static void parse_size(struct engine *engine, const char *text)
{
    const char *cross = strchr(text, 'x');
    if (!cross)
        leave(1);
    engine->width = number(text, 'x', 64, 8192);
    engine->height = number(cross + 1, '\0', 64, 8192);
}

void options_parse(struct engine *engine, int argc, char **argv)
{
    static const struct option options[] = {
        {"frames", required_argument, NULL, 'f'},  {"size", required_argument, NULL, 's'},
        {"side", required_argument, NULL, 'n'},    {"window", no_argument, NULL, 'w'},
        {"exercise", no_argument, NULL, 'e'},      {"shaders", required_argument, NULL, 'g'},
        {"report", required_argument, NULL, 'r'},  {"capture", no_argument, NULL, 'c'},
        {"validate", no_argument, NULL, 'v'},      {"device", required_argument, NULL, 'd'},
        {"workers", required_argument, NULL, 'j'}, {"out", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},          {"steady", no_argument, NULL, 't'},
        {0}};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    engine->width = 640;
    engine->height = 360;
    engine->side = 40;
    engine->workers = processors > 64 ? 64 : processors > 1 ? (uint32_t)processors : 1;
    engine->out = "out/engine";
    engine->shaders = ENGINE_SHADERS;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'f':
            engine->frames = number(optarg, '\0', 1, 1000000);
            break;
        case 's':
            parse_size(engine, optarg);
            break;
        case 'n':
            engine->side = number(optarg, '\0', 8, 200);
            break;
        case 'w':
            engine->windowed = true;
            break;
        case 'e':
            engine->exercise = true;
            break;
        case 'g':
            engine->shaders = optarg;
            break;
        case 'r':
            engine->report = optarg;
            break;
        case 'c':
            engine->capture = true;
            break;
        case 'v':
            engine->validate = true;
            break;
        case 'd':
            engine->device_index = number(optarg, '\0', 0, 1000);
            break;
        case 'j':
            engine->workers = number(optarg, '\0', 1, 64);
            break;
        case 'o':
            engine->out = optarg;
            break;
        case 't':
            engine->steady = true;
            break;
        case 'h':
            leave(0);
        default:
            leave(1);
        }
    }
    if (optind != argc)
        leave(1);
    if (!engine->frames && !engine->windowed)
        engine->frames = 90;
}
