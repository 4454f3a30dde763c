#include "alias_pack.h"

#include <string.h>

#include "hints.h"

/* Lives as the packers see them. They end with a group of the schedule, as inside of one there are no barriers; where
 * that keeps too much alive, they are cut short, and each cut is a barrier more. O(resources + slots). */

bool hdi_pack_needed(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t *needed)
{
    const uint32_t *first = pack->lifetimes->res_first, *last = pack->lifetimes->res_last;
    const hd_memory_need *need = pack->sizes->need;
    uint32_t begin = pack->slot_begin, slots = pack->slot_end - begin;
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint64_t *used = HDI_ARENA_ZEROED(pack->arena, uint64_t, (size_t)slots + 1), sum = 0, most = 0;
    if (!used)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = by_first[i];
        used[first[res] - begin] += need[res].bytes;
        used[last[res] + 1 - begin] -= need[res].bytes; /* it may wrap, which the sum undoes */
    }
    for (uint32_t s = 0; s < slots; s++) {
        sum += used[s];
        most = sum > most ? sum : most;
    }
    *needed = most;
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return true;
}

/* ---- what members are like ---- */

/* A size that has not come up yet. */
static HDI_APART uint8_t add_size(hdi_pack_mix *mix, uint64_t bytes, uint32_t slot)
{
    if (mix->sizes == HDI_PACK_SIZES) {
        mix->has_many_sizes = true;
        return 0;
    }
    mix->bytes[++mix->sizes] = bytes;
    mix->members[mix->sizes] = 0;
    return mix->slot_size[slot] = (uint8_t)mix->sizes;
}

/* Which size, of those that have come up. */
static HDI_INLINE uint8_t size_of(hdi_pack_mix *mix, uint64_t bytes)
{
    uint32_t slot = (uint32_t)((bytes * 0x9e3779b97f4a7c15u) >> 56);
    uint8_t size = mix->slot_size[slot];
    while (HDI_UNLIKELY(mix->bytes[size] != bytes)) {
        if (!size) {
            size = add_size(mix, bytes, slot);
            break;
        }
        slot = (slot + 1) % (uint32_t)sizeof(mix->slot_size);
        size = mix->slot_size[slot];
    }
    mix->members[size]++;
    return size;
}

/* By slot: how many bytes more are used in it than in the one before, and how many more wait for an end behind their
 * last use; they may wrap, which sums undo. */
typedef struct flow {
    uint64_t *used, *waiting;
} flow;

static void add_members(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, const flow *f, uint8_t *sizes,
                        hdi_pack_mix *mix)
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
        sizes[i] = size_of(mix, bytes);
    }
    mix->lives = lives;
}

/* The most that is alive at once, and the pieces of time. */
static void sweep(const hdi_pack *pack, const flow *f, hdi_pack_mix *mix)
{
    uint64_t used = 0, waiting = 0, most_used = 0, most_live = 0, area = 0;
    uint32_t slots = pack->slot_end - pack->slot_begin, pieces = 0, *piece_of = pack->piece_of;
    for (uint32_t s = 0; s < slots; s++) {
        used += f->used[s];
        waiting += f->waiting[s];
        most_used = used > most_used ? used : most_used;
        uint64_t live = used + waiting;
        most_live = live > most_live ? live : most_live;
        area += live;
        piece_of[s] = pieces += piece_of[s];
    }
    piece_of[slots] += pieces;
    mix->pieces = piece_of[slots] + 1;
    mix->needed = most_used;
    mix->least = mix->all_least = most_live;
    mix->area = area / HDI_PACK_UNIT;
}

/* Once more, with what is placed. */
static void sweep_all(const hdi_pack *pack, const flow *f, hdi_pack_mix *mix)
{
    uint64_t live = 0, most = 0;
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        f->used[hdi_pack_slot(pack, pack->lifetimes->res_first[res])] += pack->sizes->need[res].bytes;
        f->used[hdi_pack_slot(pack, pack->end[res]) + 1] -= pack->sizes->need[res].bytes;
    }
    for (uint32_t s = 0; s < pack->slot_end - pack->slot_begin; s++) {
        live += f->used[s] + f->waiting[s];
        most = live > most ? live : most;
    }
    mix->all_least = most;
}

bool hdi_pack_look(hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint8_t *sizes, hdi_pack_mix *mix)
{
    size_t slots = (size_t)(pack->slot_end - pack->slot_begin) + 1;
    if (!pack->piece_of)
        pack->piece_of = HDI_ARENA_ARRAY(pack->arena, uint32_t, slots);
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint64_t *bytes = HDI_ARENA_ZEROED(pack->arena, uint64_t, 2 * slots);
    if (pack->arena->failed)
        return false;
    flow f = {bytes, bytes + slots};
    mix->sizes = 0;
    mix->has_many_sizes = false;
    mix->bytes[0] = 0; /* of no member */
    memset(mix->slot_size, 0, sizeof(mix->slot_size));
    memset(pack->piece_of, 0, slots * sizeof(*pack->piece_of)); /* first: whether a life ends in the slot before */
    for (uint32_t i = 0; i < pack->placed_count; i++)           /* time is cut there, too */
        pack->piece_of[hdi_pack_slot(pack, pack->end[pack->placed[i]]) + 1] = 1;
    add_members(pack, by_first, count, &f, sizes, mix);
    sweep(pack, &f, mix);
    if (pack->placed_count)
        sweep_all(pack, &f, mix);
    hdi_pack_recall(pack, mix);
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return true;
}

/* ---- cuts ---- */

/* Walks over first uses; where too much is alive, all lives whose last use is over end just before. Which these are is
 * looked for then, and not before: what is alive is known from the bytes that go behind each slot. */
uint32_t hdi_pack_cut(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t most, uint32_t *end)
{
    const uint32_t *first = pack->lifetimes->res_first, *last = pack->lifetimes->res_last;
    const hd_memory_need *need = pack->sizes->need;
    uint32_t *alive = pack->scratch, alive_count = 0, cuts = 0, begin = pack->slot_begin, gone = 0;
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
