#include "alias_pack.h"

#include <string.h>

/* Tenants: a skyline over the heaps in which bytes are shared, one behind another, in order of first use, tells whose
 * bytes each resource takes over: only the newest tenant of each byte matters, older ones were handed over before. The
 * skyline is a chain of pieces. The one that an offset is in is found by way of pages, about half as long as a resource
 * on average: each knows the piece that its first byte is in. Most resources cover one piece from its begin to its end,
 * which just changes its owner. O(resources + tenants + pages covered), and the pieces of a page that are walked over.
 *
 * In parallel each part has some of the resources, and starts from a skyline of which it knows nothing: what its
 * resources take over there are holes. Once all parts have built theirs, holes are filled from the skyline that the
 * part before has left, and where that has holes too, from the one before that. The tenants are the same however many
 * parts there are, so that there are as many as workers. */

enum { MOST_PARTS = 32, GRAIN = 512, FEW_PAGES = 64, SAMPLE = 8 };

/* Bytes as far as the next piece; HDI_NONE: nobody has them yet. */
typedef struct piece {
    uint64_t offset;
    struct piece *next, *before;
    uint32_t owner; /* a resource */
    bool has_other; /* piece of the same owner */
} piece;
enum { FRONT, BOTTOM, TOP, FIRST_PIECES }; /* before all others, the only one at first, behind all others */

typedef struct skyline {
    piece *item, *fresh, *unused; /* fresh: never used so far; unused: chained */
    piece **start;                /* by page */
    uint32_t shift;               /* from an offset to its page */
    uint64_t end;                 /* of all heaps */
    uint32_t *tenant, tenants;    /* found so far; HDI_NONE: the next hole */
} skyline;

typedef struct hole {
    uint64_t begin, end;
} hole;

typedef struct part {
    hdi_arena *arena;
    uint32_t begin, end; /* in order of first use */
    skyline skyline;
    hole *hole;
    uint32_t hole_count, hole_capacity;
    uint32_t *tenant, tenants, capacity, tenants_before; /* those of the skyline, and what fills its holes */
    bool failed;
    char apart[HDI_LINE_PAIR]; /* so that no line is of two parts: they count all the time */
} part;

typedef struct work {
    const hdi_pack *pack;
    const uint32_t *by_first;
    uint64_t *heap_base, end; /* UINT64_MAX: nobody shares there, or all tenants are known */
    hdi_placed *out;
    part *part;
    uint32_t parts;
} work;

/* The piece that an offset is in. */
static HDI_INLINE piece *find(const skyline *s, uint64_t offset)
{
    piece *at = s->start[offset >> s->shift];
    while (at->next->offset <= offset)
        at = at->next;
    return at;
}

/* There is room for two with each resource. */
static HDI_INLINE piece *make(skyline *s)
{
    piece *one = s->unused;
    if (!one)
        return s->fresh++;
    s->unused = one->next;
    return one;
}

static HDI_INLINE void link(piece *before, piece *next)
{
    before->next = next;
    next->before = before;
}

/* Pages that begin in [begin, end) begin in that piece. */
static HDI_INLINE void set_pages(skyline *s, uint64_t begin, uint64_t end, piece *one)
{
    uint64_t last = (end - 1) >> s->shift;
    for (uint64_t page = (begin + ((uint64_t)1 << s->shift) - 1) >> s->shift; page <= last; page++)
        s->start[page] = one;
}

/* Somebody comes into the middle of a piece: a new one stands for the shorter of its ends. Returns the lower one. */
static HDI_INLINE piece *split(skyline *s, piece *old, uint64_t begin, uint64_t end)
{
    uint64_t top = old->next->offset < s->end ? old->next->offset : s->end;
    piece *one = make(s);
    one->owner = old->owner;
    one->has_other = old->has_other = true;
    if (top - end < begin - old->offset) {
        one->offset = end;
        link(one, old->next);
        link(old, one);
        set_pages(s, end, top, one);
        return old;
    }
    one->offset = old->offset;
    link(old->before, one);
    link(one, old);
    set_pages(s, one->offset, begin, one);
    old->offset = end;
    return one;
}

