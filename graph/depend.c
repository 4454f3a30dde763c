#include "phases.h"

#include <string.h>

#include "hints.h"

/* Depend: who must come before whom, among kept passes, in declaration order. A read follows whose content it finds; a
 * write follows the reads since the write before it, or that write where there are none. (What a kept pass finds is kept,
 * too: only before a write there may be visits of culled passes, which are passed over.) Edges are found pass by pass,
 * each once, grouped by the pass that follows; the other way round they are put in order by the counts of that walk.
 * O(visits + edges).
 *
 * In parallel each part walks passes of its own, with counts of its own: once only to count, and when it is known what
 * stands before its edges, in both tables, once more to write them. Most edges are short, so counts are joined block by
 * block, of the parts that follow somebody in it. */

enum { COUNT, FILL, FILL_ALL };
enum {
    BLOCK = 256, /* passes */
};

/* Of each part, by pass. */
typedef struct columns {
    _Alignas(HDI_LINE_PAIR) hdi_arena_mark mark;
    uint32_t *stamp;  /* the newest pass that already follows it, as a number unlike all others */
    uint32_t *follow; /* passes of the part that follow it; then where the next one is to stand */
    uint32_t *edges;  /* by block: sums of `follow` */
    uint32_t count;   /* of its edges */
} columns;

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_flow *flow;
    const uint8_t *pass_kept;
    hdi_depends *out;
    const hdi_crew *crew;
    hdi_arena *arena;
    uint32_t parts, blocks;
    uint32_t first_edge[HDI_MOST_PARTS + 1]; /* of the passes of a part */
    columns part[HDI_MOST_PARTS];
} work;

/* What a part writes. */
typedef struct sink {
    uint32_t *stamp, *follow;
    uint32_t *pred;
    int what;     /* COUNT, FILL, FILL_ALL */
    uint32_t end; /* FILL: of its edges. Who is there already is written, too, behind them, but not where others write */
} sink;

/* The edge from a pass to that whose stamp is given, unless it is there. Returns the count of edges. */
static inline uint32_t add_edge(const sink *s, uint32_t from, uint32_t stamp, uint32_t count)
{
    uint32_t is_new = s->stamp[from] != stamp;
    if (s->what == FILL_ALL || (s->what == FILL && count < s->end))
        s->pred[count] = from;
    s->stamp[from] = stamp;
    s->follow[from] += is_new;
    return count + is_new;
}

/* A write of what was visited before: the visits of its segment from the newest on. In a pass that writes it nothing else
 * visits it, so the writer's visit is known by its pass. */
static HDI_APART uint32_t add_late(const work *w, const sink *s, uint32_t id, uint32_t stamp, uint32_t count)
{
    const hdi_flow *flow = w->flow;
    uint32_t writer = flow->found[id] & ~HDI_FOUND_LATE;
    bool read = false;
    for (uint32_t before = flow->before[id]; before; before = flow->before[before & ~HDI_VISITED]) {
        uint32_t visit = before & ~HDI_VISITED, pass = flow->pass[visit];
        bool kept = w->pass_kept[pass], writes = pass == writer;
        if (kept && !(writes && read))
            count = add_edge(s, pass, stamp, count);
        if (kept && writes)
            break;
        read |= kept;
        writer = writes ? flow->found[visit] & ~HDI_FOUND_LATE : writer;
    }
    return count;
}

static HDI_APART uint32_t add_several(const work *w, const sink *s, uint32_t use, uint32_t stamp, uint32_t count)
{
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    uint32_t first = w->flow->found[use] & ~HDI_FOUND_SEVERAL, end = first + span.rows * span.cols;
    for (uint32_t id = first; id < end; id++) {
        uint32_t found = w->flow->found[id];
        count = found & HDI_FOUND_LATE ? add_late(w, s, id, stamp, count) : add_edge(s, found, stamp, count);
    }
    return count;
}

/* Edges to what the passes of a part follow, the first of them at pred[count]. */
static HDI_INLINE uint32_t find_edges(const work *w, uint32_t part, int what, uint32_t count)
{
    const hdi_decl *decl = w->decl;
    const uint32_t *const found = w->flow->found;
    const uint8_t *const pass_kept = w->pass_kept;
    uint32_t *const pred_begin = w->out->pred_begin;
    uint32_t p = hdi_range_begin(decl->pass_count, w->parts, part);
    uint32_t end = hdi_range_begin(decl->pass_count, w->parts, part + 1), u = decl->pass_use_begin[p];
    uint32_t marks = what == FILL ? decl->pass_count : 0; /* of this walk, not of the one before */
    const sink s = {w->part[part].stamp, w->part[part].follow, w->out->pred, what, w->first_edge[part + 1]};
    uint32_t *const nobody = &s.stamp[hdi_flow_nobody(decl)], *const start = &s.stamp[hdi_flow_start(decl)];
    for (; p < end; p++) {
        uint32_t behind = decl->pass_use_begin[p + 1], stamp = p + 1 + marks;
        *nobody = *start = stamp; /* no edge */
        if (!pass_kept[p])
            u = behind;
        for (; u < behind; u++) {
            uint32_t from = found[u];
            if (HDI_LIKELY(from < HDI_FOUND_SEVERAL))
                count = add_edge(&s, from, stamp, count);
            else
                count = from & HDI_FOUND_LATE ? add_late(w, &s, u, stamp, count) : add_several(w, &s, u, stamp, count);
        }
        pred_begin[p + 1] = count;
    }
    return count;
}

