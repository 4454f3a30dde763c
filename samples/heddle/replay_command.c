#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <heddle/replay.h>

#include "lavapipe.h"
#ifdef HEDDLE_HAS_PNG
#include "picture.h"
#endif

/* heddle replay: runs a captured stream on a device, and looks whether it leaves what the capture saw. */

typedef struct options {
    const char *file, *pictures, *device;
    bool check, validate;
} options;

typedef struct look {
    const options *o;
    const hd_stream *stream;
    unsigned messages, pictures;
    bool failed; /* a picture could not be written */
} look;

static void print_place(const look *l, const hd_replay_content *content, FILE *file)
{
    const hd_stream *s = l->stream;
    const hd_stream_command *command = &s->commands[content->command];
    fprintf(file, "%u:%u  %s", content->submit, content->command - s->submits[content->submit].command_begin,
            s->strings[command->name]);
    if (content->resource == HD_NONE)
        return;
    const hd_stream_resource *resource = &s->resources[content->resource];
    fprintf(file, " of %s %u '%s'", resource->aspects ? "image" : "buffer", content->resource,
            resource->name == HD_NONE ? "" : s->strings[resource->name]);
}

#ifdef HEDDLE_HAS_PNG
/* VkFormats of four bytes a texel. */
static bool is_rgba(uint32_t format)
{
    return format >= VK_FORMAT_R8G8B8A8_UNORM && format <= VK_FORMAT_R8G8B8A8_SRGB;
}
static bool is_bgra(uint32_t format)
{
    return format >= VK_FORMAT_B8G8R8A8_UNORM && format <= VK_FORMAT_B8G8R8A8_SRGB;
}

static void write_picture(look *l, const hd_replay_content *content)
{
    char path[PATH_MAX];
    size_t texels = (size_t)content->width * content->height;
    const uint8_t *from = content->bytes;
    if (!texels || !(is_rgba(content->format) || is_bgra(content->format)))
        return;
    int length = snprintf(path, sizeof(path), "%s/%06u-%02u.png", l->o->pictures, content->submit,
                          content->command - l->stream->submits[content->submit].command_begin);
    uint8_t *rgba = length < (int)sizeof(path) ? malloc(texels * 4) : NULL;
    bool swap = is_bgra(content->format);
    for (size_t i = 0; i < texels && rgba; i++) {
        rgba[4 * i] = from[4 * i + (swap ? 2 : 0)];
        rgba[4 * i + 1] = from[4 * i + 1];
        rgba[4 * i + 2] = from[4 * i + (swap ? 0 : 2)];
        rgba[4 * i + 3] = from[4 * i + 3];
    }
    if (rgba && kit_png_write(path, rgba, content->width, content->height))
        l->pictures++;
    else
        l->failed = complain(1, "%s: %s", path, hd_result_text(HD_IO));
    free(rgba);
}
#endif

static void take_content(const hd_replay_content *content, void *user)
{
    look *l = user;
    if (l->o->check && content->hash != content->captured_hash) {
        print_place(l, content, stderr);
        fprintf(stderr, ": %llu bytes have the hash %016llx, those of the capture %016llx\n",
                (unsigned long long)content->byte_count, (unsigned long long)content->hash,
                (unsigned long long)content->captured_hash);
    }
#ifdef HEDDLE_HAS_PNG
    if (l->o->pictures && !l->failed)
        write_picture(l, content);
#endif
}

static void take_message(const char *text, void *user)
{
    look *l = user;
    l->messages++;
    complain(0, "%s: %s", l->o->file, text);
}

static int replay(const hd_stream *stream, const options *o)
{
    look l = {.o = o, .stream = stream};
    hd_replay_report report;
    hd_replay_desc desc = {
        .device = o->device, .validate = o->validate, .message = take_message, .content = take_content, .user = &l};
    avoid_lavapipe_threads();
    hd_result result = hd_replay(stream, &desc, &report);
    if (result != HD_OK)
        return l.messages ? EXIT_INPUT : complain(EXIT_INPUT, "%s: %s", o->file, hd_result_text(result));
    printf("%s: replayed: %u submits, %u commands, %u contents", o->file, report.submits, report.commands,
           report.contents);
    if (o->check)
        printf(", %u different", report.different);
    if (o->pictures)
        printf(", %u pictures", l.pictures);
    puts(report.contents ? "" : ": there is nothing to compare");
    if (l.failed)
        return EXIT_INPUT;
    return o->check && report.different ? EXIT_PROOF : EXIT_DONE;
}

static int parse(int argc, char **argv, options *o)
{
    static const struct option longs[] = {{"check", no_argument, NULL, 'c'},
                                          {"pictures", required_argument, NULL, 'p'},
                                          {"device", required_argument, NULL, 'd'},
                                          {"validate", no_argument, NULL, 'v'},
                                          {0}};
    int option;
    while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        if (option == 'c')
            o->check = true;
        else if (option == 'p')
            o->pictures = optarg;
        else if (option == 'd')
            o->device = optarg;
        else if (option == 'v')
            o->validate = true;
        else
            return complain_option(argv, option);
    }
    if (argc - optind != 1)
        return complain(EXIT_COMMAND_LINE, "replay takes one FILE; see heddle --help");
    o->file = argv[optind];
#ifndef HEDDLE_HAS_PNG
    if (o->pictures)
        return complain(EXIT_INPUT, "replay --pictures: this build has no libpng");
#endif
    return EXIT_DONE;
}

/* errno says why not. */
static bool make_folder(const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0)
        return true;
    if (errno != EEXIST || stat(path, &info) != 0)
        return false;
    errno = ENOTDIR;
    return S_ISDIR(info.st_mode);
}

int replay_command(int argc, char **argv)
{
    options o = {0};
    size_t bytes;
    char error[512] = "";
    hd_stream *stream = NULL;
    int status = parse(argc, argv, &o);
    if (status != EXIT_DONE)
        return status;
    char *text = read_whole_file(o.file, &bytes);
    if (!text)
        return EXIT_INPUT;
    hd_result result = hd_stream_read(text, bytes, NULL, &stream, error, sizeof(error));
    free(text);
    if (result != HD_OK)
        return complain(EXIT_INPUT, "%s: %s", o.file, error[0] ? error : hd_result_text(result));
    if (!o.pictures || make_folder(o.pictures))
        status = replay(stream, &o);
    else
        status = complain(EXIT_INPUT, "%s: %s", o.pictures, strerror(errno));
    hd_stream_free(stream);
    return status;
}
