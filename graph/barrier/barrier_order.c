#include "barrier_walk.h"

/* Barriers that do not stand in the order of their points: a few that others come after are noted where they are
 * (barrier_walk.c), and put where they belong when a region has been walked. O(barriers). */

/* Barriers of some points, which begin at one, in the order of the points. Each is moved once, along cycles. */
static HDI_APART void put_in_order(hdi_walker *k, uint32_t *to, uint32_t first, uint32_t end, uint32_t begin,
                                   uint32_t barrier_end)
{
    for (uint32_t p = first; p < end; p++)
        k->point[p].global = k->point[p].begin; /* where its next one goes */
    for (uint32_t b = begin; b < barrier_end; b++)
        to[b] = k->point[to[b]].global++;
    for (uint32_t b = begin; b < barrier_end; b++) {
        if (to[b] == b)
            continue;
        hd_plan_barrier moved = k->barrier[b];
        uint32_t at = to[b];
        while (at != b) {
            hd_plan_barrier next = k->barrier[at];
            uint32_t next_at = to[at];
            k->barrier[at] = moved;
            to[at] = at;
            moved = next;
            at = next_at;
        }
        k->barrier[b] = moved;
    }
}

/* The point that is there. */
static uint32_t point_at(const hdi_walker *k, uint32_t at)
{
    uint32_t low = 0, high = k->point_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(k->point[middle].at <= at ? &low : &high) = middle;
    }
    return low;
}

/* Of which point each barrier is. */
static void find_points(const hdi_walker *k, uint32_t *of)
{
    uint32_t end = hdi_walked(k);
    for (uint32_t p = k->point_count; p-- > 0;) {
        uint32_t begin = k->point[p].begin;
        for (uint32_t b = begin; b < end; b++)
            of[b] = p;
        end = begin < end ? begin : end;
    }
    for (uint32_t stray = k->stray; stray;) {
        hd_plan_barrier *b = &k->barrier[stray - 1];
        of[stray - 1] = point_at(k, b->src_family);
        stray = b->dst_family;
        b->src_family = b->dst_family = HD_NONE;
    }
}

/* Those of the points whose barriers do not stand in their order, one run after another. */
void hdi_put_in_order(hdi_walker *k, uint32_t *of)
{
    uint32_t points = k->point_count, count = hdi_walked(k), sum = 0;
    find_points(k, of);
    for (uint32_t p = 0; p < points; p++)
        k->point[p].begin = 0;
    for (uint32_t b = 0; b < count; b++)
        k->point[of[b]].begin++;
    for (uint32_t p = 0; p < points; p++) {
        uint32_t some = k->point[p].begin;
        k->point[p].begin = sum;
        sum += some;
    }
    for (uint32_t p = 0; p < points;) {
        uint32_t first = p, mixed = 0;
        do
            mixed = k->point[p].mixed > mixed ? k->point[p].mixed : mixed;
        while (++p < points && k->point[p].at <= mixed);
        if (mixed)
            put_in_order(k, of, first, p, k->point[first].begin, p < points ? k->point[p].begin : count);
    }
}
