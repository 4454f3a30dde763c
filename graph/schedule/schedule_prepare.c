#include "schedule_work.h"

#include <stdatomic.h>
#include <string.h>

/* What both schedulers need: ranks, the ranks between which each resource is alive, bytes alive at each rank, and where
 * a long frame is cut. Passes and resources are walked by ranges; ranges meet in resources and in ranks, where the
 * sums, minima and maxima that they write do not depend on the order of the writes. O(uses). */

typedef struct prepare_work {
    hdi_sched *s;
    const uint8_t *pass_kept;
    const hd_memory_need *need;
    bool several; /* workers */
    _Atomic(bool) mixed;
} prepare_work;

/* ---- queues ---- */

static uint32_t kinds_of_type(uint32_t type)
{
    static const uint8_t by_type[] = {
        [HD_PASS_GFX] = 1u << HD_QUEUE_GFX,
        [HD_PASS_COMPUTE] = 1u << HD_QUEUE_GFX | 1u << HD_QUEUE_COMPUTE,
        [HD_PASS_TRANSFER] = 1u << HD_QUEUE_GFX | 1u << HD_QUEUE_COMPUTE | 1u << HD_QUEUE_TRANSFER,
        [HD_PASS_HOST] = 1u << HD_QUEUE_HOST,
    };
    return by_type[type];
}

static uint32_t kinds_of_pin(uint32_t pin)
{
    static const uint8_t by_pin[] = {
        [HD_PIN_NONE] = 0,
        [HD_PIN_GFX] = 1u << HD_QUEUE_GFX,
        [HD_PIN_COMPUTE] = 1u << HD_QUEUE_COMPUTE,
        [HD_PIN_TRANSFER] = 1u << HD_QUEUE_TRANSFER,
    };
    return by_pin[pin];
}

/* Vulkan copies and clears depth and stencil on graphics queues only, whatever the type of the pass. */
static bool copies_depth(const hdi_decl *decl, uint32_t pass)
{
    const uint64_t copies = HDI_STAGE_COPY | HDI_STAGE_BLIT | HDI_STAGE_RESOLVE | HDI_STAGE_CLEAR;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t res = decl->use_res[u];
        if (decl->access[decl->use_access[u]].stages & copies && !(decl->res_flags[res] & HDI_RES_BUFFER) &&
            hdi_format_aspects(decl->res_info[res].format) != 0)
            return true;
    }
    return false;
}

/* Whether some pass may do that, by the usage that the uses of images imply; custom accesses need not imply any. */
static bool may_copy_depth(const hdi_decl *decl)
{
    enum { TRANSFER_SRC = 1, TRANSFER_DST = 2 }; /* VkImageUsageFlagBits */
    if (decl->access_count > HDI_ACCESS_CUSTOM_FIRST)
        return true;
    for (size_t r = 0, count = decl->res_count; r < count; r++) {
        if (decl->res_state[r].word & (TRANSFER_SRC | TRANSFER_DST) && !(decl->res_flags[r] & HDI_RES_BUFFER) &&
            hdi_format_aspects(decl->res_info[r].format) != 0)
            return true;
    }
    return false;
}

uint32_t hdi_sched_kinds(const hdi_sched *s, uint32_t pass)
{
    const hdi_decl *decl = s->decl;
    uint32_t kinds = kinds_of_type(decl->pass_type[pass]) & s->queues->kinds;
    uint32_t pinned = kinds & kinds_of_pin(decl->pass_pin[pass]);
    const uint32_t gfx = 1u << HD_QUEUE_GFX;
    if (s->may_copy_depth && !pinned && kinds & gfx && kinds != gfx && copies_depth(decl, pass))
        return gfx;
    return pinned ? pinned : kinds;
}

