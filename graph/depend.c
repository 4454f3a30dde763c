#include "phases.h"

#include "hints.h"

#include <string.h>

/* Depend: who must come before whom, among kept passes, in declaration order. Each segment remembers its last writer and
 * a chain of its readers since: a reader follows the writer, a writer follows the readers, or the writer where there are
 * none. The sweep finds the edges grouped by the pass that follows, as they are kept; the other way round they are put
 * in order by the counts that it made. O(uses + edges). */

typedef struct segment {
    uint32_t writer, readers; /* the last pass that writes it, newest of those that read it since; HDI_NONE */
} segment;

typedef struct reader {
    uint32_t pass, next;
} reader;

typedef struct work {
    segment *segment;
    reader *reader;
    uint32_t reader_count;
    uint32_t *stamp; /* per pass: the newest pass that already follows it, itself at least */
    uint32_t *pred, edge_count;
    uint32_t *succ_count; /* per pass */
} work;

static inline void add_edge(work *w, uint32_t from, uint32_t to)
{
    if (w->stamp[from] == to)
        return;
    w->stamp[from] = to;
    w->succ_count[from]++;
    w->pred[w->edge_count++] = from;
}

static inline void visit(work *w, uint32_t seg, uint32_t pass, uint32_t writes)
{
    segment *s = &w->segment[seg];
    uint32_t writer = s->writer, r = s->readers;
    if (!writes) {
        if (HDI_LIKELY(writer != HDI_NONE))
            add_edge(w, writer, pass);
        w->reader[w->reader_count] = (reader){pass, r};
        s->readers = w->reader_count++;
        return;
    }
    if (r == HDI_NONE && writer != HDI_NONE)
        add_edge(w, writer, pass);
    for (; r != HDI_NONE; r = w->reader[r].next)
        add_edge(w, w->reader[r].pass, pass);
    *s = (segment){pass, HDI_NONE};
}

static void visit_span(work *w, hdi_span span, uint32_t pass, uint32_t writes)
{
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++)
            visit(w, span.base + row * span.stride + c, pass, writes);
    }
}

static void sweep(work *state, const hdi_decl *decl, const hdi_frozen *frozen, const uint8_t *pass_kept,
                  uint32_t *pred_begin)
{
    work w = *state; /* in registers */
    const uint32_t *use_seg = frozen->use_seg;
    const uint8_t *use_flags = decl->use_flags;
    for (uint32_t p = 0, u = 0; p < decl->pass_count; p++) {
        uint32_t end = decl->pass_use_begin[p + 1];
        pred_begin[p] = w.edge_count;
        w.stamp[p] = p;
        if (!pass_kept[p])
            u = end;
        for (; u < end; u++) {
            uint32_t seg = use_seg[u], writes = use_flags[u] & HDI_USE_WRITES;
            if (HDI_LIKELY(seg != HDI_NONE))
                visit(&w, seg, p, writes);
            else
                visit_span(&w, hdi_use_span(decl, frozen, u), p, writes);
        }
    }
    pred_begin[decl->pass_count] = w.edge_count;
    *state = w;
}

static uint64_t count_visits(const hdi_decl *decl, const hdi_frozen *frozen)
{
    uint64_t visits = decl->use_count;
    if (decl->range_count == 0)
        return visits;
    for (uint32_t u = 0; u < decl->use_count; u++) {
        if (frozen->use_seg[u] != HDI_NONE)
            continue;
        hdi_span span = hdi_use_span(decl, frozen, u);
        visits += (uint64_t)span.rows * span.cols - 1;
    }
    return visits;
}

hd_result hdi_depend(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept, hdi_arena *arena,
                     hdi_depends *out)
{
    uint32_t pass_count = decl->pass_count;
    uint64_t visits = count_visits(decl, frozen);
    if (visits > UINT32_MAX / 4)
        return HD_TOO_LARGE;
    hdi_arena_mark mark = hdi_arena_here(arena);
    work w = {0};
    w.segment = HDI_ARENA_ARRAY(arena, segment, frozen->seg_count);
    w.reader = HDI_ARENA_ARRAY(arena, reader, visits);
    w.stamp = HDI_ARENA_ARRAY(arena, uint32_t, pass_count);
    w.pred = HDI_ARENA_ARRAY(arena, uint32_t, 2 * visits); /* one writer a visit, and each is followed at most once */
    uint32_t *begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)pass_count + 2);
    out->pred_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)pass_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    memset(w.segment, 0xff, frozen->seg_count * sizeof(*w.segment));
    w.succ_count = begin + 2;
    sweep(&w, decl, frozen, kept->pass_kept, out->pred_begin);
    out->pred = w.pred;
    out->succ = HDI_ARENA_ARRAY(arena, uint32_t, w.edge_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    /* begin[p + 1] goes from the first to behind the last of the passes that follow p. */
    for (uint32_t p = 1; p < pass_count; p++)
        begin[p + 1] += begin[p];
    for (uint32_t p = 0, e = 0; p < pass_count; p++) {
        for (; e < out->pred_begin[p + 1]; e++)
            out->succ[begin[w.pred[e] + 1]++] = p;
    }
    out->succ_begin = begin;
    size_t begin_bytes = ((size_t)pass_count + 1) * sizeof(uint32_t), edge_bytes = w.edge_count * sizeof(uint32_t);
    const hdi_arena_kept out_arrays[] = {
        {&out->pred, edge_bytes}, {&out->succ_begin, begin_bytes}, {&out->pred_begin, begin_bytes}, {&out->succ, edge_bytes}};
    hdi_arena_keep(arena, mark, out_arrays, 4);
    return HD_OK;
}
