/* The workers of a compile: the caller alone, or a job pool with it. Where a cut can be seen in the tables, work is cut
 * by what the graph holds and never by the number of workers; each part writes to its own place. So the plan is the
 * same for any number of workers. */
#ifndef HDI_CREW_H
#define HDI_CREW_H

#include <stdbool.h>

#include <heddle/jobs.h>

#include "arena.h"

enum { HDI_MOST_PARTS = 64, HDI_FEW_PARTS = 16 };

typedef struct hdi_crew {
    hd_jobs *jobs;      /* null: the caller alone */
    uint32_t workers;   /* 1 without jobs */
    bool cuts;          /* whether anything is cut; else the arenas of the parts stay unused */
    hdi_arena *arena; /* HDI_MOST_PARTS: one for each part, so that it grows the same way in a frame that is the same */
    /* A frame of four times as many, or more, is cut into regions of about so many (schedule.c) */
    uint32_t region_passes;
    hdi_arena *early; /* null, or where the plan will be */
} hdi_crew;

/* Calls fn once for each part, count of them; returns when all are done. (Inline, as ranges are: a caller alone calls
 * fn directly.) */
typedef void (*hdi_part_fn)(uint32_t part, void *user);
void hdi_crew_share_parts(const hdi_crew *crew, uint32_t count, hdi_part_fn fn, void *user);
static inline void hdi_crew_parts(const hdi_crew *crew, uint32_t count, hdi_part_fn fn, void *user)
{
    if (HDI_UNLIKELY(crew->workers > 1 && count > 1)) {
        hdi_crew_share_parts(crew, count, fn, user);
        return;
    }
    for (uint32_t part = 0; part < count; part++)
        fn(part, user);
}

/* One part a worker, up to a small bound: for phases whose parts each have tables as long as the frame, which all other
 * parts read. */
static inline uint32_t hdi_crew_part_count(const hdi_crew *crew)
{
    return crew->workers < HDI_FEW_PARTS ? crew->workers : HDI_FEW_PARTS;
}
/* The arena of a part; `own` where the caller works alone. */
static inline hdi_arena *hdi_crew_arena(const hdi_crew *crew, uint32_t part, hdi_arena *own)
{
    return crew->workers > 1 ? &crew->arena[part] : own;
}

/* Tables that are not read while the plan is packed lie in the plan's own memory, as long as there is room: so the peak
 * memory of a compile is lower. For the caller alone. */
static inline hdi_arena *hdi_crew_early(const hdi_crew *crew, size_t bytes, hdi_arena *own)
{
    return crew->early && hdi_arena_room(crew->early) >= bytes ? crew->early : own;
}
static inline void *hdi_crew_early_array(const hdi_crew *crew, hdi_arena *own, size_t count, size_t element_bytes)
{
    enum { APART = 64 };
    size_t bytes = count <= (SIZE_MAX - APART) / element_bytes ? count * element_bytes + APART : SIZE_MAX;
    return hdi_arena_array(hdi_crew_early(crew, bytes, own), count, element_bytes);
}
#define HDI_EARLY_ARRAY(crew, own, type, count)                                                                        \
    ((type *)hdi_crew_early_array((crew), (own), (count), sizeof(type)))

/* With several workers nothing moves down: the worker that moves would take tables that the others have just written
 * out of their caches. */
static inline void hdi_crew_keep(const hdi_crew *crew, hdi_arena *arena, hdi_arena_mark mark,
                                 const hdi_arena_kept *kept, size_t count)
{
    if (crew->workers == 1)
        hdi_arena_keep(arena, mark, kept, count);
}

/* Ranges of 0 .. count - 1, at least `grain` long and at most HDI_MOST_PARTS of them; one for the caller alone. The
 * part of a range is its number. */
uint32_t hdi_range_count(const hdi_crew *crew, uint32_t count, uint32_t grain);
static inline uint32_t hdi_range_begin(uint32_t count, uint32_t ranges, uint32_t part)
{
    return (uint32_t)((uint64_t)count * part / ranges);
}
typedef void (*hdi_range_fn)(uint32_t begin, uint32_t end, uint32_t part, void *user);
void hdi_crew_share_ranges(const hdi_crew *crew, uint32_t count, uint32_t grain, hdi_range_fn fn, void *user);
static inline void hdi_crew_ranges(const hdi_crew *crew, uint32_t count, uint32_t grain, hdi_range_fn fn, void *user)
{
    if (HDI_UNLIKELY(crew->workers > 1))
        hdi_crew_share_ranges(crew, count, grain, fn, user);
    else
        fn(0, count, 0, user);
}

#endif
