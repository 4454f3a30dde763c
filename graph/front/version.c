#include "front.h"

#include <string.h>

#include "bitset.h"
#include "csr.h"

/* Version: an order of the passes in which each read of an ended version stands before the write that ended it. Called
 * only where the declaration has such reads ("late" ones); else it goes on as it is.
 *
 * All writes of a resource stand in declaration order, and a late read stands, among the uses of its segments, just
 * before the pass that ended its version: so each segment has one sequence of uses, and a write and what it follows or
 * is followed by in it are an edge between their passes. Only a late read gives an edge back, so only passes between
 * one that ended a version and its last reader can change places: edges are looked for within such stretches alone. A
 * depth-first walk from pass to what it must follow, in declaration order, gives an order that differs from the
 * declared one only where a late reader, and what that reader itself follows, is drawn forward to the write. A pass
 * that the walk meets on its own stack closes a cycle, and the stack names it. (Taking the smallest ready pass from a
 * heap instead would push the writes back, and would have to look for the cycle among what is left.)
 *
 * Freeze's segments tell what overlaps. O(passes + uses * segments of the stretches). */

typedef struct work {
    const hdi_decl *decl;
    hdi_arena *arena;
    hdi_frozen frozen;
    uint32_t *late_begin, *late_item; /* per pass: the late reads of versions that it ends */
    uint64_t *is_late;
    uint32_t *reach; /* per pass: the last pass that reads a version which it ended; 0: none */
    uint32_t first;  /* of the stretch of passes at hand */
    uint32_t *edge_before, *edge_after, edge_count;
    uint32_t *seg_writer, *seg_read; /* last write: a pass; reads since: a list */
    uint32_t *read_pass, *read_next, read_count;
    uint32_t *before_begin, *before; /* per pass: edges that lead to it */
    uint32_t *order, *place;
} work;

static bool prepare(work *w)
{
    const hdi_decl *decl = w->decl;
    w->late_begin = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)decl->pass_count + 1);
    w->late_item = HDI_ARENA_ARRAY(w->arena, uint32_t, decl->late_count);
    w->is_late = HDI_ARENA_ZEROED(w->arena, uint64_t, hdi_bit_words(decl->use_count));
    w->seg_writer = HDI_ARENA_ARRAY(w->arena, uint32_t, w->frozen.seg_count);
    w->seg_read = HDI_ARENA_ARRAY(w->arena, uint32_t, w->frozen.seg_count);
    w->reach = HDI_ARENA_ZEROED(w->arena, uint32_t, decl->pass_count);
    if (w->arena->failed)
        return false;
    for (uint32_t i = 0; i < decl->late_count; i++) {
        uint32_t pass = decl->use_pass[decl->late_use[i]], end = decl->late_end[i];
        w->reach[end] = pass > w->reach[end] ? pass : w->reach[end];
    }
    uint64_t reads = 0, touched = 0;
    for (uint32_t p = 0, last = 0; p < decl->pass_count; p++) {
        last = w->reach[p] > last ? w->reach[p] : last;
        for (uint32_t u = decl->pass_use_begin[p]; p <= last && u < decl->pass_use_begin[p + 1]; u++) {
            hdi_span span = hdi_use_span(decl, &w->frozen, u);
            uint64_t segments = (uint64_t)span.rows * span.cols;
            touched += segments;
            reads += decl->access[decl->use_access[u]].writes ? 0 : segments;
        }
    }
    /* Each use of a segment follows one write at most, and one write at most follows each read. */
    w->read_pass = HDI_ARENA_ARRAY(w->arena, uint32_t, reads);
    w->read_next = HDI_ARENA_ARRAY(w->arena, uint32_t, reads);
    w->edge_before = HDI_ARENA_ARRAY(w->arena, uint32_t, touched + reads);
    w->edge_after = HDI_ARENA_ARRAY(w->arena, uint32_t, touched + reads);
    if (w->arena->failed)
        return false;
    hdi_csr_build(decl->late_end, decl->late_count, decl->pass_count, w->late_begin, w->late_item);
    for (uint32_t i = 0; i < decl->late_count; i++)
        hdi_bit_set(w->is_late, decl->late_use[i]);
    for (uint32_t s = 0; s < w->frozen.seg_count; s++)
        w->seg_writer[s] = w->seg_read[s] = HDI_NONE;
    return true;
}

