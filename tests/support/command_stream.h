/* Random streams of commands for one queue, which no compiler made: copies, fills, clears, blits and dispatches over a
 * few buffers and images, barriers with random masks, submits with signals and waits on the queue's timeline. One
 * stream is judged three ways: as a graph and a plan, by the verifier and by the plain graph; recorded, by a validation
 * layer. Layouts are always right (they follow from the stream), so that order and memory are all there is to judge. */
#ifndef HDT_COMMAND_STREAM_H
#define HDT_COMMAND_STREAM_H

#include <heddle/graph.h>
#include <heddle/vk.h>

#include "vk_fixture.h"

enum {
    HDT_BUFFERS = 3,
    HDT_IMAGES = 2,
    HDT_RESOURCES = HDT_BUFFERS + HDT_IMAGES,
    HDT_MOST_ITEMS = 32,
    HDT_MOST_USES = 3
};
enum { HDT_STREAM_BYTES = 1024, HDT_STREAM_SIDE = 16 };

typedef enum hdt_op {
    HDT_FILL,       /* b */
    HDT_UPDATE,     /* b; as vkCmdUpdateBuffer */
    HDT_COPY,       /* a to b, buffers */
    HDT_COPY_OUT,   /* image a to buffer b */
    HDT_COPY_IN,    /* buffer a to image b */
    HDT_COPY_IMAGE, /* image a to image b */
    HDT_CLEAR,      /* image b */
    HDT_BLIT,       /* image a to image b */
    HDT_DISPATCH,   /* reads buffer a, writes buffer b */
    HDT_INDIRECT,   /* the same, with counts from buffer c */
    HDT_OP_COUNT
} hdt_op;

/* Halves of buffers: 0 the whole, 1 the first, 2 the second. */
typedef struct hdt_element {
    uint64_t src_stages, src_access, dst_stages, dst_access;
    uint32_t resource; /* HD_NONE: global */
    uint32_t half, layout;
} hdt_element;

typedef struct hdt_stream_item {
    enum { HDT_STREAM_OP, HDT_STREAM_BARRIER, HDT_STREAM_CUT } kind;
    hdt_op op;
    uint32_t a, b, c, half_a, half_b;
    uint32_t element_count;
    hdt_element element[2];
    /* CUT: ends a submit and begins the next. id: of its signal, 0 none. wait: for the signal with that id, 0 none. */
    uint32_t id, wait;
    uint64_t signal_stages, wait_stages;
} hdt_stream_item;

typedef struct hdt_stream {
    uint32_t count;
    hdt_stream_item item[HDT_MOST_ITEMS];
} hdt_stream;

void hdt_stream_make(hdt_stream *stream, uint64_t seed, bool shaders);
/* One use of an operation. */
typedef struct hdt_stream_use {
    uint32_t resource, half, layout; /* layout: 0 buffers, else where it must be one of GENERAL and this */
    uint64_t stage, access;
    bool writes;
} hdt_stream_use;
uint32_t hdt_stream_uses(const hdt_stream_item *item, hdt_stream_use uses[HDT_MOST_USES]);
/* Layout of each image before each item; false: the stream makes no sense (a layout that an operation cannot have, a
 * wait without a signal, a signal with two waits, a barrier on what no operation uses). */
typedef uint32_t hdt_layouts[HDT_MOST_ITEMS + 1][HDT_RESOURCES];
bool hdt_stream_layouts(const hdt_stream *stream, hdt_layouts layouts);

/* Declares it in graph and makes its plan, freed by free. fill_copies: what fills and updates buffers does it in the
 * COPY stage, as some layers have it. */
hd_plan *hdt_stream_plan(const hdt_stream *stream, hd_graph *graph, bool fill_copies);
void hdt_stream_print(const hdt_stream *stream, FILE *out);

/* ---- recorded ---- */

typedef struct hdt_player hdt_player;
/* Null: no device, or no layer; why gets the reason. */
hdt_player *hdt_player_open(char *why, size_t bytes);
void hdt_player_close(hdt_player *player);
bool hdt_player_shaders(const hdt_player *player);
/* The layer has what fills and updates buffers in the COPY stage, as before 1.3.280 (its pull request 7543). */
bool hdt_player_fill_copies(const hdt_player *player);
/* Records and submits it, waits. How many hazards the layer reported; text gets the first. others: messages of other
 * kinds so far. */
uint32_t hdt_play(hdt_player *player, const hdt_stream *stream, char *text, size_t bytes, uint32_t *others);

#endif
