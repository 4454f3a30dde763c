#include "command.h"

#include <stdlib.h>
#include <string.h>

/* heddle verify --capture: a captured stream by the rules of Vulkan's synchronization, in words and as pictures. */

enum { MOST_FINDINGS = 16 };

typedef struct findings {
    const char *path;
    hd_finding list[MOST_FINDINGS];
    uint32_t count;
} findings;

/* The sentence lives during the call only. */
static void take_finding(const hd_finding *finding, void *user)
{
    findings *all = user;
    fprintf(stderr, "%s: %s\n", all->path, finding->text);
    char *text = all->count < MOST_FINDINGS ? strdup(finding->text) : NULL;
    if (!text)
        return;
    all->list[all->count] = *finding;
    all->list[all->count++].text = text;
}

static bool draw(const hd_stream *stream, const findings *all, outputs *files, const char *path,
                 hd_stream_picture_format format)
{
    FILE *file = path ? open_output(files, path) : NULL;
    if (path && !file)
        return false;
    hd_result result = path ? hd_stream_picture_write(stream, all->list, all->count, format, file) : HD_OK;
    return result == HD_OK || !complain(0, "%s: %s", path, hd_result_text(result));
}

static int judge(const hd_stream *stream, const verify_capture_options *o, findings *all)
{
    outputs files = {0};
    int status = EXIT_DONE;
    hd_verify_desc desc = {.finding = take_finding, .user = all, .max_messages = MOST_FINDINGS};
    hd_result result = hd_stream_verify(stream, &desc);
    if (stream->unseen)
        complain(0, "%s: %llu calls whose accesses are not known", o->path, (unsigned long long)stream->unseen);
    if (result == HD_OK)
        printf("%s: verified: %u submits, %u commands, %u accesses, %u barriers, %u resources\n", o->path,
               stream->submit_count, stream->command_count, stream->access_count, stream->barrier_count,
               stream->resource_count);
    else if (result == HD_PLAN_INVALID)
        status = complain(EXIT_PROOF, "%s: what was captured breaks a rule of synchronization", o->path);
    else
        return complain(EXIT_INPUT, "%s: %s", o->path, hd_result_text(result));
    bool drawn = draw(stream, all, &files, o->dot, HD_STREAM_PICTURE_DOT) &&
                 draw(stream, all, &files, o->html, HD_STREAM_PICTURE_HTML);
    if (!drawn)
        drop_outputs(&files);
    else if (!commit_outputs(&files))
        drawn = false;
    return drawn ? status : EXIT_INPUT;
}

int verify_capture(const verify_capture_options *o)
{
    size_t bytes;
    char *text = read_whole_file(o->path, &bytes), error[512] = "";
    hd_stream *stream = NULL;
    findings all = {.path = o->path};
    int status = EXIT_INPUT;
    if (text && hd_stream_read(text, bytes, NULL, &stream, error, sizeof(error)) != HD_OK)
        fprintf(stderr, "%s: %s\n", o->path, error);
    if (stream && o->list)
        print_stream(stream);
    if (stream)
        status = judge(stream, o, &all);
    for (uint32_t i = 0; i < all.count; i++)
        free((char *)all.list[i].text);
    free(text);
    hd_stream_free(stream);
    return status;
}
