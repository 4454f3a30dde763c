#include "schedule.h"

#include <string.h>

#include "hints.h"

/* Levelling: a group takes whatever is ready and fits, so groups are as full of memory as the cap allows, and a frame
 * that is full all the time leaves the packers no room. But many passes open memory long before somebody reads it. Here
 * these wait: from the last to the first, each pass that opens something moves to the group, before that of its first
 * consumer, where the groups together suffer the least. What a group suffers doubles with each 32nd part of the cap
 * that is alive in it; so full groups are relieved, and empty ones may take it. No group more is made. What is alive at
 * the peak by rank stays alive there: its bytes are needed once anyhow. O(uses + edges + passes * reach). */

enum { REACH = 4, CAP_BITS = 20, STEP_BITS = CAP_BITS - 5 };

typedef struct work {
    const hdi_sched *s;
    const hdi_schedule *out;
    int64_t *live;   /* per group, in units: 1 << shift bytes */
    uint64_t *pain;  /* per group: what it suffers */
    uint32_t *group; /* by pass */
    const uint32_t *succ, *succ_begin, *use_res, *use_begin; /* of the above, as each pass asks for them */
    size_t edges;
    uint32_t shift, group_count;
} work;

/* What a pass would change by moving. */
typedef struct move {
    int64_t opened;            /* alive from it on */
    int64_t alone;             /* of it and nobody else: alive in its group and, as it writes, in the next */
    int64_t longer[REACH + 2]; /* inputs that it keeps alive so many groups on, and did not before; the last: or more */
} move;

static uint64_t suffers(int64_t live)
{
    uint64_t x = live > 0 ? (uint64_t)live : 0, step = x >> STEP_BITS;
    return ((x & ((1u << STEP_BITS) - 1)) + (1u << STEP_BITS)) << (step < 40 ? step : 40);
}

/* The last group before those that depend on a pass. How many these are nobody could predict, so up to a few are looked
 * at whatever there are, without branches: behind them stand those of other passes. */
static HDI_INLINE uint32_t latest(const work *w, size_t pass)
{
    enum { FEW = 4 };
    const uint32_t *succ = w->succ, *group = w->group, last = w->s->pass_end - 1;
    const size_t e = w->succ_begin[pass], count = w->succ_begin[pass + 1] - e;
    uint32_t to = w->group_count;
    if (HDI_UNLIKELY(count > FEW || e + FEW > w->edges)) {
        for (size_t k = e; k < e + count; k++) {
            if (HDI_LIKELY(succ[k] <= last))
                to = group[succ[k]] < to ? group[succ[k]] : to;
        }
        return to - 1;
    }
    for (uint32_t k = 0; k < FEW; k++) {
        uint32_t next = succ[e + k], none = (uint32_t)((k < count) & (next <= last)) - 1;
        uint32_t at = group[next < last ? next : last] | none; /* not even read where another worker writes */
        to = at < to ? at : to;
    }
    return to - 1;
}

/* What of a resource another region closes, or has no bytes, is left alone. */
static inline bool is_elsewhere(const hdi_sched *s, const hdi_sched_res *res)
{
    return !hdi_sched_has(s, res->last);
}

/* The last group that what a pass uses is alive in. */
static inline void close_with(const work *w, size_t use, uint32_t group)
{
    hdi_sched_res *res = &w->s->res[w->s->decl->use_res[use]];
    uint32_t close = group + (w->s->decl->use_flags[use] / HDI_USE_WRITES & 1);
    if (HDI_LIKELY(!is_elsewhere(w->s, res)))
        res->close = close > res->close ? close : res->close;
}

/* Where passes were moved since their uses were counted. Those that are not kept have group 0. */
static void find_closes(const work *w)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    const size_t begin = decl->pass_use_begin[s->pass_begin], end = decl->pass_use_begin[s->pass_end];
    for (uint32_t i = 0; i < w->out->slot_count; i++)
        w->group[w->out->slot_pass[i]] = w->out->slot_group[i];
    for (size_t u = begin; u < end; u++) {
        hdi_sched_res *res = &s->res[decl->use_res[u]];
        if (!is_elsewhere(s, res))
            res->close = 0;
    }
    for (size_t u = begin; u < end; u++)
        close_with(w, u, w->group[decl->use_pass[u]]);
}

