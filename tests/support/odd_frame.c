#include "odd_frame.h"

#include "random.h"
#include "random_graph.h"
#include "tables.h"

/* A read is of what was written before it in declaration order, so that each frame compiles wherever there are queues
 * for its passes. O(passes * resources). */

enum { MAX_RES = 1024, MAX_USES = 12, TRIES = 8, NEAR = 24 }; /* NEAR: of the newest, used more than others */

/* Per cent, but for what says otherwise. */
typedef struct mood {
    uint32_t types[HD_PASS_HOST + 1]; /* weights */
    uint32_t buffers, imports, histories, narrow, idle, tiny, samples;
    uint32_t roots, pins, parts, customs, versions, twice, again, old_reads, resolves, present, tokens, formats;
    uint32_t uses;    /* the most of a pass */
    uint32_t first;   /* resources that are there before the first pass */
    uint32_t sharing; /* hd_sharing; beyond: any */
    uint32_t cost;    /* 0: left out, 1: all the same, 2: any, 3: far apart */
} mood;

/* Cells: mip, layer and aspect of an image, eighths of a buffer; a bit each. */
typedef struct res {
    hd_resource handle;
    uint32_t mips, layers, aspects, samples, side, format, types; /* types: a bit for those of passes that may use it */
    uint64_t bytes, all, written;
    bool is_buffer, read_only, external, has_history, old;
} res;

typedef struct maker {
    hd_graph *graph;
    uint64_t rng;
    mood m;
    res res[MAX_RES];
    uint32_t res_count;
    hd_use last[MAX_USES]; /* attachments of the gfx pass before */
    uint32_t last_res[MAX_USES], last_count;
    bool plain;
} maker;

static uint32_t below(maker *m, uint32_t limit)
{
    return hdt_below(&m->rng, limit);
}

static bool chance(maker *m, uint32_t percent)
{
    return below(m, 100) < percent;
}

#define ONE_OF(m, ...)                                                                                                 \
    ((const uint32_t[]){__VA_ARGS__}[below(m, (uint32_t)(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))])

static void pick_mood(maker *m)
{
    static const uint32_t types[][HD_PASS_HOST + 1] = {
        {3, 3, 2, 1}, {3, 3, 2, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1},
        {1, 0, 0, 1}, {0, 1, 0, 1}, {0, 0, 1, 1}, {1, 9, 9, 1}, {9, 1, 1, 9}, {0, 1, 1, 1},
    };
    uint32_t row = below(m, 2) ? below(m, 2) : below(m, sizeof(types) / sizeof(types[0]));
    m->m = (mood){
        .types = {types[row][0], types[row][1], types[row][2], types[row][3]},
        .buffers = ONE_OF(m, 0, 35, 35, 100),
        .imports = ONE_OF(m, 0, 12, 12, 60, 100),
        .histories = ONE_OF(m, 0, 15, 60),
        .narrow = ONE_OF(m, 0, 20, 90),
        .idle = ONE_OF(m, 0, 20),
        .tiny = ONE_OF(m, 0, 50, 100),
        .samples = ONE_OF(m, 0, 0, 30),
        .roots = ONE_OF(m, 0, 8, 8, 40, 100),
        .pins = ONE_OF(m, 0, 20, 100),
        .parts = ONE_OF(m, 0, 0, 45, 90),
        .customs = ONE_OF(m, 0, 0, 15),
        .versions = ONE_OF(m, 0, 0, 30),
        .twice = ONE_OF(m, 0, 0, 40),
        .again = ONE_OF(m, 0, 0, 60),
        .old_reads = ONE_OF(m, 0, 0, 0, 0, 0, 4),
        .resolves = ONE_OF(m, 0, 0, 0, 60),
        .present = ONE_OF(m, 0, 10),
        .uses = ONE_OF(m, 1, 2, 5, 5, 5, MAX_USES),
        .first = ONE_OF(m, 1, 2, 4, 4, 16),
        .sharing = ONE_OF(m, 0, 0, 1, 2, 3, 3),
        .cost = below(m, 4),
        .tokens = ONE_OF(m, 0, 0, 40),
        .formats = ONE_OF(m, 0, 0, 0, 40),
    };
}

/* ---- resources ---- */

static void append(maker *m, res r)
{
    if (m->res_count < MAX_RES && r.handle.id)
        m->res[m->res_count++] = r;
}

static void add_history(maker *m, uint32_t of)
{
    res history = m->res[of];
    m->res[of].has_history = true;
    history.handle = hd_graph_history(m->graph, history.handle);
    history.read_only = true;
    history.written = history.all;
    if (chance(m, m->m.narrow))
        history.types = 1u << below(m, HD_PASS_HOST + 1);
    append(m, history);
}

