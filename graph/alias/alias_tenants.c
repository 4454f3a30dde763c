#include "alias_pack.h"

#include <string.h>

/* Former tenants: the resources that each resource takes bytes over from, in the order of the bytes. A map over the
 * heaps in which bytes are shared, one behind another, holds the newest owner of each byte; resources are put into it
 * in order of first use. Only the newest owner matters, as older ones were handed over before. The map is a chain of
 * extents. The extent that an offset is in is found by way of pages, about half as long as a resource on average: each
 * knows the extent that its first byte is in. Most resources cover one extent from its begin to its end, which just
 * changes its owner. O(resources + tenants + pages covered), and the extents of a page that are walked over.
 *
 * In parallel each part has some of the resources, and starts from a map of which it knows nothing: what its resources
 * take over there are holes. Once all parts have built theirs, holes are filled from the map that the part before has
 * left, and where that has holes too, from the one before that. The tenants are the same however many parts there are,
 * so there are as many as workers. */

enum { MOST_PARTS = 32, GRAIN = 512, FEW_PAGES = 64, SAMPLE = 8 };

/* Bytes as far as the next extent; HDI_NONE: without an owner so far. */
typedef struct extent {
    uint64_t offset;
    struct extent *next, *before;
    uint32_t owner;
    bool has_other; /* extent of the same owner */
} extent;
enum { FRONT, BOTTOM, TOP, FIRST_EXTENTS }; /* before all others, the only one at first, behind all others */

typedef struct owner_map {
    extent *item, *fresh, *unused; /* fresh: never used so far; unused: chained */
    extent **start;                /* by page */
    uint32_t shift;                /* from an offset to its page */
    uint64_t end;                  /* of all heaps */
    uint32_t *tenant, tenants;     /* found so far; HDI_NONE: the next hole */
} owner_map;

typedef struct hole {
    uint64_t begin, end;
} hole;

typedef struct tenant_part {
    hdi_arena *arena;
    uint32_t begin, end; /* in order of first use */
    owner_map map;
    hole *hole;
    uint32_t hole_count, hole_capacity;
    uint32_t *tenant, tenants, capacity, tenants_before; /* those of the map, and what fills its holes */
    bool failed;
    char apart[HDI_LINE_PAIR]; /* so that a line belongs to one part: they count all the time */
} tenant_part;

typedef struct tenant_work {
    const hdi_pack *pack;
    const uint32_t *by_first;
    uint64_t *heap_base, end; /* UINT64_MAX: no bytes are shared there, or all tenants are known */
    hdi_placed *out;
    tenant_part *part;
    uint32_t parts;
} tenant_work;

static HDI_INLINE extent *find_extent(const owner_map *m, uint64_t offset)
{
    extent *at = m->start[offset >> m->shift];
    while (at->next->offset <= offset)
        at = at->next;
    return at;
}

/* There is room for two with each resource. */
static HDI_INLINE extent *make_extent(owner_map *m)
{
    extent *one = m->unused;
    if (!one)
        return m->fresh++;
    m->unused = one->next;
    return one;
}

static HDI_INLINE void link_extents(extent *before, extent *next)
{
    before->next = next;
    next->before = before;
}

/* Pages that begin in [begin, end) begin in that extent. */
static HDI_INLINE void set_pages(owner_map *m, uint64_t begin, uint64_t end, extent *one)
{
    uint64_t last = (end - 1) >> m->shift;
    for (uint64_t page = (begin + ((uint64_t)1 << m->shift) - 1) >> m->shift; page <= last; page++)
        m->start[page] = one;
}

/* [begin, end) comes into the middle of an extent: a new one stands for the shorter of its ends. Returns the lower one.
 */
static HDI_APART extent *split_extent(owner_map *m, extent *old, uint64_t begin, uint64_t end)
{
    uint64_t top = old->next->offset < m->end ? old->next->offset : m->end;
    extent *one = make_extent(m);
    one->owner = old->owner;
    one->has_other = old->has_other = true;
    if (top - end < begin - old->offset) {
        one->offset = end;
        link_extents(one, old->next);
        link_extents(old, one);
        set_pages(m, end, top, one);
        return old;
    }
    one->offset = old->offset;
    link_extents(old->before, one);
    link_extents(one, old);
    set_pages(m, one->offset, begin, one);
    old->offset = end;
    return one;
}

