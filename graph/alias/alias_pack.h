/* Inside of the room: what alias.c, which sorts resources into heaps, and the packers share. */
#ifndef HDI_ALIAS_PACK_H
#define HDI_ALIAS_PACK_H

#include "alias.h"
#include "hints.h"

/* Offsets in packers: the coarsest unit that all alignments of the .fgt format have in common. */
enum { HDI_PACK_UNIT = 256 };

/* What packers know of resources. A resource may share bytes with all whose lives, in slots from first to close, do not
 * meet its own; where they meet only clocks can allow it, and with one GPU queue they never do. */
typedef struct hdi_pack {
    const hdi_sizes *sizes;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    const hdi_lifetimes *lifetimes;
    const uint32_t *end; /* res_close of the lifetimes, or what hdi_pack_cut made of it */
    uint32_t queues, gpu_mask, res_count;
    bool by_clocks;
    /* Slots in which it packs, and what is placed already and alive there. */
    uint32_t slot_begin, slot_end;
    const uint32_t *placed;
    uint32_t placed_count;
    const uint64_t *placed_offset; /* by resource */
    hdi_arena *arena;
    /* What hdi_pack_look found out about the members of a heap, or of a part of it. */
    uint64_t needed, live_bytes; /* alive at once at most: if lives end with the last use, or as `end` says */
    uint64_t lives;              /* of all members, in slots */
    uint32_t *piece_of;          /* per slot in which it packs, on one queue; null: there is no room yet */
    uint32_t piece_count;
    bool has_short_lives; /* in pieces of time: hdi_pack_in_runs is quicker than hdi_pack_in_lists */
    /* Of packers, kept from order to order; null: not made yet. */
    struct hdi_pack_bucket *bucket;
    uint32_t bucket_count, bucket_shift; /* from a slot to its bucket */
    uint32_t grain_shift;                /* from bytes to its grains */
    struct hdi_pack_run *run;            /* so many for each piece of time */
    uint32_t runs;
    uint64_t steps; /* a few instructions each: taken by packers */
} hdi_pack;

/* A slot, counted from where it packs; one outside counts as the nearest inside. */
static inline uint32_t hdi_pack_slot(const hdi_pack *pack, uint32_t slot)
{
    return (slot < pack->slot_begin ? pack->slot_begin
            : slot < pack->slot_end ? slot
                                    : pack->slot_end - 1) -
           pack->slot_begin;
}
static inline uint64_t hdi_pack_units(uint64_t bytes)
{
    return (bytes + HDI_PACK_UNIT - 1) / HDI_PACK_UNIT;
}

/* When a member lives, by queue: how many places have finished before it starts, and the last place that does not know
 * that it is over; its first and its last place on its own queues. One queue: all are slots. */
typedef struct hdi_pack_time {
    uint32_t queues; /* its own */
    int32_t known[HD_MAX_QUEUES], unaware[HD_MAX_QUEUES], first[HD_MAX_QUEUES], last[HD_MAX_QUEUES];
} hdi_pack_time;
/* Of a member that does not live on one GPU queue alone. */
void hdi_pack_read_several(const hdi_pack *pack, uint32_t res, hdi_pack_time *t);
/* queues: 1, or those of the pack where it packs by clocks. */
static HDI_INLINE void hdi_pack_read_time(const hdi_pack *pack, uint32_t res, uint32_t queues, hdi_pack_time *t)
{
    const uint32_t first = pack->lifetimes->res_first[res];
    if (!pack->by_clocks) {
        t->known[0] = t->first[0] = (int32_t)first;
        t->unaware[0] = t->last[0] = (int32_t)pack->end[res];
        t->queues = 1;
        return;
    }
    uint32_t mask = pack->hazards->res_queues[res], own = (uint32_t)__builtin_ctz(mask);
    if ((mask & (mask - 1)) || !(mask & pack->gpu_mask)) {
        hdi_pack_read_several(pack, res, t);
        return;
    }
    const hdi_stay *stay = &pack->lifetimes->stay[(size_t)res * queues + own];
    const uint32_t *knows = &pack->synced->slot_clock[(size_t)first * queues],
                   *unaware =
                       &pack->lifetimes
                            ->place_unaware[hdi_unaware_row(queues, pack->hazards->queue_begin[own] + stay->close)];
    for (uint32_t q = 0; q < queues; q++) {
        t->known[q] = (int32_t)knows[q];
        t->unaware[q] = (int32_t)unaware[q] - 1;
    }
    t->known[own] = t->first[own] = (int32_t)stay->first;
    t->unaware[own] = t->last[own] = (int32_t)stay->close;
    t->queues = mask;
}

/* On average: the tenants of a resource are those that it covers whole, each in two extents at most, and two others. */
enum { HDI_MOST_TENANTS = 4 };