static uint32_t any_layout(maker *m)
{
    return ONE_OF(m, 0, 1, 1, 2, 5, 6, 7, 1000001002);
}

static hd_resource declare_image(maker *m, res *r, hd_sharing sharing)
{
    if (!r->external)
        return hd_graph_image(m->graph, &(hd_image_desc){.width = r->side,
                                                         .height = r->side,
                                                         .format = r->format,
                                                         .mips = r->mips,
                                                         .layers = r->layers,
                                                         .samples = r->samples,
                                                         .sharing = sharing});
    hd_import_desc desc = {.width = r->side,
                           .height = r->side,
                           .format = r->format,
                           .mips = r->mips,
                           .layers = r->layers,
                           .samples = r->samples,
                           .sharing = sharing,
                           .initial_layout = any_layout(m),
                           .final_layout = chance(m, 50) ? any_layout(m) : 0};
    r->written = desc.initial_layout ? r->all : 0;
    return hd_graph_import(m->graph, &desc);
}

static bool is_token(const res *r)
{
    return r->is_buffer && r->bytes == 0;
}

static void add_resource(maker *m)
{
    const mood *o = &m->m;
    if (m->res_count == MAX_RES)
        return;
    res r = {.is_buffer = chance(m, o->buffers), .external = chance(m, o->imports), .types = 0xf};
    hd_sharing sharing = (hd_sharing)(o->sharing > HD_SHARING_CONCURRENT ? below(m, 3) : o->sharing);
    if (chance(m, o->narrow))
        r.types = 1u << below(m, HD_PASS_HOST + 1);
    if (chance(m, o->idle))
        r.types = 0;
    if (r.is_buffer) {
        const bool token = !r.external && chance(m, o->tokens);
        r.bytes = token ? 0 : UINT64_C(8) * (1 + below(m, chance(m, o->tiny) ? 2 : 1 << 16));
        r.all = 0xff;
        r.written = r.external ? r.all : 0;
        r.handle =
            r.external
                ? hd_graph_import(m->graph, &(hd_import_desc){.bytes = r.bytes, .sharing = sharing})
                : hd_graph_buffer(m->graph, &(hd_buffer_desc){.bytes = r.bytes, .token = token, .sharing = sharing});
    } else {
        r.side = chance(m, o->tiny) ? 1u << below(m, 4) : 16u << below(m, 6);
        r.mips = 1 + below(m, r.side < 8 ? 1 : 4);
        r.layers = chance(m, 70) ? 1 : 1 + below(m, 4);
        r.format = ONE_OF(m, 37, 37, 97, 100, 126, 129);
        r.aspects = r.format == 129 ? 2 : 1;
        r.samples = r.mips == 1 && chance(m, o->samples) ? 4 : 1;
        r.all = (UINT64_C(1) << (r.mips * r.layers * r.aspects)) - 1;
        r.handle = declare_image(m, &r, sharing);
    }
    append(m, r);
    if (!r.external && !is_token(&r) && chance(m, o->histories))
        add_history(m, m->res_count - 1);
}

/* ---- uses ---- */

/* A range of the resource, at times the whole, and the cells in it. */
static hd_range pick_range(maker *m, const res *r, uint64_t *cells)
{
    hd_range range = {0};
    *cells = r->all;
    if (!chance(m, m->m.parts) || is_token(r))
        return range;
    *cells = 0;
    if (r->is_buffer) {
        uint32_t first = below(m, 8), count = 1 + below(m, 8 - first);
        range.offset = r->bytes / 8 * first;
        range.bytes = r->bytes / 8 * count;
        *cells = ((UINT64_C(1) << count) - 1) << first;
        return range;
    }
    range.mip_base = (uint16_t)below(m, r->mips);
    range.mip_count = (uint16_t)(1 + below(m, r->mips - range.mip_base));
    range.layer_base = below(m, r->layers);
    range.layer_count = 1 + below(m, r->layers - range.layer_base);
    range.aspect = r->aspects == 2 ? ONE_OF(m, 0, HD_ASPECT_DEPTH, HD_ASPECT_STENCIL) : 0;
    for (uint32_t a = 0; a < r->aspects; a++) {
        if (range.aspect && range.aspect != HD_ASPECT_DEPTH << a)
            continue;
        for (uint32_t mip = range.mip_base; mip < (uint32_t)range.mip_base + range.mip_count; mip++)
            for (uint32_t layer = range.layer_base; layer < range.layer_base + range.layer_count; layer++)
                *cells |= UINT64_C(1) << ((mip * r->aspects + a) * r->layers + layer);
    }
    return range;
}

