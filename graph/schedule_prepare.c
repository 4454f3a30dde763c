#include "schedule.h"

#include <string.h>

#include "bitset.h"
#include "hints.h"

/* What both schedulers need: ranks, levels, who uses what when, and how much each rank keeps alive. O(uses + edges). */

static hd_result number_ranks(hdi_sched *s, const hdi_kept *kept, uint32_t *bad_pass)
{
    const hdi_decl *decl = s->decl;
    const uint8_t *pass_kept = kept->pass_kept;
    uint32_t *rank_pass = s->rank_pass, *pass_rank = s->pass_rank, count = 0, bad_types = 0;
    for (uint32_t type = HD_PASS_GFX; type < HD_PASS_HOST; type++) /* whose queue is there where it has passes */
        bad_types |= hdi_type_kinds(type) & s->queues->kinds ? 0 : 1u << type;
    for (uint32_t p = 0; bad_types && p < decl->pass_count; p++) {
        if (pass_kept[p] && bad_types >> decl->pass_type[p] & 1) {
            *bad_pass = p;
            return HD_NO_QUEUE;
        }
    }
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        rank_pass[count] = p; /* the next kept one takes the place of one that is not */
        pass_rank[p] = count;
        count += pass_kept[p];
    }
    s->kept_count = count;
    return HD_OK;
}

/* A pass lies one level behind the deepest that it depends on. */
uint32_t hdi_sched_find_levels(const hdi_sched *s, uint64_t *ready)
{
    const uint32_t *pred_begin = s->depends->pred_begin, *pred = s->depends->pred, *rank_pass = s->rank_pass;
    uint32_t *pass_level = s->pass_level, *pass_need = s->pass_need, pass_begin = s->pass_begin, depth = 0;
    size_t kept = s->kept_count, e = pred_begin[pass_begin]; /* those of passes that are not kept are none */
    for (size_t rank = 0; rank < kept; rank++) {
        size_t p = rank_pass[rank], end = pred_begin[p + 1];
        uint32_t level = 0, need = 0;
        for (; e < end; e++) {
            uint32_t before = pred[e];
            if (before < pass_begin)
                continue;
            uint32_t behind = pass_level[before] + 1;
            level = behind > level ? behind : level;
            need++;
        }
        pass_level[p] = level;
        pass_need[p] = need;
        depth = level > depth ? level : depth;
        if (!need)
            hdi_bit_set(ready, (uint32_t)rank);
    }
    return depth + 1;
}

void hdi_sched_find_consumers(const hdi_sched *s)
{
    const uint32_t *pred_begin = s->depends->pred_begin, *pred = s->depends->pred, *pass_level = s->pass_level;
    const uint32_t *rank_pass = s->rank_pass;
    uint32_t *first = s->pass_consumer, pass_begin = s->pass_begin;
    size_t kept = s->kept_count, e = pred_begin[pass_begin];
    memset(first + pass_begin, 0xff, (s->pass_end - pass_begin) * sizeof(*first));
    for (size_t rank = 0; rank < kept; rank++) {
        size_t p = rank_pass[rank], end = pred_begin[p + 1];
        uint32_t level = pass_level[p];
        for (; e < end; e++) {
            uint32_t before = pred[e];
            if (before >= pass_begin && level < first[before])
                first[before] = level;
        }
    }
}

void hdi_sched_flag(const hdi_sched *s)
{
    const hdi_decl *decl = s->decl;
    for (uint32_t rank = 0; s->mixed_uses && rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank], flags = 0;
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++)
            flags |= decl->use_flags[u] & HDI_USE_READS ? 0 : s->res[decl->use_res[u]].mixed & HDI_MIXED_OPENERS;
        s->pass_mixed[p] = (uint8_t)flags;
    }
}

typedef struct look_work {
    const hdi_sched *s;
    const uint8_t *pass_kept;
    uint32_t parts;
} look_work;

enum { UNREAD = 0, SEVERAL = 1, LAYOUTS = 2 }; /* layout of the readers of a resource: the last and above, less so many */

