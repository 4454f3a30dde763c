#include "schedule.h"

#include <string.h>

/* What both schedulers need: ranks, levels, who uses what when, and how much each rank keeps alive. O(uses + edges). */

static hd_result number_ranks(hdi_sched *s, const hdi_kept *kept, uint32_t *bad_pass)
{
    const hdi_decl *decl = s->decl;
    uint32_t count = 0;
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        if (!kept->pass_kept[p])
            continue;
        if (hdi_allowed_kinds(decl, s->queues, p) == 0) {
            *bad_pass = p;
            return HD_NO_QUEUE;
        }
        s->pass_rank[p] = count;
        s->rank_pass[count++] = p;
    }
    s->kept_count = count;
    return HD_OK;
}

/* A pass lies one level behind the deepest that it depends on. */
void hdi_sched_find_levels(hdi_sched *s)
{
    const hdi_depends *depends = s->depends;
    const uint32_t *pass_rank = s->pass_rank;
    uint32_t rank_begin = s->rank_begin;
    uint32_t *level = s->pass_level, *next = s->pass_float, depth = 0;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank], end = depends->pred_begin[p + 1], deepest = 0;
        for (uint32_t e = depends->pred_begin[p]; e < end; e++) {
            uint32_t before = depends->pred[e];
            if (rank_begin && pass_rank[before] < rank_begin)
                continue;
            deepest = level[before] + 1 > deepest ? level[before] + 1 : deepest;
        }
        for (uint32_t e = depends->pred_begin[p]; e < end; e++) {
            uint32_t before = depends->pred[e];
            if (!rank_begin || pass_rank[before] >= rank_begin)
                next[before] = deepest < next[before] ? deepest : next[before];
        }
        level[p] = deepest;
        next[p] = HDI_NONE; /* level of its first consumer */
        depth = deepest + 1 > depth ? deepest + 1 : depth;
    }
    s->depth = depth;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        next[p] = next[p] == HDI_NONE ? 0 : next[p] - level[p] - 1;
    }
}

/* What a look at all uses by rank finds out of a resource. */
struct hdi_res_look {
    uint32_t first, last, uses;
    uint32_t layout; /* of its readers + 2; UNREAD, MIXED */
    uint8_t writers; /* 2: several */
};
enum { UNREAD = 0, MIXED = 1 };

void hdi_sched_flag(hdi_sched *s, const hdi_res_look *look)
{
    const hdi_decl *decl = s->decl;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank], flags = 0;
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            uint32_t r = decl->use_res[u];
            flags |= look[r].layout == MIXED ? HDI_MIXED_LAYOUTS : 0;
            flags |= look[r].writers > 1 && s->res_bytes[r] ? HDI_MIXED_OPENERS : 0;
        }
        s->pass_mixed[p] = (uint8_t)flags;
    }
}

typedef struct look_work {
    hdi_sched *s;
    const hdi_sizes *sizes;
    uint32_t parts;
    hdi_res_look *look;
    bool any[HDI_MOST_PARTS];
} look_work;

/* Who uses what when; which images are read in several layouts and what is overwritten by several. Each part looks at all
 * uses for those of its own resources, so that it meets them by rank. */
static void look_at_uses(uint32_t part, void *user)
{
    look_work *w = user;
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    hdi_res_look *look = w->look;
    uint32_t begin = hdi_range_begin(decl->res_count, w->parts, part);
    uint32_t count = hdi_range_begin(decl->res_count, w->parts, part + 1) - begin;
    bool any = false;
    memset(look + begin, 0, count * sizeof(*look));
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank], end = decl->pass_use_begin[p + 1];
        for (uint32_t u = decl->pass_use_begin[p]; u < end; u++) {
            uint32_t res = decl->use_res[u];
            if (res - begin >= count)
                continue;
            const hdi_access_info *access = &decl->access[decl->use_access[u]];
            hdi_res_look *of = &look[res];
            if (of->uses++ == 0)
                of->first = rank;
            of->last = rank;
            uint32_t layout = access->layout + 2;
            if (access->writes) {
                any |= of->writers;
                of->writers = (uint8_t)(of->writers ? 2 : 1);
            } else if (of->layout != layout && !(decl->res_flags[res] & HDI_RES_BUFFER)) {
                any |= of->layout != UNREAD;
                of->layout = of->layout == UNREAD ? layout : MIXED;
            }
        }
    }
    w->any[part] = any;
    for (uint32_t r = begin; r < begin + count; r++) {
        s->res_uses[r] = look[r].uses;
        s->res_first[r] = look[r].first;
        s->res_last[r] = look[r].last;
        /* What shares memory with nobody costs the same in every order. */
        s->res_bytes[r] =
            w->sizes->res_persistent[r] || decl->res_flags[r] & HDI_RES_HOST ? 0 : w->sizes->need[r].bytes;
    }
}

