#include "front.h"

#include <stdatomic.h>
#include <string.h>

#include "hints.h"

/* Flow: the pass whose content each use finds, before anything is culled. A walk over all uses with a state for each
 * segment: the pass that wrote it last, and its newest visit. Each visit is tied to the one before it of the same
 * segment; of each pass it is counted how often what it wrote is read. O(visits + segments).
 *
 * Each part walks passes of its own with states of its own, all untouched at first. Passes that stand together mostly
 * use what was declared together, so states are made block by block as a part comes to them. When all have walked,
 * each part looks for what its uses find that found no write of its own in the states of the parts before it that
 * came to the same block. */

enum { BLOCK = 256 }; /* segments */

/* What a visit finds and the one before it, as in hdi_visit, in one word: the last pass that writes the segment in
 * the lower half, and in the upper one its newest visit. */
typedef uint64_t state;

typedef struct part {
    _Alignas(HDI_LINE_PAIR) hdi_arena_mark mark;
    state *state;        /* per segment */
    uint8_t *touched;    /* blocks that have states */
    uint32_t no_pass;    /* in place of a writer where this part has none */
    uint32_t next_visit; /* of uses of several segments */
} part;

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    hdi_flow *out;
    uint32_t *visit_pass;
    const hdi_crew *crew;
    hdi_arena *arena;
    uint32_t parts;
    _Atomic(uint32_t) *block_parts; /* a bit for each part that comes to a block */
    part part[HDI_FEW_PARTS];
} work;

/* Each part has a number of its own for `no_pass` while it walks, and counts on a line of its own what finds that. The
 * first one knows that there is none. */
static uint32_t no_pass_of(const work *w, uint32_t k)
{
    if (k == 0)
        return hdi_flow_no_pass(w->decl);
    return hdi_flow_end(w->decl, w->crew) - (k + 1) * (uint32_t)(HDI_LINE_PAIR / sizeof(uint32_t));
}

/* What the frame holds from its start is told from what no pass wrote in it, where it matters. */
static bool from_start(const hdi_decl *decl, uint32_t res)
{
    return decl->may_read_unwritten && decl->res_flags[res] & HDI_RES_CONTENT;
}

/* The first use that reads what no pass wrote, HDI_NONE: there is none. */
static uint32_t find_bad(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_visit *visits)
{
    for (uint32_t u = 0; u < decl->use_count; u++) {
        uint32_t first = u, count = 1;
        if (!(decl->use_flags[u] & HDI_USE_READS))
            continue;
        if (frozen->use_seg[u] == HDI_NONE) {
            hdi_span span = hdi_use_span(decl, frozen, u);
            first = hdi_visit_found(visits[u]) & ~HDI_FOUND_SEVERAL;
            count = span.rows * span.cols;
        }
        for (uint32_t id = first; id < first + count; id++) {
            if ((hdi_visit_found(visits[id]) & ~HDI_FOUND_LATE) == hdi_flow_no_pass(decl))
                return u;
        }
    }
    return HDI_NONE;
}

/* ---- the walk ---- */

static HDI_INLINE uint32_t writer_of(state s)
{
    return (uint32_t)s;
}

static HDI_INLINE uint32_t newest_of(state s)
{
    return (uint32_t)(s >> 32);
}

/* The upper half of a state. */
static HDI_INLINE state newest(uint32_t id)
{
    return (state)(id | HDI_VISITED) << 32;
}

/* What a visit leaves of a segment, and in *out what it finds there. own: newest of the visit. */
static HDI_INLINE state visit(state before, hdi_visit *out, uint32_t *pass_reads, state own, uint32_t pass,
                              uint32_t flags)
{
    uint32_t writer = writer_of(before), late = newest_of(before) & flags << 30; /* where HDI_USE_WRITES goes */
    uint32_t writes = 0 - (flags / HDI_USE_WRITES & 1); /* all bits or none: a branch would be mispredicted */
    *out = before | late;
    pass_reads[writer] += flags & HDI_USE_READS;
    return (writer ^ ((writer ^ pass) & writes)) | own;
}

/* A part makes the states of a block that it comes to first. */
static HDI_APART void come_to(const work *w, const part *own, uint32_t block)
{
    uint32_t begin = block * BLOCK, rest = w->frozen->seg_count - begin, end = begin + (rest < BLOCK ? rest : BLOCK);
    for (uint32_t s = begin; s < end; s++)
        own->state[s] = own->no_pass;
    for (uint32_t s = begin; own == w->part && w->decl->may_read_unwritten && s < end; s++) {
        if (from_start(w->decl, w->frozen->seg_res[s]))
            own->state[s] = hdi_flow_start(w->decl);
    }
    own->touched[block] = 1;
    /* Read when all have walked. */
    atomic_fetch_or_explicit(&w->block_parts[block], UINT32_C(1) << (own - w->part), memory_order_relaxed);
}

