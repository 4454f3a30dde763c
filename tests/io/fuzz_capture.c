#include <heddle/capture.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* Any text is an error with a sentence, or a stream: one that can be verified, written, and read again as the same
 * stream with the same verdict; and made smaller, by its graph, to a stream that can be written, too. */

static char *write_stream(const hd_stream *stream, size_t *bytes)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, bytes);
    HDT_FUZZ_CHECK(file, "no stream");
    hd_result result = hd_stream_write(stream, file);
    fclose(file);
    HDT_FUZZ_CHECK(result == HD_OK, "what was read cannot be written: %s", hd_result_name(result));
    return text;
}

static void count(const char *text, void *user)
{
    unsigned *messages = user;
    HDT_FUZZ_CHECK(text[0], "an empty finding");
    ++*messages;
}

static unsigned verify(const hd_stream *stream)
{
    unsigned messages = 0;
    hd_result result =
        hd_stream_verify(stream, &(hd_verify_desc){.message = count, .user = &messages, .max_messages = 100});
    HDT_FUZZ_CHECK(result == HD_OK || result == HD_PLAN_INVALID, "verifying ends with %s", hd_result_name(result));
    HDT_FUZZ_CHECK((result == HD_OK) == (messages == 0), "a verdict without a finding, or the other way round");
    return messages;
}

static void make_smaller(const hd_stream *stream)
{
    hd_stream_graph *graph = NULL;
    hd_stream *smaller = NULL;
    size_t bytes;
    hd_result result = hd_stream_graph_build(stream, NULL, &graph);
    HDT_FUZZ_CHECK(result == HD_OK, "no graph: %s", hd_result_name(result));
    uint8_t *keep = calloc(graph->node_count + 1, 1);
    HDT_FUZZ_CHECK(keep, "no memory");
    keep[graph->node_count / 2] = 1;
    result = hd_stream_graph_needs(graph, keep);
    HDT_FUZZ_CHECK(result == HD_OK, "needs: %s", hd_result_name(result));
    result = hd_stream_graph_reduce(stream, graph, keep, &smaller);
    HDT_FUZZ_CHECK(result == HD_OK, "not made smaller: %s", hd_result_name(result));
    free(write_stream(smaller, &bytes));
    hd_stream_free(smaller);
    hd_stream_graph_free(graph);
    free(keep);
}

void hdt_fuzz_capture(const uint8_t *data, size_t bytes)
{
    hd_stream *stream, *again;
    char error[300] = "";
    hd_result result = hd_stream_read((const char *)data, bytes, NULL, &stream, error, sizeof(error));
    HDT_FUZZ_CHECK(result == HD_OK || (result == HD_PARSE && error[0]), "%s: %s", hd_result_name(result), error);
    if (result != HD_OK)
        return;
    unsigned messages = verify(stream);
    size_t first_bytes, second_bytes;
    char *first = write_stream(stream, &first_bytes);
    result = hd_stream_read(first, first_bytes, NULL, &again, error, sizeof(error));
    HDT_FUZZ_CHECK(result == HD_OK, "what was written cannot be read: %s", error);
    char *second = write_stream(again, &second_bytes);
    HDT_FUZZ_CHECK(first_bytes == second_bytes && memcmp(first, second, first_bytes) == 0,
                   "a stream changes on its way through a file");
    HDT_FUZZ_CHECK(verify(again) == messages, "the verdict changes on its way through a file");
    make_smaller(stream);
    free(first);
    free(second);
    hd_stream_free(stream);
    hd_stream_free(again);
}

HDT_FUZZ_ENTRY(hdt_fuzz_capture)