/* Somebody comes between two pieces. */
static HDI_INLINE void put_between(skyline *s, piece *left, piece *one, piece *right, uint32_t res, uint64_t begin,
                                   uint64_t end)
{
    one->offset = begin;
    one->owner = res;
    one->has_other = false;
    link(left, one);
    link(one, right);
    set_pages(s, begin, end, one);
}

/* Somebody comes into a piece, of which something is left. */
static HDI_INLINE void put_into(skyline *s, piece *old, uint32_t res, uint64_t begin, uint64_t end)
{
    piece *left = old, *right = old;
    if (old->offset == begin) {
        left = old->before;
        old->offset = end;
    } else if (old->next->offset == end) {
        right = old->next;
    } else {
        left = split(s, old, begin, end);
        right = left->next;
    }
    put_between(s, left, make(s), right, res, begin, end);
}

/* Somebody comes into [begin, end), where pieces from one to another are. */
static HDI_INLINE void put(skyline *s, piece *from, piece *to, uint32_t res, uint64_t begin, uint64_t end)
{
    bool stays_below = from->offset<begin, stays_above = to->next->offset> end;
    piece *left = stays_below ? from : from->before, *right = stays_above ? to : to->next;
    right->offset = stays_above ? end : right->offset;
    piece *one = left->next; /* all between the two are covered: one of them becomes his, or a new one */
    if (one == right) {
        one = make(s);
    } else if (one->next != right) {
        right->before->next = s->unused;
        s->unused = one->next;
    }
    put_between(s, left, one, right, res, begin, end);
}

static HDI_COLD bool add_hole(part *p, uint64_t begin, uint64_t end)
{
    if (!hdi_arena_grow(p->arena, &p->hole, &p->hole_capacity, p->hole_count, p->hole_count + 1, sizeof(hole)))
        return false;
    p->hole[p->hole_count++] = (hole){begin, end};
    return true;
}

/* Another one, unless he is among them already. */
static HDI_INLINE uint32_t *add(uint32_t *own, uint32_t *end, const piece *one)
{
    for (const uint32_t *same = own; one->has_other && same < end; same++) {
        if (*same == one->owner)
            return end;
    }
    *end = one->owner;
    return end + 1;
}

/* The newcomer covers its bytes, from a piece on; whom it covers are its tenants. */
static HDI_INLINE bool cover(part *p, skyline *s, piece *from, uint32_t res, uint64_t begin, uint64_t end)
{
    uint32_t *own = s->tenant + s->tenants, *tenant = own;
    piece *at = from, *to;
    do {
        uint64_t low = at->offset, high = at->next->offset;
        if (at->owner != HDI_NONE) {
            tenant = add(own, tenant, at);
        } else if (p->begin) { /* before the first part nobody has anything */
            if (!add_hole(p, low > begin ? low : begin, high < end ? high : end))
                return false;
            *tenant++ = HDI_NONE;
        }
        to = at;
        at = at->next;
    } while (at->offset < end);
    s->tenants = (uint32_t)(tenant - s->tenant);
    if (from->offset < begin && at->offset > end && from == to)
        put_into(s, from, res, begin, end);
    else
        put(s, from, to, res, begin, end);
    return true;
}

/* What can come up at most: with each resource two pieces more, and as tenants those that it covers whole, of which
 * each is made once, and two others. */
