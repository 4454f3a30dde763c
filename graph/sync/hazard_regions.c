#include "hazard_work.h"

#include <string.h>

#include "bitset.h"

/* Steps of one queue by several workers. Regions of a long frame (schedule.c) are runs of passes as they are declared,
 * and most of what a region uses is used nowhere else: so each is walked as one worker would walk it (hazard_one.c). A
 * first look at uses, each worker for itself, finds what several regions use. Uses of that are put off by the walks,
 * which leave room for their steps, and looked at by buckets of resources when all regions are done. O(uses).
 *
 * Uses sorted by resources, for buckets of which each is walked alone, took half as many instructions again, and steps
 * then stood in no order that the barrier phase could go by. */

typedef hdi_hazard_work work;

typedef struct walks {
    work *w;
    hdi_shared shared;
    uint32_t buckets, words; /* words: of a row of bits */
    uint64_t *used;          /* a row for each region: a bit for each resource */
    uint32_t *firsts;        /* a row of regions for each bucket */
    uint32_t keepers[HDI_STRAY_BUCKETS], pairs[HDI_STRAY_BUCKETS];
} walks;

/* ---- what regions use ---- */

/* Those of passes from the first to the last one of a region: of some that are culled, too. */
static void find_uses(const work *w, uint32_t region, uint32_t *begin, uint32_t *end)
{
    const uint32_t *slot_pass = w->schedule->slot_pass, *use_begin = w->decl->pass_use_begin;
    uint32_t slot_end = w->out->region_begin[region + 1], first = HDI_NONE, last = 0;
    for (uint32_t slot = w->out->region_begin[region]; slot < slot_end; slot++) {
        uint32_t pass = slot_pass[slot];
        first = pass < first ? pass : first;
        last = pass > last ? pass : last;
    }
    *begin = first <= last ? use_begin[first] : 0;
    *end = first <= last ? use_begin[last + 1] : 0;
}

/* Uses that stand together mostly are of resources in the same word, and each bit waits for the one before it: so some
 * are marked here, some there, in turn. */
static void mark(const uint32_t *use_res, uint32_t begin, uint32_t end, uint64_t *used)
{
    enum { STREAMS = 4 };
    uint32_t each = (end - begin) / STREAMS;
    for (uint32_t u = begin; u < begin + each; u++) {
        for (uint32_t k = 0; k < STREAMS; k++)
            hdi_bit_set(used, use_res[u + k * each]);
    }
    for (uint32_t u = begin + STREAMS * each; u < end; u++)
        hdi_bit_set(used, use_res[u]);
}

/* Clears what nobody writes to, yet: a share of it. */
static void clear(const work *w, uint32_t part, uint32_t parts)
{
    const hdi_hazards *out = w->out;
    uint32_t uses = w->decl->use_count, resources = w->decl->res_count, segs = w->frozen->seg_count,
             use = hdi_range_begin(uses, parts, part), res = hdi_range_begin(resources, parts, part),
             seg = hdi_range_begin(segs, parts, part), seg_end = hdi_range_begin(segs, parts, part + 1);
    memset(out->use_kept + use, 0, hdi_range_begin(uses, parts, part + 1) - use);
    memset(out->res_concurrent + res, 0, hdi_range_begin(resources, parts, part + 1) - res);
    memset(out->seg_state + seg, 0, (seg_end - seg) * sizeof(*out->seg_state));
    if (w->seg_due)
        memset(w->seg_due + seg, 0, (seg_end - seg) * sizeof(*w->seg_due));
}

static void look_at_region(uint32_t part, void *user)
{
    const walks *s = user;
    const work *w = s->w;
    const uint32_t *use_res = w->decl->use_res, *use_seg = w->frozen->use_seg;
    uint64_t *used = s->used + (size_t)part * s->words;
    uint32_t begin, end, unused[HD_MAX_QUEUES] = {0};
    find_uses(w, part, &begin, &end);
    uint32_t visits = end - begin;
    memset(used, 0, s->words * sizeof(*used));
    mark(use_res, begin, end, used);
    for (uint32_t u = begin; w->frozen->seg_count != w->decl->res_count && u < end; u++) {
        if (HDI_UNLIKELY(use_seg[u] == HDI_NONE)) {
            hdi_span span = hdi_use_span(w->decl, w->frozen, u);
            visits += span.rows * span.cols - 1;
        }
    }
    s->shared.begin[part + 1] = visits;
    if (!w->several)
        hdi_place_slots(w, w->out->region_begin[part], w->out->region_begin[part + 1], unused);
    clear(w, part, w->out->region_count);
}

/* What several of them use. */
static void find_shared(const walks *s)
{
    uint64_t *several = s->shared.res, *any = s->used; /* the first row becomes that */
    memset(several, 0, s->words * sizeof(*several));
    for (uint32_t k = 1; k < s->w->out->region_count; k++) {
        const uint64_t *used = s->used + (size_t)k * s->words;
        for (uint32_t i = 0; i < s->words; i++) {
            several[i] |= any[i] & used[i];
            any[i] |= used[i];
        }
    }
}

/* ---- steps ---- */

static void walk_region(uint32_t part, void *user)
{
    const walks *s = user;
    hdi_kinds kinds = s->w->kinds; /* with room of its own */
    kinds.count += s->shared.begin[part];
    s->w->out->region_step[part] = hdi_find_steps_in(s->w, &kinds, &s->shared, part);
}