static bool is_depth(const res *r)
{
    return r->format == 126 || r->format == 129;
}

static bool fits(maker *m, const res *r, uint32_t access, uint32_t type)
{
    const hdi_access_info *row = &hdi_access_table[access];
    if (!(r->is_buffer ? row->on_buffer : row->on_image) || !(row->pass_types >> type & 1))
        return false;
    if ((row->attachment == HDI_ATTACHMENT_DEPTH && !is_depth(r)) ||
        (row->attachment == HDI_ATTACHMENT_COLOR && is_depth(r)))
        return false;
    if (access == HD_PRESENT && !chance(m, m->m.present))
        return false;
    return !(r->read_only && row->writes);
}

/* At times another one with as many bytes. */
static uint32_t pick_format(maker *m, const res *r)
{
    if (!chance(m, m->m.formats) || r->is_buffer || r->external || is_depth(r))
        return 0;
    return r->format == 37 ? ONE_OF(m, 37, 43, 44) : r->format == 97 ? ONE_OF(m, 91, 97) : ONE_OF(m, 98, 100);
}

/* Stages and accesses that a use brings itself. */
static hd_custom_access pick_custom(maker *m, const res *r, uint32_t type)
{
    static const hd_custom_access rows[][3] = {
        {{0x80, 0x20, 5, 0, true, false}, {0x80, 0x400000000, 1, 0, false, true}, {0x800, 0x60, 1, 0, true, true}},
        {{0x800, 0x20, 5, 0, true, false}, {0x800, 0x40, 1, 0, false, true}, {0x800, 0x600000000, 1, 0, true, true}},
        {{0x100000000, 0x800, 6, 0, true, false},
         {0x800000000, 0x1000, 7, 0, false, true},
         {0x100000000, 0x1800, 1, 0, true, true}},
    };
    hd_custom_access row = rows[type][r->read_only ? 0 : below(m, 3)];
    if (below(m, 3) == 0)
        row.layout = 1000314000 + below(m, 3); /* that no named access has */
    return row;
}

typedef struct pick {
    uint32_t at; /* in maker.res */
    uint64_t cells;
    uint32_t layout;
    bool reads, writes, attachment;
    hd_resource next;
} pick;

/* A use beside those that the pass has. */
static bool agrees(maker *m, const pick *picks, uint32_t count, const pick *p)
{
    const res *r = &m->res[p->at];
    for (uint32_t i = 0; i < count; i++) {
        const pick *q = &picks[i];
        if (hd_graph_resource_index(m->graph, m->res[q->at].handle) != hd_graph_resource_index(m->graph, r->handle))
            continue;
        uint32_t low = q->layout < p->layout ? q->layout : p->layout, high = q->layout + p->layout - low;
        bool layouts = r->is_buffer || low == high || (low == 4 && high == 5);
        if (m->res[q->at].old || r->old)
            return false;
        if (q->cells & p->cells ? q->writes || p->writes || !layouts : !chance(m, m->m.twice))
            return false;
        if (q->cells & p->cells && !chance(m, m->m.twice + 20))
            return false;
    }
    return true;
}

static bool pick_use(maker *m, uint32_t type, pick *picks, uint32_t count, hd_use *out, hd_custom_access *custom)
{
    for (uint32_t try = 0; try < TRIES && m->res_count; try++) {
        pick *p = &picks[count];
        uint32_t from = m->res_count > NEAR && chance(m, 80) ? m->res_count - NEAR : 0;
        *p = (pick){.at = from + below(m, m->res_count - from)};
        const res *r = &m->res[p->at];
        if (!(r->types >> type & 1))
            continue;
        *out = (hd_use){.resource = r->handle, .load = (hd_load)chance(m, 30), .format = pick_format(m, r)};
        out->range = pick_range(m, r, &p->cells);
        if (type != HD_PASS_HOST && chance(m, m->m.customs)) {
            *custom = pick_custom(m, r, type);
            out->access = HD_ACCESS_CUSTOM;
            out->custom = custom;
            p->reads = custom->reads;
            p->writes = custom->writes;
            p->layout = custom->layout;
        } else {
            uint32_t access = 1 + below(m, HD_ACCESS_COUNT - 1), i = 0;
            for (; i < HD_ACCESS_COUNT && !fits(m, r, access, type); i++)
                access = access + 1 == HD_ACCESS_COUNT ? 1 : access + 1;
            const hdi_access_info *row = &hdi_access_table[access];
            if (i == HD_ACCESS_COUNT)
                continue;
            out->access = (hd_access)access;
            p->reads = row->reads;
            p->writes = row->writes;
            p->layout = row->layout;
            p->attachment = hdi_is_attachment(access);
        }
        if ((p->reads && (r->written & p->cells) != p->cells) || !agrees(m, picks, count, p))
            continue;
        return true;
    }
    return false;
}

