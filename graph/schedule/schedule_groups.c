#include <string.h>

#include "bitset.h"
#include "schedule_work.h"
#include "sort.h"

/* Groups: the order for one GPU queue. Passes are taken in groups that need no barrier inside; a pass joins a group
 * once all passes that it depends on stand in earlier groups. To take every ready pass gives the fewest groups and
 * keeps the most bytes alive, so a cap on live bytes holds passes back: within a window of ranks, oldest first, a pass
 * may open memory while the bytes of the group stay under the cap (bytes that the group closes serve only behind its
 * barrier), and while the earlier ranks that are left keep their room (schedule_room.c).
 *
 * A pass whose consumers wait for longer chains anyway waits too: what it opens lives shorter.
 * Inside a group, passes that open more than they close come first: then the group's bytes are alive at once at some
 * moment, and the heap is no larger than the peak.
 *
 * O(uses + edges + groups * window). Serial, but for regions. */

/* The layout in which the newest reader read a segment of an image of several layouts, and that reader's group, counted
 * through all runs. */
typedef struct group_note {
    uint32_t seg, group, layout; /* group 0: free */
} group_note;

typedef struct group_use {
    uint32_t use, slot;
} group_use;

typedef struct group_work {
    const hdi_sched *s;
    hdi_group_rules rules;
    hdi_schedule *out;
    hdi_room room;
    int64_t live;        /* bytes alive in the group at hand */
    int64_t closed_late; /* by the group before: its last use writes, and a second barrier hands the bytes on */
    int64_t *net;        /* by slot: bytes that it opens less those that it closes */
    int64_t *group_live; /* by group: bytes alive in it */
    uint32_t slots, group, group_begin;
    uint32_t full;       /* groups in which some pass found no room */
    group_use *last_use; /* of the group at hand */
    uint64_t *ready;     /* by rank: the passes that it depends on stand in earlier groups, and it is not taken */
    /* By rank: the newest group of the passes that it depends on, 0: there are none yet; HDI_NONE: it is taken. */
    uint32_t *newest;
    uint32_t follower;   /* rank of a pass that takes over the bytes that the last group closed; HDI_NONE: none */
    group_note *note;    /* by the lowest bits of the segment, the next free place where other segments have those */
    uint32_t note_mask, groups_before, noted; /* groups of the runs before; the newest group with notes */
    uint64_t *key, *scratch_key;
    uint32_t *scratch;
} group_work;

/* ---- mixed resources ---- */

static group_note *find_note(const group_work *w, uint32_t seg)
{
    uint32_t at = seg & w->note_mask;
    while (w->note[at].group && w->note[at].seg != seg)
        at = (at + 1) & w->note_mask;
    return &w->note[at];
}

/* Whether the group reads all segments of a read in its layout, or not yet; take: it does from now on. */
static bool agree_on_layout(const group_work *w, uint32_t use, bool take)
{
    const hdi_decl *decl = w->s->decl;
    const hdi_span span = hdi_use_span(decl, w->s->frozen, use);
    const uint32_t layout = decl->access[decl->use_access[use]].layout, group = w->groups_before + w->group;
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t col = 0; col < span.cols; col++) {
            uint32_t seg = span.base + row * span.stride + col;
            group_note *note = find_note(w, seg);
            if (take)
                *note = (group_note){seg, group, layout};
            else if (note->group == group && note->layout != layout)
                return false;
        }
    }
    return true;
}

/* The same for all reads of a pass. */
static bool agree_on_layouts(const group_work *w, uint32_t rank, bool take)
{
    const hdi_sched *s = w->s;
    const uint32_t *use = &s->decl->pass_use_begin[s->rank_pass[rank]];
    for (uint32_t u = use[0]; u < use[1]; u++) {
        bool writes = s->decl->use_flags[u] & HDI_USE_WRITES;
        if (!writes && s->res[s->decl->use_res[u]].mixed & HDI_MIXED_LAYOUTS && !agree_on_layout(w, u, take))
            return false;
    }
    return true;
}

/* ---- a group ---- */

static void move_oldest(group_work *w)
{
    do {
        hdi_room_move(&w->room);
    } while (w->newest[w->room.oldest] == HDI_NONE); /* behind the last rank stands one that is never taken */
}

