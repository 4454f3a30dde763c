#include "schedule.h"

#include <string.h>

#include "attach_uses.h"
#include "hints.h"

/* Scopes: where rendering may merge, passes that go on with the attachments of others want no barrier behind them once
 * they stand side by side, yet each was taken into a group behind that of the one before, as it depends on it. Here who
 * is followed so moves to the group of who follows, where the cap leaves room for what it closes until then: a chain of
 * blends into one image becomes one scope, and groups that held nothing else go. The last one of a chain comes first
 * here, so all of a chain gather in its group, at whose end they stand in their order.
 *
 * Passes wait for their consumers by levels, in which whoever goes on is no deeper than who it goes on with.
 *
 * Nobody moves past who else follows him, nor with images that are read in several layouts: of these, readers in one
 * group agree. That the passes of a chain touch nothing else of one another is seen here; what their scope is in the
 * end, merge.c finds. O(uses + edges + passes * REACH). */

enum { REACH = 128 }; /* groups that a pass may move at once */

/* What a pass that has many uses touches: by the lowest bits of its number, the next free place where others have
 * those too. */
typedef struct touched {
    uint32_t res, ways; /* ways 0: free */
} touched;
typedef struct touches {
    touched *at;
    uint32_t places, pass; /* places: a power of two, at most half of them taken */
} touches;

typedef struct work {
    const hdi_sched *s;
    const hdi_group_rules *rules;
    int64_t *live;      /* per group */
    uint32_t *group;    /* by pass */
    uint32_t *count;    /* per group: passes in it */
    uint32_t *follower; /* by pass, from the region's first on: who goes on with it in its group; HDI_NONE: nobody */
    uint8_t *goes_on;   /* likewise: whether it goes on with somebody */
    touches touches;
} work;

/* How a use may stand beside another one of the same resource in another pass of a scope. */
static uint32_t way_of(const hdi_decl *decl, uint32_t use)
{
    uint32_t writes = (decl->use_flags[use] & HDI_USE_WRITES) != 0;
    return 1u << (2 * hdi_is_attachment(decl->use_access[use]) + writes);
}

/* One of them writes, and not both are attachments. */
static bool clash(uint32_t ways, uint32_t way)
{
    enum { READ = 1, WRITE = 2, SHOWN = 4, DRAWN = 8 };
    const uint32_t with = way == READ    ? WRITE | DRAWN
                          : way == WRITE ? READ | WRITE | SHOWN | DRAWN
                          : way == SHOWN ? WRITE
                                         : READ | WRITE;
    return (ways & with) != 0;
}

static touched *find_touched(const touches *t, uint32_t res)
{
    uint32_t at = res & (t->places - 1);
    while (t->at[at].ways && t->at[at].res != res)
        at = (at + 1) & (t->places - 1);
    return &t->at[at];
}

/* False: memory ran out. */
static bool touch(touches *t, const hdi_sched *s, uint32_t pass)
{
    const hdi_decl *decl = s->decl;
    uint32_t begin = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1], places = t->places;
    if (t->pass == pass)
        return true;
    while (places < 2 * (end - begin))
        places = places ? 2 * places : 64;
    if (places > t->places)
        *t = (touches){HDI_ARENA_ARRAY(s->arena, touched, places), places, HDI_NONE};
    if (!t->at) {
        *t = (touches){NULL, 0, HDI_NONE};
        return false;
    }
    memset(t->at, 0, t->places * sizeof(*t->at));
    for (uint32_t u = begin; u < end; u++) {
        touched *of = find_touched(t, decl->use_res[u]);
        *of = (touched){decl->use_res[u], of->ways | way_of(decl, u)};
    }
    t->pass = pass;
    return true;
}

/* Whether the one touches something of the other that is no attachment of both, and one of them writes it. Where memory
 * runs out, as well. */
static bool meet_elsewhere(const hdi_sched *s, uint32_t before, uint32_t pass, touches *t)
{
    enum { FEW = 256 };
    const hdi_decl *decl = s->decl;
    const uint32_t *use_res = decl->use_res, *a = &decl->pass_use_begin[before], *b = &decl->pass_use_begin[pass];
    bool many = (uint64_t)(a[1] - a[0]) * (b[1] - b[0]) > FEW;
    if (many && !touch(t, s, before))
        return true;
    for (uint32_t u = b[0]; u < b[1]; u++) {
        uint32_t ways = many ? find_touched(t, use_res[u])->ways : 0;
        for (uint32_t of = a[0]; of < a[1] && !many; of++)
            ways |= use_res[of] == use_res[u] ? way_of(decl, of) : 0;
        if (clash(ways, way_of(decl, u)))
            return true;
    }
    return false;
}

/* Of two passes that render, whether the one, which depends on the other, could stand in its scope. */
static bool may_go_on(const hdi_sched *s, uint32_t before, uint32_t pass, touches *t)
{
    return hdi_renders(s->decl, before) && hdi_goes_on(s->decl, before, pass) && !meet_elsewhere(s, before, pass, t);
}

/* Whose attachments a pass goes on with, of the region; the newest. HDI_NONE: nobody's. */
static uint32_t find_before(work *w, uint32_t pass)
{
    const hdi_sched *s = w->s;
    const hdi_depends *depends = s->depends;
    uint32_t newest = HDI_NONE;
    if (!hdi_renders(s->decl, pass))
        return newest;
    for (uint32_t e = depends->pred_begin[pass]; e < depends->pred_begin[pass + 1]; e++) {
        uint32_t before = depends->pred[e];
        if (before >= s->pass_begin && (newest == HDI_NONE || w->group[before] > w->group[newest]) &&
            may_go_on(s, before, pass, &w->touches))
            newest = before;
    }
    return newest;
}