/* A resource gets [begin, end), where extents from one to another are. */
static HDI_INLINE void put_owner(owner_map *m, extent *from, extent *to, uint32_t res, uint64_t begin, uint64_t end)
{
    extent *left = from->offset < begin ? from : from->before, *right = to->next;
    if (from == to && from->offset < begin && right->offset > end) {
        left = split_extent(m, from, begin, end);
        right = left->next;
    } else if (right->offset > end) {
        right = to;
        right->offset = end;
    }
    extent *one = left->next; /* all between the two are covered: the first of them becomes that of the resource */
    if (one == right) {
        one = make_extent(m);
    } else if (one->next != right) {
        right->before->next = m->unused;
        m->unused = one->next;
    }
    one->offset = begin;
    one->owner = res;
    one->has_other = false;
    link_extents(left, one);
    link_extents(one, right);
    set_pages(m, begin, end, one);
}

static HDI_COLD bool add_hole(tenant_part *p, uint64_t begin, uint64_t end)
{
    if (!hdi_arena_grow(p->arena, &p->hole, &p->hole_capacity, p->hole_count, p->hole_count + 1, sizeof(hole)))
        return false;
    p->hole[p->hole_count++] = (hole){begin, end};
    return true;
}

/* The owner of an extent, unless it is among the tenants already. */
static HDI_INLINE uint32_t *add_tenant(uint32_t *own, uint32_t *end, const extent *one)
{
    for (const uint32_t *same = own; one->has_other && same < end; same++) {
        if (*same == one->owner)
            return end;
    }
    *end = one->owner;
    return end + 1;
}

/* A resource covers its bytes, from an extent on, whose owners are its tenants. */
static HDI_INLINE bool cover(tenant_part *p, owner_map *m, extent *from, uint32_t res, uint64_t begin, uint64_t end)
{
    uint32_t *own = m->tenant + m->tenants, *tenant = own;
    extent *at = from, *to;
    do {
        uint64_t low = at->offset, high = at->next->offset;
        if (at->owner != HDI_NONE) {
            tenant = add_tenant(own, tenant, at);
        } else if (p->begin) { /* before the first part there are no owners */
            if (!add_hole(p, low > begin ? low : begin, high < end ? high : end))
                return false;
            *tenant++ = HDI_NONE;
        }
        to = at;
        at = at->next;
    } while (at->offset < end);
    m->tenants = (uint32_t)(tenant - m->tenant);
    put_owner(m, from, to, res, begin, end);
    return true;
}

/* What can come up at most: with each resource two extents more, and as tenants those that it covers whole, of which
 * each is made once, and two others. */
static bool set_up_map(const tenant_work *w, tenant_part *p)
{
    size_t members = p->end - p->begin;
    uint64_t bytes = 0, samples = 0, most_pages = 2 * members > FEW_PAGES ? 2 * members : FEW_PAGES, pages;
    owner_map m = {.end = w->end};
    for (uint32_t rank = p->begin; rank < p->end; rank += SAMPLE, samples++)
        bytes += w->pack->sizes->need[w->by_first[rank]].bytes;
    while ((uint64_t)2 << m.shift < bytes / (samples + 1) || w->end >> m.shift >= most_pages)
        m.shift++;
    pages = (w->end >> m.shift) + 1;
    m.item = HDI_ARENA_ARRAY(p->arena, extent, 2 * members + FIRST_EXTENTS);
    m.start = HDI_ARENA_ARRAY(p->arena, extent *, pages);
    m.tenant = HDI_ARENA_ARRAY(p->arena, uint32_t, HDI_MOST_TENANTS * members);
    if (p->arena->failed)
        return false;
    m.fresh = m.item + FIRST_EXTENTS;
    m.item[BOTTOM] = (extent){.offset = 0, .owner = HDI_NONE};
    m.item[TOP] = (extent){.offset = UINT64_MAX, .owner = HDI_NONE};
    link_extents(&m.item[FRONT], &m.item[BOTTOM]);
    link_extents(&m.item[BOTTOM], &m.item[TOP]);
    for (uint64_t k = 0; k < pages; k++)
        m.start[k] = &m.item[BOTTOM];
    p->map = m;
    return true;
}

