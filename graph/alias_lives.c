#include "alias_pack.h"

/* Lives as the packers see them. They end with a group of the schedule, as inside of one there are no barriers; where
 * that keeps too much alive, they are cut short, and each cut is a barrier more. O(resources + slots). */

/* Bytes that come with a slot, and that go before it where lives end with the last use, or as the packer has it. */
typedef struct change {
    uint64_t come, unused, gone;
} change;

bool hdi_pack_least(const hdi_pack *pack, const hdi_pack_lives *lives, uint64_t *needed, uint64_t *least)
{
    const uint32_t *first = pack->lifetimes->res_first, *last = pack->lifetimes->res_last, *end = pack->end;
    const hd_memory_need *need = pack->sizes->need;
    uint32_t begin = pack->slot_begin, slots = pack->slot_end - begin;
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    change *changes = HDI_ARENA_ZEROED(pack->arena, change, (size_t)slots + 1);
    if (!changes)
        return false;
    for (uint32_t i = 0; i < lives->inner.count; i++) {
        uint32_t res = lives->inner.res[i];
        changes[first[res] - begin].come += need[res].bytes;
        changes[last[res] + 1 - begin].unused += need[res].bytes;
        changes[end[res] + 1 - begin].gone += need[res].bytes;
    }
    for (uint32_t i = 0; i < lives->leaving.count; i++) {
        uint32_t res = lives->leaving.res[i];
        changes[first[res] - begin].come += need[res].bytes;
        changes[hdi_pack_slot(pack, last[res]) + 1].unused += need[res].bytes;
    }
    for (uint32_t i = 0; i < lives->ending.count; i++) {
        uint32_t res = lives->ending.res[i];
        changes[hdi_pack_slot(pack, last[res]) + 1].unused += need[res].bytes;
        changes[hdi_pack_slot(pack, end[res]) + 1].gone += need[res].bytes;
    }
    uint64_t used = lives->before, live = used, most_used = used, most_live = used;
    for (uint32_t s = 0; s < slots; s++) {
        used += changes[s].come - changes[s].unused;
        live += changes[s].come - changes[s].gone;
        most_used = used > most_used ? used : most_used;
        most_live = live > most_live ? live : most_live;
    }
    *needed = most_used;
    *least = most_live;
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
