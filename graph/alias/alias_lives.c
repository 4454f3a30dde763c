#include "alias_pack.h"

#include <string.h>

/* Lives as the packers see them. They end with a group of the schedule, as inside of one there are no barriers; where
 * that keeps too much alive, they are cut short, and each cut is a barrier more. On one queue time is cut into pieces
 * behind each end of a life. O(resources + slots). */

enum { SHORT_LIFE = 24 }; /* pieces, on average */

/* By slot: how many bytes more are used in it than in the one before, and how many more wait for an end behind their
 * last use; they may wrap, which sums undo. */
typedef struct flow {
    uint64_t *used, *waiting;
} flow;

static void add_members(hdi_pack *pack, const uint32_t *by_first, uint32_t count, const flow *f)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_last = pack->lifetimes->res_last, *res_end = pack->end;
    uint64_t lives = count, *used = f->used, *waiting = f->waiting;
    uint32_t begin = pack->slot_begin, *ends = pack->piece_of;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = by_first[i], first = res_first[res], end = res_end[res], behind_last = res_last[res] + 1 - begin,
                 behind = end + 1 - begin;
        uint64_t bytes = pack->sizes->need[res].bytes;
        used[first - begin] += bytes;
        used[behind_last] -= bytes;
        waiting[behind_last] += bytes;
        waiting[behind] -= bytes;
        ends[behind] = 1;
        lives += end - first;
    }
    pack->lives = lives;
}

/* The most that is alive at once, and the pieces of time. */
static void sweep(hdi_pack *pack, const flow *f)
{
    uint64_t used = 0, waiting = 0, most_used = 0, most_live = 0;
    uint32_t slots = pack->slot_end - pack->slot_begin, pieces = 0, *piece_of = pack->piece_of;
    for (uint32_t s = 0; s < slots; s++) {
        used += f->used[s];
        waiting += f->waiting[s];
        most_used = used > most_used ? used : most_used;
        most_live = used + waiting > most_live ? used + waiting : most_live;
        piece_of[s] = pieces += piece_of[s];
    }
    piece_of[slots] += pieces;
    pack->piece_count = piece_of[slots] + 1;
    pack->needed = most_used;
    pack->live_bytes = most_live;
}

static bool are_short(const hdi_pack *pack, const uint32_t *res, uint32_t count)
{
    const uint32_t *piece_of = pack->piece_of, *first = pack->lifetimes->res_first;
    uint64_t all = count;
    if (pack->by_clocks || pack->lives <= (uint64_t)count * SHORT_LIFE) /* no life has more pieces than slots */
        return !pack->by_clocks;
    for (uint32_t i = 0; i < count; i++)
        all += piece_of[pack->end[res[i]] - pack->slot_begin] - piece_of[first[res[i]] - pack->slot_begin];
    return all <= (uint64_t)count * SHORT_LIFE;
}

bool hdi_pack_look(hdi_pack *pack, const uint32_t *by_first, uint32_t count)
{
    size_t slots = (size_t)(pack->slot_end - pack->slot_begin) + 1;
    if (!pack->piece_of)
        pack->piece_of = HDI_ARENA_ARRAY(pack->arena, uint32_t, slots);
    pack->bucket = NULL;
    pack->run = NULL;
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint64_t *bytes = HDI_ARENA_ZEROED(pack->arena, uint64_t, 2 * slots);
    if (pack->arena->failed)
        return false;
    flow f = {bytes, bytes + slots};
    memset(pack->piece_of, 0, slots * sizeof(*pack->piece_of)); /* first: whether a life ends in the slot before */
    for (uint32_t i = 0; i < pack->placed_count; i++)           /* time is cut there, too */
        pack->piece_of[hdi_pack_slot(pack, pack->end[pack->placed[i]]) + 1] = 1;
    add_members(pack, by_first, count, &f);
    sweep(pack, &f);
    pack->has_short_lives = are_short(pack, by_first, count);
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return true;
}

/* Walks over first uses; where too much is alive, all lives whose last use is over end just before. Which these are is
 * looked for then, and not before: what is alive is known from the bytes that go behind each slot. */
uint32_t hdi_pack_cut(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t most, uint32_t *alive,
                      uint32_t *end)
{
    const uint32_t *first = pack->lifetimes->res_first, *last = pack->lifetimes->res_last;
    const hd_memory_need *need = pack->sizes->need;
    uint32_t alive_count = 0, cuts = 0, begin = pack->slot_begin, gone = 0;
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint64_t live = 0, *go = HDI_ARENA_ZEROED(pack->arena, uint64_t, pack->slot_end - begin);
    for (uint32_t i = 0, next; go && i < count; i = next) {
        uint32_t slot = first[by_first[i]], kept = 0;
        for (; gone < slot - begin; gone++)
            live -= go[gone];
        for (next = i; next < count && first[by_first[next]] == slot; next++) {
            uint32_t r = by_first[next];
            end[r] = pack->lifetimes->res_close[r];
            live += need[r].bytes;
            go[end[r] - begin] += need[r].bytes;
        }
        if (live > most) {
            bool cut = false;
            for (uint32_t k = 0; k < alive_count; k++) {
                uint32_t r = alive[k];
                if (last[r] >= slot) {
                    alive[kept++] = r;
                } else if (end[r] >= slot) {
                    go[end[r] - begin] -= need[r].bytes;
                    live -= need[r].bytes;
                    end[r] = slot - 1;
                    cut = true;
                }
            }
            cuts += cut;
            alive_count = kept;
        }
        for (uint32_t k = i; k < next; k++)
            alive[alive_count++] = by_first[k];
    }
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return cuts;
}
