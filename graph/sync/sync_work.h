/* Between the files of the room: hazard.c, which cuts the work and mixes kinds of accesses, hazard_walk.c, where uses
 * become steps, hazard_states.c, which looks at resources that keep their state or that several queues use,
 * hazard_slots.c, which numbers the slots, and sync.c. */
#ifndef HDI_SYNC_WORK_H
#define HDI_SYNC_WORK_H

#include <stdatomic.h>

#include "hints.h"
#include "sync.h"

/* Kinds of accesses, and behind them those of epochs whose uses differ, which are mixed from others. Workers number
 * theirs in common. */
enum { HDI_MIXES = 16 };
typedef struct hdi_kinds {
    const hdi_kind *kind;
    const hdi_link *link; /* of each */
    hdi_kind *own; /* the same; null: they are the graph's, and those that are mixed have no place yet */
    hdi_link *own_link;
    uint32_t count, capacity;
    hdi_arena *arena;
} hdi_kinds;
/* Some of the newest that a worker mixed. */
typedef struct hdi_mixes {
    struct hdi_mix {
        uint32_t a, b, made;
    } mix[HDI_MIXES];
} hdi_mixes;

/* Sides of epochs; count: with side 0, which is none. */
typedef struct hdi_sides {
    hdi_side *side;
    uint32_t count, capacity;
    hdi_arena *arena; /* of side, where it grows, as with one worker */
} hdi_sides;

/* The next number of a count that workers share. */
static inline uint32_t hdi_next_number(uint32_t *count, bool alone)
{
    return alone ? (*count)++ : atomic_fetch_add_explicit((_Atomic(uint32_t) *)count, 1, memory_order_relaxed);
}

/* What a pass does to a segment, where it may do so by several uses: behind its slot, and the kind of them all. */
typedef struct hdi_due {
    uint32_t behind, kind;
} hdi_due;

typedef struct hdi_hazard_work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_kept *kept;
    const hdi_schedule *schedule;
    const hdi_queues *queues;
    const hdi_crew *crew;
    hdi_arena *arena;
    hdi_hazards *out;
    bool alone;     /* one worker: no other one raises a word */
    uint32_t parts; /* of the resources: one a worker */
    bool several; /* queues, the host's among them */
    uint32_t gpu_mask;
    bool several_families;
    hdi_kinds kinds;
    hdi_sides sides;
    uint16_t family_mask[HD_MAX_QUEUES]; /* of each GPU queue: those of its family */
    hdi_due *seg_due;                    /* where a pass reads in two layouts */
} hdi_hazard_work;

/* In hazard.c. Both kinds of an epoch; without memory any, and it shows in the arena. */
uint32_t hdi_mix_kinds(hdi_hazard_work *work, hdi_mixes *mixes, uint32_t a, uint32_t b);

/* In hazard_walk.c. The steps of all uses of a part of the resources. */
void hdi_walk_slots(uint32_t part, void *hazard_work);

/* In hazard_states.c. Whether readers on different queues of an exclusive resource are apart, as it changes hands. */
bool hdi_is_handed_over(const hdi_hazard_work *work, uint32_t res);
/* What is known when there are all steps: which queues share what, and what the frame leaves. Returns false without
 * memory. */
bool hdi_settle(hdi_hazard_work *work);

/* In hazard_slots.c. Places of slots on their queues. */
void hdi_place_slots(const hdi_hazard_work *work);
/* An extra slot that is asked for: before a slot of the schedule (slot_count: at the end) and on a queue. The numbers
 * of extra steps are those of what they ask for; equal ones become one slot. Numbers all slots anew, and raises what is
 * wanted of the extra ones and by them. */
typedef struct hdi_extra_ask {
    uint32_t before, queue;
} hdi_extra_ask;
hd_result hdi_add_extra_slots(const hdi_hazard_work *work, const hdi_extra_ask *ask);

/* Words behind the last row of a table by slots and queues that may be read with it. */
enum { HDI_ROW_SLACK = 4 };
/* Vector clocks (sync_clocks.c). want: what slots wait for, as in the hazards, and maybe more. */
hd_result hdi_sync_clocks(const hdi_hazards *hazards, const hdi_queues *queues, const uint32_t *want,
                          const hdi_crew *crew, hdi_arena *arena, hdi_synced *out);

/* In a table like slot_want: a slot waits for at least `count` slots. alone: no other worker writes to the table. */
static inline void hdi_raise_want(uint32_t *word, uint32_t count, bool alone)
{
    if (alone) {
        *word = count > *word ? count : *word;
        return;
    }
    _Atomic(uint32_t) *shared = (_Atomic(uint32_t) *)word;
    uint32_t now = atomic_load_explicit(shared, memory_order_relaxed);
    while (count > now &&
           !atomic_compare_exchange_weak_explicit(shared, &now, count, memory_order_relaxed, memory_order_relaxed))
        continue;
}
/* `to` waits for `from`. */
static inline void hdi_want(const hdi_hazards *hazards, uint32_t queues, uint32_t *want, uint32_t from, uint32_t to,
                            bool alone)
{
    hdi_raise_want(&want[(size_t)to * queues + hazards->slot_queue[from]], hazards->slot_pos[from] + 1, alone);
}

#endif