/* Queues that no pass can use would only lengthen the columns by queue. */
void hdi_queues_in_use(const hdi_decl *decl, const hdi_queues *all, hdi_queues *out)
{
    bool several = all->gpu_count > 1 && decl->pass_count;
    uint32_t kinds = several ? 1u << HD_QUEUE_HOST : UINT32_MAX;
    for (uint32_t type = HD_PASS_GFX; several && type < HD_PASS_HOST; type++) {
        if (memchr(decl->pass_type, (int)type, decl->pass_count))
            kinds |= kinds_of_type(type);
    }
    *out = (hdi_queues){.host = HDI_NONE, .kinds = all->kinds & kinds};
    for (uint32_t q = 0; q < all->count; q++) {
        uint32_t to = out->count;
        if (!(kinds >> all->kind[q] & 1))
            continue;
        out->kind[to] = all->kind[q];
        out->number[to] = (uint8_t)q;
        out->family[to] = all->family[q];
        out->count++;
        out->gpu_count += q < all->gpu_count;
        if (q == all->host)
            out->host = to;
    }
    if (out->gpu_count == 0)
        *out = *all; /* there is always one */
}

static hd_result check_queues(const hdi_sched *s, const hdi_kept *kept, uint32_t *bad_pass)
{
    const hdi_decl *decl = s->decl;
    uint32_t bad_types = 0;
    for (uint32_t type = HD_PASS_GFX; type < HD_PASS_HOST; type++)
        bad_types |= kinds_of_type(type) & s->queues->kinds ? 0 : 1u << type;
    for (uint32_t p = 0; bad_types && p < decl->pass_count; p++) {
        if (kept->pass_kept[p] && bad_types >> decl->pass_type[p] & 1) {
            *bad_pass = p;
            return HD_NO_QUEUE;
        }
    }
    return HD_OK;
}

/* ---- resources and ranks ---- */

static void number_ranks(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    (void)part;
    const prepare_work *w = user;
    uint32_t rank = 0;
    for (uint32_t p = 0; p < begin; p++)
        rank += w->pass_kept[p];
    for (uint32_t p = begin; p < end; p++) {
        w->s->pass_rank[p] = rank;
        if (w->pass_kept[p]) {
            w->s->rank[rank] = (hdi_sched_rank){0};
            w->s->rank_pass[rank++] = p;
        }
    }
}

static void begin_resources(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    (void)part;
    const prepare_work *w = user;
    for (uint32_t r = begin; r < end; r++)
        w->s->res[r] = (hdi_sched_res){.first = HDI_NONE};
}

/* Uses of a range of passes come by rank, those of other ranges at any time. */
static HDI_INLINE void note_use(hdi_sched_res *res, uint32_t rank, uint32_t writes, bool several)
{
    if (!several) {
        res->first = rank < res->first ? rank : res->first;
        res->last = rank;
        res->uses++;
        res->left += writes;
        return;
    }
    _Atomic(uint32_t) *first = (_Atomic(uint32_t) *)&res->first, *last = (_Atomic(uint32_t) *)&res->last;
    uint32_t seen = atomic_load_explicit(first, memory_order_relaxed);
    while (rank < seen &&
           !atomic_compare_exchange_weak_explicit(first, &seen, rank, memory_order_relaxed, memory_order_relaxed)) {
    }
    seen = atomic_load_explicit(last, memory_order_relaxed);
    while (rank > seen &&
           !atomic_compare_exchange_weak_explicit(last, &seen, rank, memory_order_relaxed, memory_order_relaxed)) {
    }
    atomic_fetch_add_explicit((_Atomic(uint32_t) *)&res->uses, 1, memory_order_relaxed);
    if (writes)
        atomic_fetch_add_explicit((_Atomic(uint32_t) *)&res->left, 1, memory_order_relaxed);
}

