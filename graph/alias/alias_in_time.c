#include "alias_pack.h"

#include <string.h>

/* First fit in order of time over a list of free ranges: for lives so long that other packers would look at each member
 * again and again, and for heaps beyond their numbers. What is placed keeps its bytes all the time. Offsets are whole
 * units. O(members * free ranges). */

typedef struct range {
    uint64_t begin, end;
} range;

/* Free ranges by offset; the last one has no end. */
typedef struct free_list {
    range *item;
    uint32_t count;
} free_list;

/* Ranges from `from` on move up or down by one. */
static void move(free_list *list, uint32_t from, int by)
{
    memmove(&list->item[(int)from + by], &list->item[from], (list->count - from) * sizeof(range));
    list->count += (uint32_t)by;
}

/* Takes [begin, end), which lies in range i. */
static void take(free_list *list, uint32_t i, uint64_t begin, uint64_t end)
{
    range r = list->item[i];
    if (r.begin < begin && end < r.end) {
        move(list, i, 1);
        list->item[i].end = begin;
        list->item[i + 1].begin = end;
    } else if (r.begin < begin) {
        list->item[i].end = begin;
    } else if (end < r.end) {
        list->item[i].begin = end;
    } else {
        move(list, i + 1, -1);
    }
}

static void give_back(free_list *list, uint64_t begin, uint64_t end)
{
    uint32_t i = 0;
    while (list->item[i].begin < begin) /* the last one is behind everything taken */
        i++;
    bool joins_behind = list->item[i].begin == end, joins_before = i > 0 && list->item[i - 1].end == begin;
    if (joins_behind)
        list->item[i].begin = joins_before ? list->item[i - 1].begin : begin;
    else if (joins_before)
        list->item[i - 1].end = end;
    if (joins_behind && joins_before)
        move(list, i, -1);
    if (joins_behind || joins_before)
        return;
    move(list, i, 1);
    list->item[i] = (range){begin, end};
}

/* Takes what is free of [begin, end). */
static void take_free(free_list *list, uint64_t begin, uint64_t end)
{
    for (uint32_t i = list->count; i-- > 0;) {
        range r = list->item[i];
        if (r.begin < end && begin < r.end)
            take(list, i, r.begin > begin ? r.begin : begin, r.end < end ? r.end : end);
    }
}

bool hdi_pack_in_time(hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t *offset, uint64_t *top)
{
    const uint32_t *res_first = pack->lifetimes->res_first;
    const hd_memory_need *need = pack->sizes->need;
    uint32_t slots = pack->slot_end - pack->slot_begin, begin = pack->slot_begin;
    free_list list = {HDI_ARENA_ARRAY(pack->arena, range, (size_t)count + pack->placed_count + 2), 1};
    uint32_t *closing = HDI_ARENA_ARRAY(pack->arena, uint32_t, slots); /* newest of each slot, chained */
    uint32_t *next = HDI_ARENA_ARRAY(pack->arena, uint32_t, count);
    uint64_t most = 0;
    if (pack->arena->failed)
        return false;
    memset(closing, 0xff, slots * sizeof(*closing));
    list.item[0] = (range){0, UINT64_MAX};
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint64_t at = pack->placed_offset[pack->placed[i]], end = at + need[pack->placed[i]].bytes;
        take_free(&list, at, end);
        most = end > most ? end : most;
    }
    for (uint32_t i = 0, slot = 0; i < count && most < *top; i++) {
        uint32_t res = by_first[i], k = 0;
        for (; slot < res_first[res] - begin; slot++) {
            for (uint32_t old = closing[slot]; old != HDI_NONE; old = next[old])
                give_back(&list, offset[by_first[old]], offset[by_first[old]] + need[by_first[old]].bytes);
        }
        uint64_t mask = (need[res].alignment > HDI_PACK_UNIT ? need[res].alignment : HDI_PACK_UNIT) - 1,
                 at = (list.item[0].begin + mask) & ~mask;
        while (at + need[res].bytes > list.item[k].end)
            at = (list.item[++k].begin + mask) & ~mask;
        take(&list, k, at, at + need[res].bytes);
        offset[res] = at;
        most = at + need[res].bytes > most ? at + need[res].bytes : most;
        next[i] = closing[pack->end[res] - begin];
        closing[pack->end[res] - begin] = i;
    }
    *top = most < *top ? most : UINT64_MAX;
    return true;
}
