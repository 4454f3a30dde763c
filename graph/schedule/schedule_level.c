#include "schedule_work.h"

#include <string.h>

/* Levelling. A group takes all that is ready and fits, so groups are as full of memory as the cap allows, and a frame
 * that is full all the time leaves the packing no room. But many passes open memory long before its first reader. Here
 * those wait: from the last pass to the first, each pass that opens memory moves to the group, before that of its first
 * consumer, where the sum of all groups' strain is the least. The strain of a group doubles with each 32nd part of the
 * cap that is alive in it; so full groups are relieved, and empty ones may take more. There are no more groups than
 * before. What is alive at the peak stays alive there: its bytes are needed once anyhow.
 * O(uses + edges + passes * REACH). */

enum { REACH = 4, CAP_BITS = 20, STEP_BITS = CAP_BITS - 5 };

typedef struct level_work {
    const hdi_sched *s;
    hdi_schedule *out;
    int64_t *live;    /* by group, in units of 1 << shift bytes */
    uint64_t *strain; /* by group */
    uint32_t *group;  /* by pass */
    uint32_t shift, group_count;
} level_work;

/* What a pass would change by moving, in units. */
typedef struct level_move {
    int64_t opened;            /* alive from the pass on */
    int64_t alone;             /* used by the pass alone: alive in its group and, as it writes, in the next */
    int64_t longer[REACH + 2]; /* inputs that are alive longer if the pass moves so many groups on; the last: or more */
} level_move;

static uint64_t strain_of(int64_t live)
{
    uint64_t x = live > 0 ? (uint64_t)live : 0, step = x >> STEP_BITS;
    return ((x & ((1u << STEP_BITS) - 1)) + (1u << STEP_BITS)) << (step < 40 ? step : 40);
}

/* The last group before those of the passes that depend on a pass. */
static uint32_t find_latest(const level_work *w, size_t pass)
{
    const hdi_depends *depends = w->s->depends;
    const uint32_t *succ = depends->succ, pass_end = w->s->pass_end;
    uint32_t to = w->group_count;
    for (size_t e = depends->succ_begin[pass], end = depends->succ_begin[pass + 1]; e < end; e++) {
        if (succ[e] < pass_end)
            to = w->group[succ[e]] < to ? w->group[succ[e]] : to;
    }
    return to - 1;
}

/* What a pass uses is alive in its group, and in the next one if the pass writes it. */
static void extend_uses(const level_work *w, size_t pass, uint32_t group)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    for (size_t u = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1]; u < end; u++) {
        hdi_sched_res *res = &s->res[decl->use_res[u]];
        uint32_t last = group + (decl->use_flags[u] / HDI_USE_WRITES & 1);
        if (hdi_sched_has(s, res->last))
            res->last_group = last > res->last_group ? last : res->last_group;
    }
}

/* After passes have moved between groups. */
static void find_last_groups(const level_work *w)
{
    const hdi_decl *decl = w->s->decl;
    for (size_t u = decl->pass_use_begin[w->s->pass_begin], end = decl->pass_use_begin[w->s->pass_end]; u < end; u++) {
        hdi_sched_res *res = &w->s->res[decl->use_res[u]];
        if (hdi_sched_has(w->s, res->last))
            res->last_group = 0;
    }
    for (uint32_t i = 0; i < w->out->slot_count; i++)
        extend_uses(w, w->out->slot_pass[i], w->out->slot_group[i]);
}

/* What a pass would change by moving. False: it stays, as it opens nothing, or uses a resource that others write or
 * read in other layouts. */
static bool find_move(const level_work *w, size_t pass, uint32_t group, level_move *m)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_res = s->decl->use_res, rank = s->pass_rank[pass], rank_begin = s->rank_begin;
    uint32_t before = HDI_NONE;
    int64_t opened = 0, alone = 0;
    bool fixed = false;
    *m = (level_move){.opened = 0};
    for (size_t u = s->decl->pass_use_begin[pass], end = s->decl->pass_use_begin[pass + 1]; u < end; u++) {
        uint32_t r = use_res[u];
        const hdi_sched_res *res = &s->res[r];
        fixed |= (res->mixed != 0) | (res->writes > 1) | (r == before);
        before = r;
        if (res->last - rank_begin >= s->kept_count)
            continue;
        int64_t units = (int64_t)(res->bytes >> w->shift), opens = units & -(int64_t)(res->first == rank);
        uint32_t longer = (res->last_group > group ? res->last_group : group) + 1 - group;
        alone += opens & -(int64_t)(res->uses == 1);
        opened += opens;
        m->longer[longer < REACH + 1 ? longer : REACH + 1] += units - opens;
    }
    m->opened = opened - alone;
    m->alone = alone;
    return !fixed && opened;
}

