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
    uint32_t *scratch;             /* as many as resources; of hdi_pack_cut */
    hdi_arena *arena;
    struct hdi_pack_bucket *bucket;      /* of hdi_pack_in_lists, kept from order to order; null: not made yet */
    uint32_t bucket_count, bucket_shift; /* from a slot to its bucket */
    uint32_t grain_shift;                /* from bytes to its grains */
    uint64_t live_bytes;                 /* of the members, alive at once at most */
    struct hdi_pack_run *run;            /* of hdi_pack_in_runs, likewise: so many for each piece of time */
    uint32_t runs;
    uint32_t *piece_of; /* per slot in which it packs; null: not known yet */
    uint32_t piece_count;
    uint64_t lives; /* of all members, in slots; HDI_PACK_NOT_KNOWN; 0, UINT64_MAX: short enough, too long for pieces */
    uint64_t steps, most_steps; /* a few instructions each: taken by packers; when no other round begins */
} hdi_pack;
#define HDI_PACK_NOT_KNOWN (UINT64_MAX - 1)

/* A slot, counted from where it packs; one outside counts as the nearest inside. */
static inline uint32_t hdi_pack_slot(const hdi_pack *pack, uint32_t slot)
{
    return (slot < pack->slot_begin ? pack->slot_begin
            : slot < pack->slot_end ? slot
                                    : pack->slot_end - 1) -
           pack->slot_begin;
}
static inline bool hdi_pack_may_go_on(const hdi_pack *pack)
{
    return pack->steps < pack->most_steps;
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

/* The region of a slot, of which there is one: they are about as long as one another. One behind the last slot is in
 * one behind the last region. */
static inline uint32_t hdi_region_of(const hdi_hazards *hazards, uint32_t slot)
{
    uint32_t region = (uint32_t)((uint64_t)slot * hazards->region_count / hazards->slot_count);
    while (region > 0 && slot < hazards->region_begin[region])
        region--;
    while (region < hazards->region_count && slot >= hazards->region_begin[region + 1])
        region++;
    return region;
}

/* On average: the tenants of a resource are those that it covers whole, each in two extents at most, and two others. */
enum { HDI_MOST_TENANTS = 4 };

/* Resources with memory, by first use. */
enum { HDI_MOST_HEAPS = 64 * 4 }; /* kinds of memory, flags */
typedef struct hdi_members {
    uint32_t count, *by_first;
    uint32_t *region_begin;     /* of each region; then those without uses; then the count */
    bool mixed[HDI_MOST_HEAPS]; /* members of the heap differ in size or alignment */
} hdi_members;
/* out->heap has room for HDI_MOST_HEAPS, out->res_heap for all resources. False: out of memory. */
bool hdi_find_members(const hdi_pack *pack, const hdi_decl *decl, const hdi_crew *crew, hdi_placed *out,
                      hdi_members *members);

/* Each resource, in the given order, at the lowest offset that is free of those that it may not share with. False: out
 * of memory. *top: as many bytes are of no use, then those that the heap needs, UINT64_MAX: too many. In runs: on one
 * queue where lives end at few places, as hdi_pack_cuts_time, which finds these, says. */
bool hdi_pack_in_lists(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top);
bool hdi_pack_cuts_time(hdi_pack *pack, const uint32_t *res, uint32_t count);
bool hdi_pack_in_runs(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top);

/* The same on one queue, in an order of its own that leaves fewer gaps. order: the largest first. Finds nothing where
 * hdi_pack_cuts_time does not allow it. */
bool hdi_pack_skyline(hdi_pack *pack, const uint32_t *order, uint32_t count, uint64_t *offset, uint64_t *top);

/* In order of time over a list of free ranges: the lowest that is large enough. Bytes are free once all queues know. */
bool hdi_pack_in_time(hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t *offset, uint64_t *top);

/* Bytes of the members that are alive at once, at most, if lives end with the last use: no packing needs less. False:
 * out of memory. */
bool hdi_pack_needed(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t *needed);

/* What the members of a heap, or of a part of it, are like. Of the sizes, by number as they come up: bytes, members. */
enum { HDI_PACK_SIZES = 48 };
typedef struct hdi_pack_mix {
    uint64_t needed, least; /* bytes alive at once, if lives end with the last use, or as the packer has it */
    uint64_t all_least;     /* the same with what is placed */
    uint64_t lives, area;   /* in slots; and times units */
    uint32_t pieces;        /* of time */
    uint32_t sizes;
    bool has_many_sizes;                /* that not all have numbers */
    uint64_t bytes[HDI_PACK_SIZES + 1]; /* from 1; 0: of all without a number */
    uint32_t members[HDI_PACK_SIZES + 1];
    uint8_t slot_size[256]; /* by hash: which size */
} hdi_pack_mix;
/* One look at each, which finds the pieces of time too, and writes them to piece_of, which it makes where there is
 * none. sizes: the number of the size of each. */
bool hdi_pack_look(hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint8_t *sizes, hdi_pack_mix *mix);
/* What it found goes to the packers, which have its piece_of. */
static inline void hdi_pack_recall(hdi_pack *pack, const hdi_pack_mix *mix)
{
    pack->piece_count = mix->pieces;
    pack->lives = mix->lives;
    pack->live_bytes = mix->least;
}

/* Lives that end earlier, each with its last use or behind it, wherever more than `most` bytes would be alive: barriers
 * will stand there that the groups of the schedule do not need. How many. */
uint32_t hdi_pack_cut(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t most, uint32_t *end);

/* ---- of members: in alias_improve.c ---- */

typedef struct hdi_pack_work {
    const hdi_sizes *sizes;
    const hdi_lifetimes *lifetimes;
    hdi_pack pack;
    hdi_placed *out;
    uint64_t *key, *scratch_key, *offset;
    uint32_t *order, *scratch, *end;
    uint8_t *sizes_of;       /* of members, as the mix numbers them */
    const hdi_pack_mix *mix; /* null: not looked at yet */
    const hdi_packing *how;
    uint64_t enough;      /* bytes that a heap may take before anything is done about it */
    uint64_t goal;        /* bytes that are good enough */
    uint64_t *steps_left; /* for improving packings, of all heaps */
    bool is_part;         /* there are others in the heap, which it does not move */
} hdi_pack_work;

/* First fit, the largest first, or in order of time where lives are long. False: out of memory. *top as for the
 * packers. */
bool hdi_pack_first_fit(hdi_pack_work *w, const uint32_t *by_first, uint32_t count, uint64_t *offset, uint64_t *top);
/* Offsets become those of the plan. */
void hdi_pack_keep(const hdi_pack_work *w, const uint32_t *res, uint32_t count);
/* needed: the most bytes that are alive at once. */
void hdi_pack_set_goal(hdi_pack_work *w, uint64_t needed);
/* Steps of all improvements of a compile, for a frame of so many slots. */
uint64_t hdi_pack_budget(uint32_t slots, const hdi_packing *how);
/* enough: as many bytes are there anyway. *known: set where they are all of a heap, and former tenants were found on
 * the way; null for a part. Returns how many bytes it takes; UINT64_MAX: out of memory. */
uint64_t hdi_pack_members(hdi_pack_work *w, const uint32_t *by_first, uint32_t count, uint64_t enough, bool *known);

/* Places a resource behind what ends at `end`, in bytes without former tenants. Returns where it ends. */
static HDI_INLINE uint64_t hdi_pack_behind(hdi_pack_work *w, uint32_t res, uint64_t end)
{
    uint64_t alignment = w->sizes->need[res].alignment, offset = (end + alignment - 1) & ~(alignment - 1);
    w->out->res_offset[res] = offset;
    w->out->res_tenants[res] = (hdi_tenants){0, 0};
    return offset + w->sizes->need[res].bytes;
}

/* A shared heap of a long frame: in alias_regions.c. Returns how many bytes it takes; UINT64_MAX: out of memory. */
uint64_t hdi_pack_regions(hdi_pack_work *whole, const hdi_crew *crew, const hdi_members *members, uint32_t heap,
                          uint32_t regions);

/* Room for all tenants that heaps may have, of which those that are known come first. */
static inline bool hdi_pack_tenant_room(const hdi_pack *pack, hdi_placed *out)
{
    if (!out->tenant)
        out->tenant = HDI_ARENA_ARRAY(pack->arena, uint32_t, (size_t)pack->res_count * HDI_MOST_TENANTS);
    return out->tenant;
}

/* Offsets and former tenants of all members of a heap, where they have one size and a packing as good as any other is
 * found at once. *bytes: UINT64_MAX where not. False: out of memory. */
bool hdi_pack_places(hdi_pack_work *w, const uint32_t *by_first, uint32_t count, uint64_t *bytes);

/* The same on several queues, for few sizes, each with places of its own. False: that takes more than *top, or it
 * cannot; else *top: what it takes. */
bool hdi_pack_pools(const hdi_pack_work *w, const uint32_t *by_first, uint32_t count, uint64_t *top);

/* Offsets and former tenants of the members of a heap of the host's: in alias_host.c. host: its queue, or HDI_NONE.
 * Returns how many bytes they take; UINT64_MAX: out of memory. */
uint64_t hdi_pack_host(hdi_pack_work *w, uint32_t host, const uint32_t *by_first, uint32_t count);

/* Former tenants of each resource. known: heaps of which they have been found, before all others, or whose bytes are
 * not shared. */
hd_result hdi_find_tenants(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, const bool *known,
                           const hdi_crew *crew, hdi_placed *out);

#endif