/* ---- passes ---- */

/* Goes on with an attachment of the gfx pass before. */
static bool pick_again(maker *m, uint32_t i, const pick *picks, uint32_t count, hd_use *out, pick *p)
{
    const res *r = &m->res[m->last_res[i]];
    *out = m->last[i];
    out->format = chance(m, 20) ? pick_format(m, r) : out->format;
    *p = (pick){.at = m->last_res[i], .cells = r->all, .attachment = true, .reads = true, .writes = true};
    if (out->range.offset | out->range.bytes || (r->written & p->cells) != p->cells)
        return false;
    out->resource = r->handle;
    out->access = r->read_only || (is_depth(r) && chance(m, 40)) ? HD_DEPTH_READ
                  : is_depth(r)                                  ? HD_DEPTH_RW
                                                                 : HD_COLOR_RW;
    p->writes = out->access != HD_DEPTH_READ;
    p->layout = out->access == HD_DEPTH_READ ? 4 : is_depth(r) ? 3 : 2;
    return !r->old && agrees(m, picks, count, p);
}

/* What the pass's newest attachment is resolved into, where something fits. */
static bool pick_resolve(maker *m, const hd_use *source, const pick *of, const pick *picks, uint32_t count, hd_use *out,
                         pick *p)
{
    const res *from = &m->res[of->at];
    if (!of->attachment || from->samples == 1 || !chance(m, m->m.resolves) ||
        source->range.offset | source->range.bytes)
        return false;
    for (uint32_t i = 0; i < m->res_count; i++) {
        const res *to = &m->res[i];
        *p = (pick){.at = i, .cells = to->all, .writes = true, .attachment = true, .layout = is_depth(to) ? 3 : 2};
        if (to->is_buffer || to->read_only || to->samples != 1 || to->format != from->format ||
            to->side != from->side || to->layers != from->layers || to->mips != 1 || !(to->types & 1) ||
            !agrees(m, picks, count, p))
            continue;
        if (source->format && to->external)
            continue;
        *out = (hd_use){.resource = to->handle,
                        .access = HD_RESOLVE_WRITE,
                        .resolve_of = source->resource,
                        .format = source->format};
        m->plain = false;
        return true;
    }
    return false;
}

static float pick_cost(maker *m)
{
    switch (m->m.cost) {
    case 0:
        return 0;
    case 1:
        return 25;
    case 2:
        return (float)(1 + below(m, 200));
    default:
        return (float)(1u << below(m, 20)) / 64;
    }
}

static uint32_t pick_type(maker *m)
{
    const uint32_t *w = m->m.types;
    uint32_t at = below(m, w[0] + w[1] + w[2] + w[3]), type = 0;
    for (; at >= w[type]; type++)
        at -= w[type];
    return type;
}

/* What the pass has done to what it used; new versions take the places of those that it has ended. */
static void apply(maker *m, hd_use *uses, const pick *picks, uint32_t count)
{
    uint64_t before[MAX_USES + 1];
    m->last_count = 0;
    for (uint32_t u = 0; u < count; u++)
        before[u] = m->res[picks[u].at].written;
    for (uint32_t u = 0; u < count; u++) {
        res *r = &m->res[picks[u].at];
        if (picks[u].attachment && uses[u].access != HD_RESOLVE_WRITE) {
            m->last[m->last_count] = uses[u];
            m->last[m->last_count].next = NULL;
            m->last_res[m->last_count++] = picks[u].at;
        }
        if (!picks[u].writes)
            continue;
        res ended = *r;
        ended.read_only = ended.old = true;
        ended.written = before[u]; /* what other uses of the pass write is of the next version, too */
        r->written |= picks[u].cells;
        if (!uses[u].next || picks[u].next.id == r->handle.id)
            continue;
        r->handle = picks[u].next;
        if (chance(m, m->m.old_reads)) {
            m->plain = false;
            append(m, ended);
        }
    }
}