static HDI_INLINE void note_uses_of(const prepare_work *w, uint32_t begin, uint32_t end, bool several)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    const uint32_t *use_res = decl->use_res, *use_pass = decl->use_pass, *pass_rank = s->pass_rank;
    const uint8_t *use_flags = decl->use_flags;
    hdi_sched_res *res = s->res;
    for (uint32_t p = begin; p < end; p++) { /* uses of kept passes in a row are one loop */
        uint32_t first = p;
        while (p < end && w->pass_kept[p])
            p++;
        for (size_t u = decl->pass_use_begin[first], last = decl->pass_use_begin[p]; u < last; u++)
            note_use(&res[use_res[u]], pass_rank[use_pass[u]], use_flags[u] / HDI_USE_WRITES & 1, several);
    }
}

static void note_uses(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const prepare_work *w = user;
    (void)part;
    if (w->several)
        note_uses_of(w, begin, end, true);
    else
        note_uses_of(w, begin, end, false);
}

static HDI_INLINE void add_bytes(int64_t *sum, int64_t bytes, bool several)
{
    if (several)
        atomic_fetch_add_explicit((_Atomic(int64_t) *)sum, bytes, memory_order_relaxed);
    else
        *sum += bytes;
}

/* Which resources are mixed, and what the others add to their ranks. `left` counts writes until here. */
static void judge_resources(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    (void)part;
    prepare_work *w = user;
    enum { NO_BYTES = HDI_RES_HISTORY | HDI_RES_HAS_HISTORY | HDI_RES_HOST };
    const hdi_sched *s = w->s;
    const bool several = w->several;
    hdi_sched_rank *rank = s->rank;
    bool mixed = false;
    for (uint32_t r = begin; r < end; r++) {
        hdi_sched_res *res = &s->res[r];
        uint64_t readers = s->decl->res_state[r].word & HDI_RES_READERS;
        uint64_t bytes = s->decl->res_flags[r] & NO_BYTES ? 0 : w->need[r].bytes;
        uint32_t uses = res->uses, writes = res->left;
        res->left = uses;
        res->bytes = bytes;
        if (HDI_UNLIKELY(readers & (readers - 1) && uses - writes > 1))
            res->mixed |= HDI_MIXED_LAYOUTS;
        if (bytes && writes > 1 && hdi_has_several(s->frozen, r))
            res->mixed |= HDI_MIXED_OPENERS;
        res->writes = (uint16_t)(writes < UINT16_MAX ? writes : UINT16_MAX);
        mixed |= res->mixed != 0;
        if (bytes == 0 || uses == 0) {
            res->bytes = 0;
            res->first = res->last = HDI_NONE;
            continue;
        }
        hdi_sched_rank *at = &rank[res->first];
        add_bytes(res->mixed & HDI_MIXED_OPENERS ? &at->shared : &at->opens, (int64_t)bytes, several);
        add_bytes(&at->step, (int64_t)bytes, several);
        add_bytes(&rank[res->last + 1].step, -(int64_t)bytes, several);
    }
    if (mixed)
        atomic_store_explicit(&w->mixed, true, memory_order_relaxed);
}

/* ---- regions ---- */

/* Frames of many passes have as many regions as 16 workers share evenly; none is empty. */
static uint32_t count_regions(uint32_t kept, uint32_t region_passes)
{
    enum { WORKERS = 16 };
    uint32_t count = kept / region_passes;
    count = count < 4 ? 1 : count < HDI_MOST_PARTS ? count : HDI_MOST_PARTS;
    if (count <= WORKERS)
        return count;
    uint32_t even = (count + WORKERS / 4) / WORKERS * WORKERS;
    return even <= kept ? even : even - WORKERS;
}