static bool set_up(const work *w, part *p)
{
    size_t members = p->end - p->begin;
    uint64_t bytes = 0, samples = 0, most_pages = 2 * members > FEW_PAGES ? 2 * members : FEW_PAGES, pages;
    skyline s = {.end = w->end};
    for (uint32_t rank = p->begin; rank < p->end; rank += SAMPLE, samples++)
        bytes += w->pack->sizes->need[w->by_first[rank]].bytes;
    while ((uint64_t)2 << s.shift < bytes / (samples + 1) || w->end >> s.shift >= most_pages)
        s.shift++;
    pages = (w->end >> s.shift) + 1;
    s.item = HDI_ARENA_ARRAY(p->arena, piece, 2 * members + FIRST_PIECES);
    s.start = HDI_ARENA_ARRAY(p->arena, piece *, pages);
    s.tenant = HDI_ARENA_ARRAY(p->arena, uint32_t, 4 * members);
    if (p->arena->failed)
        return false;
    s.fresh = s.item + FIRST_PIECES;
    s.item[BOTTOM].offset = 0;
    s.item[TOP].offset = UINT64_MAX;
    s.item[BOTTOM].owner = s.item[TOP].owner = HDI_NONE;
    s.item[BOTTOM].has_other = s.item[TOP].has_other = false;
    link(&s.item[FRONT], &s.item[BOTTOM]);
    link(&s.item[BOTTOM], &s.item[TOP]);
    for (uint64_t k = 0; k < pages; k++)
        s.start[k] = &s.item[BOTTOM];
    p->skyline = s;
    return true;
}

/* of_one: there is one heap. */
static HDI_INLINE bool cover_all(const work *w, part *p, skyline *s, bool of_one)
{
    const hd_memory_need *need = w->pack->sizes->need;
    const uint32_t *res_heap = w->out->res_heap;
    const uint64_t *res_offset = w->out->res_offset;
    hdi_tenants *res_tenants = w->out->res_tenants;
    for (const uint32_t *at = w->by_first + p->begin, *last = w->by_first + p->end; at < last; at++) {
        uint32_t res = *at, own = s->tenants;
        uint64_t begin = res_offset[res], base = of_one ? 0 : w->heap_base[res_heap[res]];
        if (base == UINT64_MAX)
            continue;
        begin += base;
        uint64_t end = begin + need[res].bytes;
        piece *from = find(s, begin);
        uint64_t next = from->next->offset;
        if (HDI_LIKELY(next >= end && from->owner != HDI_NONE)) { /* as most do */
            s->tenant[s->tenants++] = from->owner;
            if (from->offset == begin && next == end) {
                from->owner = res;
                from->has_other = false;
            } else {
                put_into(s, from, res, begin, end);
            }
        } else if (HDI_UNLIKELY(!cover(p, s, from, res, begin, end))) {
            return false;
        }
        res_tenants[res] = (hdi_tenants){own, s->tenants};
    }
    return true;
}

static void build_skyline(uint32_t k, void *user)
{
    const work *w = user;
    part *p = &w->part[k];
    p->failed = !set_up(w, p);
    if (p->failed)
        return;
    skyline s = p->skyline;
    p->failed = w->out->heap_count == 1 ? !cover_all(w, p, &s, true) : !cover_all(w, p, &s, false);
    p->skyline = s;
}

/* own: the tenants of the same resource begin there. Each once. */
static bool add_once(part *p, uint32_t own, uint32_t tenant)
{
    for (uint32_t i = own; i < p->tenants; i++) {
        if (p->tenant[i] == tenant)
            return true;
    }
    if (!hdi_arena_grow(p->arena, &p->tenant, &p->capacity, p->tenants, p->tenants + 1, sizeof(*p->tenant)))
        return false;
    p->tenant[p->tenants++] = tenant;
    return true;
}

/* Who has bytes at the end of a part, in the order of the bytes. */
static bool look_back(const work *w, part *p, uint32_t own, hole h, uint32_t k)
{
    const skyline *before = &w->part[k].skyline;
    for (const piece *i = find(before, h.begin); i->offset < h.end; i = i->next) {
        uint64_t high = i->next->offset;
        hole rest = {i->offset > h.begin ? i->offset : h.begin, high < h.end ? high : h.end};
        if (i->owner != HDI_NONE ? !add_once(p, own, i->owner) : k > 0 && !look_back(w, p, own, rest, k - 1))
            return false;
    }
    return true;
}

