/* Between hazard.c, which counts and cuts, hazard_epochs.c, where uses become epochs, hazard_one.c, where they become
 * steps of one queue, hazard_regions.c, where several workers find these, hazard_kinds.c, which says what accesses ask
 * for, hazard_states.c, which looks at resources that several queues use or that keep their state, hazard_steps.c,
 * which places the steps between their epochs, and hazard_slots.c, which numbers the slots. */
#ifndef HDI_HAZARD_WORK_H
#define HDI_HAZARD_WORK_H

#include <stdatomic.h>

#include "phases.h"

/* Extra slots, chained by the slot that they stand before (slot_count: at the end). */
typedef struct hdi_extra {
    uint32_t queue, next; /* of the same slot, HDI_NONE: none */
} hdi_extra;
typedef struct hdi_extras {
    uint32_t *at; /* newest of each slot, slot_count + 1 of them; null without extra slots */
    hdi_extra *extra;
    uint32_t count, capacity;
} hdi_extras;

/* Kinds of accesses, and behind them those of epochs whose uses differ, which are mixed from others. */
enum { HDI_MIXES = 16 };
typedef struct hdi_kinds {
    const hdi_kind *kind;
    const hdi_link *link; /* of each */
    hdi_kind *own; /* the same; null: they are the graph's, and those that are mixed have no place yet */
    hdi_link *own_link;
    uint32_t count, capacity;
    hdi_arena *arena; /* null: it does not grow */
    struct hdi_mix {
        uint32_t a, b, made;
    } mix[HDI_MIXES]; /* some of the newest */
} hdi_kinds;

/* What a pass does to a segment, where it may do so by several uses: behind its slot, and the kind of them all. */
typedef struct hdi_due {
    uint32_t behind, kind;
} hdi_due;

/* A use where it stands in the schedule. */
typedef struct hdi_record {
    uint32_t use, slot;
} hdi_record;

typedef struct hdi_hazard_work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_kept *kept;
    const hdi_schedule *schedule;
    const hdi_queues *queues;
    const hdi_crew *crew;
    hdi_arena *arena;
    hdi_hazards *out;
    bool alone;         /* one worker: nobody else raises a word */
    bool several;       /* queues, the host's among them */
    uint32_t gpu_mask;
    bool several_families;
    hdi_kinds kinds;
    uint16_t family_mask[HD_MAX_QUEUES]; /* of each GPU queue: those of its family */
    uint32_t *keeper;   /* resources that keep their state, ascending */
    uint32_t keepers, pairs; /* pairs: how many of these have a partner */
    hdi_due *seg_due;   /* of segments of one queue, where a pass reads in two layouts */
    uint32_t *left;     /* segments that need extra slots, in any order */
    _Atomic(uint32_t) *left_count;
    /* Extra slots, and edges from or to them: slots of the schedule, and extra slots counted on behind them. */
    hdi_edge *edges;
    uint32_t edge_count, edge_capacity;
    hdi_extras extras;
    hdi_record *host_use; /* with steps, where the host has a queue: uses of what it uses */
    uint32_t host_use_count;
} hdi_hazard_work;

/* In hazard_kinds.c. What an epoch left, in joins and leaves of kinds; reads of images: more by their layout. OTHER:
 * what nothing goes on with. NEVER: of what goes on with nothing. */
enum { HDI_LEFT_NOTHING, HDI_LEFT_WRITE, HDI_LEFT_OTHER, HDI_LEFT_NEVER, HDI_LEFT_READS };
/* Those of accesses, with room for `more`. */
bool hdi_find_kinds(hdi_hazard_work *work, uint32_t more);
/* Both of an epoch; without memory any, and it shows in the arena. */
uint32_t hdi_mix_kinds(hdi_kinds *kinds, uint32_t a, uint32_t b);

/* How many: epochs with room for states to be left, entries, and resources that keep their state. */
typedef struct hdi_built {
    uint32_t epochs, entries, keepers, pairs;
} hdi_built;
/* Turns uses into epochs and entries, which are numbered behind those before, lists the resources that keep their
 * state, and marks in res_concurrent those that queues read together. kinds: of whoever works on this, for those that
 * are mixed. Records stand by segment, those of one in the order of the schedule, up to its record_end; one more may be
 * read. */
hdi_built hdi_build_epochs(const hdi_hazard_work *work, hdi_kinds *kinds, uint32_t first_seg, uint32_t last_seg,
                           const hdi_record *record, const uint32_t *record_end, hdi_built before, uint32_t *keeper);

/* The same of a few resources, whose records stand one behind another up to what is then seg_epoch_end. Who keeps its
 * state is listed elsewhere. Returns how many epochs. */