/* All visits of a use of several segments. */
static HDI_APART void visit_several(const work *w, part *own, uint32_t use, uint32_t pass)
{
    const hdi_flow *out = w->out;
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    uint32_t flags = w->decl->use_flags[use], last = span.base + (span.rows - 1) * span.stride + span.cols - 1;
    uint32_t first = own->next_visit, id = first;
    own->next_visit += span.rows * span.cols;
    for (uint32_t block = span.base / BLOCK; block <= last / BLOCK; block++) {
        if (!own->touched[block])
            come_to(w, own, block);
    }
    for (uint32_t row = 0; row < span.rows; row++) {
        for (state *s = own->state + span.base + row * span.stride, *end = s + span.cols; s < end; s++, id++) {
            w->visit_pass[id] = pass;
            *s = visit(*s, &out->visit[id], out->pass_reads, newest(id), pass, flags);
        }
    }
    out->visit[use] = first | HDI_FOUND_SEVERAL;
}

static bool start_part(work *w, uint32_t k)
{
    hdi_arena *arena = hdi_crew_arena(w->crew, k, w->arena);
    part *own = &w->part[k];
    own->mark = hdi_arena_here(arena);
    own->state = HDI_ARENA_ARRAY(arena, state, w->frozen->seg_count);
    own->no_pass = no_pass_of(w, k);
    own->next_visit = w->frozen->part_visit[k];
    own->touched = HDI_ARENA_ZEROED(arena, uint8_t, w->frozen->seg_count / BLOCK + 1);
    return !arena->failed;
}

/* One loop over uses, and not two over passes and their uses: the end of the inner one would be mispredicted. */
static void walk_uses(work *w, uint32_t k, size_t first, size_t end)
{
    const hdi_decl *const decl = w->decl;
    const uint32_t *const use_seg = w->frozen->use_seg, *const use_pass = decl->use_pass;
    const uint8_t *const use_flags = decl->use_flags;
    hdi_visit *const visits = w->out->visit;
    uint32_t *const pass_reads = w->out->pass_reads, *const visit_pass = w->visit_pass;
    part *const own = &w->part[k];
    state *const states = own->state, mark = newest((uint32_t)first);
    const uint8_t *const touched = own->touched;
    for (size_t u = first; u < end; u++, mark += UINT64_C(1) << 32) {
        uint32_t seg = use_seg[u], p = use_pass[u];
        if (HDI_UNLIKELY(seg == HDI_NONE)) {
            visit_several(w, own, (uint32_t)u, p);
            continue;
        }
        if (HDI_UNLIKELY(!touched[seg / BLOCK]))
            come_to(w, own, seg / BLOCK);
        visit_pass[u] = p;
        states[seg] = visit(states[seg], &visits[u], pass_reads, mark, p, use_flags[u]);
    }
}

static void walk_part(uint32_t k, void *user)
{
    work *w = user;
    const hdi_decl *const decl = w->decl;
    uint32_t *const pass_reads = w->out->pass_reads;
    uint32_t p = hdi_range_begin(decl->pass_count, w->parts, k);
    uint32_t end = hdi_range_begin(decl->pass_count, w->parts, k + 1);
    if (!start_part(w, k))
        return;
    memset(pass_reads + p, 0, (end - p) * sizeof(*pass_reads));
    pass_reads[w->part[k].no_pass] = 0;
    if (k == 0)
        pass_reads[hdi_flow_start(decl)] = 0;
    walk_uses(w, k, decl->pass_use_begin[p], decl->pass_use_begin[end]);
}

/* ---- what parts find of one another ---- */

static void count_read(const work *w, uint32_t writer)
{
    atomic_fetch_add_explicit((_Atomic(uint32_t) *)&w->out->pass_reads[writer], 1, memory_order_relaxed);
}

/* What a segment holds when those parts are over that came to its block: a bit for each. */
static state look_back(const work *w, uint32_t seg, uint32_t came)
{
    uint32_t newest = 0, writer = hdi_flow_no_pass(w->decl);
    if (from_start(w->decl, w->frozen->seg_res[seg]))
        writer = hdi_flow_start(w->decl);
    while (came) {
        uint32_t k = 31 - (uint32_t)__builtin_clz(came);
        state left = w->part[k].state[seg];
        newest = newest ? newest : newest_of(left);
        if (writer_of(left) != w->part[k].no_pass) {
            writer = writer_of(left);
            break;
        }
        came ^= UINT32_C(1) << k;
    }
    return (state)newest << 32 | writer;
}

/* Of the first `parts` parts, those that came to a segment's block. */
static inline uint32_t came_to(const work *w, uint32_t seg, uint32_t parts)
{
    uint32_t all = atomic_load_explicit(&w->block_parts[seg / BLOCK], memory_order_relaxed);
    return all & ((UINT32_C(1) << parts) - 1);
}

