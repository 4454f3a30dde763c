#include "schedule_work.h"

#include <string.h>

#include "attach_uses.h"

/* Scopes. Where rendering may merge, a pass that continues with the attachments of another needs no barrier behind that
 * one once they stand side by side; yet it was put into a later group, as it depends on it. Here the earlier pass, the
 * base, moves to the group of the later one, its follower, where the cap leaves room for what the base closes until
 * then: a chain of blends into one image becomes one scope, and groups that held nothing else disappear. Passes are
 * looked at from the last slot to the first, so a whole chain gathers in the group of its last pass, at the end of
 * which it stands in its order.
 *
 * No pass moves past another consumer, nor with an image of several layouts, on which the readers of a group agree.
 * That the passes of a chain touch nothing else of one another is checked here; barrier/merge.c decides which scopes
 * there are in the end. O(uses + edges + passes * REACH). */

enum { REACH = 128 }; /* groups that a pass may move on at once */

/* The resources that a pass of many uses touches: by the lowest bits of a resource, the next free place where other
 * resources have those. */
typedef struct scope_touch {
    uint32_t res, ways; /* ways 0: free */
} scope_touch;
typedef struct scope_touches {
    scope_touch *at;
    uint32_t places, pass; /* places: a power of two, at most half of them taken */
} scope_touches;

typedef struct scope_work {
    const hdi_sched *s;
    const hdi_group_rules *rules;
    int64_t *live;      /* by group */
    uint32_t *group;    /* by pass */
    uint32_t *count;    /* by group: its passes */
    uint32_t *follower; /* by pass, from the region's first on: its follower in its group, or HDI_NONE */
    uint8_t *continues; /* likewise: it is a follower */
    scope_touches touches;
} scope_work;

enum { WAY_READ = 1, WAY_WRITE = 2, WAY_ATTACHMENT_READ = 4, WAY_ATTACHMENT_WRITE = 8 };

static uint32_t way_of(const hdi_decl *decl, uint32_t use)
{
    uint32_t writes = (decl->use_flags[use] & HDI_USE_WRITES) != 0;
    return 1u << (2 * hdi_is_attachment(decl->use_access[use]) + writes);
}

/* Whether a use of a resource needs a barrier against uses of another pass: one writes, not both are attachments. */
static bool clashes(uint32_t ways, uint32_t way)
{
    const uint32_t with = way == WAY_READ              ? WAY_WRITE | WAY_ATTACHMENT_WRITE
                          : way == WAY_WRITE           ? UINT32_MAX
                          : way == WAY_ATTACHMENT_READ ? WAY_WRITE
                                                       : WAY_READ | WAY_WRITE;
    return (ways & with) != 0;
}

static scope_touch *find_touch(const scope_touches *t, uint32_t res)
{
    uint32_t at = res & (t->places - 1);
    while (t->at[at].ways && t->at[at].res != res)
        at = (at + 1) & (t->places - 1);
    return &t->at[at];
}

/* Lists what a pass touches. False: memory ran out. */
static bool list_touches(scope_touches *t, const hdi_sched *s, uint32_t pass)
{
    const hdi_decl *decl = s->decl;
    uint32_t begin = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1], places = t->places;
    if (t->pass == pass)
        return true;
    while (places < 2 * (end - begin))
        places = places ? 2 * places : 64;
    if (places > t->places)
        *t = (scope_touches){HDI_ARENA_ARRAY(s->arena, scope_touch, places), places, HDI_NONE};
    if (!t->at) {
        *t = (scope_touches){NULL, 0, HDI_NONE};
        return false;
    }
    memset(t->at, 0, t->places * sizeof(*t->at));
    for (uint32_t u = begin; u < end; u++) {
        scope_touch *of = find_touch(t, decl->use_res[u]);
        *of = (scope_touch){decl->use_res[u], of->ways | way_of(decl, u)};
    }
    t->pass = pass;
    return true;
}

/* Whether two passes touch a resource, beside common attachments, that one of them writes; also where memory ran out.
 * Uses of passes that have few are compared with each other. */
static bool touch_elsewhere(const hdi_sched *s, uint32_t base, uint32_t pass, scope_touches *t)
{
    enum { FEW = 256 };
    const hdi_decl *decl = s->decl;
    const uint32_t *use_res = decl->use_res, *a = &decl->pass_use_begin[base], *b = &decl->pass_use_begin[pass];
    bool many = (uint64_t)(a[1] - a[0]) * (b[1] - b[0]) > FEW;
    if (many && !list_touches(t, s, base))
        return true;
    for (uint32_t u = b[0]; u < b[1]; u++) {
        uint32_t ways = many ? find_touch(t, use_res[u])->ways : 0;
        for (uint32_t of = a[0]; of < a[1] && !many; of++)
            ways |= use_res[of] == use_res[u] ? way_of(decl, of) : 0;
        if (clashes(ways, way_of(decl, u)))
            return true;
    }
    return false;
}

/* Whether a pass that renders could stand in the scope of a pass that it depends on. */
static bool may_continue(const hdi_sched *s, uint32_t base, uint32_t pass, scope_touches *t)
{
    return hdi_renders(s->decl, base) && hdi_goes_on(s->decl, base, pass) && !touch_elsewhere(s, base, pass, t);
}

