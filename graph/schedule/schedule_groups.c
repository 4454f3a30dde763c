#include <string.h>

#include "bitset.h"
#include "schedule_end.h"

/* Groups: the order for one GPU queue. Passes are taken in groups that need no barrier inside; a pass joins a group
 * once all that it depends on stands in earlier ones. Taking every ready pass gives the fewest groups and keeps the
 * most alive, so a cap on live bytes holds it back: within a window of ranks, oldest first, a pass may open memory
 * while
 *
 *   - what the group has opened and not yet closed stays under the cap (bytes that the group closes serve only behind
 *     its barrier), and
 *   - going on by rank from here would stay under it as well: at each rank between the oldest pass that is left and the
 *     newcomer, the bytes alive there by rank, with what was opened early and without what was closed early. So
 *     the oldest pass never finds its memory taken, and the cap holds to the end where it is no less than the peak by
 *     rank.
 *
 * A pass whose consumers must wait for longer chains anyway may wait too (wait_in_float): what it opens lives shorter.
 * Inside a group, passes that open more than they close come first: then the group's bytes are alive at once at some
 * moment, and the heap is no larger than the peak.
 *
 * Who opens a resource is known beforehand: who uses it first by rank, as all others follow that one, unless several
 * overwrite it. Those few, and readers of images that are read in several layouts, have a list of such uses.
 * O(uses + edges + groups * window). Serial, but for regions. */

/* ---- preparation ---- */

/* How many each waits for. Those that are not kept wait for none, and few for somebody of an earlier region: how many
 * these are is counted first, which takes less than to look at each. */
static void find_left(const work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *pred_begin = s->depends->pred_begin, *pred = s->depends->pred;
    uint32_t *left = w->left, begin = s->pass_begin, earlier = 0;
    size_t end = s->pass_end, p = begin;
    for (size_t of = begin; of < end; of++)
        left[of] = pred_begin[of + 1] - pred_begin[of];
    for (size_t e = pred_begin[begin], last = pred_begin[end]; begin && e < last; e++)
        earlier += pred[e] < begin;
    for (size_t e = pred_begin[begin]; earlier; e++) {
        if (HDI_LIKELY(pred[e] >= begin))
            continue;
        while (pred_begin[p + 1] <= e)
            p++;
        left[p]--;
        earlier--;
    }
}

static void find_ready(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *left = w->left, *rank_pass = s->rank_pass;
    uint32_t ready_count = 0;
    size_t kept = s->kept_count;
    for (size_t rank = 0; rank < kept; rank++) {
        if (HDI_LIKELY(left[rank_pass[rank]]))
            continue;
        s->pass_level[rank_pass[rank]] = 0;
        hdi_bit_set(w->ready_first, (uint32_t)rank);
        ready_count++;
    }
    w->ready_first_count = ready_count;
}

/* Where several work, regions have asks of their own: they reach into what two parts have summed, and behind the last
 * rank of one stands the first of another. The caller alone works on those of the frame, one region after another.
 * Behind the last stands one that is never taken. */
static bool take_asks(work *w)
{
    const hdi_sched *s = w->s;
    size_t kept = s->kept_count;
    w->ask = s->ask;
    if (!s->whole && !s->alone) {
        w->ask = HDI_ARENA_ARRAY(s->arena, hdi_ask, kept + 1);
        if (!w->ask)
            return false;
        memcpy(w->ask, s->ask, kept * sizeof(*w->ask));
        for (size_t rank = 1; rank < kept; rank++)
            w->ask[rank].step = (int64_t)(s->live[rank] - s->live[rank - 1]);
    }
    w->behind_last = w->ask[kept];
    w->ask[kept] = (hdi_ask){.more = HDI_COUNTED};
    return true;
}

