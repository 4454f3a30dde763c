#include "schedule_work.h"

#include <string.h>

/* A schedule within a cap on live bytes takes a pass out of turn only where the passes before it, run by rank
 * afterwards, still find their memory: at each rank between the oldest pass that is left and the candidate the bytes
 * alive there by rank, with what was opened early and without what was closed early, stay under the cap. So the oldest
 * pass never finds its memory taken, and a cap of at least the peak by rank holds to the end.
 *
 * A look at those ranks is remembered: later candidates go on behind it. Bytes that are closed since then leave its
 * maximum as it is, which so becomes an upper bound; a candidate that it refuses looks again. A rank where a candidate
 * found no room is remembered with its exact bytes: it refuses the next candidates at once. */

#define NO_BYTES_YET (INT64_MIN / 2) /* bytes may be added to it */

void hdi_room_look_anew(hdi_room *room)
{
    room->end = room->oldest;
    room->alive_end = room->alive;
    room->most = NO_BYTES_YET;
}

bool hdi_room_begin(hdi_room *room, const hdi_sched *s, uint64_t cap)
{
    size_t count = s->kept_count;
    if (!room->step)
        room->step = HDI_ARENA_ARRAY(s->arena, int64_t, count + 1);
    if (!room->step)
        return false;
    for (size_t rank = 0; rank < count; rank++)
        room->step[rank] = s->rank[rank].step;
    room->step[count] = 0;
    room->cap = (int64_t)cap;
    room->oldest = 0;
    room->alive = s->live_before + s->rank[0].opens + s->rank[0].shared;
    room->full = HDI_NONE;
    hdi_room_look_anew(room);
    return true;
}

bool hdi_room_look(hdi_room *room, uint32_t rank, int64_t most)
{
    if (room->most > most)
        hdi_room_look_anew(room);
    int64_t alive = room->alive_end, highest = room->most;
    uint32_t at = room->end;
    while (at < rank && highest <= most) {
        highest = alive > highest ? alive : highest;
        alive += room->step[++at];
    }
    room->end = at;
    room->alive_end = alive;
    room->most = highest;
    if (highest <= most)
        return true;
    room->full = at - 1;
    room->alive_full = highest;
    return false;
}

int64_t hdi_room_open_shared(hdi_room *room, const hdi_sched *s, uint32_t rank)
{
    const uint32_t *use = &s->decl->pass_use_begin[s->rank_pass[rank]];
    int64_t bytes = 0;
    for (uint32_t u = use[0]; u < use[1]; u++) {
        hdi_sched_res *res = &s->res[s->decl->use_res[u]];
        if (!hdi_sched_shares(s, res) || res->open)
            continue;
        res->open = true;
        bytes += (int64_t)res->bytes;
        if (res->first - s->rank_begin > room->oldest)
            hdi_room_add(room, res->first - s->rank_begin, (int64_t)res->bytes);
    }
    return bytes;
}