static HDI_APART void look_at_layout(hdi_sched_res *res, const hdi_decl *decl, uint32_t access)
{
    uint32_t layout = decl->access[access].layout + LAYOUTS;
    res->access = (uint16_t)(access + 1);
    res->layout = res->layout == UNREAD || res->layout == layout ? layout : SEVERAL;
}

/* Of resources of one part. What has no content at first is written before it is read, so its first use is a write. */
static inline void look_at_part(const look_work *w, uint32_t begin, uint32_t count)
{
    const hdi_decl *decl = w->s->decl;
    const uint32_t *use_res = decl->use_res, *pass_use_begin = decl->pass_use_begin;
    const uint8_t *use_flags = decl->use_flags, *pass_kept = w->pass_kept;
    const uint16_t *use_access = decl->use_access;
    hdi_sched_res *all = w->s->res;
    uint32_t rank = 0;
    for (size_t p = 0, u = 0, pass_count = decl->pass_count; p < pass_count; p++) {
        size_t end = pass_use_begin[p + 1];
        if (!pass_kept[p]) {
            u = end;
            continue;
        }
        for (; u < end; u++) {
            uint32_t r = use_res[u], flags = use_flags[u];
            hdi_sched_res *res = &all[r];
            if (r - begin >= count)
                continue;
            res->left++;
            res->last = rank;
            if (flags & HDI_USE_WRITES) {
                if (res->writes++ == 0)
                    res->first = rank;
            } else if (!(flags & HDI_USE_BUFFER) && use_access[u] + 1u != res->access) {
                look_at_layout(res, decl, use_access[u]);
            }
        }
        rank++;
    }
}

/* Who uses what when; which images are read in several layouts and what is overwritten by several. Each part looks at all
 * uses for those of its own resources, so that it meets them by rank. */
static void look_at_uses(uint32_t part, void *user)
{
    const look_work *w = user;
    uint32_t res_count = w->s->decl->res_count, begin = hdi_range_begin(res_count, w->parts, part);
    uint32_t count = hdi_range_begin(res_count, w->parts, part + 1) - begin;
    memset(w->s->res + begin, 0, count * sizeof(*w->s->res));
    if (w->parts == 1)
        look_at_part(w, 0, HDI_NONE);
    else
        look_at_part(w, begin, count);
}

/* What can be told of a resource when all its uses are known. */
static inline void judge(hdi_sched *s, const hdi_sizes *sizes, uint32_t r)
{
    const hdi_decl *decl = s->decl;
    const uint32_t no_bytes = HDI_RES_HISTORY | HDI_RES_HAS_HISTORY | HDI_RES_HOST;
    hdi_sched_res *res = &s->res[r];
    res->bytes = decl->res_flags[r] & no_bytes || res->left == 0 ? 0 : sizes->need[r].bytes;
    if (HDI_UNLIKELY(res->layout == SEVERAL)) {
        res->mixed |= HDI_MIXED_LAYOUTS;
        s->mixed_uses += res->left;
        s->mixed_images++;
    }
    res->uses = res->left;
    if (HDI_UNLIKELY(res->bytes == 0)) {
        res->mixed |= HDI_NO_BYTES;
        res->first = res->last = HDI_NONE;
    } else if (HDI_UNLIKELY(res->writes > 1) &&
               s->frozen->res_seg_begin[r + 1] - s->frozen->res_seg_begin[r] > 1) {
        res->mixed |= HDI_MIXED_OPENERS; /* of one segment, all that use it later follow who used it first */
        s->mixed_uses += res->left;
    }
}

/* How much is alive when passes run by rank. */
static void find_live(hdi_sched *s, const hdi_sizes *sizes)
{
    hdi_sched_rank *at = s->rank;
    memset(at, 0, ((size_t)s->kept_count + 1) * sizeof(*at));
    for (uint32_t r = 0; r < s->decl->res_count; r++) {
        const hdi_sched_res *res = &s->res[r];
        judge(s, sizes, r);
        if (HDI_UNLIKELY(res->bytes == 0))
            continue;
        at[res->first].opens += res->bytes;
        at[res->last + 1].live -= res->bytes; /* unsigned wrap is undone by the running sum */
    }
    uint64_t live = 0, peak = 0;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        live += at[rank].live + at[rank].opens;
        at[rank].live = live;
        peak = live > peak ? live : peak;
    }
    s->peak = peak;
}

