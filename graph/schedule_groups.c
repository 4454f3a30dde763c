#include "schedule.h"

#include <string.h>

#include "bitset.h"
#include "sort.h"

/* Groups: the order for one GPU queue. Passes are taken in groups that need no barrier inside; a pass joins a group once
 * all that it depends on stands in earlier ones. Taking every ready pass gives the fewest groups and keeps the most alive,
 * so a cap on live bytes holds it back: within a window of ranks, oldest first, a pass may open memory while
 *
 *   - what the group has opened and not yet closed stays under the cap (bytes that the group closes serve only behind
 *     its barrier), and
 *   - going on by rank from here would stay under it as well: at each rank between the oldest pass that is left and the
 *     newcomer, the bytes alive there by rank, with what was opened early and without what was closed early. So
 *     the oldest pass never finds its memory taken, and the cap holds to the end where it is no less than the peak by rank.
 *
 * A pass whose consumers must wait for longer chains anyway may wait too (wait_in_float): what it opens lives shorter.
 * Inside a group, passes that open more than they close come first: then the group's bytes are alive at once at some
 * moment, and the heap is no larger than the peak. O(uses + edges + groups * window). Serial, but for regions. */

/* The newest group that reads a segment of an image in one of several layouts, and which. By the lowest bits of the
 * segment, the next free place where others have those too: neighbours, as the images of a region mostly are, have not. */
typedef struct note {
    uint32_t seg, group, layout; /* group 0: free */
} note;

typedef struct work {
    const hdi_sched *s;
    const hdi_group_rules *rules;
    hdi_schedule *out;
    uint64_t *ready;        /* ranks whose predecessors stand in earlier groups */
    uint32_t *left;         /* per pass: predecessors not in earlier groups */
    int64_t *net;           /* per pass: bytes that it opens, as known when it became ready; once taken, less those closed */
    uint32_t *due;          /* per pass: group from which it should be taken */
    uint8_t *done;          /* per rank */
    uint32_t *res_left;     /* uses not taken yet */
    uint8_t *res_open;
    note *note;
    uint32_t note_mask;
    int64_t *early_first;   /* per rank: bytes opened before their first rank */
    int64_t *early_last;    /* per rank: bytes closed before their last rank */
    int64_t early;          /* bytes that are alive at the oldest rank and would not be by rank, less those the other way */
    uint32_t oldest, group, group_begin;
    int64_t live, closing, closing_late, closed_late; /* late: the last use writes, a second barrier hands it on */
    uint32_t *closed;       /* resources closed by the group */
    uint32_t closed_count;
    int64_t *group_live;    /* bytes alive in each group */
    uint32_t full;          /* groups that come near the cap */
    /* A scan of room over ranks from scan_begin up to scan_at, exclusive. */
    uint32_t scan_begin, scan_at;
    int64_t scan_sum, scan_room;
} work;

/* Bytes that a pass would open; readers find theirs open. */
static int64_t opens(const work *w, uint32_t pass)
{
    const hdi_decl *decl = w->s->decl;
    int64_t bytes = 0;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t res = decl->use_res[u];
        if (!w->res_open[res])
            bytes += (int64_t)w->s->res_bytes[res];
    }
    return bytes;
}

/* Segments of images that passes with HDI_MIXED_LAYOUTS read. */
static uint64_t count_mixed(const hdi_sched *s)
{
    const hdi_decl *decl = s->decl;
    uint64_t count = 0;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        uint32_t p = s->rank_pass[rank];
        for (uint32_t u = decl->pass_use_begin[p]; s->pass_mixed[p] & HDI_MIXED_LAYOUTS && u < decl->pass_use_begin[p + 1]; u++) {
            if (decl->use_flags[u] & (HDI_USE_WRITES | HDI_USE_BUFFER))
                continue;
            hdi_span span = hdi_use_span(decl, s->frozen, u);
            count += (uint64_t)span.rows * span.cols;
        }
    }
    return count;
}

static bool prepare_notes(work *w)
{
    uint64_t need = 2 * count_mixed(w->s), places = 1;
    need = need < w->s->frozen->seg_count ? need : w->s->frozen->seg_count;
    while (places < need)
        places *= 2;
    w->note = HDI_ARENA_ZEROED(w->s->arena, note, places);
    w->note_mask = (uint32_t)(places - 1);
    return w->note != NULL;
}