/* Regions are about equally long; each begins where the least is alive around its even place. */
static void cut_regions(hdi_sched *s, uint32_t count, hdi_sched_cuts *cuts)
{
    const uint32_t kept = s->kept_count, reach = kept / count / 8;
    int64_t live = 0, peak = 0, least = INT64_MAX;
    uint32_t next = 1, middle = hdi_range_begin(kept, count, 1);
    *cuts = (hdi_sched_cuts){.count = count};
    for (uint32_t k = 0; k <= count; k++)
        cuts->begin[k] = hdi_range_begin(kept, count, k);
    for (uint32_t rank = 0; rank < kept; rank++) {
        live += s->rank[rank].step;
        peak = live > peak ? live : peak;
        if (HDI_UNLIKELY(next < count && rank + reach >= middle)) {
            if (live < least) {
                least = live;
                cuts->begin[next] = rank;
                cuts->live_before[next] = live - s->rank[rank].opens - s->rank[rank].shared;
            }
            if (rank + 1 >= middle + reach) {
                middle = hdi_range_begin(kept, count, ++next);
                least = INT64_MAX;
            }
        }
    }
    s->peak = (uint64_t)peak;
}

hd_result hdi_sched_prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, const hdi_crew *crew,
                            hdi_sched_cuts *cuts, uint32_t *bad_pass)
{
    enum { PASSES = 256, RESOURCES = 512 }; /* at least, for each worker */
    const hdi_decl *decl = s->decl;
    hdi_arena *arena = s->arena;
    const uint32_t passes = decl->pass_count, count = kept->kept_count;
    s->kept_count = count;
    s->clock_words = (s->queues->count + 3) / 4 * 4;
    s->rank_pass = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)count + 1);
    s->pass_rank = HDI_ARENA_ARRAY(arena, uint32_t, passes);
    s->pass_level = HDI_ARENA_ARRAY(arena, uint32_t, passes);
    s->pass_left = HDI_ARENA_ARRAY(arena, uint32_t, passes);
    s->rank = HDI_ARENA_ARRAY(arena, hdi_sched_rank, (size_t)count + 1);
    s->res = HDI_ARENA_ARRAY(arena, hdi_sched_res, decl->res_count);
    if (s->queues->gpu_count > 1)
        s->res_last_slots = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)decl->res_count * s->clock_words);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = check_queues(s, kept, bad_pass);
    if (result != HD_OK)
        return result;
    prepare_work w = {.s = s, .pass_kept = kept->pass_kept, .need = sizes->need, .several = crew->workers > 1};
    s->rank[count] = (hdi_sched_rank){0};
    s->rank_pass[count] = HDI_NONE;
    hdi_crew_ranges(crew, passes, PASSES, number_ranks, &w);
    hdi_crew_ranges(crew, decl->res_count, RESOURCES, begin_resources, &w);
    hdi_crew_ranges(crew, passes, PASSES, note_uses, &w);
    hdi_crew_ranges(crew, decl->res_count, RESOURCES, judge_resources, &w);
    s->mixed = atomic_load_explicit(&w.mixed, memory_order_relaxed);
    s->may_copy_depth = s->res_last_slots && may_copy_depth(decl);
    cut_regions(s, count_regions(count, crew->region_passes), cuts);
    return HD_OK;
}

/* ---- a region ---- */

/* Levels, and how many passes of the region each pass depends on. */
static void find_levels(hdi_sched *s)
{
    const bool whole = s->whole;
    const uint32_t *pred_begin = s->depends->pred_begin, *pred = s->depends->pred, begin = s->pass_begin;
    uint32_t *pass_level = s->pass_level, depth = 0, roots = 0;
    for (size_t rank = 0, count = s->kept_count; rank < count; rank++) {
        size_t p = s->rank_pass[rank];
        uint32_t level = 0, left = pred_begin[p + 1] - pred_begin[p];
        for (size_t e = pred_begin[p], end = pred_begin[p + 1]; e < end; e++) {
            if (!whole && pred[e] < begin) {
                left--;
                continue;
            }
            uint32_t above = pass_level[pred[e]] + 1;
            level = above > level ? above : level;
        }
        pass_level[p] = level;
        s->pass_left[p] = left;
        s->root[roots] = (uint32_t)rank;
        roots += left == 0;
        depth = level + 1 > depth ? level + 1 : depth;
    }
    s->root_count = roots;
    s->depth = depth;
}