/* The pass of the region that a pass can continue with, of the latest group; HDI_NONE: there is none. */
static uint32_t find_base(scope_work *w, uint32_t pass)
{
    const hdi_sched *s = w->s;
    const hdi_depends *depends = s->depends;
    uint32_t latest = HDI_NONE;
    if (!hdi_renders(s->decl, pass))
        return latest;
    for (uint32_t e = depends->pred_begin[pass]; e < depends->pred_begin[pass + 1]; e++) {
        uint32_t base = depends->pred[e];
        if (base >= s->pass_begin && (latest == HDI_NONE || w->group[base] > w->group[latest]) &&
            may_continue(s, base, pass, &w->touches))
            latest = base;
    }
    return latest;
}

/* Whether all other consumers of a pass come behind a group. */
static bool is_free(const scope_work *w, uint32_t pass, uint32_t follower, uint32_t group)
{
    const hdi_depends *depends = w->s->depends;
    for (uint32_t e = depends->succ_begin[pass]; e < depends->succ_begin[pass + 1]; e++) {
        uint32_t next = depends->succ[e];
        if (next != follower && next < w->s->pass_end && w->group[next] <= group)
            return false;
    }
    return true;
}

/* Bytes that a pass closes, by rank; -1: it must stay. */
static int64_t find_inputs(const scope_work *w, uint32_t pass)
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

static bool move_to_group(scope_work *w, uint32_t pass, uint32_t group)
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

/* Gathers chains. Returns whether there is any. */
static bool gather_chains(scope_work *w, const hdi_schedule *out)
{
    const uint32_t begin = w->s->pass_begin;
    bool any = false;
    for (uint32_t i = out->slot_count; i-- > 0;) {
        uint32_t pass = out->slot_pass[i], base = find_base(w, pass), group = w->group[pass];
        if (base == HDI_NONE || w->group[base] >= group || w->follower[base - begin] != HDI_NONE ||
            !is_free(w, base, pass, group) || !move_to_group(w, base, group))
            continue;
        w->follower[base - begin] = pass;
        w->continues[pass - begin] = 1;
        any = true;
    }
    return any;
}

/* Puts the passes back into slots: chains behind all other passes of their group. False: memory ran out. */
static bool put_in_slots(const scope_work *w, int64_t *slot_net, hdi_schedule *out)
{
    hdi_arena *arena = w->s->arena;
    const uint32_t n = out->slot_count, first = w->s->pass_begin;
    uint32_t *pass = HDI_ARENA_ARRAY(arena, uint32_t, n), count = 0, groups = 0;
    int64_t *net = HDI_ARENA_ARRAY(arena, int64_t, w->s->pass_end - first); /* by pass */
    if (arena->failed)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = out->slot_pass[i] - first;
        net[p] = slot_net[i];
        if (w->follower[p] == HDI_NONE && !w->continues[p])
            pass[count++] = out->slot_pass[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = out->slot_pass[i];
        bool starts = w->follower[p - first] != HDI_NONE && !w->continues[p - first];
        for (; starts && p != HDI_NONE; p = w->follower[p - first])
            pass[count++] = p;
    }
    for (uint32_t g = 0; g < out->group_count; g++) {
        if (w->count[g])
            w->live[++groups] = w->live[g];
    }
    w->live[groups + 1] = 0;
    if (!hdi_sched_put_in_groups(w->s, w->group, pass, out))
        return false;
    for (uint32_t i = 0; i < n; i++)
        slot_net[i] = net[out->slot_pass[i] - first];
    return true;
}

void hdi_sched_scope_levels(const hdi_sched *s)
{
    const hdi_depends *depends = s->depends;
    scope_touches t = {.pass = HDI_NONE};
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t pass = s->rank_pass[rank], level = 0;
        bool renders = hdi_renders(s->decl, pass);
        for (uint32_t e = depends->pred_begin[pass]; e < depends->pred_begin[pass + 1]; e++) {
            uint32_t before = depends->pred[e];
            if (before < s->pass_begin)
                continue;
            uint32_t behind = s->pass_level[before] + !(renders && may_continue(s, before, pass, &t));
            level = behind > level ? behind : level;
        }
        s->pass_level[pass] = level;
    }
}

bool hdi_sched_gather(const hdi_sched *s, const hdi_group_rules *rules, int64_t *slot_net, int64_t *group_live,
                      hdi_schedule *out)
{
    scope_work w = {.s = s, .rules = rules, .live = group_live, .group = s->pass_left, .touches.pass = HDI_NONE};
    uint32_t passes = s->pass_end - s->pass_begin;
    w.count = HDI_ARENA_ZEROED(s->arena, uint32_t, out->group_count);
    w.follower = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    w.continues = HDI_ARENA_ZEROED(s->arena, uint8_t, passes);
    if (s->arena->failed)
        return false;
    memset(w.follower, 0xff, passes * sizeof(*w.follower));
    for (uint32_t i = 0; i < out->slot_count; i++) {
        w.group[out->slot_pass[i]] = out->slot_group[i];
        w.count[out->slot_group[i]]++;
    }
    bool any = gather_chains(&w, out);
    return !s->arena->failed && (!any || put_in_slots(&w, slot_net, out));
}