/* A visit of a segment that found no write of its part. */
static HDI_APART void visit_again(const work *w, uint32_t id, uint32_t seg, uint32_t came, uint32_t flags)
{
    hdi_visit *own = &w->out->visit[id];
    uint32_t late = hdi_visit_found(*own) & HDI_FOUND_LATE;
    state before = look_back(w, seg, came);
    if (hdi_visit_before(*own))
        *own = (*own >> 32 << 32) | late | writer_of(before);
    else
        *own = before | (newest_of(before) & flags << 30);
    if (flags & HDI_USE_READS && writer_of(before) < w->decl->pass_count + w->decl->may_read_unwritten)
        count_read(w, writer_of(before));
}

static HDI_APART void visit_several_again(const work *w, uint32_t k, uint32_t use)
{
    hdi_span span = hdi_use_span(w->decl, w->frozen, use);
    uint32_t flags = w->decl->use_flags[use], id = hdi_visit_found(w->out->visit[use]) & ~HDI_FOUND_SEVERAL;
    for (uint32_t row = 0; row < span.rows; row++) {
        for (uint32_t c = 0; c < span.cols; c++, id++) {
            uint32_t seg = span.base + row * span.stride + c;
            if ((hdi_visit_found(w->out->visit[id]) & ~HDI_FOUND_LATE) == w->part[k].no_pass)
                visit_again(w, id, seg, came_to(w, seg, k), flags);
        }
    }
}

/* The last writes of what outlives the frame are read when it is over. */
static void read_what_stays(const work *w, uint32_t begin, uint32_t end)
{
    const uint32_t *const seg_begin = w->frozen->res_seg_begin;
    for (uint32_t r = begin; (r = hdi_next_flagged(w->decl, r, end, HDI_RES_OUTLIVES)) < end; r++) {
        for (uint32_t seg = seg_begin[r]; seg < seg_begin[r + 1]; seg++) {
            uint32_t writer = writer_of(look_back(w, seg, came_to(w, seg, w->parts)));
            if (writer < w->decl->pass_count)
                count_read(w, writer);
        }
    }
}

static void close_part(uint32_t k, void *user)
{
    const work *w = user;
    const hdi_decl *decl = w->decl;
    const uint32_t *const use_seg = w->frozen->use_seg;
    const hdi_visit *const visits = w->out->visit;
    const uint32_t pass_count = decl->pass_count, no_pass = w->part[k].no_pass;
    uint32_t u = decl->pass_use_begin[hdi_range_begin(decl->pass_count, w->parts, k)];
    uint32_t end = decl->pass_use_begin[hdi_range_begin(decl->pass_count, w->parts, k + 1)];
    for (; k && u < end; u++) { /* no part is before the first */
        uint32_t found = hdi_visit_found(visits[u]);
        if (found < pass_count)
            continue;
        if ((found & ~HDI_FOUND_LATE) == no_pass)
            visit_again(w, u, use_seg[u], came_to(w, use_seg[u], k), decl->use_flags[u]);
        else if (found & HDI_FOUND_SEVERAL)
            visit_several_again(w, k, u);
    }
    read_what_stays(w, hdi_range_begin(decl->res_count, w->parts, k),
                    hdi_range_begin(decl->res_count, w->parts, k + 1));
}

static bool flow_by_parts(work *w)
{
    w->block_parts = hdi_arena_zeroed(w->arena, w->frozen->seg_count / BLOCK + 1, sizeof(*w->block_parts));
    if (!w->block_parts)
        return false;
    hdi_crew_parts(w->crew, w->parts, walk_part, w);
    for (uint32_t k = 0; k < w->parts; k++) {
        if (hdi_crew_arena(w->crew, k, w->arena)->failed)
            return false;
    }
    hdi_crew_parts(w->crew, w->parts, close_part, w);
    return true;
}

hd_result hdi_flow_find(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_crew *crew, hdi_arena *arena,
                        hdi_flow *out, uint32_t *bad_use)
{
    work w = {.decl = decl, .frozen = frozen, .out = out, .crew = crew, .arena = arena};
    w.parts = hdi_crew_part_count(crew);
    out->visit = HDI_ARENA_ARRAY(arena, hdi_visit, frozen->visit_count);
    out->pass = w.visit_pass = HDI_ARENA_ARRAY(arena, uint32_t, frozen->visit_count);
    out->pass_reads = HDI_ARENA_ARRAY(arena, uint32_t, hdi_flow_end(decl, crew));
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_arena_mark mark = hdi_arena_here(arena);
    if (!flow_by_parts(&w))
        return HD_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < w.parts; k++)
        hdi_arena_keep(hdi_crew_arena(crew, k, arena), w.part[k].mark, NULL, 0);
    hdi_arena_keep(arena, mark, NULL, 0);
    if (decl->may_read_unwritten && out->pass_reads[hdi_flow_no_pass(decl)])
        *bad_use = find_bad(decl, frozen, out->visit);
    return *bad_use == HDI_NONE ? HD_OK : HD_UNWRITTEN_READ;
}