/* Columns that the schedulers need while they run. */
static void make_columns(hdi_sched *s)
{
    size_t passes = s->decl->pass_count, resources = s->decl->res_count, queues = s->queues->count;
    s->pass_level = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    s->pass_need = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    s->pass_left = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    s->pass_consumer = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    if (s->queues->gpu_count == 1)
        return;
    s->pass_mixed = HDI_ARENA_ZEROED(s->arena, uint8_t, passes);
    s->pass_net = HDI_ARENA_ARRAY(s->arena, int64_t, passes);
    s->pass_ready_at = HDI_ARENA_ARRAY(s->arena, float, passes);
    s->pass_path = HDI_ARENA_ARRAY(s->arena, float, passes);
    s->pass_may_run = HDI_ARENA_ARRAY(s->arena, uint16_t, passes);
    s->pass_queue_start = HDI_ARENA_ARRAY(s->arena, float, passes * queues);
    s->pass_queue_group = HDI_ARENA_ARRAY(s->arena, uint32_t, passes * queues);
    s->pass_queue_clock = HDI_ARENA_ARRAY(s->arena, uint32_t, passes * queues);
    s->rank_live = HDI_ARENA_ARRAY(s->arena, uint64_t, passes);
    s->res_bytes = HDI_ARENA_ARRAY(s->arena, uint64_t, resources);
    s->res_first = HDI_ARENA_ARRAY(s->arena, uint32_t, resources);
    s->res_last = HDI_ARENA_ARRAY(s->arena, uint32_t, resources);
    s->res_uses = HDI_ARENA_ARRAY(s->arena, uint32_t, resources);
    s->res_left = HDI_ARENA_ARRAY(s->arena, uint32_t, resources);
    s->res_queue_last = HDI_ARENA_ARRAY(s->arena, uint32_t, resources * queues);
}

static void fill_columns(hdi_sched *s)
{
    for (uint32_t r = 0; r < s->decl->res_count; r++) {
        s->res_bytes[r] = s->res[r].bytes;
        s->res_first[r] = s->res[r].first;
        s->res_last[r] = s->res[r].last;
        s->res_uses[r] = s->res[r].left;
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++)
        s->rank_live[rank] = s->rank[rank].live;
}

hd_result hdi_sched_prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, uint32_t *bad_pass,
                            const hdi_crew *crew)
{
    const hdi_decl *decl = s->decl;
    hdi_arena *arena = s->arena;
    s->rank_pass = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept->kept_count + 1);
    s->pass_rank = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    s->rank = HDI_ARENA_ARRAY(arena, hdi_sched_rank, (size_t)kept->kept_count + 1);
    s->res = HDI_ARENA_ARRAY(arena, hdi_sched_res, decl->res_count);
    make_columns(s);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = number_ranks(s, kept, bad_pass);
    if (result != HD_OK)
        return result;
    s->pass_end = decl->pass_count;
    look_work w = {s, kept->pass_kept, crew->workers < HDI_MOST_PARTS ? crew->workers : HDI_MOST_PARTS};
    hdi_crew_parts(crew, w.parts, look_at_uses, &w);
    find_live(s, sizes);
    if (s->queues->gpu_count > 1)
        fill_columns(s);
    return HD_OK;
}

void hdi_sched_begin(const hdi_sched *s, uint32_t *res_left, uint8_t *res_open)
{
    const hdi_decl *decl = s->decl;
    if (s->whole) {
        memcpy(res_left, s->res_uses, decl->res_count * sizeof(*res_left));
        return;
    }
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            uint32_t res = decl->use_res[u];
            bool closes = hdi_sched_has(s, s->res_last[res]);
            if (s->res_first[res] >= s->rank_begin) {
                if (closes)
                    res_left[res] = s->res_uses[res];
                continue;
            }
            if (closes)
                res_left[res] = res_open[res] ? res_left[res] + 1 : 1;
            res_open[res] = 1;
        }
    }
}