/* whole: else passes may depend on some of earlier regions. Returns the deepest. */
static HDI_INLINE uint32_t find_levels_of(const hdi_sched *s, bool whole)
{
    const uint32_t *pred_begin = s->depends->pred_begin, *pred = s->depends->pred, *rank_pass = s->rank_pass;
    uint32_t *pass_level = s->pass_level, pass_begin = whole ? 0 : s->pass_begin, deepest = 0;
    size_t kept = s->kept_count, e = pred_begin[pass_begin]; /* those of passes that are not kept are none */
    for (size_t rank = 0; rank < kept; rank++) {
        size_t p = rank_pass[rank], end = pred_begin[p + 1];
        uint32_t level = 0;
        for (; e < end; e++) {
            size_t before = pred[e];
            if (!whole && HDI_UNLIKELY(before < pass_begin))
                continue;
            uint32_t behind = pass_level[before] + 1;
            level = behind > level ? behind : level;
        }
        pass_level[p] = level;
        deepest = level > deepest ? level : deepest;
    }
    return deepest;
}

/* The same where they were counted. */
static HDI_INLINE uint32_t take_levels(const hdi_sched *s)
{
    uint32_t *pass_level = s->pass_level, deepest = 0;
    const uint32_t *level = s->depends->level;
    for (size_t p = 0, end = s->pass_end; p < end; p++) {
        pass_level[p] = level[p];
        deepest = level[p] > deepest ? level[p] : deepest;
    }
    return deepest;
}

/* Levels, for who waits in float, and who must know how many groups are too many. */
static HDI_APART void find_levels(work *w)
{
    const hdi_sched *s = w->s;
    if (s->depends->level)
        w->depth = take_levels(s) + 1;
    else
        w->depth = (s->pass_begin ? find_levels_of(s, false) : find_levels_of(s, true)) + 1;
    w->levelled = true;
    if (w->rules.gather == HDI_GATHER_ALL)
        hdi_sched_scope_levels(s);
}

static bool prepare(work *w)
{
    const hdi_sched *s = w->s;
    hdi_arena *arena = s->arena;
    uint32_t kept = s->kept_count, words = hdi_bit_words(kept) + 1;
    size_t edges = s->depends->succ_begin[s->pass_end] - s->depends->succ_begin[s->pass_begin];
    w->ready = HDI_ARENA_ARRAY(arena, uint64_t, words);
    w->ready_first = HDI_ARENA_ZEROED(arena, uint64_t, words);
    w->left = s->pass_need;
    w->net = HDI_ARENA_ARRAY(arena, int64_t, kept);
    w->key = HDI_ARENA_ARRAY(arena, uint64_t, kept);
    w->scratch_key = HDI_ARENA_ARRAY(arena, uint64_t, kept);
    w->scratch = HDI_ARENA_ARRAY(arena, uint32_t, kept);
    w->group_live = HDI_ARENA_ARRAY(arena, int64_t, (size_t)kept + 2);
    w->counted = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)s->use_count + 1);
    w->early = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept + 1);
    w->next = HDI_ARENA_ARRAY(arena, uint32_t, edges + COPIED);
    w->behind = HDI_ARENA_ARRAY(arena, uint32_t, edges + COPIED);
    if (arena->failed || !take_asks(w))
        return false;
    find_left(w);
    find_ready(w);
    return !(s->mixed_uses || (s->live_bytes && !s->alone)) ||
           hdi_find_specials(s, w->ask, &w->special);
}

/* As nothing was taken. */
static void begin(work *w)
{
    enum { FIRST_FULL = 4 };
    const hdi_sched *s = w->s;
    memcpy(w->ready, w->ready_first, (hdi_bit_words(s->kept_count) + 1) * sizeof(*w->ready));
    w->ready_count = w->ready_first_count;
    w->follower = HDI_NONE;
    w->slots = 0;
    set_oldest(w, 0);
    w->live = s->live_bytes;
    w->room = (int64_t)(w->rules.cap - s->live[0]);
    w->scan = (scan){.here = w->room, .least = INT64_MAX};
    w->group = 1;
    w->full = 0;
    w->full_next = s->known ? HDI_NONE : FIRST_FULL; /* where strands are likely they have many full groups */
    w->closed = w->closed_late = 0;
    w->early_count = w->counted_count = 0;
    if (w->rules.wait_in_float && !w->levelled)
        find_levels(w);
}

static void close_again(const work *w, const hdi_special *last)
{
    const hdi_special *x = last;
    do {
        x = &w->special.list[x->next];
        if (x->count == 0)
            w->res[x->at].open = 0;
    } while (x != last);
}