static bool prepare(work *w)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    hdi_arena *arena = s->arena;
    uint32_t kept = s->kept_count;
    w->ready = HDI_ARENA_ZEROED(arena, uint64_t, (size_t)hdi_bit_words(kept) + 1);
    w->left = s->pass_left;
    w->net = s->pass_net;
    w->due = s->pass_due;
    w->done = HDI_ARENA_ZEROED(arena, uint8_t, (size_t)kept + 1);
    w->res_left = s->res_left;
    w->res_open = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    w->early_first = HDI_ARENA_ZEROED(arena, int64_t, (size_t)kept + 1);
    w->early_last = HDI_ARENA_ZEROED(arena, int64_t, (size_t)kept + 1);
    w->closed = HDI_ARENA_ARRAY(arena, uint32_t, s->use_count);
    w->group_live = HDI_ARENA_ZEROED(arena, int64_t, (size_t)kept + 3);
    w->out->slot_pass = HDI_ARENA_ARRAY(arena, uint32_t, kept);
    w->out->slot_queue = HDI_ARENA_ARRAY(arena, uint8_t, kept);
    w->out->slot_group = HDI_ARENA_ARRAY(arena, uint32_t, kept);
    w->out->slot_count = 0;
    if (!prepare_notes(w) || arena->failed)
        return false;
    hdi_sched_begin(s, w->res_left, w->res_open);
    w->live = s->live_bytes;
    for (uint32_t rank = 0; rank < kept; rank++) {
        uint32_t p = s->rank_pass[rank];
        w->left[p] = hdi_sched_preds(s, p);
        w->due[p] = 0;
        if (w->left[p])
            continue;
        hdi_bit_set(w->ready, rank);
        w->net[p] = opens(w, p);
    }
    return true;
}

/* ---- may a pass join? ---- */

/* Of a segment, or where it belongs. */
static note *find_note(const work *w, uint32_t seg)
{
    uint32_t at = seg & w->note_mask;
    while (w->note[at].group && w->note[at].seg != seg)
        at = (at + 1) & w->note_mask;
    return &w->note[at];
}

/* Whether readers of one content in this group want the layouts that a pass wants; keep: they do from here on. */
static bool meet_layouts(work *w, uint32_t pass, bool keep)
{
    const hdi_decl *decl = w->s->decl;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        const hdi_access_info *access = &decl->access[decl->use_access[u]];
        if (access->writes || decl->res_flags[decl->use_res[u]] & HDI_RES_BUFFER)
            continue;
        hdi_span span = hdi_use_span(decl, w->s->frozen, u);
        for (uint32_t row = 0; row < span.rows; row++) {
            uint32_t first = span.base + row * span.stride;
            for (uint32_t seg = first; seg < first + span.cols; seg++) {
                note *newest = find_note(w, seg);
                if (keep)
                    *newest = (note){seg, w->group, access->layout};
                else if (newest->group == w->group && newest->layout != access->layout)
                    return false;
            }
        }
    }
    return true;
}

/* The least room at ranks from the oldest up to rank, exclusive. Candidates come by rank, so the scan goes on from the
 * one before. */
static int64_t room_below(work *w, uint32_t rank)
{
    const hdi_sched *s = w->s;
    if (w->scan_begin != w->oldest) {
        w->scan_begin = w->scan_at = w->oldest;
        w->scan_sum = w->early;
        w->scan_room = INT64_MAX;
    }
    for (; w->scan_at < rank; w->scan_at++) {
        int64_t room = (int64_t)w->rules->cap - (int64_t)s->rank_live[w->scan_at] - w->scan_sum;
        w->scan_room = room < w->scan_room ? room : w->scan_room;
        w->scan_sum += w->early_last[w->scan_at] - w->early_first[w->scan_at + 1];
    }
    return w->scan_room;
}

static bool may_join(work *w, uint32_t rank, uint32_t pass, bool first)
{
    int64_t bytes = w->s->pass_mixed[pass] & HDI_MIXED_OPENERS ? opens(w, pass) : w->net[pass];
    if (bytes && rank == w->oldest && !first && w->live + bytes > (int64_t)w->rules->cap)
        return false;
    if (bytes && rank != w->oldest) {
        if (w->live + bytes > (int64_t)w->rules->cap || (w->rules->wait_in_float && w->group < w->due[pass]) ||
            room_below(w, rank) < bytes)
            return false;
    }
    return !(w->s->pass_mixed[pass] & HDI_MIXED_LAYOUTS) || meet_layouts(w, pass, false);
}

/* ---- taking ---- */

static void open_resource(work *w, uint32_t res)
{
    const hdi_sched *s = w->s;
    int64_t bytes = (int64_t)s->res_bytes[res];
    uint32_t first = s->res_first[res] - s->rank_begin;
    w->res_open[res] = 1;
    w->live += bytes;
    if (bytes && first > w->oldest) {
        w->early_first[first] += bytes;
        w->early += bytes;
        w->scan_room -= bytes;
        if (first > w->scan_at) /* else the scan is where it counts by rank */
            w->scan_sum += bytes;
    }
}

static void take(work *w, uint32_t rank, uint32_t pass)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    int64_t live = w->live, closed = 0;
    hdi_bit_clear(w->ready, rank);
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t res = decl->use_res[u];
        if (!w->res_open[res])
            open_resource(w, res);
        int64_t bytes = (int64_t)s->res_bytes[res];
        if (!bytes || !(s->whole || hdi_sched_has(s, s->res_last[res])) || --w->res_left[res])
            continue;
        w->closed[w->closed_count++] = res;
        closed += bytes;
        *(decl->access[decl->use_access[u]].writes ? &w->closing_late : &w->closing) += bytes;
    }
    w->net[pass] = w->live - live - closed;
    if (s->pass_mixed[pass] & HDI_MIXED_LAYOUTS)
        meet_layouts(w, pass, true);
    w->done[rank] = 1;
    while (w->oldest < s->kept_count && w->done[w->oldest]) {
        w->early += w->early_last[w->oldest] - w->early_first[w->oldest + 1];
        w->oldest++;
    }
    w->out->slot_pass[w->out->slot_count] = pass;
    w->out->slot_group[w->out->slot_count++] = w->group;
}

