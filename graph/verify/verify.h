/* Private to graph/verify*.c: the model of a plan that the verifier replays. Shares no code with the compile phases. */
#ifndef HDI_VERIFY_H
#define HDI_VERIFY_H

#include "alloc.h"
#include "tables.h"

#define HV_STAGE(bit) (UINT64_C(1) << (bit))
enum { /* bits of VkPipelineStageFlags2, and two of ours for layout transitions, which have no stage */
       HV_TOP = 0,
       HV_DRAW_INDIRECT = 1,
       HV_VERTEX_INPUT = 2,
       HV_COMPUTE = 11,
       HV_TRANSFER = 12,
       HV_BOTTOM = 13,
       HV_HOST = 14,
       HV_ALL_GRAPHICS = 15,
       HV_ALL_COMMANDS = 16,
       HV_INDEX_INPUT = 36,
       HV_ATTRIBUTE_INPUT = 37,
       HV_PRE_RASTERIZATION = 38,
       HV_LAST_STAGE = 48,
       HV_INTO = 62, /* a semaphore wait of ALL_COMMANDS spreads here, transitions gather from it */
       HV_OUT = 63,  /* transitions spread here, a semaphore signal of ALL_COMMANDS gathers from it */
};
#define HV_HOST_READ UINT64_C(0x2000)
#define HV_HOST_WRITE UINT64_C(0x4000)

enum { HV_BARRIER, HV_WAIT, HV_SIGNAL };
enum { HV_TRANSITION = 1, HV_RELEASE = 2, HV_ACQUIRE = 4 };

/* One sync node: an element of a barrier command, a semaphore wait, or a signal. near: the masks with groups expanded
 * (memory scopes); far: with logically earlier or later stages too (execution scopes). */
typedef struct hdi_vnode {
    uint64_t src_near, src_far, dst_near, dst_far, src_access, dst_access;
    uint32_t queue, submit, command, barrier, resource;
    uint32_t spread_end; /* the first node of its queue that can come after it; HDI_NONE: none can */
    uint8_t kind, flags;
    bool spread; /* the walk has passed it */
} hdi_vnode;

#define HV_INITIAL (UINT32_MAX - 1) /* content from before the frame */

/* State of a segment while the plan is walked. */
typedef struct hdi_vseg {
    uint32_t layout, owner, holder; /* family; pass, HV_INITIAL or HDI_NONE: undefined */
    uint32_t write_use, write_node; /* the last write: a use or a transition, HDI_NONE each */
    uint32_t reads;                 /* uses that read since: list in hdi_verify.read */
    uint32_t released;              /* release node under way, or HDI_NONE */
    uint32_t lost_node, lost_layout; /* the transition that threw content away, and from which layout; or HDI_NONE */
    uint32_t lost_use;               /* the attachment that was not stored, or HDI_NONE */
    bool tenant;                    /* no alias has written since the segment's last write */
    bool displaced;                 /* an alias took its content */
} hdi_vseg;

/* A use in a list of uses, or a unit in one of units. */
typedef struct hdi_vlink {
    uint32_t use, next; /* index of the next one, or HDI_NONE */
} hdi_vlink;

/* A unit takes its bytes of a heap as a whole: a segment of a buffer, or an image. */
typedef struct hdi_vunit {
    uint32_t resource, seg_begin, seg_end;
    uint32_t cell[2]; /* begin and end */
    uint32_t rivals;  /* list in hdi_verify.read: the units that it displaced last */
    bool holds;       /* it took its bytes, and no unit has displaced it since */
} hdi_vunit;