/* Of resources that earlier regions opened and this one closes, only the region's own uses count. */
static void count_older(const hdi_sched *s)
{
    const hdi_decl *decl = s->decl;
    for (int count = 0; count < 2; count++) {
        for (uint32_t rank = 0; rank < s->kept_count; rank++) {
            const uint32_t *use = &decl->pass_use_begin[s->rank_pass[rank]];
            for (uint32_t u = use[0]; u < use[1]; u++) {
                hdi_sched_res *res = &s->res[decl->use_res[u]];
                if (res->first < s->rank_begin && hdi_sched_has(s, res->last))
                    res->left = count ? res->left + 1 : 0;
            }
        }
    }
}

static void mark_mixed(hdi_sched *s)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *use_res = decl->use_res;
    const hdi_sched_res *all = s->res;
    for (size_t u = decl->pass_use_begin[s->pass_begin], end = u + s->use_count; u < end; u++) {
        const hdi_sched_res *res = &all[use_res[u]];
        if (HDI_LIKELY(!res->mixed))
            continue;
        const uint32_t pass = decl->use_pass[u], rank = s->pass_rank[pass] - s->rank_begin, flags = decl->use_flags[u];
        hdi_sched_rank *at = &s->rank[rank];
        if (s->rank_pass[rank] != pass)
            continue; /* culled */
        if (!(flags & HDI_USE_READS) && hdi_sched_shares(s, res)) {
            bool other = at->mixed & HDI_MIXED_OPENERS && at->opener != use_res[u];
            at->mixed |= HDI_MIXED_OPENERS;
            at->opener = other ? HDI_NONE : use_res[u];
        }
        if (!(flags & HDI_USE_WRITES) && res->mixed & HDI_MIXED_LAYOUTS) {
            hdi_span span = hdi_use_span(decl, s->frozen, (uint32_t)u);
            at->mixed |= HDI_MIXED_LAYOUTS;
            s->layout_count += span.rows * span.cols;
        }
    }
}

bool hdi_sched_begin_region(hdi_sched *s)
{
    s->root = HDI_ARENA_ARRAY(s->arena, uint32_t, (size_t)s->kept_count + 1);
    if (!s->root)
        return false;
    find_levels(s);
    if (!s->whole)
        count_older(s);
    if (s->mixed)
        mark_mixed(s);
    return true;
}

int64_t hdi_sched_shared_bytes(const hdi_sched *s, uint32_t rank)
{
    const uint32_t *use = &s->decl->pass_use_begin[s->rank_pass[rank]];
    int64_t bytes = 0;
    for (uint32_t u = use[0]; u < use[1]; u++) {
        const hdi_sched_res *res = &s->res[s->decl->use_res[u]];
        bytes += hdi_sched_shares(s, res) && !res->open ? (int64_t)res->bytes : 0;
    }
    return bytes;
}

void hdi_sched_undo(hdi_sched *s, const uint32_t *slot_pass, uint32_t slot_count)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *succ = s->depends->succ, *succ_begin = s->depends->succ_begin;
    const size_t words = s->clock_words;
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        const uint32_t p = slot_pass[slot];
        for (size_t e = succ_begin[p], end = succ_begin[p + 1]; e < end; e++) {
            if (succ[e] < s->pass_end)
                s->pass_left[succ[e]]++;
        }
        const uint32_t *use = &decl->pass_use_begin[p];
        for (uint32_t u = use[0]; u < use[1]; u++) {
            uint32_t r = decl->use_res[u];
            hdi_sched_res *res = &s->res[r];
            if (hdi_sched_has(s, res->first))
                res->open = false;
            if (!hdi_sched_has(s, res->last))
                continue;
            res->left++;
            if (s->res_last_slots)
                memset(&s->res_last_slots[r * words], 0, words * sizeof(*s->res_last_slots));
        }
    }
}