static void build_map(uint32_t k, void *user)
{
    const tenant_work *w = user;
    const hd_memory_need *need = w->pack->sizes->need;
    tenant_part *p = &w->part[k];
    p->failed = !set_up_map(w, p);
    owner_map m = p->map; /* whose address is known here alone: it need not be read again and again */
    for (uint32_t rank = p->begin; rank < p->end && !p->failed; rank++) {
        uint32_t res = w->by_first[rank], own = m.tenants;
        uint64_t base = w->heap_base[w->out->res_heap[res]];
        if (base == UINT64_MAX)
            continue;
        uint64_t begin = w->out->res_offset[res] + base, end = begin + need[res].bytes;
        extent *from = find_extent(&m, begin);
        if (HDI_LIKELY(from->offset == begin && from->next->offset == end && from->owner != HDI_NONE)) {
            m.tenant[m.tenants++] = from->owner;
            from->owner = res;
            from->has_other = false;
        } else if (HDI_UNLIKELY(!cover(p, &m, from, res, begin, end))) {
            p->failed = true;
        }
        w->out->res_tenants[res] = (hdi_tenants){own, m.tenants};
    }
    p->map = m;
}

/* own: the tenants of the same resource begin there. Each once. */
static bool add_once(tenant_part *p, uint32_t own, uint32_t tenant)
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

/* The owners of bytes at the end of a part, in the order of the bytes. */
static bool look_back(const tenant_work *w, tenant_part *p, uint32_t own, hole h, uint32_t k)
{
    const owner_map *before = &w->part[k].map;
    for (const extent *i = find_extent(before, h.begin); i->offset < h.end; i = i->next) {
        uint64_t high = i->next->offset;
        hole rest = {i->offset > h.begin ? i->offset : h.begin, high < h.end ? high : h.end};
        if (i->owner != HDI_NONE ? !add_once(p, own, i->owner) : k > 0 && !look_back(w, p, own, rest, k - 1))
            return false;
    }
    return true;
}

static void fill_holes(uint32_t k, void *user)
{
    const tenant_work *w = user;
    tenant_part *p = &w->part[k];
    const owner_map *m = &p->map;
    if (p->hole_count == 0) {
        p->tenant = m->tenant;
        p->tenants = m->tenants;
        return;
    }
    p->failed = !hdi_arena_grow(p->arena, &p->tenant, &p->capacity, 0, m->tenants + 64, sizeof(*p->tenant));
    for (uint32_t rank = p->begin, holes = 0; rank < p->end && !p->failed; rank++) {
        uint32_t res = w->by_first[rank], own = p->tenants;
        hdi_tenants *of = &w->out->res_tenants[res];
        if (w->heap_base[w->out->res_heap[res]] == UINT64_MAX)
            continue;
        for (uint32_t i = of->begin; i < of->end && !p->failed; i++)
            p->failed = m->tenant[i] != HDI_NONE ? !add_once(p, own, m->tenant[i])
                                                 : !look_back(w, p, own, p->hole[holes++], k - 1);
        *of = (hdi_tenants){own, p->tenants};
    }
}

static void join_tenants(uint32_t k, void *user)
{
    const tenant_work *w = user;
    const tenant_part *p = &w->part[k];
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

static bool run_parts(const hdi_crew *crew, tenant_work *w, hdi_part_fn fn)
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
    tenant_work w = {.pack = pack, .by_first = by_first, .heap_base = heap_base, .out = out, .parts = parts};
    for (uint32_t h = 0; h < out->heap_count; h++) {
        bool left = !known[h];
        heap_base[h] = left ? w.end : UINT64_MAX;
        w.end += left ? out->heap[h].bytes : 0;
    }
    if (w.end == 0) { /* no heap is left */
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
    if (!run_parts(crew, &w, build_map) || !run_parts(crew, &w, fill_holes))
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
