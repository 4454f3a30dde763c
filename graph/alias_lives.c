#include "alias_pack.h"

/* Lives as the packers see them. They end with a group of the schedule, as inside of one there are no barriers; where
 * that keeps too much alive, they are cut short, and each cut is a barrier more. O(resources + slots). */

static void count_life(const hdi_pack *pack, uint32_t res, const uint32_t *end, uint64_t *change)
{
    uint64_t bytes = pack->sizes->need[res].bytes;
    change[hdi_pack_slot(pack, pack->lifetimes->res_first[res])] += bytes;
    change[hdi_pack_slot(pack, end[res]) + 1] -= bytes; /* unsigned wrap is undone by the running sum */
}

bool hdi_pack_least(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, const uint32_t *end,
                    uint64_t *least)
{
    uint32_t slots = pack->slot_end - pack->slot_begin;
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint64_t *change = HDI_ARENA_ZEROED(pack->arena, uint64_t, (size_t)slots + 1), live = 0;
    if (!change)
        return false;
    for (uint32_t i = 0; i < count; i++)
        count_life(pack, by_first[i], end, change);
    for (uint32_t i = 0; i < pack->placed_count; i++)
        count_life(pack, pack->placed[i], end, change);
    *least = 0;
    for (uint32_t s = 0; s < slots; s++) {
        live += change[s];
        *least = live > *least ? live : *least;
    }
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return true;
}

/* Walks over first uses; where too much is alive, everybody whose last use is over ends just before. */
uint32_t hdi_pack_cut(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t most, uint32_t *end)
{
    const uint32_t *first = pack->lifetimes->res_first, *last = pack->lifetimes->res_last;
    uint32_t *alive = pack->scratch, alive_count = 0, cuts = 0;
    uint64_t live = 0;
    for (uint32_t i = 0, next; i < count; i = next) {
        uint32_t slot = first[by_first[i]], kept = 0;
        for (next = i; next < count && first[by_first[next]] == slot; next++) {
            live += pack->sizes->need[by_first[next]].bytes;
            end[by_first[next]] = pack->lifetimes->res_close[by_first[next]];
        }
        for (uint32_t k = 0; k < alive_count; k++) {
            uint32_t r = alive[k];
            if (end[r] < slot)
                live -= pack->sizes->need[r].bytes;
            else
                alive[kept++] = r;
        }
        alive_count = kept;
        if (live > most) {
            kept = 0;
            for (uint32_t k = 0; k < alive_count; k++) {
                uint32_t r = alive[k];
                if (last[r] < slot) {
                    end[r] = slot - 1;
                    live -= pack->sizes->need[r].bytes;
                } else {
                    alive[kept++] = r;
                }
            }
            cuts += kept < alive_count;
            alive_count = kept;
        }
        for (uint32_t k = i; k < next; k++)
            alive[alive_count++] = by_first[k];
    }
    return cuts;
}