static void fill_holes(uint32_t k, void *user)
{
    const work *w = user;
    part *p = &w->part[k];
    const skyline *s = &p->skyline;
    if (p->hole_count == 0) {
        p->tenant = s->tenant;
        p->tenants = s->tenants;
        return;
    }
    p->failed = !hdi_arena_grow(p->arena, &p->tenant, &p->capacity, 0, s->tenants + 64, sizeof(*p->tenant));
    for (uint32_t rank = p->begin, holes = 0; rank < p->end && !p->failed; rank++) {
        uint32_t res = w->by_first[rank], own = p->tenants;
        hdi_tenants *of = &w->out->res_tenants[res];
        if (w->heap_base[w->out->res_heap[res]] == UINT64_MAX)
            continue;
        for (uint32_t i = of->begin; i < of->end && !p->failed; i++)
            p->failed = s->tenant[i] != HDI_NONE ? !add_once(p, own, s->tenant[i])
                                                 : !look_back(w, p, own, p->hole[holes++], k - 1);
        *of = (hdi_tenants){own, p->tenants};
    }
}

static void join_tenants(uint32_t k, void *user)
{
    const work *w = user;
    const part *p = &w->part[k];
    memcpy(w->out->tenant + p->tenants_before, p->tenant, p->tenants * sizeof(*p->tenant));
    for (uint32_t rank = p->begin; rank < p->end; rank++) {
        uint32_t res = w->by_first[rank];
        hdi_tenants *of = &w->out->res_tenants[res];
        if (w->heap_base[w->out->res_heap[res]] == UINT64_MAX)
            continue;
        of->begin += p->tenants_before;
        of->end += p->tenants_before;
    }
}

static bool run_parts(const hdi_crew *crew, work *w, hdi_part_fn fn)
{
    hdi_crew_parts(crew, w->parts, fn, w);
    for (uint32_t k = 0; k < w->parts; k++) {
        if (w->part[k].failed)
            return false;
    }
    return true;
}

hd_result hdi_find_tenants(const hdi_pack *pack, const uint32_t *by_first, uint32_t count, const bool *known,
                           const hdi_crew *crew, hdi_placed *out)
{
    hdi_arena *arena = pack->arena;
    uint32_t most = crew->workers < MOST_PARTS ? crew->workers : MOST_PARTS,
             parts = count < most * GRAIN ? count / GRAIN + 1 : most, before = out->tenant_count;
    const uint32_t *tenant = out->tenant;
    uint64_t heap_base[HDI_MOST_HEAPS];
    work w = {.pack = pack, .by_first = by_first, .heap_base = heap_base, .out = out, .parts = parts};
    for (uint32_t h = 0; h < out->heap_count; h++) {
        bool left = !known[h];
        heap_base[h] = left ? w.end : UINT64_MAX;
        w.end += left ? out->heap[h].bytes : 0;
    }
    if (w.end == 0) { /* nobody is left */
        out->tenant = before ? out->tenant : HDI_ARENA_ARRAY(arena, uint32_t, 0);
        return out->tenant ? HD_OK : HD_OUT_OF_MEMORY;
    }
    w.part = hdi_arena_zeroed(arena, parts, sizeof(*w.part));
    if (!w.part)
        return HD_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < parts; k++) {
        w.part[k].arena = parts > 1 ? &crew->arena[k] : arena;
        w.part[k].begin = hdi_range_begin(count, parts, k);
        w.part[k].end = hdi_range_begin(count, parts, k + 1);
    }
    if (!run_parts(crew, &w, build_skyline) || !run_parts(crew, &w, fill_holes))
        return HD_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < parts; k++) {
        w.part[k].tenants_before = out->tenant_count;
        out->tenant_count += w.part[k].tenants;
    }
    bool joined = parts > 1 || before;
    out->tenant = joined ? HDI_ARENA_ARRAY(arena, uint32_t, out->tenant_count) : w.part->tenant;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (before)
        memcpy(out->tenant, tenant, before * sizeof(*tenant));
    if (joined)
        hdi_crew_parts(crew, parts, join_tenants, &w);
    return HD_OK;
}
