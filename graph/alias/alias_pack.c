#include "alias_pack.h"

#include <string.h>

/* In time: first fit over free ranges. All begin at whole units: others may be packed around them, and look no closer.
 * O(resources * free ranges). */

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

typedef struct range {
    uint64_t begin, end;
} range;

/* Free ranges by offset; the last one has no end. */
typedef struct free_list {
    range *item;
    uint32_t count;
} free_list;

/* Ranges from `from` on, of which few there mostly are, move up or down. */
static HDI_INLINE void move(free_list *list, uint32_t from, int by)
{
    enum { FEW = 8 };
    range *first = &list->item[from], *end = &list->item[list->count];
    if (end - first > FEW)
        memmove(first + by, first, (size_t)((char *)end - (char *)first));
    else if (by < 0)
        for (range *r = first; r < end; r++)
            r[by] = *r;
    else
        for (range *r = end; r-- > first;)
            r[by] = *r;
    list->count += (uint32_t)by;
}

static HDI_INLINE uint64_t take_lowest(free_list *list, uint64_t bytes, uint64_t alignment)
{
    range *r = list->item;
    uint64_t at = align_up(r->begin, alignment);
    while (at + bytes > r->end)
        at = align_up((++r)->begin, alignment);
    uint64_t end = at + bytes;
    if (r->begin == at && end < r->end) {
        r->begin = end;
    } else if (r->begin == at) {
        move(list, (uint32_t)(r + 1 - list->item), -1);
    } else if (end == r->end) {
        r->end = at;
    } else {
        move(list, (uint32_t)(r - list->item), 1);
        r[0].end = at;
        r[1].begin = end;
    }
    return at;
}

static HDI_INLINE void give_back(free_list *list, uint64_t begin, uint64_t end)
{
    range *r = list->item;
    while (r->begin < begin) /* the last one is behind everything taken */
        r++;
    bool joins_behind = r->begin == end, joins_before = r > list->item && r[-1].end == begin;
    if (joins_behind && joins_before) {
        r[-1].end = r->end;
        move(list, (uint32_t)(r + 1 - list->item), -1);
    } else if (joins_behind) {
        r->begin = begin;
    } else if (joins_before) {
        r[-1].end = end;
    } else {
        move(list, (uint32_t)(r - list->item), 1);
        *r = (range){begin, end};
    }
}

/* Takes bytes out of the ranges that are free, of which they may be parts or none. */
static void take_away(free_list *list, uint64_t begin, uint64_t end)
{
    for (uint32_t i = 0; i < list->count && list->item[i].begin < end;) {
        range r = list->item[i];
        if (r.end <= begin) {
            i++;
        } else if (r.begin < begin && r.end > end) {
            memmove(&list->item[i + 2], &list->item[i + 1], (list->count - i - 1) * sizeof(range));
            list->item[i].end = begin;
            list->item[i + 1] = (range){end, r.end};
            list->count++;
            return;
        } else if (r.begin < begin) {
            list->item[i++].end = begin;
        } else if (r.end > end) {
            list->item[i++].begin = end;
        } else {
            memmove(&list->item[i], &list->item[i + 1], (list->count - i - 1) * sizeof(range));
            list->count--;
        }
    }
}

bool hdi_pack_in_time(hdi_pack *pack, const uint32_t *by_first, uint32_t count, uint64_t *offset, uint64_t *top)
{
    const uint32_t *res_first = pack->lifetimes->res_first, *res_close = pack->end;
    const hd_memory_need *need = pack->sizes->need;
    uint32_t slots = pack->slot_end - pack->slot_begin, begin = pack->slot_begin;
    free_list list = {HDI_ARENA_ARRAY(pack->arena, range, (size_t)count + pack->placed_count + 2), 1};
    uint32_t *closing = HDI_ARENA_ARRAY(pack->arena, uint32_t, slots); /* newest of each slot, chained */
    uint32_t *next = HDI_ARENA_ARRAY(pack->arena, uint32_t, count);
    if (pack->arena->failed)
        return false;
    memset(closing, 0xff, slots * sizeof(*closing));
    list.item[0] = (range){0, UINT64_MAX};
    uint64_t most = 0;
    /* Those that are placed keep their bytes to themselves all the time. */
    for (uint32_t i = 0; i < pack->placed_count; i++) {
        uint32_t res = pack->placed[i];
        uint64_t at = pack->placed_offset[res], end = at + pack->sizes->need[res].bytes;
        take_away(&list, at, end);
        most = end > most ? end : most;
    }
    for (uint32_t i = 0, slot = 0; i < count; i++) {
        uint32_t res = by_first[i], first = res_first[res] - begin, close = res_close[res] - begin;
        for (; slot < first; slot++) {
            for (uint32_t k = closing[slot]; k != HDI_NONE; k = next[k])
                give_back(&list, offset[by_first[k]], offset[by_first[k]] + need[by_first[k]].bytes);
        }
        uint64_t alignment = need[res].alignment > HDI_PACK_UNIT ? need[res].alignment : HDI_PACK_UNIT;
        uint64_t at = take_lowest(&list, need[res].bytes, alignment), end = at + need[res].bytes;
        offset[res] = at;
        most = end > most ? end : most;
        if (most >= *top) {
            *top = UINT64_MAX;
            return true;
        }
        next[i] = closing[close];
        closing[close] = i;
    }
    *top = most;
    return true;
}
