#include "verify.h"

#include "bitset.h"
#include "sort.h"

/* Which unit owns which bytes of a heap while the plan is walked. A unit takes bytes as a whole: a segment of a buffer,
 * or an image, as Vulkan does not say where its segments lie. The bytes of all heaps, cut where units begin and end,
 * are cells; runs of cells belong to one unit each, those that no unit has taken to none. A unit that takes its cells
 * displaces the units that it finds there, its rivals: its first access is checked against theirs. What was displaced
 * before need not be looked at again: the rivals came behind it, and order is transitive. The other segments of an
 * image come behind the same rivals. O(n log n + runs that are displaced): each take adds at most three. Where a run
 * begins is found by bits, 64 at a time. */

static uint64_t *boundary_keys(hdi_verify *v, uint32_t *point, uint64_t *key, uint64_t *key2, uint32_t *point2,
                               uint32_t count, bool heaps)
{
    for (uint32_t i = 0; i < count; i++) {
        const hdi_vunit *unit = &v->unit[point[i] / 2];
        uint64_t bytes[2];
        hdi_verify_bytes(v, unit->resource, unit->seg_begin, &bytes[0], &bytes[1]);
        key[i] = heaps ? v->p.resources[v->plan_res[unit->resource]].heap : bytes[point[i] % 2];
    }
    hdi_sort_u64(key, point, key2, point2, count);
    return key;
}

/* Cells of the units: places of their ends in the order of heap and offset, of which equal ones are one. */
static hd_result make_cells(hdi_verify *v, uint32_t units)
{
    uint32_t count = units * 2;
    hdi_arena_mark mark = hdi_arena_here(&v->arena);
    uint32_t *point = HDI_ARENA_ARRAY(&v->arena, uint32_t, count),
             *point2 = HDI_ARENA_ARRAY(&v->arena, uint32_t, count);
    uint64_t *key = HDI_ARENA_ARRAY(&v->arena, uint64_t, count), *key2 = HDI_ARENA_ARRAY(&v->arena, uint64_t, count);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        point[i] = i;
    boundary_keys(v, point, key, key2, point2, count, false);
    boundary_keys(v, point, key, key2, point2, count, true); /* the sort is stable */
    uint64_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        hdi_vunit *unit = &v->unit[point[i] / 2];
        uint64_t bytes[2], at;
        hdi_verify_bytes(v, unit->resource, unit->seg_begin, &bytes[0], &bytes[1]);
        at = bytes[point[i] % 2];
        v->cell_count += i && (key[i] != key[i - 1] || at != before);
        before = at;
        unit->cell[point[i] % 2] = v->cell_count;
    }
    v->cell_count++;
    hdi_arena_keep(&v->arena, mark, NULL, 0);
    return HD_OK;
}

hd_result hdi_verify_units(hdi_verify *v)
{
    uint32_t count = 0;
    v->unit_begin = HDI_ARENA_ZEROED(&v->arena, uint32_t, (size_t)v->d.res_count + 1);
    if (!v->unit_begin)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < v->d.res_count; r++) {
        bool placed = v->plan_res[r] != HDI_NONE && v->p.resources[v->plan_res[r]].heap != HDI_NONE;
        bool image = !(v->d.res_flags[r] & HDI_RES_BUFFER);
        count += !placed ? 0 : image ? 1 : v->seg_begin[r + 1] - v->seg_begin[r];
        v->unit_begin[r + 1] = count;
    }
    v->unit = HDI_ARENA_ARRAY(&v->arena, hdi_vunit, count);
    if (!v->unit)
        return HD_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < v->d.res_count; r++)
        for (uint32_t u = v->unit_begin[r]; u < v->unit_begin[r + 1]; u++) {
            bool image = !(v->d.res_flags[r] & HDI_RES_BUFFER);
            uint32_t begin = v->seg_begin[r] + (u - v->unit_begin[r]);
            v->unit[u] = (hdi_vunit){.resource = r,
                                     .seg_begin = begin,
                                     .seg_end = image ? v->seg_begin[r + 1] : begin + 1,
                                     .rivals = HDI_NONE};
        }
    hd_result result = make_cells(v, count);
    v->run_start = HDI_ARENA_ZEROED(&v->arena, uint64_t, hdi_bit_words(v->cell_count));
    v->run_unit = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->cell_count);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    hdi_bit_set(v->run_start, 0);
    v->run_unit[0] = HDI_NONE;
    return result;
}

uint32_t hdi_verify_holder(const hdi_verify *v, uint32_t cell)
{
    uint32_t w = cell >> 6;
    uint64_t word = v->run_start[w] & ~UINT64_C(0) >> (63 - (cell & 63));
    while (!word)
        word = v->run_start[--w];
    return v->run_unit[w * 64 + 63 - (uint32_t)__builtin_clzll(word)];
}

/* A run begins at the cell from now on. */
static void cut_run(hdi_verify *v, uint32_t cell)
{
    v->run_unit[cell] = hdi_verify_holder(v, cell);
    hdi_bit_set(v->run_start, cell);
}

static void displace(hdi_verify *v, uint32_t unit, uint32_t rival)
{
    hdi_vunit *x = &v->unit[rival];
    if (!hdi_arena_grow(&v->arena, &v->read, &v->read_capacity, v->read_count, v->read_count + 1, sizeof(*v->read)))
        return;
    v->read[v->read_count] = (hdi_vlink){rival, v->unit[unit].rivals};
    v->unit[unit].rivals = v->read_count++;
    x->holds = false;
    for (uint32_t s = x->seg_begin; s < x->seg_end; s++) {
        v->seg[s].displaced |= v->seg[s].holder != HDI_NONE;
        v->seg[s].tenant = false;
        v->seg[s].holder = v->seg[s].lost_node = v->seg[s].lost_use = HDI_NONE;
    }
}

uint32_t hdi_verify_unit(const hdi_verify *v, uint32_t res, uint32_t s)
{
    bool image = !(v->d.res_flags[res] & HDI_RES_BUFFER);
    return v->unit_begin[res] == v->unit_begin[res + 1] ? HDI_NONE
                                                        : v->unit_begin[res] + (image ? 0 : s - v->seg_begin[res]);
}

uint32_t hdi_verify_take(hdi_verify *v, uint32_t u)
{
    hdi_vunit *unit = &v->unit[u];
    if (unit->holds || unit->cell[0] == unit->cell[1])
        return unit->rivals;
    unit->holds = true;
    unit->rivals = HDI_NONE;
    cut_run(v, unit->cell[0]);
    cut_run(v, unit->cell[1]);
    for (uint32_t w = unit->cell[0] >> 6; w <= (unit->cell[1] - 1) >> 6; w++)
        for (uint64_t left = v->run_start[w]; left; left &= left - 1) {
            uint32_t cell = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (cell < unit->cell[0] || cell >= unit->cell[1])
                continue;
            if (v->run_unit[cell] != HDI_NONE && v->run_unit[cell] != u)
                displace(v, u, v->run_unit[cell]);
            if (cell != unit->cell[0])
                hdi_bit_clear(v->run_start, cell);
        }
    v->run_unit[unit->cell[0]] = u;
    return unit->rivals;
}
