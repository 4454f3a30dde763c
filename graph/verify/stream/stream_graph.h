/* Private to stream_graph.c, stream_content.c, stream_order.c and stream_needs.c: a stream on its way to a graph. The
 * model (submits, nodes of synchronization, segments) is the verifier's; the relation of the verifier is not used. */
#ifndef HDI_STREAM_GRAPH_H
#define HDI_STREAM_GRAPH_H

#include "stream_verify.h"

/* The stream as one sequence. A barrier command, an event and a semaphore take part in two steps: what comes before
 * goes in (GATHER), what comes after goes on (SPREAD, where layouts change, too). */
enum { HDI_GSTEP_COMMAND, HDI_GSTEP_GATHER, HDI_GSTEP_SPREAD };
typedef struct hdi_gstep {
    uint32_t kind;
    uint32_t index; /* COMMAND: of the stream; else the node of the verifier */
} hdi_gstep;

/* Ends of a hazard: a use, or a node of the verifier behind all uses. */
typedef struct hdi_gpair {
    uint32_t x, y;   /* x comes first */
    uint32_t xs, ys; /* their segments: each the first one with the same barriers */
    uint32_t memory; /* x writes: what it wrote must be visible to y */
    uint32_t group;  /* segments that share bytes have one group */
    uint32_t chain;  /* what orders the pair */
} hdi_gpair;

typedef struct hdi_gtouch {
    uint32_t node, group;
} hdi_gtouch;

typedef struct hdi_gedge {
    uint32_t to, from, kind, resource;
} hdi_gedge;

typedef struct hdi_gbuild {
    hdi_cverify c;
    hdi_gstep *step;
    uint32_t step_count;
    uint32_t *command_step, *gather_step, *spread_step; /* by command; by node of the verifier */
    hd_stream_node *node;
    uint32_t node_count;
    uint32_t *command_node, *sync_node; /* command, node of the verifier -> node of the graph, HDI_NONE: none */
    uint32_t *first_group;              /* segment -> another one of its group, itself: the group's number */
    uint32_t *class_of;                 /* segment -> the first one with the same barriers */

    hdi_gedge *edge;
    uint32_t edge_count, edge_room;
    hdi_gpair *pair;
    uint32_t pair_count, pair_room;
    hdi_gtouch *touch;
    uint32_t touch_count, touch_room;
    uint32_t *via, via_count, via_room; /* nodes of the graph that order a pair */
    uint32_t *chain_begin, chain_count; /* chains + 1 */
    uint8_t *root;                      /* of nodes: HDI_GROOT_* */
} hdi_gbuild;

uint32_t hdi_graph_group(hdi_gbuild *b, uint32_t segment);
bool hdi_graph_edge(hdi_gbuild *b, uint32_t from, uint32_t to, uint32_t kind, uint32_t resource);
/* Edges of content, layouts and renderings; pairs of hazards and which node touches which group. */
hd_result hdi_graph_content(hdi_gbuild *b);
/* For each pair the nodes that order it. */
hd_result hdi_graph_order(hdi_gbuild *b);

/* What hd_stream_graph holds beside its public part. */
typedef struct hdi_stream_graph {
    hd_stream_graph view;
    hdi_arena arena;
    const hdi_gpair *pair; /* x and y are nodes of the graph */
    uint32_t pair_count;
    const hdi_gtouch *touch;
    uint32_t touch_count, group_count;
    const uint32_t *via, *chain_begin;
    const uint8_t *root;          /* nodes: HDI_GROOT_* */
    const uint32_t *submit_order; /* submits of the stream in the order of the nodes */
} hdi_stream_graph;
enum { HDI_GROOT_OUT = 1, HDI_GROOT_END = 2 }; /* the host or the display reads; content at the end of the stream */

#endif