static HDI_INLINE void take_pass(group_work *w, uint32_t rank)
{
    int64_t opens = hdi_room_take(&w->room, w->s, rank);
    w->newest[rank] = HDI_NONE;
    if (w->s->rank[rank].mixed & HDI_MIXED_LAYOUTS && agree_on_layouts(w, rank, true))
        w->noted = w->group;
    w->out->slot_pass[w->slots] = w->s->rank_pass[rank];
    w->net[w->slots++] = opens;
    w->live += opens;
    if (rank == w->room.oldest)
        move_oldest(w);
}

/* Levels that a pass can wait without its first consumer waiting. */
static uint32_t find_float(const hdi_sched *s, size_t pass)
{
    const uint32_t *succ = s->depends->succ, level = s->pass_level[pass];
    uint32_t first = HDI_NONE;
    const uint32_t any = succ[s->depends->succ_begin[pass]]; /* a consumer, where there is one */
    if (any < s->pass_end && s->pass_level[any] == level + 1)
        return 0; /* as for most passes */
    for (size_t e = s->depends->succ_begin[pass], end = s->depends->succ_begin[pass + 1]; e < end; e++) {
        uint32_t consumer = succ[e] < s->pass_end ? s->pass_level[succ[e]] : HDI_NONE;
        first = consumer < first ? consumer : first;
    }
    return first == HDI_NONE || first == level ? 0 : first - level - 1;
}

/* Of a pass that opens more than the cap leaves, only the oldest may be taken, alone. */
static HDI_INLINE bool fits(group_work *w, uint32_t rank, int64_t bytes)
{
    const bool here = bytes <= w->room.cap - w->live;
    if (rank == w->room.oldest)
        return here || w->slots == w->group_begin;
    return here && hdi_room_fits(&w->room, rank, bytes) &&
           w->group > w->newest[rank] + find_float(w->s, w->s->rank_pass[rank]);
}

/* Takes what is ready and fits, by rank. Whether some pass was refused. */
static bool fill_group(group_work *w)
{
    const uint32_t kept = w->s->kept_count, window = w->rules.window;
    uint32_t end = window < kept - w->room.oldest ? w->room.oldest + window : kept;
    bool refused = false;
    for (uint32_t word = w->room.oldest / 64; word * 64 < end; word++) {
        for (uint64_t bits = w->ready[word]; bits; bits &= bits - 1) {
            uint32_t rank = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (rank >= end)
                break;
            const hdi_sched_rank *at = &w->s->rank[rank];
            int64_t opens = hdi_sched_bytes(w->s, rank);
            if (opens && !fits(w, rank, opens)) {
                refused = true;
                continue;
            }
            if (at->mixed & HDI_MIXED_LAYOUTS && w->noted == w->group && !agree_on_layouts(w, rank, false))
                continue;
            w->ready[word] ^= bits & -bits;
            take_pass(w, rank);
            end = window < kept - w->room.oldest ? w->room.oldest + window : kept;
        }
    }
    return refused;
}

/* Bytes of the resources that no other pass is left to use. */
static int64_t find_closing(const group_work *w, uint32_t rank)
{
    const hdi_sched *s = w->s;
    const uint32_t *use = &s->decl->pass_use_begin[s->rank_pass[rank]];
    int64_t bytes = 0;
    for (uint32_t u = use[0]; u < use[1]; u++) {
        const hdi_sched_res *res = &s->res[s->decl->use_res[u]];
        bytes += hdi_sched_has(s, res->last) && res->left == 1 ? (int64_t)res->bytes : 0;
    }
    return bytes;
}

/* Where a group had room for one pass alone, and a ready pass opens just the bytes that it closed: that pass first. A
 * strand that goes on takes over its own bytes again and again; taking turns with others, it would leave holes that fit
 * no resource. */
static void take_follower(group_work *w)
{
    uint32_t rank = w->follower;
    int64_t opens = w->s->rank[rank].opens;
    w->follower = HDI_NONE;
    if (rank - w->room.oldest < w->rules.window && opens <= w->room.cap - w->live && find_closing(w, rank) >= opens) {
        hdi_bit_clear(w->ready, rank);
        take_pass(w, rank);
    }
}