static void add_pass(maker *m)
{
    uint32_t type = pick_type(m), count = 0, want = below(m, m->m.uses + 1);
    hd_use uses[MAX_USES + 1] = {0};
    hd_custom_access custom[MAX_USES + 1];
    pick picks[MAX_USES + 1];
    bool again = type == HD_PASS_GFX && chance(m, m->m.again);
    for (uint32_t i = 0; again && i < m->last_count && count < MAX_USES; i++)
        count += pick_again(m, i, picks, count, &uses[count], &picks[count]);
    want = want < count ? count : want;
    while (count < want && pick_use(m, type, picks, count, &uses[count], &custom[count])) {
        count++;
        if (count <= MAX_USES &&
            pick_resolve(m, &uses[count - 1], &picks[count - 1], picks, count, &uses[count], &picks[count]))
            count++;
    }
    for (uint32_t u = 0; u < count; u++)
        uses[u].next = chance(m, m->m.versions) ? &picks[u].next : NULL;
    hd_pass pass = hd_graph_pass(
        m->graph, &(hd_pass_desc){.type = (hd_pass_type)type,
                                  .pin = chance(m, m->m.pins) ? hdt_pin_for(type, below(m, 4)) : HD_PIN_NONE,
                                  .root = chance(m, m->m.roots),
                                  .no_rendering = chance(m, 5),
                                  .cost_us = pick_cost(m),
                                  .uses = uses,
                                  .use_count = count});
    if (pass.id)
        apply(m, uses, picks, count);
}

bool hdt_odd_frame(hd_graph *graph, uint64_t seed, uint32_t pass_count)
{
    maker m = {.graph = graph, .rng = seed, .plain = true};
    pick_mood(&m);
    hd_graph_begin(graph);
    for (uint32_t i = 0; i < m.m.first; i++)
        add_resource(&m);
    for (uint32_t p = 0; p < pass_count; p++) {
        if (chance(&m, 60))
            add_resource(&m);
        add_pass(&m);
    }
    return m.plain;
}

/* ---- queues and options ---- */

bool hdt_odd_setting_runs(const hdt_odd_setting *setting, uint32_t type)
{
    for (uint32_t q = 0; q < setting->desc.queue_count; q++) {
        hd_queue_kind kind = setting->queues[q].kind;
        if (type == HD_PASS_HOST || type == HD_PASS_TRANSFER || kind == HD_QUEUE_GFX ||
            (type == HD_PASS_COMPUTE && kind == HD_QUEUE_COMPUTE))
            return true;
    }
    return false;
}

static void pick_queues(maker *m, hdt_odd_setting *s)
{
    static const uint8_t kinds[][3] = {{0, 1, 2}, {0, 1, 2}, {2, 1, 0}, {0, 0, 0}, {1, 2, 2}, {0, 2, 2}, {0, 1, 1}};
    const uint8_t *kind = kinds[below(m, sizeof(kinds) / sizeof(kinds[0]))];
    uint32_t count = chance(m, 3) ? HD_MAX_QUEUES - 1 : 1 + below(m, chance(m, 20) ? 8 : 4), families = below(m, 4);
    for (uint32_t q = 0; q < count; q++) {
        s->queues[q].kind = (hd_queue_kind)kind[below(m, 3)];
        s->queues[q].family = families == 0   ? 0
                              : families == 1 ? (uint32_t)s->queues[q].kind
                              : families == 2 ? below(m, 3)
                                              : 7 * q + 2;
    }
    s->desc.queues = s->queues;
    s->desc.queue_count = count;
    if (chance(m, 90) && !hdt_odd_setting_runs(s, HD_PASS_GFX)) /* most sets run every pass */
        s->queues[below(m, count)].kind = HD_QUEUE_GFX;
}

/* As a device might: several heaps, alignments of its own. */
static hd_result odd_size(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    uint32_t shape = info->width / 16 + (uint32_t)(info->bytes >> 5) + info->format;
    (void)user;
    need->alignment = 256u << shape % 9;
    need->bytes = (info->is_buffer ? info->bytes : (uint64_t)info->width * info->height * info->layers * 5) + shape % 3;
    need->heap = shape % 2 + (info->host_visible ? 2 : 0);
    return HD_OK;
}

void hdt_odd_setting_make(uint64_t seed, hdt_odd_setting *out)
{
    static const float prices[] = {0, 0.001f, 1, 6, 50, 1000, 1e9f};
    maker m = {.rng = seed ^ UINT64_C(0x5e7715)};
    *out = (hdt_odd_setting){.region_passes = chance(&m, 50) ? 1 + below(&m, 24) : 512};
    pick_queues(&m, out);
    out->parallel_passes = chance(&m, 70) ? 0 : 2048;
    out->desc.order = (hd_order)below(&m, 3);
    out->desc.handoff_us = prices[below(&m, sizeof(prices) / sizeof(prices[0]))];
    out->desc.merge_rendering = chance(&m, 40);
    out->desc.size = chance(&m, 15) ? odd_size : NULL;
}
