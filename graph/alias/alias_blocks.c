#include "alias_skyline.h"

/* What the skyline packs (alias_skyline.c): members that live in the same pieces of time are a list, the largest first,
 * and small ones of it lie on one another for good, as a block. O(members + pieces). */

/* Blocks have parts of the most that is alive, smaller ones beside what hangs in other pieces; by trial of frames. */
enum { SMALL = 32, SMALL_BESIDE = 96 };

typedef hdi_blocks work;
typedef hdi_block item;

/* Counts that end as where those of each piece begin. */
static void sum_up(uint32_t *count, uint32_t pieces)
{
    uint32_t sum = 0;
    for (uint32_t p = 0; p < pieces; p++) {
        uint32_t here = count[p];
        count[p] = sum;
        sum += here;
    }
}

/* Those from the largest to the smallest, and how much is alive. False: one of them alone does not fit below `most`, or
 * so much is alive that 32 bits have wrapped to nothing. */
static bool read_members(work *w, const hdi_pack *pack, const uint32_t *by_size, uint32_t count, uint64_t most,
                         uint32_t *starts, uint32_t *ends, uint32_t *live)
{
    const uint32_t *piece_of = pack->piece_of, *res_first = pack->lifetimes->res_first, *res_end = pack->end;
    const hd_memory_need *needs = pack->sizes->need;
    uint32_t slot = pack->slot_begin, sum = 0;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t res = by_size[i], first = piece_of[res_first[res] - slot], last = piece_of[res_end[res] - slot];
        uint64_t units = hdi_pack_units(needs[res].bytes), alignment = needs[res].alignment / HDI_PACK_UNIT;
        largest = units + alignment > largest ? units + alignment : largest;
        alignment += alignment == 0;
        w->item[i] = (item){res, (uint32_t)units, (uint32_t)alignment, (uint16_t)first, (uint16_t)last};
        starts[first]++;
        ends[last]++;
        live[first] += (uint32_t)units;
        live[last + 1] -= (uint32_t)units; /* it may wrap, which the sum undoes */
    }
    for (uint32_t p = 0; p < w->pieces; p++) {
        sum += live[p];
        w->most_live = sum > w->most_live ? sum : w->most_live;
    }
    w->largest = (uint32_t)largest;
    w->least_log = hdi_log_of((uint32_t)largest, HDI_SKYLINE_LOG_BITS) - HDI_SKYLINE_SIZES + 1;
    return largest < most && w->most_live > 0;
}

/* Sorted by where they end, and then by where they start. */
static void sort_members(work *w, uint32_t count, uint32_t *starts, uint32_t *ends, item *by_end)
{
    item *items = w->item;
    sum_up(starts, w->pieces);
    sum_up(ends, w->pieces);
    for (uint32_t i = 0; i < count; i++)
        by_end[ends[items[i].last]++] = items[i];
    for (uint32_t i = 0; i < count; i++)
        items[starts[by_end[i].first]++] = by_end[i];
}

/* The longest run of pieces in which nobody lives who is placed already. */
static bool find_clear(work *w, const hdi_pack *pack)
{
    const uint32_t *res_first = pack->lifetimes->res_first;
    hdi_arena_mark mark = hdi_arena_here(pack->arena);
    uint32_t *placed = HDI_ARENA_ZEROED(pack->arena, uint32_t, w->pieces + 1), sum = 0;
    if (!placed)
        return false;
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        placed[pack->piece_of[hdi_pack_slot(pack, res_first[res])]]++;
        placed[pack->piece_of[hdi_pack_slot(pack, pack->end[res])] + 1]--; /* it may wrap, which the sum undoes */
    }
    for (uint32_t p = 0, begin = 0; p < w->pieces; p++) {
        sum += placed[p];
        begin = sum ? p + 1 : begin;
        if (p + 1 - begin > w->clear_end - w->clear_begin) {
            w->clear_begin = begin;
            w->clear_end = p + 1;
        }
    }
    hdi_arena_keep(pack->arena, mark, NULL, 0);
    return true;
}