/* Lists the last uses of the group, without a branch for them: which these are cannot be predicted. */
static uint32_t find_last_uses(const group_work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_begin = s->decl->pass_use_begin, *use_res = s->decl->use_res;
    uint32_t count = 0;
    for (uint32_t slot = w->group_begin; slot < w->slots; slot++) {
        const size_t p = w->out->slot_pass[slot];
        for (size_t u = use_begin[p], end = use_begin[p + 1]; u < end; u++) {
            hdi_sched_res *res = &s->res[use_res[u]];
            if (!hdi_sched_has(s, res->last)) /* a later region closes it, or it has no bytes */
                continue;
            w->last_use[count] = (group_use){(uint32_t)u, slot};
            count += --res->left == 0;
        }
    }
    return count;
}

/* What the group closes is free behind its barrier, or behind the next one, where the last use writes. Returns how many
 * bytes. */
static int64_t close_group(group_work *w)
{
    const hdi_sched *s = w->s;
    int64_t closed = 0, late = 0;
    for (uint32_t i = 0, count = find_last_uses(w); i < count; i++) {
        const uint32_t u = w->last_use[i].use;
        hdi_sched_res *res = &s->res[s->decl->use_res[u]];
        const uint32_t last = res->last - s->rank_begin, writes = s->decl->use_flags[u] / HDI_USE_WRITES & 1;
        const int64_t bytes = (int64_t)res->bytes;
        res->last_group = w->group + writes;
        w->net[w->last_use[i].slot] -= bytes;
        closed += bytes;
        late += bytes & -(int64_t)writes;
        if (last >= w->room.oldest)
            hdi_room_add(&w->room, last + 1, -bytes);
    }
    w->live -= closed - late + w->closed_late;
    w->closed_late = late;
    return closed;
}

/* Passes that waited for a pass of the group alone are ready for the next group. closed: bytes that the pass closes, if
 * the group had room for it alone; else 0. */
static HDI_INLINE void release(group_work *w, uint32_t slot, int64_t closed)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ = s->depends->succ, *edge = &s->depends->succ_begin[w->out->slot_pass[slot]];
    w->out->slot_group[slot] = w->group;
    for (size_t e = edge[0], end = edge[1]; e < end; e++) {
        size_t next = succ[e];
        if (next >= s->pass_end)
            continue;
        uint32_t rank = s->pass_rank[next] - s->rank_begin;
        bool last = --s->pass_left[next] == 0;
        w->newest[rank] = w->group;
        w->ready[rank / 64] |= (uint64_t)last << rank % 64; /* no branch: it cannot be predicted */
        if (closed && last && s->rank[rank].opens == closed && !s->rank[rank].mixed)
            w->follower = rank;
    }
}

/* Passes that open the most bytes, less those that they close, come first; as they were taken where that is equal. */
static void sort_group(group_work *w)
{
    enum { FEW = 24 };
    const uint32_t count = w->slots - w->group_begin;
    uint32_t *pass = &w->out->slot_pass[w->group_begin];
    int64_t *net = &w->net[w->group_begin];
    if (count > FEW) {
        for (uint32_t i = 0; i < count; i++)
            w->key[i] = (uint64_t)(INT64_MAX / 2 - net[i]);
        hdi_sort_u64(w->key, pass, w->scratch_key, w->scratch, count);
        for (uint32_t i = 0; i < count; i++)
            net[i] = INT64_MAX / 2 - (int64_t)w->key[i];
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        int64_t own = net[i];
        uint32_t p = pass[i], to = i;
        for (; to > 0 && net[to - 1] < own; to--) {
            net[to] = net[to - 1];
            pass[to] = pass[to - 1];
        }
        net[to] = own;
        pass[to] = p;
    }
}

static void make_group(group_work *w)
{
    w->group_begin = w->slots;
    if (w->follower != HDI_NONE)
        take_follower(w);
    bool refused = fill_group(w), alone = w->slots - w->group_begin == 1;
    w->full += refused;
    w->group_live[w->group] = w->live;
    int64_t closed = close_group(w), follows = refused && alone && !w->rules.in_order ? closed : 0;
    for (uint32_t slot = w->group_begin; slot < w->slots; slot++)
        release(w, slot, follows);
    if (!alone && !w->rules.in_order)
        sort_group(w);
    w->group++;
}

/* ---- runs ---- */

/* The longest chain excuses some groups. Groups in which a pass found no room are those that more memory could spare:
 * their rate shows soon that there will be too many. */
static bool has_too_many_groups(const group_work *w)
{
    const uint64_t most = 2 * (uint64_t)w->s->depth + 8, kept = w->s->kept_count;
    return w->group > most || (w->full > 3 && w->full * kept > most * w->slots + kept);
}

