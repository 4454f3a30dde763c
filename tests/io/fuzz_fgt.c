#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* Any text is an error with its line, or a graph: one that can be written, read again as the same graph, and compiled.
 */

static char *write_fgt(const hd_graph *graph, size_t *bytes)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, bytes);
    HDT_FUZZ_CHECK(stream, "no stream");
    hd_result result = hd_graph_write_fgt(graph, stream);
    fclose(stream);
    HDT_FUZZ_CHECK(result == HD_OK, "what was read cannot be written: %s", hd_result_name(result));
    return text;
}

void hdt_fuzz_fgt(const uint8_t *data, size_t bytes)
{
    hd_graph *graph, *other;
    char error[700] = "";
    if (hd_graph_create(NULL, &graph) != HD_OK || hd_graph_create(NULL, &other) != HD_OK)
        hdt_fuzz_fault("no graph");
    hd_result result = hd_graph_read_fgt(graph, (const char *)data, bytes, "f", error, sizeof(error));
    HDT_FUZZ_CHECK(result == HD_OK || strncmp(error, "f:", 2) == 0, "an error without a line: %s", error);
    HDT_FUZZ_CHECK(result != HD_OUT_OF_MEMORY, "out of memory");
    if (result == HD_OK) {
        size_t first_bytes, second_bytes;
        char *first = write_fgt(graph, &first_bytes);
        result = hd_graph_read_fgt(other, first, first_bytes, "f", error, sizeof(error));
        HDT_FUZZ_CHECK(result == HD_OK, "what was written cannot be read: %s", error);
        char *second = write_fgt(other, &second_bytes);
        HDT_FUZZ_CHECK(first_bytes == second_bytes && memcmp(first, second, first_bytes) == 0,
                       "a graph changes on its way through a file");
        free(first);
        free(second);
        if (hdt_fuzz_compile(graph, hdt_fuzz_hash(data, bytes)) != HD_OK) {
            hd_graph_fgt_error(graph, "f", error, sizeof(error));
            HDT_FUZZ_CHECK(error[0], "an error without a sentence");
        }
    }
    hd_graph_destroy(graph);
    hd_graph_destroy(other);
}

HDT_FUZZ_ENTRY(hdt_fuzz_fgt)