/* Undoes what a run did that gave up. */
static void give_back(work *w)
{
    const hdi_sched *s = w->s;
    for (uint32_t slot = 0; slot < w->slots; slot++) {
        uint32_t p = w->slot_pass[slot], more = w->ask[s->pass_rank[p] - s->rank_begin].more;
        for (uint32_t u = w->use_begin[p]; more && u < w->use_begin[p + 1]; u++) {
            hdi_sched_res *res = &w->res[w->use_res[u]];
            bool counts = w->counts_all ? res->last != HDI_NONE : hdi_sched_has(s, res->last);
            if (counts && !(res->mixed & HDI_CLOSES_LAST)) /* what is another region's is not even written as it is */
                res->left++;
        }
        uint32_t what = more & ~HDI_COUNTED;
        if (what & HDI_OPENER)
            w->res[what & ~HDI_OPENER].open = 0;
        else if (what && !(what & HDI_READER))
            close_again(w, &w->special.list[what]);
    }
    w->groups_before += s->kept_count; /* there are no more */
    find_left(w);
    uint64_t before = 0;
    for (size_t rank = 0; rank < w->end; rank++) { /* of who gives up nobody has a time to come */
        w->ask[rank].due = 0;
        w->ask[rank].step = (int64_t)(s->live[rank] - before);
        before = s->live[rank];
    }
    w->ask[w->end].step = w->end < s->kept_count ? (int64_t)(s->live[w->end] - before) : 0;
}

/* ---- groups ---- */

/* Where there was room for one pass alone, and another can open just the bytes that it closed: that one first. A strand
 * that goes on takes over its own bytes again and again; taking turns with others, it would leave holes that fit
 * nobody. */
static void follow(work *w)
{
    size_t rank = w->follower;
    int64_t opens = w->ask[rank].opens;
    w->follower = HDI_NONE;
    if (rank < w->end && w->live + opens <= (int64_t)w->rules.cap && closes(w, rank) >= opens) {
        hdi_bit_clear(w->ready, (uint32_t)rank);
        take_by(w, rank, w->s->known);
    }
}

/* As long as the oldest pass is ready and has no uses to count. Behind the last rank stands one that has some. */
static HDI_APART void take_oldest(work *w)
{
    hdi_ask *ask = w->ask;
    const uint32_t *rank_pass = w->rank_pass;
    uint32_t *slot_pass = w->slot_pass;
    size_t rank = w->oldest, slot = w->slots, begin = w->group_begin;
    int64_t live = w->live, room = w->room, closed = w->closed, cap = (int64_t)w->rules.cap, *net = w->net;
    bool goes_on = true;
    while (goes_on) { /* those in a row that are ready */
        uint64_t *word = &w->ready[rank / 64], others = ~(*word >> rank % 64);
        size_t first = rank, end = rank + (others ? (size_t)__builtin_ctzll(others) : 64);
        for (; rank < end && !ask[rank].more; slot++) {
            int64_t opens = ask[rank].opens, closes = ask[rank].closes;
            if (opens > cap - live && slot != begin)
                break;
            live += opens;
            closed += closes;
            net[slot] = opens - closes;
            slot_pass[slot] = rank_pass[rank];
            ask[rank].due = HDI_TAKEN;
            room -= ask[++rank].step;
        }
        goes_on = rank == end && rank > first;
        if (rank > first)
            *word &= ~((UINT64_MAX >> (64 - (rank - first))) << first % 64);
        while (ask[rank].due == HDI_TAKEN)
            room -= ask[++rank].step;
    }
    set_oldest(w, rank);
    w->slots = slot;
    w->live = live;
    w->room = room;
    w->closed = closed;
}