static void add_edge(work *w, uint32_t before, uint32_t after)
{
    uint32_t last = w->edge_count - 1;
    if (before == HDI_NONE || before < w->first || before == after ||
        (w->edge_count && w->edge_before[last] == before && w->edge_after[last] == after))
        return;
    w->edge_before[w->edge_count] = before;
    w->edge_after[w->edge_count++] = after;
}

static void touch(work *w, uint32_t use)
{
    uint32_t pass = w->decl->use_pass[use];
    bool writes = w->decl->access[w->decl->use_access[use]].writes;
    hdi_span span = hdi_use_span(w->decl, &w->frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        uint32_t first = span.base + row * span.stride;
        for (uint32_t seg = first; seg < first + span.cols; seg++) {
            add_edge(w, w->seg_writer[seg], pass);
            if (!writes) {
                w->read_pass[w->read_count] = pass;
                w->read_next[w->read_count] = w->seg_read[seg];
                w->seg_read[seg] = w->read_count++;
                continue;
            }
            for (uint32_t r = w->seg_read[seg]; r != HDI_NONE; r = w->read_next[r])
                add_edge(w, w->read_pass[r], pass);
            w->seg_read[seg] = HDI_NONE;
            w->seg_writer[seg] = pass;
        }
    }
}

static bool find_edges(work *w)
{
    const hdi_decl *decl = w->decl;
    for (uint32_t p = 0, last = 0; p < decl->pass_count; p++) {
        if (w->reach[p] == 0 && p > last)
            continue;
        w->first = p > last ? p : w->first;
        last = w->reach[p] > last ? w->reach[p] : last;
        for (uint32_t i = w->late_begin[p]; i < w->late_begin[p + 1]; i++)
            touch(w, decl->late_use[w->late_item[i]]);
        for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
            if (!hdi_bit_get(w->is_late, u))
                touch(w, u);
        }
    }
    w->before_begin = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)decl->pass_count + 1);
    w->before = HDI_ARENA_ARRAY(w->arena, uint32_t, w->edge_count);
    if (w->arena->failed)
        return false;
    hdi_csr_build(w->edge_after, w->edge_count, decl->pass_count, w->before_begin, w->before);
    return true;
}

/* A late read of the pass for the sake of which it has to run before `ender`. */
static uint32_t find_late(const work *w, uint32_t pass, uint32_t ender)
{
    const hdi_decl *decl = w->decl;
    for (uint32_t i = 0; i < decl->late_count; i++) {
        uint32_t use = decl->late_use[i];
        if (w->decl->use_pass[use] != pass || decl->late_end[i] > ender)
            continue;
        for (uint32_t u = decl->pass_use_begin[ender]; u < decl->pass_use_begin[ender + 1]; u++) {
            if (decl->use_res[u] == decl->use_res[use] && decl->access[decl->use_access[u]].writes)
                return use;
        }
    }
    return HDI_NONE;
}

/* The passes on the stack from `from` on: each runs before the one below it, and the lowest before the highest. The
 * report begins with a pass that has to run before one declared earlier: only a late read can ask for that. */
static hd_result report_cycle(const work *w, const uint32_t *stack, uint32_t from, uint32_t depth, hdi_versions *out)
{
    uint32_t count = depth - from, start = 0;
    uint32_t *cycle = HDI_ARENA_ARRAY(w->arena, uint32_t, 2 * (size_t)count);
    if (!cycle)
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < 2 * count; i++)
        cycle[i] = stack[depth - 1 - i % count];
    while (cycle[start + 1] > cycle[start])
        start++;
    out->cycle = cycle + start;
    out->cycle_count = count;
    out->bad_use = find_late(w, cycle[start], cycle[start + 1]);
    return HD_VERSION_CYCLE;
}

static hd_result find_order(work *w, hdi_versions *out)
{
    enum { UNSEEN, OPEN, DONE };
    uint32_t pass_count = w->decl->pass_count, done = 0;
    uint32_t *next = HDI_ARENA_ARRAY(w->arena, uint32_t, pass_count);
    uint32_t *stack = HDI_ARENA_ARRAY(w->arena, uint32_t, pass_count);
    uint8_t *state = HDI_ARENA_ZEROED(w->arena, uint8_t, pass_count);
    w->order = HDI_ARENA_ARRAY(w->arena, uint32_t, pass_count);
    w->place = HDI_ARENA_ARRAY(w->arena, uint32_t, pass_count);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    memcpy(next, w->before_begin, pass_count * sizeof(*next));
    for (uint32_t root = 0; root < pass_count; root++) {
        uint32_t depth = 0;
        if (state[root] == UNSEEN)
            stack[depth++] = root;
        while (depth) {
            uint32_t top = stack[depth - 1];
            state[top] = OPEN;
            if (next[top] == w->before_begin[top + 1]) {
                state[top] = DONE;
                w->place[top] = done;
                w->order[done++] = top;
                depth--;
                continue;
            }
            uint32_t pass = w->edge_before[w->before[next[top]++]];
            if (state[pass] == OPEN) {
                uint32_t from = depth - 1;
                while (stack[from] != pass)
                    from--;
                return report_cycle(w, stack, from, depth, out);
            }
            if (state[pass] == UNSEEN)
                stack[depth++] = pass;
        }
    }
    return HD_OK;
}