/* What a pass uses; as long as it stays. Which of it opens and closes what nobody could predict: so there are no
 * branches for it. Who opens is who comes first by rank, as all others follow, unless several write it. known: of what
 * is known to close with its last rank nobody said with which group. False: it stays. */
static HDI_INLINE bool look_at_uses(const work *w, size_t pass, uint32_t group, bool known, move *m)
{
    const hdi_sched *s = w->s;
    const hdi_sched_res *all = s->res;
    const uint32_t *use_res = w->use_res, rank = s->pass_rank[pass], rank_begin = s->rank_begin, kept = s->kept_count;
    uint32_t fixed = 0, before = HDI_NONE, shift = w->shift;
    int64_t opened = 0, alone = 0;
    *m = (move){.opened = 0};
    for (size_t u = w->use_begin[pass], end = w->use_begin[pass + 1]; u < end; u++) {
        uint32_t r = use_res[u];
        const hdi_sched_res *res = &all[r];
        uint32_t last = res->last - rank_begin, close, longer;
        fixed |= (res->mixed & (HDI_MIXED_LAYOUTS | HDI_WRITTEN_AGAIN)) | (r == before);
        before = r;
        if (HDI_UNLIKELY(last >= kept)) /* another region closes it, or it has no bytes */
            continue;
        int64_t units = (int64_t)(res->bytes >> shift), opens = units & -(int64_t)(res->first == rank);
        close = known && res->mixed & HDI_CLOSES_LAST ? w->group[s->rank_pass[last]] : res->close;
        longer = (close > group ? close : group) + 1 - group;
        opened += opens;
        alone += opens & -(int64_t)(res->uses == 1);
        m->longer[longer < REACH + 1 ? longer : REACH + 1] += units - opens;
    }
    m->opened = opened - alone;
    m->alone = alone;
    return !fixed && opened;
}

/* Where all groups together suffer the least; as early as any. A pass without a consumer takes what it opened along. */
static uint32_t find_best(const work *w, const move *m, uint32_t group, uint32_t to)
{
    const int64_t *live = w->live;
    uint32_t best = group;
    int64_t behind = 0, least = 0, inputs = 0;
    for (uint32_t k = group + 1; k <= to; k++) {
        int64_t alone = k - group < 2 ? 0 : m->alone, left = m->opened + (k - group < 3 ? m->alone : 0);
        behind += (int64_t)(suffers(live[k - 1] + inputs - left) - w->pain[k - 1]);
        inputs += m->longer[k - group];
        int64_t all = behind + (int64_t)(suffers(live[k] + inputs + alone) - w->pain[k]);
        if (m->alone)
            all += (int64_t)(suffers(live[k + 1] + m->alone) - w->pain[k + 1]);
        if (all < least) {
            least = all;
            best = k;
        }
    }
    return best;
}

static void take_along(work *w, const move *m, uint32_t group, uint32_t to)
{
    int64_t inputs = 0;
    for (uint32_t k = group; k <= to; k++) {
        inputs += m->longer[k - group];
        w->live[k] += inputs - (k < to ? m->opened : 0);
        w->live[k] += (k == to ? m->alone : 0) - (k - group < 2 ? m->alone : 0);
        w->pain[k] = suffers(w->live[k]);
    }
    w->live[to + 1] += m->alone;
    w->pain[to + 1] = suffers(w->live[to + 1]);
}

/* The slot behind which the most is alive, if the peak by rank is in here; else 0. */
static uint32_t find_peak(const hdi_sched *s, const int64_t *slot_net, const hdi_schedule *out)
{
    uint32_t peak = 0;
    int64_t live = 0, most = 0;
    bool here = false;
    for (uint32_t i = 0; i < out->slot_count; i++) {
        here |= s->live[i] == s->peak;
        live += slot_net[i];
        if (live > most) {
            most = live;
            peak = i;
        }
    }
    return here ? peak : 0;
}