typedef struct hdi_verify {
    hdi_decl d;
    hd_plan_view p;
    const hd_verify_desc *desc;
    hdi_arena arena;
    uint32_t messages, limit;
    bool bad, stop;
    hd_finding found; /* what the next message is about */

    uint32_t *plan_res;                             /* res -> index in p.resources or HDI_NONE */
    uint32_t *use_pass;                             /* use -> pass */
    uint32_t *pass_queue, *pass_submit, *pass_command; /* where a pass stands */
    uint32_t *pass_next;                               /* first node on its queue after it */
    uint8_t *kept;
    uint8_t *res_used;   /* by kept passes */
    uint8_t *use_lost;   /* what the use writes is thrown away behind its scope */
    uint32_t *use_scope; /* scope that a use is an attachment of, or HDI_NONE */

    uint32_t *seg_begin; /* res_count + 1 */
    uint8_t *res_aspects; /* 2: depth and stencil apart, each a row at every piece of axis 0; else 1 */
    uint32_t *cut_begin; /* 2 * res_count + 1: axis 0 (mips, or bytes) and axis 1 (layers) */
    uint64_t *cut;       /* ends included: n + 1 values for n pieces */
    uint32_t seg_count;
    hdi_vseg *seg;
    uint32_t *use_order;    /* uses, each segment's in the order in which it goes through them */
    uint32_t *pass_order;   /* passes, conflicting ones in the order that their uses ask for */
    uint32_t *expect_begin; /* use_count + 1 */
    uint32_t *expect;       /* holder that each use must see, per segment of its range */
    uint32_t *final_holder; /* per segment */
    /* Which unit owns which bytes of the heaps (verify_tenant.c). */
    uint32_t *unit_begin; /* res_count + 1 */
    struct hdi_vunit *unit;
    uint32_t cell_count, *run_unit; /* by the first cell of a run: its unit, HDI_NONE: none */
    uint64_t *run_start;            /* cells in which runs begin */

    uint32_t node_count;
    hdi_vnode *node;
    uint32_t *queue_node; /* queue_count + 1 */
    uint32_t *command_node, *submit_signal, *wait_node;
    uint32_t *wait_signal; /* plan wait -> submit whose signal it waits for */
    uint32_t *signal_wait, *next_wait; /* submit -> its first wait, HDI_NONE: none; wait -> next one of its signal */
    uint32_t *seg_node_begin, *seg_node;

    uint64_t rep;           /* representative stages */
    uint8_t stage_slot[64]; /* representative -> row */
    uint32_t slots;
    uint64_t *use_stage;                /* per access: representative stages */
    uint32_t *kind_begin, *access_kind; /* per access: (stage, access bit) pairs, those that count */
    uint64_t *kind_stage, *kind_bit;
    uint32_t kinds;
    /* Rows of the relation (verify_order.c): row_words = queue_count x columns; a queue's columns are the slots of
     * stages, then the kinds that write. */
    uint32_t columns, row_words;
    uint32_t *kind_column; /* HDI_NONE: a kind that reads */
    uint32_t *pred;        /* node_count rows */
    uint32_t *reach;       /* queue x slot rows */
    uint32_t *seen;        /* queue x kind rows: nodes whose memory is visible */
    uint32_t *row;         /* scratch */
    uint32_t queue_at[HD_MAX_QUEUES]; /* the first node of each queue that the walk has not come to */
    /* What host queues see: barriers to HOST in to_host, those of queue q from to_host_begin[q] on. By host queue: how
     * far of each queue they are shown, which are shown (a bit a node), and the row of these. */
    uint32_t to_host_begin[HD_MAX_QUEUES + 1], *to_host, *host_at;
    uint64_t *host_shown[HD_MAX_QUEUES];
    uint32_t *host_row[HD_MAX_QUEUES];

    hdi_vlink *read;
    uint32_t read_count, read_capacity;
} hdi_verify;

/* Hands out a message with the finding that was noted before in v->found, and forgets that one. */
void hdi_verify_fail(hdi_verify *v, uint32_t rule, const char *format, ...) HDI_PRINTF(3, 4);
const char *hdi_verify_pass_name(const hdi_verify *v, uint32_t pass);
const char *hdi_verify_res_name(const hdi_verify *v, uint32_t res);

void hdi_verify_structure(hdi_verify *v);
hd_result hdi_verify_placement(hdi_verify *v);
hd_result hdi_verify_model(hdi_verify *v);
hd_result hdi_verify_versions(hdi_verify *v);
hd_result hdi_verify_cull(hdi_verify *v);
hd_result hdi_verify_scopes(hdi_verify *v);
hd_result hdi_verify_nodes(hdi_verify *v);
hd_result hdi_verify_walk(hdi_verify *v);

hd_result hdi_verify_units(hdi_verify *v);
uint32_t hdi_verify_unit(const hdi_verify *v, uint32_t res, uint32_t seg); /* HDI_NONE: in no heap */
uint32_t hdi_verify_holder(const hdi_verify *v, uint32_t cell);            /* the unit, HDI_NONE: none */
/* A unit takes its bytes: the units that owned them lose them and their content. Returns the head of a list in v->read:
 * the units whose accesses must be finished before. */
uint32_t hdi_verify_take(hdi_verify *v, uint32_t unit);

/* Notes for the next message: the pass, use, node or wait that it is about, and the change that would help. */
hd_verify_place hdi_verify_pass_place(const hdi_verify *v, uint32_t pass);
hd_verify_place hdi_verify_use_place(const hdi_verify *v, uint32_t use);
hd_verify_place hdi_verify_node_place(const hdi_verify *v, uint32_t node);
hd_verify_place hdi_verify_wait_place(uint32_t wait, uint32_t submit, uint32_t queue);
void hdi_verify_forget(hdi_verify *v);
void hdi_verify_about(hdi_verify *v, hd_verify_place first, hd_verify_place second, uint32_t res, uint32_t other_res);
void hdi_verify_repair_text(const hdi_verify *v, const hd_repair *repair, char *text, size_t bytes);