/* A column in the new order: items of `bytes` each, those of each pass together. begin: where they begin in the old
 * column; null: one a pass. */
static void *permute(const work *w, const void *column, size_t bytes, const uint32_t *begin)
{
    uint32_t pass_count = w->decl->pass_count;
    size_t count = (begin ? begin[pass_count] : pass_count) + HDI_USE_FLAGS_SLACK;
    char *out = hdi_arena_array(w->arena, count, bytes), *to = out;
    for (uint32_t p = 0; out && p < pass_count; p++) {
        uint32_t pass = w->order[p], first = begin ? begin[pass] : pass, items = begin ? begin[pass + 1] - first : 1;
        if (items)
            memcpy(to, (const char *)column + first * bytes, items * bytes);
        to += items * bytes;
    }
    return out;
}

static hd_result permute_all(work *w, hdi_decl *out)
{
    const hdi_decl *decl = w->decl;
    const uint32_t *begin = decl->pass_use_begin;
    uint32_t *use_begin = HDI_ARENA_ARRAY(w->arena, uint32_t, (size_t)decl->pass_count + 1), to = 0;
    uint32_t *use_pass = HDI_ARENA_ARRAY(w->arena, uint32_t, decl->use_count);
    out->late_count = 0;
    out->late_use = out->late_end = NULL;
    out->may_read_unwritten = true;
    out->pass_type = permute(w, decl->pass_type, sizeof(*decl->pass_type), NULL);
    out->pass_flags = permute(w, decl->pass_flags, sizeof(*decl->pass_flags), NULL);
    out->pass_pin = permute(w, decl->pass_pin, sizeof(*decl->pass_pin), NULL);
    out->pass_cost = permute(w, decl->pass_cost, sizeof(*decl->pass_cost), NULL);
    out->pass_exec = permute(w, decl->pass_exec, sizeof(*decl->pass_exec), NULL);
    out->use_res = permute(w, decl->use_res, sizeof(*decl->use_res), begin);
    out->use_access = permute(w, decl->use_access, sizeof(*decl->use_access), begin);
    out->use_flags = permute(w, decl->use_flags, sizeof(*decl->use_flags), begin);
    out->use_range = permute(w, decl->use_range, sizeof(*decl->use_range), begin);
    out->use_exec = permute(w, decl->use_exec, sizeof(*decl->use_exec), begin);
    out->pass_use_begin = use_begin;
    out->use_pass = use_pass;
    hdi_res_state *state = HDI_ARENA_ARRAY(w->arena, hdi_res_state, decl->res_count);
    if (w->arena->failed)
        return HD_OUT_OF_MEMORY;
    memcpy(state, decl->res_state, decl->res_count * sizeof(*state));
    for (uint32_t u = 0; u < decl->use_count; u++)
        state[out->use_res[u]].newest = u + 1;
    out->res_state = state;
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        use_begin[p] = to;
        for (uint32_t count = begin[w->order[p] + 1] - begin[w->order[p]]; count > 0; count--)
            use_pass[to++] = p;
    }
    use_begin[decl->pass_count] = to;
    return HD_OK;
}

hd_result hdi_version(const hdi_decl *decl, const hdi_crew *crew, hdi_arena *arena, hdi_versions *out)
{
    *out = (hdi_versions){.decl = *decl, .bad_use = HDI_NONE};
    work w = {.decl = decl, .arena = arena};
    hd_result result = hdi_freeze(decl, crew, arena, &w.frozen);
    if (result != HD_OK)
        return result;
    if (!prepare(&w) || !find_edges(&w))
        return HD_OUT_OF_MEMORY;
    result = find_order(&w, out);
    if (result != HD_OK)
        return result;
    out->pass_declared = w.order;
    out->pass_place = w.place;
    return permute_all(&w, &out->decl);
}
