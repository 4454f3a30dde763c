/* What a captured stream leaves in memory, as a model: every resource is cut into cells that no access splits, each
 * cell has a number that says which commands made it, and commands are executed one after another in the order of the
 * graph's nodes. Shares nothing with the graph but that order. */
#ifndef HDT_STREAM_CONTENT_H
#define HDT_STREAM_CONTENT_H

#include <stdbool.h>

#include <heddle/stream.h>

typedef struct hdt_content {
    uint64_t *seen;  /* by node: what it read, and the layouts that it met; 0: what it read was not defined */
    uint64_t **left; /* by node, of commands: the cells that it wrote; 0: not defined */
    uint32_t *left_count;
    uint64_t *shown; /* by node: what the host or the display read by a command; 0: nothing, or it was not defined */
    uint64_t out;    /* what barriers handed to the display */
    uint64_t *cells; /* what stands at the end; 0: not defined */
    uint64_t *layouts;
    uint32_t cell_count, node_count;
} hdt_content;

/* The nodes with keep[node] alone are executed. */
hdt_content hdt_content_of(const hd_stream *stream, const hd_stream_graph *graph, const uint8_t *keep);
void hdt_content_free(hdt_content *content);
/* What a node read and what it left, where it was defined in whole. */
bool hdt_content_same(const hdt_content *whole, const hdt_content *part, uint32_t node);
/* What the host and the display saw, where it was defined in whole. */
bool hdt_content_shows(const hdt_content *whole, const hdt_content *part);
/* What is defined at the end of whole stands at the end of part, too. */
bool hdt_content_stays(const hdt_content *whole, const hdt_content *part);
/* node_count x node_count, to * node_count + from: whether the one reads what the other wrote. The caller frees it. */
uint8_t *hdt_content_edges(const hd_stream *stream, const hd_stream_graph *graph);

#endif