/* Whether all others who depend on it come behind a group. */
static bool is_free(const work *w, uint32_t pass, uint32_t follower, uint32_t group)
{
    const hdi_depends *depends = w->s->depends;
    for (uint32_t e = depends->succ_begin[pass]; e < depends->succ_begin[pass + 1]; e++) {
        uint32_t next = depends->succ[e];
        if (next != follower && next < w->s->pass_end && w->group[next] <= group)
            return false;
    }
    return true;
}

/* What it closes, by rank. -1: it must stay. */
static int64_t find_inputs(const work *w, uint32_t pass)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    int64_t bytes = 0;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        const hdi_sched_res *res = &s->res[decl->use_res[u]];
        bool last = res->bytes && res->last == s->pass_rank[pass];
        if (res->mixed & HDI_MIXED_LAYOUTS && !last && !hdi_is_attachment(decl->use_access[u]))
            return -1;
        bytes += last ? (int64_t)res->bytes : 0;
    }
    return bytes;
}

static bool move_to(work *w, uint32_t pass, uint32_t group)
{
    uint32_t from = w->group[pass];
    bool may = group - from <= REACH && (w->rules->gather == HDI_GATHER_ALL || w->count[from] == 1);
    int64_t bytes = may ? find_inputs(w, pass) : -1;
    if (bytes < 0)
        return false;
    for (uint32_t g = from + 1; g <= group; g++) {
        if (w->live[g] + bytes > (int64_t)w->rules->cap)
            return false;
    }
    for (uint32_t g = from + 1; g <= group; g++)
        w->live[g] += bytes;
    w->group[pass] = group;
    w->count[from]--;
    w->count[group]++;
    return true;
}

/* Chains gather. Returns whether any does. */
static bool gather(work *w, const hdi_schedule *out)
{
    const uint32_t base = w->s->pass_begin;
    bool any = false;
    for (uint32_t i = out->slot_count; i-- > 0;) {
        uint32_t pass = out->slot_pass[i], before = find_before(w, pass), group = w->group[pass];
        if (before == HDI_NONE || w->group[before] >= group || w->follower[before - base] != HDI_NONE ||
            !is_free(w, before, pass, group) || !move_to(w, before, group))
            continue;
        w->follower[before - base] = pass;
        w->goes_on[pass - base] = 1;
        any = true;
    }
    return any;
}

/* Back into one list: chains behind all others of their group. */
static bool join(const work *w, int64_t *slot_net, hdi_schedule *out)
{
    hdi_arena *arena = w->s->arena;
    uint32_t n = out->slot_count, base = w->s->pass_begin, groups = 0, *begin = w->count;
    uint32_t *pass = HDI_ARENA_ARRAY(arena, uint32_t, n);
    int64_t *net = HDI_ARENA_ARRAY(arena, int64_t, w->s->pass_end - base); /* by pass */
    if (arena->failed)
        return false;
    memcpy(pass, out->slot_pass, n * sizeof(*pass));
    for (uint32_t i = 0; i < n; i++)
        net[pass[i] - base] = slot_net[i];
    for (uint32_t g = 0; g < out->group_count; g++) {
        if (w->count[g])
            w->live[++groups] = w->live[g];
    }
    w->live[groups + 1] = 0;
    hdi_sched_begin_groups(begin, out);
    for (uint32_t i = 0; i < n; i++) {
        if (w->follower[pass[i] - base] == HDI_NONE && !w->goes_on[pass[i] - base])
            out->slot_pass[begin[w->group[pass[i]]]++] = pass[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        bool first = w->follower[pass[i] - base] != HDI_NONE && !w->goes_on[pass[i] - base];
        for (uint32_t p = first ? pass[i] : HDI_NONE; p != HDI_NONE; p = w->follower[p - base])
            out->slot_pass[begin[w->group[p]]++] = p;
    }
    for (uint32_t i = 0; i < n; i++)
        slot_net[i] = net[out->slot_pass[i] - base];
    return true;
}

void hdi_sched_scope_levels(const hdi_sched *s)
{
    const hdi_depends *depends = s->depends;
    touches t = {.pass = HDI_NONE};
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t pass = s->rank_pass[rank], level = 0;
        bool renders = hdi_renders(s->decl, pass);
        for (uint32_t e = depends->pred_begin[pass]; e < depends->pred_begin[pass + 1]; e++) {
            uint32_t before = depends->pred[e];
            if (before < s->pass_begin)
                continue;
            uint32_t behind = s->pass_level[before] + !(renders && may_go_on(s, before, pass, &t));
            level = behind > level ? behind : level;
        }
        s->pass_level[pass] = level;
    }
}

bool hdi_sched_gather(const hdi_sched *s, const hdi_group_rules *rules, int64_t *slot_net, int64_t *group_live,
                      hdi_schedule *out)
{
    work w = {.s = s, .rules = rules, .live = group_live, .group = s->pass_need, .touches.pass = HDI_NONE};
    uint32_t passes = s->pass_end - s->pass_begin;
    w.count = HDI_ARENA_ZEROED(s->arena, uint32_t, out->group_count);
    w.follower = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    w.goes_on = HDI_ARENA_ZEROED(s->arena, uint8_t, passes);
    if (s->arena->failed)
        return false;
    memset(w.follower, 0xff, passes * sizeof(*w.follower));
    for (uint32_t i = 0; i < out->slot_count; i++) {
        w.group[out->slot_pass[i]] = out->slot_group[i];
        w.count[out->slot_group[i]]++;
    }
    bool any = gather(&w, out);
    return !s->arena->failed && (!any || join(&w, slot_net, out));
}