static bool begin_run(group_work *w, const hdi_group_rules *rules)
{
    const hdi_sched *s = w->s;
    const uint32_t kept = s->kept_count;
    w->rules = *rules;
    w->slots = w->full = 0;
    w->groups_before += w->group;
    w->group = 1;
    w->live = s->live_before;
    w->closed_late = 0;
    w->follower = HDI_NONE;
    memset(w->ready, 0, (hdi_bit_words(kept) + 1) * sizeof(*w->ready));
    memset(w->newest, 0, (kept + 1) * sizeof(*w->newest));
    for (uint32_t i = 0; i < s->root_count; i++)
        hdi_bit_set(w->ready, s->root[i]);
    if (rules->gather == HDI_GATHER_ALL)
        hdi_sched_scope_levels(s);
    return hdi_room_begin(&w->room, s, rules->cap);
}

/* False: it gave up, or memory ran out. */
static bool run(group_work *w, const hdi_group_rules *rules)
{
    if (!begin_run(w, rules))
        return false;
    while (w->slots < w->s->kept_count) {
        if (w->rules.gives_up && has_too_many_groups(w))
            return false;
        make_group(w);
    }
    w->out->slot_count = w->slots;
    w->out->group_count = w->group;
    w->group_live[0] = w->group_live[w->group] = 0;
    return true;
}

static bool prepare(group_work *w)
{
    const hdi_sched *s = w->s;
    hdi_arena *arena = s->arena;
    const size_t kept = s->kept_count;
    uint32_t notes = 1;
    while (s->layout_count && notes < 2 * (uint64_t)s->layout_count && notes < 2 * (uint64_t)s->frozen->seg_count)
        notes *= 2;
    w->last_use = HDI_ARENA_ARRAY(arena, group_use, (size_t)s->use_count + 1);
    w->ready = HDI_ARENA_ARRAY(arena, uint64_t, hdi_bit_words(s->kept_count) + 1);
    w->newest = HDI_ARENA_ARRAY(arena, uint32_t, kept + 1);
    w->net = HDI_ARENA_ARRAY(arena, int64_t, kept);
    w->group_live = HDI_ARENA_ARRAY(arena, int64_t, kept + 2);
    w->key = HDI_ARENA_ARRAY(arena, uint64_t, kept);
    w->scratch_key = HDI_ARENA_ARRAY(arena, uint64_t, kept);
    w->scratch = HDI_ARENA_ARRAY(arena, uint32_t, kept);
    w->note = HDI_ARENA_ZEROED(arena, group_note, notes);
    w->note_mask = notes - 1;
    return !arena->failed;
}

/* Whether many groups are at the cap, and have passes enough that some could be in another group. */
static bool is_full(const group_work *w)
{
    enum { PASSES = 4 };
    const int64_t near_cap = (int64_t)(w->rules.cap / 8 * 7);
    uint32_t full = 0;
    if (w->slots < PASSES * (uint64_t)w->group)
        return false;
    for (uint32_t group = 1; group < w->group; group++)
        full += w->group_live[group] > near_cap;
    return full >= w->group / 4;
}

bool hdi_schedule_groups(hdi_sched *s, const hdi_group_rules *rules, uint32_t rules_count, hdi_schedule *out)
{
    group_work w = {.s = s, .out = out};
    if (!prepare(&w))
        return false;
    for (uint32_t i = 0; !run(&w, &rules[i]); i++) {
        if (s->arena->failed || i + 1 == rules_count)
            return false;
        hdi_sched_undo(s, out->slot_pass, w.slots);
    }
    if (w.rules.gather && !hdi_sched_gather(s, &w.rules, w.net, w.group_live, out))
        return false;
    w.group = out->group_count;
    if (w.rules.level && is_full(&w) && !hdi_sched_level(s, w.rules.cap, w.rules.gather, w.net, w.group_live, out))
        return false;
    memset(out->slot_queue, 0, out->slot_count);
    for (uint32_t slot = 0; s->queues->host != HDI_NONE && slot < out->slot_count; slot++) {
        bool host = s->decl->pass_type[out->slot_pass[slot]] == HD_PASS_HOST;
        out->slot_queue[slot] = (uint8_t)(host ? s->queues->host : 0);
    }
    return true;
}
