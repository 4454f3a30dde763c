#include "declare_columns.h"

#include "hints.h"
#include "sort.h"
#include "vk_numbers.h"

/* Uses of one resource in one pass: pieces that meet must be reads that agree on a layout. A sweep over each resource
 * from its first layer or byte on keeps, for each mip and aspect, the piece that reaches furthest. A use that meets any
 * meets that one, and as agreeing goes from one use to the next, it speaks for all that hang together with it:
 * O(uses * (log uses + mips)). Rejected: a chain of the uses of each resource instead, which is quadratic where a pass
 * uses one buffer in thousands of places. */

enum { MOST_MIPS = 32 };

static void mark_mixed(hd_graph *graph)
{
    graph->pass_flags[graph->pass_count - 1] |= HDI_PASS_MIXES;
    graph->unusual |= HDI_UNUSUAL_PASSES;
    graph->mixed_layouts = true;
}

/* Reads of the newest pass agree when their layouts do; depth_read and sampled reads agree on the read-only depth
 * layout. */
static bool uses_agree(hd_graph *graph, uint32_t a, uint32_t b)
{
    const hdi_access_info *x = &graph->access[graph->use_access[a]], *y = &graph->access[graph->use_access[b]];
    if (x->writes || y->writes)
        return false;
    if (graph->res_flags[graph->use_res[a]] & HDI_RES_BUFFER)
        return true;
    if (x->layout == y->layout) {
        if (x->layout > INT32_MAX) /* no read goes on with that */
            mark_mixed(graph);
        return true;
    }
    uint32_t low = x->layout < y->layout ? x->layout : y->layout, high = x->layout + y->layout - low;
    mark_mixed(graph);
    return low == HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY && high == HDI_LAYOUT_SHADER_READ_ONLY;
}

/* The piece that reaches furthest among those so far that hang together. */
typedef struct furthest {
    uint64_t end;
    uint32_t use;
} furthest;

typedef struct sweep {
    uint64_t *keys, *scratch_keys;
    uint32_t *uses, *scratch_uses;
    furthest of[MOST_MIPS][2]; /* by mip, and by aspect where there are two */
} sweep;

static uint64_t begin_of(const hd_graph *graph, uint32_t use)
{
    uint32_t range = graph->use_range[use];
    if (range == HDI_NONE)
        return 0;
    bool buffer = graph->res_flags[graph->use_res[use]] & HDI_RES_BUFFER;
    return buffer ? graph->range[range].offset : graph->range[range].layer_base;
}

/* Whether a use agrees with those of its resource that begin before it. */
static bool goes_on(hd_graph *graph, sweep *s, uint32_t use)
{
    const hdi_res_info *info = &graph->res_info[graph->use_res[use]];
    bool buffer = graph->res_flags[graph->use_res[use]] & HDI_RES_BUFFER, whole = graph->use_range[use] == HDI_NONE;
    const hd_range *part = whole ? NULL : &graph->range[graph->use_range[use]];
    uint32_t mip = part && !buffer ? part->mip_base : 0, aspects = part && !buffer ? part->aspect : 0;
    uint32_t mip_end = buffer ? 1 : part ? mip + part->mip_count : info->mips;
    uint64_t begin = begin_of(graph, use), bytes = part ? part->bytes : info->bytes;
    uint64_t end = begin + (buffer ? bytes : part ? part->layer_count : info->layers);
    for (; mip < mip_end; mip++) {
        for (uint32_t a = 0; a < 2; a++) {
            furthest *last = &s->of[mip][a];
            if (aspects && !(aspects & (a ? HD_ASPECT_STENCIL : HD_ASPECT_DEPTH)))
                continue;
            if (begin < last->end && !uses_agree(graph, last->use, use))
                return false;
            if (end > last->end)
                *last = (furthest){end, use};
        }
    }
    return true;
}

static bool all_agree(hd_graph *graph, sweep *s, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        s->uses[i] = first + i;
        s->keys[i] = begin_of(graph, first + i);
    }
    hdi_sort_u64(s->keys, s->uses, s->scratch_keys, s->scratch_uses, count);
    for (uint32_t i = 0; i < count; i++)
        s->keys[i] = graph->use_res[s->uses[i]];
    hdi_sort_u64(s->keys, s->uses, s->scratch_keys, s->scratch_uses, count);
    for (uint32_t i = 0; i < count; i++) {
        bool first_use = i == 0 || s->keys[i] != s->keys[i - 1];
        if (first_use && (i + 1 == count || s->keys[i] != s->keys[i + 1]))
            continue; /* the only use of its resource */
        uint32_t mips = graph->res_info[s->keys[i]].mips;
        for (uint32_t mip = 0; first_use && mip < (mips ? mips : 1); mip++)
            s->of[mip][0].end = s->of[mip][1].end = 0;
        if (!goes_on(graph, s, s->uses[i]))
            return false;
    }
    return true;
}

/* The first use that does not agree with those before it is the last one of the shortest row in which not all agree. */
HDI_COLD static uint32_t first_bad(hd_graph *graph, sweep *s, uint32_t first, uint32_t count)
{
    uint32_t agree = 1, differ = count;
    while (agree + 1 < differ) {
        uint32_t middle = agree + (differ - agree) / 2;
        if (all_agree(graph, s, first, middle))
            agree = middle;
        else
            differ = middle;
    }
    return differ - 1;
}

HDI_APART hd_result hdi_check_double_uses(hd_graph *graph, uint32_t first, uint32_t count, uint32_t *bad)
{
    hdi_arena *arena = &graph->scratch; /* empty while a frame is declared */
    uint64_t *room = HDI_ARENA_ARRAY(arena, uint64_t, 3 * (size_t)count);
    hd_result result = room ? HD_OK : HD_OUT_OF_MEMORY;
    graph->used_twice = false;
    *bad = count - 1;
    if (room) {
        sweep s;
        s.keys = room;
        s.scratch_keys = room + count;
        s.uses = (uint32_t *)(room + 2 * (size_t)count);
        s.scratch_uses = s.uses + count;
        if (!all_agree(graph, &s, first, count)) {
            *bad = first_bad(graph, &s, first, count);
            result = HD_CONFLICTING_USES;
        }
    }
    hdi_arena_reset(arena);
    return result;
}