uint32_t hdi_build_listed_epochs(const hdi_hazard_work *work, hdi_kinds *kinds, const uint32_t *res, uint32_t count,
                                 const hdi_record *record);

/* In hazard_one.c. Steps of one queue, found by one worker. False: no memory. */
bool hdi_find_steps(hdi_hazard_work *work);
/* What several regions use, which none of them looks at. Uses of it, each with the first of the steps that there is
 * room for, are listed by region and by buckets of resources, in the order of the schedule. */
enum { HDI_STRAY_BUCKETS = 32 };
typedef struct hdi_stray {
    uint32_t use, slot, step, next;
} hdi_stray;
typedef struct hdi_shared {
    uint64_t *res;   /* a bit for each */
    uint32_t shift;  /* of a resource: its bucket */
    uint32_t *begin; /* of steps, of strays, and of kinds that are mixed: there is room for those of each region from
                      * here up to the next */
    hdi_stray *stray;
    uint32_t (*first)[HDI_STRAY_BUCKETS]; /* of each region; HDI_NONE: none */
} hdi_shared;
/* Steps of a region. Then, when all regions are done, of what they put off of one bucket; firsts: of each region. */
hdi_region_steps hdi_find_steps_in(const hdi_hazard_work *work, hdi_kinds *kinds, const hdi_shared *shared,
                                   uint32_t region);
void hdi_find_stray_steps(const hdi_hazard_work *work, hdi_kinds *kinds, const hdi_shared *shared, uint32_t bucket,
                          uint32_t *firsts);

/* In hazard_regions.c. Steps of one queue, found by several workers. False: no memory. */
bool hdi_find_steps_by_regions(hdi_hazard_work *work);

/* In hazard_host.c. Where the host works beside one GPU queue, before steps are found: slots get their places. */
void hdi_begin_beside_host(const hdi_hazard_work *work);
/* Lists the uses of what the host uses, in the order of the schedule; one worker does so with the steps. */
bool hdi_list_host_uses(hdi_hazard_work *work, hdi_arena *arena);
/* How many segments they visit. */
uint32_t hdi_count_host_visits(const hdi_hazard_work *work);
/* The epochs of these. kinds: there is room for one more a visit, or it grows. False: no memory. */
bool hdi_build_host_epochs(hdi_hazard_work *work, hdi_kinds *kinds);

/* In hazard_states.c. Whether readers on different queues of an exclusive resource are apart, as it changes hands. */
bool hdi_is_handed_over(const hdi_hazard_work *work, uint32_t res);
/* What is left to do for resources, first to last, of which those listed keep their state. Returns how many of these
 * have a partner, and are left. */
uint32_t hdi_settle_range(const hdi_hazard_work *shared, uint32_t first, uint32_t last, const uint32_t *keeper,
                          uint32_t keepers);
/* Of what the host uses, where all else has steps, for those that do not. */
void hdi_settle_hosts(hdi_hazard_work *work);
/* And then for those, and for segments that need extra slots. */
hd_result hdi_settle(hdi_hazard_work *work);

/* In hazard_steps.c: places the steps of a segment, with the edges that they need. False: they need an extra slot, and
 * may_add says that none is to be added now. */
bool hdi_place_segment(hdi_hazard_work *work, uint32_t seg, bool may_add);

/* In hazard_slots.c. Places of slots on their queues, by ranges of slots: they are counted, added up, and given out
 * where `at` says how many of each queue stand before the range. */
void hdi_count_slots(const hdi_hazard_work *work, uint32_t begin, uint32_t end, uint32_t count[HD_MAX_QUEUES]);
void hdi_begin_queues(const hdi_hazard_work *work, uint32_t (*on_queue)[HD_MAX_QUEUES], uint32_t ranges);
void hdi_place_slots(const hdi_hazard_work *work, uint32_t begin, uint32_t end, uint32_t at[HD_MAX_QUEUES]);
/* What that does, of several queues: nobody wants anything yet, and one slot after another. */
void hdi_clear_wants(const hdi_hazard_work *work, uint32_t begin, uint32_t end);
static inline void hdi_place_slot(const hdi_hazards *out, uint32_t slot, uint32_t at[HD_MAX_QUEUES])
{
    uint32_t queue = out->slot_queue[slot], pos = at[queue]++;
    out->slot_pos[slot] = pos;
    out->queue_slot[out->queue_begin[queue] + pos] = slot;
}
/* Those of the schedule and the extra ones in one numbering. */
hd_result hdi_add_extra_slots(const hdi_hazard_work *work);

#endif