/* Resources with memory, by first use. */
enum { HDI_MOST_HEAPS = 64 * 4 }; /* kinds of memory, flags */
typedef struct hdi_members {
    uint32_t count, *by_first;
    uint32_t *region_begin;     /* of each region; then of those without uses */
} hdi_members;
/* Looks at each member once, before any packer: what the pack says of them. False: out of memory. */
bool hdi_pack_look(hdi_pack *pack, const uint32_t *by_first, uint32_t count);

/* Each resource, in the given order, at the lowest offset that is free of those that it may not share with. False: out
 * of memory. *top: as many bytes are of no use, then those that the heap needs, UINT64_MAX: too many. In runs: on one
 * queue. */
bool hdi_pack_in_lists(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top);
bool hdi_pack_in_runs(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top);

/* In order of time over a list of free ranges: the lowest that is large enough. Bytes are free once all queues know. */
bool hdi_pack_in_time(hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t *offset, uint64_t *top);

/* Lives that end earlier, each with its last use or behind it, wherever more than `most` bytes would be alive: barriers
 * will stand there that the groups of the schedule do not need. How many. alive: room for as many as members. */
uint32_t hdi_pack_cut(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t most, uint32_t *alive,
                      uint32_t *end);

/* ---- of members: in alias_improve.c ---- */

typedef struct hdi_pack_work {
    const hdi_sizes *sizes;
    const hdi_lifetimes *lifetimes;
    hdi_pack pack;
    hdi_placed *out;
    uint64_t *key, *scratch_key, *offset;
    uint32_t *order, *scratch, *end;
    const hdi_packing *how;
    uint64_t enough;     /* bytes that a heap may take before anything is done about it */
    uint64_t goal;       /* bytes that are good enough */
    uint64_t steps_left; /* for improving packings, of all heaps */
} hdi_pack_work;

/* First fit, the largest first, or in order of time where lives are long, of members that were looked at. False: out of
 * memory. Offsets are those of the plan. *top: what they take. */
bool hdi_pack_first_fit(hdi_pack_work *w, const uint32_t *by_first, uint32_t count, uint64_t *top);
/* Steps of all improvements of a compile. */
uint64_t hdi_pack_budget(const hdi_pack *pack, const hdi_packing *how);
/* All members of a heap. alike: in size and alignment. *known: whether former tenants were found on the way. Returns
 * how many bytes it takes; UINT64_MAX: out of memory. */
uint64_t hdi_pack_members(hdi_pack_work *w, const uint32_t *by_first, uint32_t count, bool alike, bool *known);

/* Places a resource behind what ends at `end`, in bytes without former tenants. Returns where it ends. */
static HDI_INLINE uint64_t hdi_pack_behind(hdi_pack_work *w, uint32_t res, uint64_t end)
{
    uint64_t alignment = w->sizes->need[res].alignment, offset = (end + alignment - 1) & ~(alignment - 1);
    w->out->res_offset[res] = offset;
    w->out->res_tenants[res] = (hdi_tenants){0, 0};
    return offset + w->sizes->need[res].bytes;
}

/* A shared heap of a long frame: in alias_regions.c. Returns how many bytes it takes; UINT64_MAX: out of memory. */
uint64_t hdi_pack_regions(const hdi_pack_work *whole, const hdi_crew *crew, const hdi_members *members, uint32_t heap);

/* Room for all tenants that heaps may have, of which those that are known come first. */
static inline bool hdi_pack_tenant_room(const hdi_pack *pack, hdi_placed *out)
{
    if (!out->tenant)
        out->tenant = HDI_ARENA_ARRAY(pack->arena, uint32_t, (size_t)pack->res_count * HDI_MOST_TENANTS);
    return out->tenant;
}

/* Offsets and former tenants of all members of a heap. Places: they have one size and alignment. Pools, on several
 * queues: few sizes, each with places of its own. *top: as many bytes are good enough, then those that the heap needs.
 * False: it needs more, or there is no memory. */
bool hdi_pack_places(const hdi_pack_work *w, const uint32_t *by_first, uint32_t count, uint64_t *top);
bool hdi_pack_pools(const hdi_pack_work *w, const uint32_t *by_first, uint32_t count, uint64_t *top);

/* Offsets and former tenants of the members of a heap of the host's: in alias_host.c. host: its queue, or HDI_NONE.
 * Returns how many bytes they take; UINT64_MAX: out of memory. */
uint64_t hdi_pack_host(hdi_pack_work *w, uint32_t host, const uint32_t *by_first, uint32_t count);

/* Former tenants of each resource. known: heaps of which they have been found, before all others, or whose bytes are
 * not shared. */
hd_result hdi_find_tenants(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, const bool *known,
                           const hdi_crew *crew, hdi_placed *out);

#endif