/* The group up to `to` where the sum of all strains is the least; the earliest of equal ones. */
static uint32_t find_best(const level_work *w, const level_move *m, uint32_t group, uint32_t to)
{
    const int64_t *live = w->live;
    uint32_t best = group;
    int64_t behind = 0, least = 0, inputs = 0;
    for (uint32_t k = group + 1; k <= to; k++) {
        int64_t alone = k - group < 2 ? 0 : m->alone, left = m->opened + (k - group < 3 ? m->alone : 0);
        behind += (int64_t)(strain_of(live[k - 1] + inputs - left) - w->strain[k - 1]);
        inputs += m->longer[k - group];
        int64_t all = behind + (int64_t)(strain_of(live[k] + inputs + alone) - w->strain[k]);
        if (m->alone)
            all += (int64_t)(strain_of(live[k + 1] + m->alone) - w->strain[k + 1]);
        if (all < least) {
            least = all;
            best = k;
        }
    }
    return best;
}

static void apply_move(level_work *w, const level_move *m, uint32_t group, uint32_t to)
{
    int64_t inputs = 0;
    for (uint32_t k = group; k <= to; k++) {
        inputs += m->longer[k - group];
        w->live[k] += inputs - (k < to ? m->opened : 0);
        w->live[k] += (k == to ? m->alone : 0) - (k - group < 2 ? m->alone : 0);
        w->strain[k] = strain_of(w->live[k]);
    }
    w->live[to + 1] += m->alone;
    w->strain[to + 1] = strain_of(w->live[to + 1]);
}

/* The slot behind which the most is alive. */
static uint32_t find_peak(const int64_t *slot_net, uint32_t slot_count)
{
    uint32_t peak = 0;
    int64_t live = 0, most = 0;
    for (uint32_t i = 0; i < slot_count; i++) {
        live += slot_net[i];
        if (live > most) {
            most = live;
            peak = i;
        }
    }
    return peak;
}

bool hdi_sched_put_in_groups(const hdi_sched *s, const uint32_t *pass_group, const uint32_t *pass, hdi_schedule *out)
{
    const uint32_t n = out->slot_count, count = out->group_count;
    uint32_t *begin = HDI_ARENA_ZEROED(s->arena, uint32_t, count), groups = 0, at = 0;
    if (!begin)
        return false;
    for (uint32_t i = 0; i < n; i++)
        begin[pass_group[pass[i]]]++;
    for (uint32_t g = 0; g < count; g++) {
        uint32_t passes = begin[g];
        begin[g] = at;
        groups += passes != 0;
        for (uint32_t i = 0; i < passes; i++)
            out->slot_group[at++] = groups;
    }
    out->group_count = groups + 1;
    for (uint32_t i = 0; i < n; i++)
        out->slot_pass[begin[pass_group[pass[i]]]++] = pass[i];
    return true;
}

bool hdi_sched_level(const hdi_sched *s, uint64_t cap, bool moved, const int64_t *slot_net, int64_t *group_live,
                     hdi_schedule *out)
{
    level_work w = {
        .s = s, .out = out, .live = group_live, .group = s->pass_left, .group_count = out->group_count};
    w.strain = HDI_ARENA_ARRAY(s->arena, uint64_t, (size_t)w.group_count + 1);
    uint32_t *pass = HDI_ARENA_ARRAY(s->arena, uint32_t, out->slot_count);
    if (s->arena->failed)
        return false;
    while (cap >> w.shift >> CAP_BITS)
        w.shift++;
    for (uint32_t g = 0; g <= w.group_count; g++) {
        group_live[g] >>= w.shift;
        w.strain[g] = strain_of(group_live[g]);
    }
    for (uint32_t i = 0; i < out->slot_count; i++)
        w.group[out->slot_pass[i]] = out->slot_group[i];
    if (moved)
        find_last_groups(&w);
    uint32_t peak = find_peak(slot_net, out->slot_count);
    for (uint32_t i = out->slot_count; i-- > 0;) {
        uint32_t p = out->slot_pass[i], group = out->slot_group[i], to = find_latest(&w, p);
        level_move m;
        to = to > group + REACH ? group + REACH : to;
        if (i <= peak && to > out->slot_group[peak])
            to = out->slot_group[peak];
        if (to <= group || !find_move(&w, p, group, &m))
            continue;
        to = find_best(&w, &m, group, to);
        if (to > group) {
            apply_move(&w, &m, group, to);
            extend_uses(&w, p, to);
            w.group[p] = to;
        }
    }
    memcpy(pass, out->slot_pass, out->slot_count * sizeof(*pass));
    return hdi_sched_put_in_groups(s, w.group, pass, out);
}