/* The edges of a part the other way round: from the last on, as `follow` now says where those of each pass end. */
static void turn(const work *w, uint32_t part)
{
    const hdi_decl *decl = w->decl;
    uint32_t begin = hdi_range_begin(decl->pass_count, w->parts, part);
    uint32_t *const follow = w->part[part].follow, *const succ = w->out->succ;
    const uint32_t *const pred = w->out->pred, *const pred_begin = w->out->pred_begin;
    for (uint32_t p = hdi_range_begin(decl->pass_count, w->parts, part + 1); p-- > begin;) {
        uint32_t first = p == begin ? w->first_edge[part] : pred_begin[p];
        for (uint32_t e = pred_begin[p + 1]; e-- > first;)
            succ[--follow[pred[e]]] = p;
    }
}

/* Of the passes of a block. Returns what stands behind them. */
static uint32_t find_places_of(const work *w, uint32_t block, uint32_t sum)
{
    uint32_t *const succ_begin = w->out->succ_begin;
    uint32_t begin = block * BLOCK, rest = w->decl->pass_count - begin, end = begin + (rest < BLOCK ? rest : BLOCK);
    uint32_t *follow[HDI_MOST_PARTS], parts = 0;
    for (uint32_t k = 0; k < w->parts; k++) {
        if (w->parts == 1 || w->part[k].edges[block])
            follow[parts++] = w->part[k].follow;
    }
    for (uint32_t p = begin; p < end; p++) {
        succ_begin[p] = sum;
        for (uint32_t k = 0; k < parts; k++) {
            uint32_t count = follow[k][p];
            follow[k][p] = w->parts == 1 ? sum + count : sum;
            sum += count;
        }
    }
    return sum;
}

/* From counts to places: where the edges end that are there, or where they begin that are still to be written. */
static void find_places(uint32_t part, void *user)
{
    const work *w = user;
    uint32_t block = hdi_range_begin(w->blocks, w->parts, part), end = hdi_range_begin(w->blocks, w->parts, part + 1), sum = 0;
    for (uint32_t k = 0; part && k < w->parts; k++) {
        for (uint32_t before = 0; before < block; before++)
            sum += w->part[k].edges[before];
    }
    for (; block < end; block++)
        sum = find_places_of(w, block, sum);
    if (part + 1 == w->parts)
        w->out->succ_begin[w->decl->pass_count] = sum;
}

static bool make_columns(work *w, uint32_t part)
{
    hdi_arena *arena = hdi_crew_arena(w->crew, part, w->arena);
    columns *c = &w->part[part];
    c->mark = hdi_arena_here(arena);
    c->stamp = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)hdi_flow_start(w->decl) + 1);
    c->follow = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)hdi_flow_start(w->decl) + 1);
    c->edges = HDI_ARENA_ARRAY(arena, uint32_t, w->parts > 1 ? w->blocks : 0);
    return !arena->failed;
}

static void count_part(uint32_t part, void *user)
{
    work *w = user;
    columns *own = &w->part[part];
    if (!make_columns(w, part))
        return;
    own->count = find_edges(w, part, COUNT, 0);
    for (uint32_t block = 0; block < w->blocks; block++) {
        uint32_t sum = 0, begin = block * BLOCK, rest = w->decl->pass_count - begin;
        for (uint32_t p = begin, end = begin + (rest < BLOCK ? rest : BLOCK); p < end; p++)
            sum += own->follow[p];
        own->edges[block] = sum;
    }
}

static void fill_part(uint32_t part, void *user)
{
    work *w = user;
    find_edges(w, part, FILL, w->first_edge[part]);
    turn(w, part);
    hdi_arena_keep(&w->crew->arena[part], w->part[part].mark, NULL, 0);
}

static bool fill_by_parts(work *w)
{
    hdi_crew_parts(w->crew, w->parts, count_part, w);
    for (uint32_t k = 0; k < w->parts; k++) {
        if (w->crew->arena[k].failed)
            return false;
        w->first_edge[k + 1] = w->first_edge[k] + w->part[k].count;
    }
    w->out->pred = HDI_ARENA_ARRAY(w->arena, uint32_t, w->first_edge[w->parts]);
    w->out->succ = HDI_ARENA_ARRAY(w->arena, uint32_t, w->first_edge[w->parts]);
    if (w->arena->failed)
        return false;
    hdi_crew_parts(w->crew, w->parts, find_places, w);
    hdi_crew_parts(w->crew, w->parts, fill_part, w);
    return true;
}

/* In one walk, as there is room for all edges that there might be. */
static bool fill_at_once(work *w)
{
    hdi_depends *out = w->out;
    if (!make_columns(w, 0))
        return false;
    /* One write a visit, and each is followed at most once. */
    out->pred = HDI_ARENA_ARRAY(w->arena, uint32_t, 2 * (size_t)w->frozen->visit_count);
    if (!out->pred)
        return false;
    uint32_t edge_count = find_edges(w, 0, FILL_ALL, 0);
    out->succ = HDI_ARENA_ARRAY(w->arena, uint32_t, edge_count);
    if (!out->succ)
        return false;
    find_places(0, w);
    turn(w, 0);
    const hdi_arena_kept kept[] = {{&out->pred, edge_count * sizeof(uint32_t)}, {&out->succ, edge_count * sizeof(uint32_t)}};
    hdi_arena_keep(w->arena, w->part[0].mark, kept, 2);
    return true;
}

hd_result hdi_depend(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_flow *flow, const hdi_kept *kept,
                     const hdi_crew *crew, hdi_arena *arena, hdi_depends *out)
{
    work w = {decl, frozen, flow, kept->pass_kept, out, crew, arena, .parts = hdi_crew_part_count(crew),
              .blocks = (decl->pass_count + BLOCK - 1) / BLOCK};
    out->pred_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->pass_count + 1);
    out->succ_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->pass_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    out->pred_begin[0] = 0;
    return (w.parts > 1 ? fill_by_parts(&w) : fill_at_once(&w)) ? HD_OK : HD_OUT_OF_MEMORY;
}
