/* A captured stream as the verifier of plans sees it. The relation "finished before" (verify_order.c), segments and
 * masks are the plan verifier's. What a stream means, the order of its submits, and its states are found here. */
#ifndef HDI_STREAM_VERIFY_H
#define HDI_STREAM_VERIFY_H

#include "stream.h"
#include "verify.h"

/* State of a segment while the stream is walked. Lists of accesses go through hdi_cverify.entry. */
typedef struct hdi_cseg {
    uint32_t layout, owner; /* HDI_NONE: not known */
    uint32_t writes, reads; /* entries: last writes (several where they need no order among themselves) */
    uint32_t write_node;    /* or the last transition or transfer */
    uint32_t released;      /* release node under way, or HDI_NONE */
    bool defined, tenant;
    uint32_t parts; /* boxes whose content was written, or lost, since defined was set; the newest first */
} hdi_cseg;

typedef struct hdi_cpart {
    hd_stream_box box;
    uint32_t next;
    bool defined;
} hdi_cpart;

typedef struct hdi_cverify {
    hdi_verify v; /* d, p, segments, nodes: rebuilt from the stream */
    const hd_stream *s;
    const hd_verify_desc *desc;
    uint32_t messages, limit;
    bool bad, stop;
    hd_finding found; /* what the next sentence is about */

    uint32_t *sub;                     /* plan submit -> submit of the stream, HDI_NONE: one that was made up */
    uint32_t *command_of;              /* plan command -> command of the stream */
    uint32_t *access_of, *use_command; /* use -> access, command of the stream */
    uint32_t *command_submit;          /* command of the stream -> submit of the stream */
    uint32_t *wait_sync;               /* plan wait -> sync of the stream, HDI_NONE: made up */
    uint32_t *signal_sync; /* plan submit -> sync of the stream that it signals, HDI_NONE: none, or made up */
    uint32_t *order;       /* plan submits in a topological order */
    uint32_t order_count;
    hdi_cseg *seg;
    hdi_vlink *entry;
    uint32_t entry_count, entry_room;
    hdi_cpart *part;
    uint32_t part_count, part_room;
    uint64_t *said; /* keys of what was said; a table of a power of two places, 0: free */
    uint32_t said_count, said_room;
    uint32_t *alias_begin, *alias;
} hdi_cverify;

/* Hands out a message, unless the same words were handed out before. */
void hdi_cverify_fail(hdi_cverify *c, const char *format, ...) HDI_PRINTF(2, 3);
/* Of a use, or a node where use is HDI_NONE; both: of nothing. */
hd_verify_place hdi_cverify_place(const hdi_cverify *c, uint32_t use, uint32_t node);
/* Whether something with this key was said; it counts as said from now on. Then only the verdict is to be set. */
bool hdi_cverify_said(hdi_cverify *c, uint64_t key);

/* ---- stream_box.c ---- */
bool hdi_box_meets(const hd_stream_box *a, const hd_stream_box *b);
bool hdi_box_holds(const hd_stream_box *outer, const hd_stream_box *inner);
/* Content of a segment. define: that of a box becomes defined or undefined. defined: a box is defined when all of its
 * texels are; an access without a box when any texel is, as the stream does not say which texels it reads. */
hd_result hdi_cverify_define(hdi_cverify *c, hdi_cseg *seg, const hd_stream_box *box, bool defined);
bool hdi_cverify_defined(const hdi_cverify *c, const hdi_cseg *seg, const hd_stream_box *box);

/* Builds v: declaration, plan, segments, nodes, order. */
hd_result hdi_cverify_build(hdi_cverify *c);
hd_result hdi_cverify_aliases(hdi_cverify *c);
void hdi_cverify_masks(hdi_cverify *c);
hd_result hdi_cverify_walk(hdi_cverify *c);

/* "vkCmdCopyBuffer of 'pass' (command 12 of submit 3, queue 1, frame 0)"; a text of its own for each slot. */
typedef struct hdi_ctext {
    char text[192];
} hdi_ctext;
const char *hdi_cverify_command(const hdi_cverify *c, uint32_t command, hdi_ctext *out);
const char *hdi_cverify_node(const hdi_cverify *c, uint32_t node, hdi_ctext *out);
const char *hdi_cverify_resource(const hdi_cverify *c, uint32_t resource, hdi_ctext *out);

#endif