/* Two that conflict: uses (x, y) or nodes (xn, yn), HDI_NONE for the other kind, on these segments. */
typedef struct hdi_vpair {
    uint32_t x, xn, xs, y, yn, ys;
    bool memory; /* the first writes */
} hdi_vpair;
/* Shortest repairs, into v->found.repair. */
void hdi_verify_mend_pair(hdi_verify *v, const hdi_vpair *pair);
void hdi_verify_mend_layout(hdi_verify *v, uint32_t use, uint32_t seg, uint32_t layout);
void hdi_verify_mend_owner(hdi_verify *v, uint32_t use, uint32_t node, uint32_t seg);
void hdi_verify_mend_old_layout(hdi_verify *v, uint32_t node, uint32_t seg);
void hdi_verify_mend_content(hdi_verify *v, uint32_t res, uint32_t seg);
void hdi_verify_mend_wait(hdi_verify *v, uint32_t wait, uint32_t submit);
void hdi_verify_mend_place(hdi_verify *v, uint32_t entry, uint64_t bytes, uint64_t alignment);
void hdi_verify_mend_end(hdi_verify *v, uint32_t res, uint32_t seg, uint32_t layout);
void hdi_verify_change(hdi_verify *v, uint32_t barrier, const hd_plan_barrier *to);

/* Segments of a range: calls for each. */
typedef struct hdi_vrect {
    uint32_t base, a0, a1, step, b0, b1, stride;
} hdi_vrect;
hdi_vrect hdi_verify_rect(const hdi_verify *v, uint32_t res, const hd_range *range);
hdi_vrect hdi_verify_use_rect(const hdi_verify *v, uint32_t use);
#define HV_EACH_SEG(rect, s)                                                                                           \
    for (hdi_vrect hv_r = (rect), *hv_once = &hv_r; hv_once; hv_once = NULL)                                           \
        for (uint32_t hv_a = hv_r.a0; hv_a < hv_r.a1; hv_a += hv_r.step)                                               \
            for (uint32_t hv_b = hv_r.b0, s = hv_r.base + hv_a * hv_r.stride + hv_b; hv_b < hv_r.b1; hv_b++, s++)

/* Order. A set of nodes: those before a node, or before a stage of a queue, or whose memory a kind of access sees. */
typedef struct hdi_vset {
    const uint32_t *row;
    uint32_t queue, node, stage, kind; /* HDI_NONE where the set is of another sort */
} hdi_vset;
hdi_vset hdi_verify_before_node(const hdi_verify *v, uint32_t n);
hdi_vset hdi_verify_before_stage(const hdi_verify *v, uint32_t queue, uint64_t stage); /* of the lowest one */
hdi_vset hdi_verify_seen_by_kind(const hdi_verify *v, uint32_t queue, uint32_t kind);
bool hdi_verify_is_in(const hdi_verify *v, const hdi_vset *set, uint32_t node);
/* Whether the set has a node of the queue, from begin on, that waits for the lowest of the stages. */
bool hdi_verify_leaves(const hdi_verify *v, const hdi_vset *set, uint32_t queue, uint64_t stage, uint32_t begin);
bool hdi_verify_on_segment(const hdi_verify *v, uint32_t node, uint32_t seg);
uint64_t hdi_verify_expand(uint64_t stages);
uint64_t hdi_verify_src(uint64_t stages);
uint64_t hdi_verify_dst(uint64_t stages);
bool hdi_verify_access_meets(uint64_t mask, uint64_t bit);
uint64_t hdi_verify_access_stages(uint64_t bit);
uint64_t hdi_verify_queue_stages(uint32_t kind);
/* The walk goes through a barrier or signal by gather, a wait by follow, then a barrier or wait by spread. */
void hdi_verify_gather(hdi_verify *v, uint32_t node);
void hdi_verify_follow(hdi_verify *v, uint32_t wait, uint32_t signal);
void hdi_verify_spread(hdi_verify *v, uint32_t node);
bool hdi_verify_use_before_use(const hdi_verify *v, uint32_t x, uint32_t y);
bool hdi_verify_use_before_node(const hdi_verify *v, uint32_t x, uint32_t node);
bool hdi_verify_node_before_use(const hdi_verify *v, uint32_t node, uint32_t y);
bool hdi_verify_node_before_node(const hdi_verify *v, uint32_t a, uint32_t b);
bool hdi_verify_memory_to_use(const hdi_verify *v, uint32_t x, uint32_t x_node, uint32_t x_seg, uint32_t y,
                              uint32_t y_seg);
bool hdi_verify_memory_to_node(const hdi_verify *v, uint32_t x, uint32_t x_seg, uint32_t node);
/* Whether something that made x (a use, or x none: the node x_node) available lies in set, or is the node self. */
bool hdi_verify_available(const hdi_verify *v, uint32_t x, uint32_t x_node, uint32_t x_seg, uint32_t kind,
                          const hdi_vset *set, uint32_t self);
/* The same for all that use x writes, on the way to use y: whether visibility is all that lacks. */
bool hdi_verify_available_to(const hdi_verify *v, uint32_t x, uint32_t x_seg, uint32_t y);
bool hdi_verify_write_bit(uint64_t bit);
void hdi_verify_bytes(const hdi_verify *v, uint32_t res, uint32_t seg, uint64_t *begin, uint64_t *end);

#endif