/* How much is alive when passes run by rank. */
static void find_live(hdi_sched *s)
{
    memset(s->rank_live, 0, ((size_t)s->kept_count + 1) * sizeof(*s->rank_live));
    for (uint32_t r = 0; r < s->decl->res_count; r++) {
        if (s->res_uses[r] == 0 || s->res_bytes[r] == 0)
            continue;
        s->rank_live[s->res_first[r]] += s->res_bytes[r];
        s->rank_live[s->res_last[r] + 1] -= s->res_bytes[r]; /* unsigned wrap is undone by the running sum */
    }
    uint64_t live = 0, peak = 0;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        live += s->rank_live[rank];
        s->rank_live[rank] = live;
        peak = live > peak ? live : peak;
    }
    s->peak = peak;
}

/* *flagged: null where there is nothing to flag a pass for. */
static bool look(hdi_sched *s, const hdi_sizes *sizes, const hdi_crew *crew, const hdi_res_look **flagged)
{
    look_work w = {.s = s, .sizes = sizes, .parts = crew->workers < HDI_MOST_PARTS ? crew->workers : HDI_MOST_PARTS};
    w.look = HDI_ARENA_ARRAY(s->arena, hdi_res_look, s->decl->res_count);
    if (!w.look)
        return false;
    memset(s->pass_mixed, 0, s->decl->pass_count);
    hdi_crew_parts(crew, w.parts, look_at_uses, &w);
    for (uint32_t k = 0; k < w.parts; k++)
        *flagged = w.any[k] ? w.look : *flagged;
    find_live(s);
    return true;
}

/* Columns that the schedulers need while they run. */
static void make_columns(hdi_sched *s)
{
    size_t passes = s->decl->pass_count, resources = s->decl->res_count, queues = s->queues->count;
    s->pass_left = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    s->pass_net = HDI_ARENA_ARRAY(s->arena, int64_t, passes);
    s->res_left = HDI_ARENA_ARRAY(s->arena, uint32_t, resources);
    if (s->queues->gpu_count == 1) {
        s->pass_due = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
        return;
    }
    s->pass_ready_at = HDI_ARENA_ARRAY(s->arena, float, passes);
    s->pass_path = HDI_ARENA_ARRAY(s->arena, float, passes);
    s->pass_may_run = HDI_ARENA_ARRAY(s->arena, uint16_t, passes);
    s->pass_queue_start = HDI_ARENA_ARRAY(s->arena, float, passes * queues);
    s->pass_queue_group = HDI_ARENA_ARRAY(s->arena, uint32_t, passes * queues);
    s->pass_queue_clock = HDI_ARENA_ARRAY(s->arena, uint32_t, passes * queues);
    s->res_queue_last = HDI_ARENA_ARRAY(s->arena, uint32_t, resources * queues);
}

hd_result hdi_sched_prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, uint32_t *bad_pass,
                         const hdi_crew *crew, const hdi_res_look **flagged)
{
    const hdi_decl *decl = s->decl;
    hdi_arena *arena = s->arena;
    s->rank_pass = HDI_ARENA_ARRAY(arena, uint32_t, kept->kept_count);
    s->pass_rank = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    s->pass_level = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    s->pass_float = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    s->pass_mixed = HDI_ARENA_ARRAY(arena, uint8_t, decl->pass_count);
    s->res_bytes = HDI_ARENA_ARRAY(arena, uint64_t, decl->res_count);
    s->res_uses = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    s->res_first = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    s->res_last = HDI_ARENA_ARRAY(arena, uint32_t, decl->res_count);
    s->rank_live = HDI_ARENA_ARRAY(arena, uint64_t, (size_t)kept->kept_count + 1);
    make_columns(s);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = number_ranks(s, kept, bad_pass);
    if (result != HD_OK)
        return result;
    return look(s, sizes, crew, flagged) ? HD_OK : HD_OUT_OF_MEMORY;
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
