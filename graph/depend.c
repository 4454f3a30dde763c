#include "phases.h"

#include "csr.h"

/* Depend: who must come before whom, among kept passes, in declaration order. Each segment remembers its last writer and
 * a chain of its readers since: a reader follows the writer, a writer follows the readers, or the writer where there are
 * none. One sweep that counts and one that fills would walk the chains twice; the edges are few, so they are collected
 * once and sorted by a counting sort. O(uses + edges). */

typedef struct reader {
    uint32_t pass, next;
} reader;

typedef struct work {
    uint32_t *writer;      /* per segment, HDI_NONE */
    uint32_t *reader_head; /* per segment, into reader */
    reader *reader;
    uint32_t reader_count;
    uint32_t *stamp;       /* per pass: the newest pass that already follows it */
    uint32_t *from, *to;   /* edges, grouped by to */
    uint32_t edge_count;
} work;

static void add_edge(work *w, uint32_t from, uint32_t to)
{
    if (from == to || w->stamp[from] == to)
        return;
    w->stamp[from] = to;
    w->from[w->edge_count] = from;
    w->to[w->edge_count++] = to;
}

static void visit(work *w, uint32_t seg, uint32_t pass, bool writes)
{
    if (!writes) {
        if (w->writer[seg] != HDI_NONE)
            add_edge(w, w->writer[seg], pass);
        w->reader[w->reader_count] = (reader){pass, w->reader_head[seg]};
        w->reader_head[seg] = w->reader_count++;
        return;
    }
    uint32_t r = w->reader_head[seg];
    if (r == HDI_NONE && w->writer[seg] != HDI_NONE)
        add_edge(w, w->writer[seg], pass);
    for (; r != HDI_NONE; r = w->reader[r].next)
        add_edge(w, w->reader[r].pass, pass);
    w->writer[seg] = pass;
    w->reader_head[seg] = HDI_NONE;
}

hd_result hdi_depend(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept, hdi_arena *arena,
                     hdi_depends *out)
{
    uint64_t visits = 0;
    for (uint32_t u = 0; u < decl->use_count; u++) {
        if (frozen->use_seg[u] != HDI_NONE) {
            visits++;
            continue;
        }
        hdi_span span = hdi_use_span(decl, frozen, u);
        visits += (uint64_t)span.rows * span.cols;
    }
    if (visits > UINT32_MAX / 4)
        return HD_TOO_LARGE;
    hdi_arena_mark mark = hdi_arena_here(arena);
    work w = {0};
    w.writer = HDI_ARENA_ARRAY(arena, uint32_t, frozen->seg_count);
    w.reader_head = HDI_ARENA_ARRAY(arena, uint32_t, frozen->seg_count);
    w.reader = HDI_ARENA_ARRAY(arena, reader, visits);
    w.stamp = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    w.from = HDI_ARENA_ARRAY(arena, uint32_t, 2 * visits); /* a visit reads one writer, and is followed at most once as a reader */
    w.to = HDI_ARENA_ARRAY(arena, uint32_t, 2 * visits);
    out->pred_begin = HDI_ARENA_ZEROED(arena, uint32_t, (size_t)decl->pass_count + 1);
    out->succ_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->pass_count + 1);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < frozen->seg_count; s++)
        w.writer[s] = w.reader_head[s] = HDI_NONE;
    for (uint32_t p = 0; p < decl->pass_count; p++)
        w.stamp[p] = HDI_NONE;
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        for (uint32_t u = decl->pass_use_begin[p]; kept->pass_kept[p] && u < decl->pass_use_begin[p + 1]; u++) {
            bool writes = decl->access[decl->use_access[u]].writes;
            if (frozen->use_seg[u] != HDI_NONE) {
                visit(&w, frozen->use_seg[u], p, writes);
                continue;
            }
            hdi_span span = hdi_use_span(decl, frozen, u);
            for (uint32_t row = 0; row < span.rows; row++) {
                for (uint32_t c = 0; c < span.cols; c++)
                    visit(&w, span.base + row * span.stride + c, p, writes);
            }
        }
    }
    out->pred = w.from; /* already grouped by the pass that follows */
    out->succ = HDI_ARENA_ARRAY(arena, uint32_t, w.edge_count);
    uint32_t *order = HDI_ARENA_ARRAY(arena, uint32_t, w.edge_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t e = 0; e < w.edge_count; e++)
        out->pred_begin[w.to[e]]++;
    hdi_csr_scan(out->pred_begin, decl->pass_count);
    hdi_csr_build(w.from, w.edge_count, decl->pass_count, out->succ_begin, order);
    for (uint32_t e = 0; e < w.edge_count; e++)
        out->succ[e] = w.to[order[e]];
    size_t begin_bytes = ((size_t)decl->pass_count + 1) * sizeof(uint32_t), edge_bytes = w.edge_count * sizeof(uint32_t);
    const hdi_arena_kept out_arrays[] = {
        {&out->pred, edge_bytes}, {&out->pred_begin, begin_bytes}, {&out->succ_begin, begin_bytes}, {&out->succ, edge_bytes}};
    hdi_arena_keep(arena, mark, out_arrays, 4);
    return HD_OK;
}