/* Where a list or a block begins is anybody's guess: each is written as if this member were its last. Where something
 * hangs nothing may be larger than it must: there members stay alone. */
static HDI_INLINE void make_blocks(work *w, uint32_t count, bool hangs)
{
    uint32_t small = w->most_live / (hangs ? SMALL_BESIDE : SMALL), clear_begin = w->clear_begin,
             clear_end = w->clear_end, lists = 0, blocks = 0, first = UINT32_MAX, last = UINT32_MAX;
    item block = {0};
    for (uint32_t i = 0; i < count; i++) {
        item member = w->item[i];
        bool same = (member.first == first) & (member.last == last);
        uint32_t below = (uint32_t)hdi_align_units(block.units, member.alignment);
        bool joins = same & (below + member.units <= small);
        if (hangs)
            joins &= (member.first >= clear_begin) & (member.last < clear_end);
        below &= -(uint32_t)joins;
        blocks += !joins;
        lists += !same;
        first = member.first;
        last = member.last;
        w->part[i] = (hdi_block_part){member.id, blocks - 1, below};
        member.alignment = joins && block.alignment > member.alignment ? block.alignment : member.alignment;
        member.units += below;
        member.id = blocks - 1;
        w->item[blocks - 1] = block = member;
        w->first[lists - 1] = (int16_t)first;
        w->last[lists - 1] = (int16_t)last;
        w->end[lists - 1] = blocks;
        w->list_begin[first + 1] = lists;
    }
    for (uint32_t k = lists; k < lists + HDI_SKYLINE_LANES; k++)
        w->first[k] = w->last[k] = INT16_MAX;
    w->blocks = blocks;
    w->lists = lists;
    for (uint32_t p = 0, end = 0; p < w->pieces; p++)
        w->list_begin[p + 1] = end = w->list_begin[p + 1] ? w->list_begin[p + 1] : end;
}

static bool set_up_lists(work *w, hdi_arena *arena, uint32_t count)
{
    w->part = HDI_ARENA_ARRAY(arena, hdi_block_part, count);
    w->end = HDI_ARENA_ARRAY(arena, uint32_t, count);
    w->first = HDI_ARENA_ARRAY(arena, int16_t, count + HDI_SKYLINE_LANES);
    w->last = HDI_ARENA_ARRAY(arena, int16_t, count + HDI_SKYLINE_LANES);
    return !arena->failed;
}

bool hdi_make_blocks(const hdi_pack *pack, const uint32_t *by_size, uint32_t count, uint64_t most, hdi_blocks *w)
{
    hdi_arena *arena = pack->arena;
    *w = (hdi_blocks){.pieces = pack->piece_count};
    w->item = HDI_ARENA_ARRAY(arena, item, (size_t)count + 1);
    w->list_begin = HDI_ARENA_ZEROED(arena, uint32_t, w->pieces + 1);
    if (arena->failed)
        return false;
    w->item[count] = (item){0};
    hdi_arena_mark mark = hdi_arena_here(arena);
    item *by_end = HDI_ARENA_ARRAY(arena, item, count);
    uint32_t *starts = HDI_ARENA_ZEROED(arena, uint32_t, w->pieces),
             *ends = HDI_ARENA_ZEROED(arena, uint32_t, w->pieces),
             *live = HDI_ARENA_ZEROED(arena, uint32_t, w->pieces + 1);
    if (arena->failed || !read_members(w, pack, by_size, count, most, starts, ends, live))
        return false;
    sort_members(w, count, starts, ends, by_end);
    hdi_arena_keep(arena, mark, NULL, 0);
    if (!set_up_lists(w, arena, count) || (pack->placed_count && !find_clear(w, pack)))
        return false;
    if (pack->placed_count)
        make_blocks(w, count, true);
    else
        make_blocks(w, count, false);
    return true;
}