/* ---- groups ---- */

static void fill_group(work *w)
{
    uint32_t kept = w->s->kept_count;
    for (uint32_t word = w->oldest / 64; word * 64 < kept; word++) {
        for (uint64_t bits = w->ready[word]; bits; bits &= bits - 1) {
            uint32_t rank = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (rank - w->oldest >= w->rules->window || (w->rules->in_order && rank != w->oldest))
                return;
            if (may_join(w, rank, w->s->rank_pass[rank], w->out->slot_count == w->group_begin))
                take(w, rank, w->s->rank_pass[rank]);
        }
        if ((uint64_t)word * 64 + 63 - w->oldest >= w->rules->window && word * 64 + 63 > w->oldest)
            return;
    }
}

/* Most bytes opened less closed first; as they were taken where that is equal. */
static void sort_group(work *w, uint64_t *key, uint64_t *scratch_key, uint32_t *scratch)
{
    uint32_t count = w->out->slot_count - w->group_begin, *pass = &w->out->slot_pass[w->group_begin];
    bool sorted = true;
    for (uint32_t i = 0; i < count; i++) {
        key[i] = (uint64_t)(INT64_MAX / 2 - w->net[pass[i]]);
        sorted &= i == 0 || key[i - 1] <= key[i];
    }
    if (!sorted)
        hdi_sort_u64(key, pass, scratch_key, scratch, count);
}

static void end_group(work *w)
{
    const hdi_sched *s = w->s;
    const hdi_depends *depends = s->depends;
    for (uint32_t i = w->group_begin; i < w->out->slot_count; i++) {
        uint32_t p = w->out->slot_pass[i];
        for (uint32_t e = depends->succ_begin[p]; e < depends->succ_begin[p + 1]; e++) {
            uint32_t next = depends->succ[e];
            uint32_t rank = s->pass_rank[next] - s->rank_begin;
            if (!s->whole && rank >= s->kept_count)
                continue;
            if (--w->left[next])
                continue;
            hdi_bit_set(w->ready, rank);
            w->net[next] = opens(w, next);
            w->due[next] = w->group + 1 + s->pass_float[next];
        }
    }
    for (uint32_t i = 0; i < w->closed_count; i++) {
        uint32_t res = w->closed[i];
        uint32_t last = s->res_last[res] - s->rank_begin;
        if (last < w->oldest)
            continue;
        w->early_last[last] += (int64_t)s->res_bytes[res];
        w->early -= (int64_t)s->res_bytes[res];
    }
    w->closed_count = 0;
    w->group_live[w->group] = w->live;
    w->full += w->live > (int64_t)(w->rules->cap / 8 * 7);
    w->live -= w->closing + w->closed_late;
    w->closed_late = w->closing_late;
    w->closing = w->closing_late = 0;
    w->scan_begin = HDI_NONE;
    w->group++;
}

/* A region is short: that it will have too many groups shows soon. */
static uint32_t most_groups(const work *w)
{
    enum { FEW = 16 };
    if (w->s->whole || w->rules->most == HDI_NONE)
        return w->rules->most;
    return FEW + (uint32_t)((uint64_t)w->rules->most * w->out->slot_count / w->s->kept_count);
}

/* Many groups at the cap, and passes enough in each that some could be in another. */
static bool is_full(const work *w)
{
    enum { PASSES = 4 };
    return w->full >= w->group / 4 && w->out->slot_count >= PASSES * w->group;
}

bool hdi_schedule_groups(const hdi_sched *s, const hdi_group_rules *rules, hdi_schedule *out)
{
    work w = {.s = s, .rules = rules, .out = out, .group = 1, .scan_begin = HDI_NONE};
    uint32_t kept = s->kept_count;
    uint64_t *key = HDI_ARENA_ARRAY(s->arena, uint64_t, kept), *scratch_key = HDI_ARENA_ARRAY(s->arena, uint64_t, kept);
    uint32_t *scratch = HDI_ARENA_ARRAY(s->arena, uint32_t, kept);
    if (!prepare(&w))
        return false;
    while (out->slot_count < kept) {
        if (w.group > most_groups(&w))
            return false;
        w.group_begin = out->slot_count;
        fill_group(&w);
        end_group(&w);
        if (!rules->in_order && out->slot_count - w.group_begin > 1)
            sort_group(&w, key, scratch_key, scratch);
    }
    out->group_count = w.group;
    if (rules->level && is_full(&w) && !hdi_sched_level(s, rules->cap, w.group_live, out))
        return false;
    uint32_t host = s->queues->host;
    for (uint32_t slot = 0; slot < kept; slot++)
        out->slot_queue[slot] = (uint8_t)(s->decl->pass_type[out->slot_pass[slot]] == HD_PASS_HOST ? host : 0);
    return true;
}
