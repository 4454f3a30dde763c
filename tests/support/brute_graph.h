/* Private to brute*.c: the graph of sync nodes of a plan, and the state of its cells. */
#ifndef HDT_BRUTE_GRAPH_H
#define HDT_BRUTE_GRAPH_H

#include <stdio.h>

#include "cells.h"

#define HDT_NOBODY UINT32_MAX

typedef struct hdt_node {
    const hd_plan_barrier *b; /* null: a semaphore */
    uint64_t src, dst;        /* execution scopes: Src and Dst of the masks */
    uint64_t src_near, dst_near;
    uint32_t queue, command, signal; /* signal: of a wait */
    uint32_t at, out;                /* where it gathers and where it spreads: apart where an event splits a barrier */
    enum { BARRIER, WAIT, SIGNAL } kind;
    bool moves, whole; /* a transition, release or acquire; a semaphore of ALL_COMMANDS */
    bool release, acquire;
} hdt_node;

/* The last write of a cell and the reads since. Times are those of the walk. */
typedef struct hdt_state {
    uint32_t layout, owner, holder, write_use, write_node, write_time, released;
    uint32_t *reads, *read_times, read_count;
} hdt_state;

typedef struct hdt_plain {
    hdt_cells c;
    hd_plan_view p;
    hdt_node *nodes;
    uint32_t node_count;
    uint8_t *edge, *reach, *searched;
    uint32_t *pass_queue, *pass_at, *pass_scope, *submit_signal;
    uint32_t *first_node; /* command -> its first */
    uint32_t *plan_res;
    uint8_t *lost; /* by use: thrown away behind its scope */
    hdt_state *cells;
    uint32_t time;
    char *why;
    size_t why_bytes;
    bool bad;
} hdt_plain;

#define HDT_FAIL(b, ...)                                                                                               \
    do {                                                                                                               \
        if (!(b)->bad)                                                                                                 \
            snprintf((b)->why, (b)->why_bytes, __VA_ARGS__);                                                           \
        (b)->bad = true;                                                                                               \
    } while (0)

/* Masks: groups expanded; with logically earlier stages too; with later ones. */
uint64_t hdt_stages_expand(uint64_t mask);
uint64_t hdt_stages_src(uint64_t mask);
uint64_t hdt_stages_dst(uint64_t mask);
/* Everything but the walk. False, with why: as hdt_plain_nodes. Close it in either case. */
bool hdt_plain_open(hdt_plain *b, const hd_graph *graph, const hd_plan *plan, char *why, size_t bytes);
void hdt_plain_close(hdt_plain *b);
/* Whether cells of two resources share bytes. */
bool hdt_plain_overlap(const hdt_plain *b, uint32_t c, uint32_t d);
/* Makes the nodes and their edges. False: a wait names no submit before it. */
bool hdt_plain_nodes(hdt_plain *b);
/* Whether the range of node n holds the cell; global ones hold all. */
bool hdt_plain_covers(const hdt_plain *b, uint32_t n, uint32_t cell);
/* By a path of one edge or more. */
bool hdt_plain_reaches(hdt_plain *b, uint32_t x, uint32_t y);
bool hdt_plain_on_host(const hdt_plain *b, uint32_t queue);

/* The pairs: the earlier operation on a cell against the later one. Operations are uses, and nodes that move. */
void hdt_plain_uses(hdt_plain *b, uint32_t x, uint32_t cx, bool x_writes, uint32_t y, uint32_t cy);
/* Whether what x writes to cell cx is available and visible to y on cell cy. */
bool hdt_plain_sees(hdt_plain *b, uint32_t x, uint32_t cx, uint32_t y, uint32_t cy);
void hdt_plain_use_then_node(hdt_plain *b, uint32_t x, uint32_t cx, bool x_writes, uint32_t n);
void hdt_plain_node_then_use(hdt_plain *b, uint32_t n, uint32_t y, uint32_t cy);
void hdt_plain_two_nodes(hdt_plain *b, uint32_t m, uint32_t n);

#endif