/* And then what the frame leaves of each resource that keeps its state is known. */
static void walk_bucket(uint32_t bucket, void *user)
{
    walks *s = user;
    const work *w = s->w;
    const uint8_t *res_flags = w->decl->res_flags;
    uint32_t count = w->decl->res_count, regions = w->out->region_count, first = bucket << s->shared.shift,
             last = (bucket + 1) << s->shared.shift, *keeper = w->keeper + first, keepers = 0;
    hdi_kinds kinds = w->kinds;
    kinds.count += s->shared.begin[regions]; /* where there is but one */
    hdi_find_stray_steps(w, &kinds, &s->shared, bucket, s->firsts + (size_t)bucket * regions);
    for (uint32_t res = first; res < last && res < count; res++) {
        if (res_flags[res] & HDI_KEEPS_STATE)
            keeper[keepers++] = res;
    }
    s->keepers[bucket] = keepers;
    s->pairs[bucket] = hdi_settle_range(w, 0, 0, keeper, keepers);
}

/* What all buckets have, together. */
static void gather(const walks *s, work *w)
{
    uint32_t regions = w->out->region_count;
    w->keepers = w->pairs = 0;
    for (uint32_t b = 0; b < s->buckets; b++) {
        memmove(w->keeper + w->keepers, w->keeper + ((size_t)b << s->shared.shift),
                s->keepers[b] * sizeof(*w->keeper));
        w->keepers += s->keepers[b];
        w->pairs += s->pairs[b];
        for (uint32_t r = 0; r < regions; r++)
            w->out->region_step[r].firsts += s->firsts[(size_t)b * regions + r];
    }
}

/* From how many each region has to where they begin. */
static uint32_t add_up(uint32_t *begin, uint32_t regions)
{
    begin[0] = 0;
    for (uint32_t k = 0; k < regions; k++)
        begin[k + 1] += begin[k];
    return begin[regions];
}

/* For what regions find. */
static bool make_room(walks *s, hdi_arena *aside)
{
    work *w = s->w;
    hdi_hazards *out = w->out;
    uint32_t regions = out->region_count, visits = add_up(s->shared.begin, regions);
    s->shared.res = HDI_ARENA_ARRAY(aside, uint64_t, s->words);
    s->shared.stray = HDI_ARENA_ARRAY(aside, hdi_stray, visits);
    s->shared.first = hdi_arena_array(aside, regions, sizeof(*s->shared.first));
    s->firsts = HDI_ARENA_ARRAY(aside, uint32_t, (size_t)regions * s->buckets);
    out->region_step = HDI_ARENA_ARRAY(w->arena, hdi_region_steps, regions);
    out->step = HDI_ARENA_ARRAY(w->arena, hdi_step, (size_t)visits + 1);
    out->step_count = visits;
    out->has_gaps = true;
    uint32_t mixed = w->seg_due ? 2 * visits : visits;
    if (aside->failed || w->arena->failed || (w->several && !hdi_list_host_uses(w, aside)))
        return false;
    bool found = hdi_find_kinds(w, mixed + hdi_count_host_visits(w));
    out->kind = w->kinds.kind;
    if (!found)
        return false;
    hdi_kinds kinds = w->kinds;
    kinds.count += mixed;
    return !w->several || hdi_build_host_epochs(w, &kinds);
}

bool hdi_find_steps_by_regions(hdi_hazard_work *w)
{
    enum { MIN_SHIFT = 6 };
    const hdi_crew *crew = w->crew;
    const hdi_decl *decl = w->decl;
    hdi_hazards *out = w->out;
    hdi_arena *aside = &crew->arena[HDI_MOST_PARTS - 1];
    hdi_arena_mark mark = hdi_arena_here(aside);
    uint32_t regions = out->region_count, on_queue[HD_MAX_QUEUES] = {0};
    walks s = {.w = w, .words = hdi_bit_words(decl->res_count), .shared.shift = MIN_SHIFT};
    /* A pass that reads in two layouts mixes kinds for its strays in no order that tells how many they take. */
    while (decl->res_count >> s.shared.shift >= (decl->mixed_layouts ? 1 : HDI_STRAY_BUCKETS))
        s.shared.shift++;
    s.buckets = (decl->res_count >> s.shared.shift) + 1;
    s.used = HDI_ARENA_ARRAY(aside, uint64_t, (size_t)s.words * regions);
    s.shared.begin = HDI_ARENA_ARRAY(aside, uint32_t, (size_t)regions + 1);
    w->seg_due = decl->mixed_layouts ? HDI_ARENA_ARRAY(aside, hdi_due, w->frozen->seg_count) : NULL;
    out->seg_state = HDI_ARENA_ARRAY(w->arena, hdi_seg_state, w->frozen->seg_count);
    if (aside->failed || w->arena->failed)
        return false;
    if (!w->several)
        hdi_begin_queues(w, &on_queue, 1);
    hdi_crew_parts(crew, regions, look_at_region, &s);
    if (!make_room(&s, aside))
        return false;
    find_shared(&s);
    hdi_crew_parts(crew, regions, walk_region, &s);
    hdi_crew_parts(crew, s.buckets, walk_bucket, &s);
    gather(&s, w);
    hdi_settle_hosts(w);
    hdi_arena_keep(aside, mark, NULL, 0);
    return true;
}
