#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_number(const char *text, const struct kit_option *option, char end, uint32_t *out)
{
    char *stop;
    unsigned long value = strtoul(text, &stop, 10);
    if (*text < '0' || *text > '9' || *stop != end || value < option->least || value > option->most)
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool parse_size(const char *text, const struct kit_option *option, uint32_t out[2])
{
    const char *cross = strchr(text, 'x');
    return cross && parse_number(text, option, 'x', &out[0]) && parse_number(cross + 1, option, '\0', &out[1]);
}

static bool parse_queues(const char *text, struct kit_options *options)
{
    static const char *const names[] = {"gfx", "compute", "transfer"};
    static const hd_queue_kind kinds[] = {HD_QUEUE_GFX, HD_QUEUE_COMPUTE, HD_QUEUE_TRANSFER};
    options->queue_kind_count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        uint32_t kind = 0;
        while (kind < 3 && (strlen(names[kind]) != length || strncmp(names[kind], text, length) != 0))
            kind++;
        if (kind == 3 || options->queue_kind_count == HD_MAX_QUEUES - 1)
            return false;
        options->queue_kinds[options->queue_kind_count++] = kinds[kind];
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

static bool parse(const struct kit_option *option, const char *text)
{
    switch (option->kind) {
    case KIT_FLAG:
        *(bool *)option->value = true;
        return true;
    case KIT_NUMBER:
        return parse_number(text, option, '\0', option->value);
    case KIT_TEXT:
        *(const char **)option->value = text;
        return true;
    case KIT_SIZE:
        return parse_size(text, option, option->value);
    case KIT_QUEUES:
        return parse_queues(text, option->value);
    }
    return false;
}

static void print_options(FILE *stream, const struct kit_option *option)
{
    for (; option && option->name; option++) {
        int length = fprintf(stream, "  --%s %s", option->name, option->argument ? option->argument : "");
        fprintf(stream, "%*s%s\n", length < 22 ? 22 - length : 1, "", option->help);
    }
}

static const struct kit_option *find(const struct kit_option *option, const char *name, size_t length)
{
    while (option && option->name && (strlen(option->name) != length || strncmp(option->name, name, length) != 0))
        option++;
    return option && option->name ? option : NULL;
}

static _Noreturn void leave(const struct kit_scene *scene, const struct kit_option *common, int status,
                            const char *wrong)
{
    FILE *stream = status ? stderr : stdout;
    if (wrong)
        fprintf(stream, "%s: %s: not understood\n", scene->name, wrong);
    fprintf(stream, "usage: %s [options]\n%s\n", scene->name, scene->about);
    print_options(stream, scene->options);
    print_options(stream, common);
    exit(fflush(stream) == 0 ? status : 2);
}

static void set_defaults(struct kit_options *o, const struct kit_scene *scene)
{
    static char folder[64];
    snprintf(folder, sizeof folder, "out/%s", scene->name);
    if (!o->out)
        o->out = folder;
    if (!o->width || !o->height) {
        o->width = scene->width ? scene->width : 960;
        o->height = scene->height ? scene->height : 540;
    }
    if (!o->frames && !o->window)
        o->frames = scene->frames ? scene->frames : 60;
    if (!o->queue_kind_count)
        parse_queues("gfx,compute,transfer", o);
}

void kit_options_parse(struct kit_options *o, const struct kit_scene *scene, int argc, char **argv)
{
    bool help = false;
    const struct kit_option common[] = {
        {"frames", "N", KIT_NUMBER, &o->frames, 1, 1000000, "frames to render; with --window: until it is closed"},
        {"size", "WxH", KIT_SIZE, &o->width, 64, 8192, "pixels of the picture"},
        {"out", "FOLDER", KIT_TEXT, &o->out, 0, 0, "where files go (out/ and the scene's name)"},
        {"device", "K", KIT_NUMBER, &o->device, 0, 1000, "Vulkan device, in the order of enumeration (0)"},
        {"queues", "LIST", KIT_QUEUES, o, 0, 0, "kinds of queues, as gfx,compute,transfer (those)"},
        {"workers", "N", KIT_NUMBER, &o->workers, 0, 256, "threads that record, 0: one a processor (0)"},
        {"detail", "N", KIT_NUMBER, &o->detail, 0, 16, "how much the scene asks of the device, 0: as it can (0)"},
        {"window", NULL, KIT_FLAG, &o->window, 0, 0, "show a window. Esc closes it, R writes a report of the frame"},
        {"animation", NULL, KIT_FLAG, &o->animation, 0, 0, "also write all frames, as an animated WebP"},
        {"every", "N", KIT_NUMBER, &o->every, 1, 1000000, "also keep the picture of every Nth frame"},
        {"report", "FOLDER", KIT_TEXT, &o->report, 0, 0,
         "write a report of the last frame there; with --window: R does, with its number"},
        {"capture", NULL, KIT_FLAG, &o->capture, 0, 0, "what Vulkan was given goes to capture.json, and is verified"},
        {"thumbnails", NULL, KIT_FLAG, &o->thumbnails, 0, 0, "plan.html has what passes left in their images"},
        {"view", "PORT", KIT_NUMBER, &o->view_port, 1, 65535, "plans of running frames at http://127.0.0.1:PORT/"},
        {"bench", "N", KIT_NUMBER, &o->bench, 1, 100000, "no files: measures N frames"},
        {"passes", NULL, KIT_FLAG, &o->passes, 0, 0, "with --bench: the GPU time of each pass"},
        {"untimed", NULL, KIT_FLAG, &o->untimed, 0, 0, "no timestamps on the GPU"},
        {"copies", "N", KIT_NUMBER, &o->copies, 1, KIT_FRAMES_IN_FLIGHT, "copies of the frame's memory (2)"},
        {"no-merge", NULL, KIT_FLAG, &o->no_merge, 0, 0, "no rendering scope has more than one pass"},
        {"declared-order", NULL, KIT_FLAG, &o->declared_order, 0, 0, "passes run in the order of their declaration"},
        {"help", NULL, KIT_FLAG, &help, 0, 0, "this"},
        {0}};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i] + 2, *text = strchr(argv[i], '=');
        if (strncmp(argv[i], "--", 2) != 0)
            leave(scene, common, 1, argv[i]);
        size_t length = text ? (size_t)(text++ - name) : strlen(name);
        const struct kit_option *option = find(scene->options, name, length);
        if (!option)
            option = find(common, name, length);
        const char *given = argv[i];
        if (option && option->kind != KIT_FLAG && !text)
            text = i + 1 < argc ? argv[++i] : NULL;
        if (!option || (option->kind == KIT_FLAG) != !text || !parse(option, text))
            leave(scene, common, 1, given);
    }
    if (help)
        leave(scene, common, 0, NULL);
    set_defaults(o, scene);
}