void hdi_sched_begin_groups(uint32_t *begin, hdi_schedule *out)
{
    uint32_t groups = 0, at = 0;
    for (uint32_t g = 0; g < out->group_count; g++) {
        uint32_t count = begin[g];
        begin[g] = at;
        groups += count != 0;
        for (uint32_t i = 0; i < count; i++)
            out->slot_group[at++] = groups;
    }
    out->group_count = groups + 1;
}

/* Back into one list. */
static bool join(const work *w, hdi_schedule *out)
{
    uint32_t n = out->slot_count;
    uint32_t *pass = HDI_ARENA_ARRAY(w->s->arena, uint32_t, n);
    uint32_t *begin = HDI_ARENA_ZEROED(w->s->arena, uint32_t, w->group_count);
    if (!pass || !begin)
        return false;
    memcpy(pass, out->slot_pass, n * sizeof(*pass));
    for (uint32_t i = 0; i < n; i++)
        begin[w->group[pass[i]]]++;
    hdi_sched_begin_groups(begin, out);
    for (uint32_t i = 0; i < n; i++)
        out->slot_pass[begin[w->group[pass[i]]]++] = pass[i];
    return true;
}

/* Puts all into the groups that they have, but for the first ones, up to the last pass that has consumers only behind
 * the next group: nobody after it can move. Returns its slot and one more; 0: there is none. */
static uint32_t find_last_loose(const work *w)
{
    const hdi_schedule *out = w->out;
    const uint32_t *succ_begin = w->s->depends->succ_begin, *succ = w->s->depends->succ;
    uint32_t i = out->slot_count, last = w->group_count - 1;
    for (; i > 0 && out->slot_group[i - 1] == last; i--)
        w->group[out->slot_pass[i - 1]] = last;
    for (; i > 0 && out->slot_group[i - 1] == last - 1; i--) { /* these can move if they have none */
        uint32_t p = out->slot_pass[i - 1], e = succ_begin[p];
        w->group[p] = last - 1;
        if (e == succ_begin[p + 1] || succ[e] >= w->s->pass_end)
            return i;
    }
    for (; i > 0; i--) {
        uint32_t p = out->slot_pass[i - 1], group = out->slot_group[i - 1];
        bool loose = latest(w, p) > group;
        w->group[p] = group;
        if (loose)
            break;
    }
    return i;
}

bool hdi_sched_level(const hdi_sched *s, uint64_t cap, bool moved, const int64_t *slot_net, int64_t *group_live,
                     hdi_schedule *out)
{
    work w = {.s = s,
              .out = out,
              .live = group_live,
              .group = s->pass_need,
              .succ = s->depends->succ,
              .succ_begin = s->depends->succ_begin,
              .use_res = s->decl->use_res,
              .use_begin = s->decl->pass_use_begin,
              .edges = s->depends->succ_begin[s->decl->pass_count],
              .group_count = out->group_count};
    const bool known = s->known && !moved;
    if (moved)
        find_closes(&w);
    uint32_t loose = find_last_loose(&w);
    if (!loose)
        return true;
    w.pain = HDI_ARENA_ARRAY(s->arena, uint64_t, (size_t)w.group_count + 1);
    if (!w.pain)
        return false;
    while (cap >> w.shift >> CAP_BITS)
        w.shift++;
    for (uint32_t g = 0; g <= w.group_count; g++) {
        group_live[g] >>= w.shift;
        w.pain[g] = suffers(group_live[g]);
    }
    uint32_t peak = find_peak(s, slot_net, out);
    for (uint32_t i = loose; i-- > 0;) {
        uint32_t p = out->slot_pass[i], group = out->slot_group[i], to = latest(&w, p);
        move m;
        to = to > group + REACH ? group + REACH : to;
        if (i <= peak && to > out->slot_group[peak])
            to = out->slot_group[peak];
        w.group[p] = group;
        if (to <= group || !(known ? look_at_uses(&w, p, group, true, &m) : look_at_uses(&w, p, group, false, &m)))
            continue;
        to = find_best(&w, &m, group, to);
        if (to > group) {
            take_along(&w, &m, group, to);
            for (size_t u = w.use_begin[p], end = w.use_begin[p + 1]; u < end; u++)
                close_with(&w, u, to);
            w.group[p] = to;
        }
    }
    return join(&w, out);
}