/* known: most have nothing to count, and few are taken here; so the loop keeps the registers. */
static HDI_INLINE void fill_by(work *w, bool known)
{
    const hdi_ask *ask = w->ask;
    uint64_t *ready = w->ready;
    if (!ask[w->oldest].more && ask[w->oldest].opens <= (int64_t)w->rules.cap - w->live)
        take_oldest(w);
    size_t end = w->end;
    bool refused = false;
    for (size_t word = w->oldest / 64; word * 64 < end; word++) {
        uint64_t left = ready[word];
        for (uint64_t bits = left; bits; bits &= bits - 1) {
            size_t rank = word * 64 + (size_t)__builtin_ctzll(bits);
            if (rank >= end)
                break;
            const hdi_ask *at = &ask[rank];
            int64_t opens = at->opens;
            if (opens && w->group < at->due && rank != w->oldest) {
                refused = true; /* however much more it would open */
                continue;
            }
            if (at->more & ~HDI_COUNTED) {
                int64_t more = look_at_more(w, at->more & ~HDI_COUNTED);
                if (more == REFUSED)
                    continue;
                opens += more;
            }
            if (opens && !fits(w, rank, opens, at->due)) {
                refused = true;
                continue;
            }
            left ^= bits & -bits;
            take_by(w, rank, known);
            end = w->end;
        }
        ready[word] = left;
    }
    w->refused = refused;
    w->full += refused;
}

static HDI_APART void fill_group(work *w)
{
    fill_by(w, false);
}

static HDI_APART void fill_known(work *w)
{
    fill_by(w, true);
}

/* Groups that the longest chain of dependences excuses. */
static HDI_INLINE size_t most_groups(const work *w)
{
    return 2 * (size_t)w->depth + 8;
}

/* Whether there are more by what is known, or it is time to ask whether there will be. */
static HDI_INLINE bool are_too_many(const work *w)
{
    return w->group > most_groups(w) || w->full >= w->full_next;
}

/* The longest chain must be known now, and groups without room for somebody are what more memory could spare: so their
 * rate shows soon that there will be too many, though one of them may be an odd one. Not that of all groups, as a frame
 * may begin with a chain. Where groups are large chains need not be looked for yet. */
static HDI_APART bool gives_up(work *w)
{
    enum { LARGE = 4 };
    w->full_next = w->full + 1;
    if (w->group <= most_groups(w) && w->slots >= LARGE * (size_t)w->group)
        return false;
    if (!w->levelled)
        find_levels(w);
    size_t most = most_groups(w), kept = w->s->kept_count;
    return w->group > most || w->full * kept > most * w->slots + kept;
}

/* Whether one pass is ready, the oldest, and needs no look at its uses. The last one of all closes what is left. */
static HDI_INLINE bool is_alone(const work *w)
{
    uint32_t more = w->ask[w->oldest].more;
    return w->ready_count == 1 && !w->closed_late && !w->rules.wait_in_float &&
           (more == 0 || (more == HDI_COUNTED && w->s->whole && w->slots + 1 == w->s->kept_count));
}

/* As long as that is so, each is a group; as in a chain, where next comes who is next by rank, and nobody else. Returns
 * with a group to be filled, or none left. */
static HDI_APART void run_alone(work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *succ_begin = s->depends->succ_begin, *succ = s->depends->succ, *pass_rank = s->pass_rank;
    const uint32_t *rank_pass = w->rank_pass;
    hdi_ask *ask = w->ask;
    uint32_t *left = w->left, *level = s->pass_level, *slot_pass = w->slot_pass, *slot_group = w->out->slot_group;
    uint32_t group = w->group, own, ready_count = 0, pass_end = s->pass_end, rank_begin = s->rank_begin;
    int64_t live = w->live, room = w->room, *net = w->net, *group_live = w->group_live;
    size_t slot = w->slots, rank = w->oldest, p = rank_pass[rank], e, end;
    const bool levelled = w->levelled, counts = ask[rank].more; /* then it is the last one of all */
    w->ready[rank / 64] = 0;
    for (bool next_is_ready = true; next_is_ready;) {
        e = succ_begin[p];
        end = succ_begin[p + 1];
        int64_t opens = ask[rank].opens, closes = ask[rank].closes;
        own = level[p] + 1;
        slot_pass[slot] = (uint32_t)p;
        slot_group[slot] = group;
        net[slot++] = opens - closes;
        live += opens;
        group_live[group++] = live;
        live -= closes;
        ask[rank].due = HDI_TAKEN;
        room -= ask[++rank].step;
        p = rank_pass[rank];
        next_is_ready = end - e == 1 && !ask[rank].more && succ[e] == p && left[p] == 1;
        if (next_is_ready) {
            left[p] = 0;
            level[p] = levelled ? level[p] : own;
        }
    }
    while (ask[rank].due == HDI_TAKEN)
        room -= ask[++rank].step;
    for (; e < end; e++) {
        size_t next = succ[e];
        if (HDI_UNLIKELY(next >= pass_end))
            continue;
        ready_count += lose_one(left, next, w->ready, pass_rank[next] - rank_begin);
        level[next] = levelled ? level[next] : own;
    }
    set_oldest(w, rank);
    w->depth = own > w->depth ? own : w->depth;
    w->slots = slot;
    w->live = live;
    w->room = room;
    w->group = group;
    w->ready_count = ready_count;
    w->follower = HDI_NONE;
    if (HDI_UNLIKELY(counts)) { /* levelling asks what it closes */
        w->group_begin = slot - 1;
        left[slot_pass[slot - 1]] = (uint32_t)slot - 1;
        if (s->known)
            count_down(w, slot_pass[slot - 1]);
        w->group--;
        free_closed(w);
        w->group++;
    }
}

