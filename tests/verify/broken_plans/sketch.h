/* A plan taken apart so that it can be changed: one list of what happens, in the order in which it is handed over,
 * which can be inserted into, deleted from and moved about; and its tables. Packing makes a plan again. */
#ifndef HDT_SKETCH_H
#define HDT_SKETCH_H

#include <heddle/graph.h>

typedef enum hdt_item_kind { HDT_SUBMIT, HDT_WAIT, HDT_PASS, HDT_BARRIER, HDT_SIGNAL } hdt_item_kind;

/* Waits belong before the commands of their submit, a signal behind them: elsewhere they cut it in two when packed. */
typedef struct hdt_item {
    hdt_item_kind kind;
    uint32_t index;         /* SUBMIT: queue; PASS: pass; BARRIER: number in the original plan */
    uint32_t scope;         /* PASS: of the original plan, or HD_NONE */
    bool joined;            /* BARRIER: of the same command as the item before */
    uint64_t value, stages; /* SIGNAL; SUBMIT: value is its hd_cut */
    union {
        hd_plan_wait wait;
        hd_plan_barrier barrier;
    };
} hdt_item;

typedef struct hdt_sketch {
    uint32_t pass_count, declared_resource_count;
    uint32_t queue_count, culled_count, heap_count, resource_count, scope_count, attachment_count, item_count;
    uint32_t room; /* for items */
    hd_plan_queue *queues;
    uint32_t *culled; /* room for all passes */
    hd_plan_heap *heaps;
    hd_plan_resource *resources;
    hd_plan_scope *scopes; /* only their attachments count */
    hd_plan_attachment *attachments;
    hdt_item *items;
    void *block; /* the last that was packed */
} hdt_sketch;

/* The plan has no split barriers (HD_COMMAND_SET). */
void hdt_sketch_read(hdt_sketch *sketch, const hd_plan *plan);
/* to is zeroed, or was copied to before. */
void hdt_sketch_copy(hdt_sketch *to, const hdt_sketch *from);
void hdt_sketch_free(hdt_sketch *sketch);
/* Valid until the next pack, copy or free of this sketch. */
const hd_plan *hdt_sketch_pack(hdt_sketch *sketch);

void hdt_sketch_insert(hdt_sketch *sketch, uint32_t at, hdt_item item);
void hdt_sketch_delete(hdt_sketch *sketch, uint32_t at);
/* Takes item `from` out and puts it in before what stands at `to` now. */
void hdt_sketch_move(hdt_sketch *sketch, uint32_t from, uint32_t to);
/* Of the submit that an item stands in. */
uint32_t hdt_sketch_submit(const hdt_sketch *sketch, uint32_t item);
uint32_t hdt_sketch_submit_end(const hdt_sketch *sketch, uint32_t item);
uint32_t hdt_sketch_queue(const hdt_sketch *sketch, uint32_t item);

#endif