static bool run(work *w)
{
    bool wait = w->rules.wait_in_float, known = w->s->known;
    size_t kept = w->s->kept_count;
    begin(w);
    while (w->slots < kept) {
        if (w->rules.gives_up && HDI_UNLIKELY(are_too_many(w)) && gives_up(w))
            return false;
        if (is_alone(w)) {
            run_alone(w);
            continue;
        }
        w->group_begin = w->slots;
        if (w->follower != HDI_NONE)
            follow(w);
        if (known)
            fill_known(w);
        else
            fill_group(w);
        w->group_live[w->group] = w->live;
        if (w->slots == kept)
            end_last(w);
        else if (!wait && w->slots - w->group_begin == 1)
            end_lone(w);
        else
            end_group(w);
    }
    w->out->slot_count = (uint32_t)w->slots;
    w->out->group_count = w->group;
    w->group_live[0] = w->group_live[w->group] = 0;
    return true;
}

/* Many groups at the cap, and passes enough in each that some could be in another. */
static bool is_full(const work *w)
{
    enum { PASSES = 4 };
    const int64_t near_cap = (int64_t)(w->rules.cap / 8 * 7);
    uint32_t full = 0;
    if (w->slots < PASSES * (size_t)w->group)
        return false;
    for (size_t group = 1; group < w->group; group++)
        full += w->group_live[group] > near_cap;
    return full >= w->group / 4;
}

/* The GPU's, or that of the host. */
static void find_queues(const hdi_sched *s, hdi_schedule *out)
{
    const uint8_t *pass_type = s->decl->pass_type;
    const uint32_t *slot_pass = out->slot_pass, host = s->queues->host;
    uint8_t *slot_queue = out->slot_queue;
    if (host == HDI_NONE) {
        memset(slot_queue, 0, s->kept_count);
        return;
    }
    for (size_t slot = 0, kept = s->kept_count; slot < kept; slot++)
        slot_queue[slot] = (uint8_t)(host & -(uint32_t)(pass_type[slot_pass[slot]] == HD_PASS_HOST));
}

bool hdi_schedule_groups(const hdi_sched *s, const hdi_group_rules *rules, uint32_t rules_count, hdi_schedule *out)
{
    work w = {.s = s,
              .rules = rules[0],
              .out = out,
              .rank_pass = s->rank_pass,
              .use_begin = s->decl->pass_use_begin,
              .use_res = s->decl->use_res,
              .use_flags = s->decl->use_flags,
              .res = s->res,
              .counts_all = s->whole || s->alone,
              .depth = 1,
              .groups_before = 2 * s->rank_begin, /* of two attempts at each */
              .slot_pass = out->slot_pass};
    if (!prepare(&w))
        return false;
    for (uint32_t i = 1; !run(&w) && i < rules_count; i++) {
        give_back(&w);
        w.rules = rules[i];
    }
    w.ask[s->kept_count] = w.behind_last;
    if (w.rules.gather && !hdi_sched_gather(s, &w.rules, w.net, w.group_live, out))
        return false;
    w.group = out->group_count;
    const bool moved = w.rules.gather;
    if (w.rules.level && is_full(&w) && !hdi_sched_level(s, w.rules.cap, moved, w.net, w.group_live, out))
        return false;
    find_queues(s, out);
    return true;
}
