#include "describe.h"

#include <string.h>

#include "alloc.h"

/* Versions: phases know of versions by their late reads alone, those of a version that an earlier pass ended. So a
 * frame is declared again with a version for each pass that such a read names, and no others. O(uses). */

/* ---- from a declaration ---- */

void hdi_describe_resource(const hdi_decl *decl, uint32_t res, hdi_resource_desc *out)
{
    const hdi_res_info *i = &decl->res_info[res];
    const hdi_res_import *from = &decl->res_import[res];
    const uint32_t flags = decl->res_flags[res];
    const hd_sharing sharing = (hd_sharing)i->sharing;
    *out = (hdi_resource_desc){.of = HD_NONE};
    if (flags & HDI_RES_HISTORY) {
        out->kind = HDI_DESCRIBED_HISTORY;
        out->of = decl->res_pair[res];
        out->history = (hd_history_desc){.skipped = (hd_skipped)from->skipped, .key = from->serial};
    } else if (flags & HDI_RES_EXTERNAL) {
        out->kind = HDI_DESCRIBED_IMPORT;
        out->import = (hd_import_desc){.name = i->name, .bytes = i->bytes, .sharing = sharing, .serial = from->serial};
        if (flags & HDI_RES_BUFFER)
            return;
        out->import.width = i->width;
        out->import.height = i->height;
        out->import.depth = i->depth;
        out->import.format = i->format;
        out->import.mips = i->mips;
        out->import.layers = i->layers;
        out->import.samples = i->samples;
        out->import.flags = i->flags;
        out->import.initial_layout = i->initial_layout;
        out->import.final_layout = i->final_layout;
    } else if (flags & HDI_RES_BUFFER) {
        out->kind = HDI_DESCRIBED_BUFFER;
        out->buffer = (hd_buffer_desc){
            .name = i->name, .bytes = i->bytes, .usage = i->usage, .sharing = sharing, .token = i->bytes == 0};
    } else {
        out->kind = HDI_DESCRIBED_IMAGE;
        out->image = (hd_image_desc){.name = i->name,
                                     .width = i->width,
                                     .height = i->height,
                                     .depth = i->depth,
                                     .format = i->format,
                                     .mips = i->mips,
                                     .layers = i->layers,
                                     .samples = i->samples,
                                     .flags = i->flags,
                                     .usage = i->usage,
                                     .sharing = sharing};
    }
}

void hdi_describe_pass(const hdi_decl *decl, uint32_t pass, hd_pass_desc *out)
{
    *out = (hd_pass_desc){.name = decl->pass_exec[pass].name,
                          .type = (hd_pass_type)decl->pass_type[pass],
                          .pin = (hd_pin)decl->pass_pin[pass],
                          .root = (decl->pass_flags[pass] & HDI_PASS_ROOT) != 0,
                          .no_rendering = (decl->pass_flags[pass] & HDI_PASS_NO_RENDERING) != 0,
                          .cost_us = decl->pass_cost[pass],
                          .use_count = decl->pass_use_begin[pass + 1] - decl->pass_use_begin[pass],
                          .splits = decl->pass_exec[pass].splits};
}

/* The hd_access that a use was declared with. */
static hd_access access_of(uint32_t row)
{
    switch (row) {
    case HDI_DEPTH_WRITE_RESOLVED:
        return HD_DEPTH_WRITE;
    case HDI_DEPTH_RW_RESOLVED:
        return HD_DEPTH_RW;
    case HDI_DEPTH_READ_RESOLVED:
        return HD_DEPTH_READ;
    case HDI_DEPTH_RESOLVE:
        return HD_RESOLVE_WRITE;
    default:
        return (hd_access)hdi_access_of(row);
    }
}

/* The use of its pass that a resolve reads. */
static uint32_t source_of(const hdi_decl *decl, uint32_t use)
{
    uint32_t first = decl->pass_use_begin[decl->use_pass[use]], source = first;
    while (decl->use_exec[source].resolve != use - first + 1)
        source++;
    return source;
}

static uint32_t before_of(const hdi_decl *decl, uint32_t use)
{
    uint32_t begin = 0, end = decl->late_count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if (decl->late_use[middle] < use)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < decl->late_count && decl->late_use[begin] == use ? decl->late_end[begin] : HD_NONE;
}

enum { FIRST_SAMPLE = 1 }; /* VkResolveModeFlagBits */

void hdi_describe_use(const hdi_decl *decl, uint32_t use, hdi_use_desc *out)
{
    const uint32_t row = decl->use_access[use], res = decl->use_res[use];
    const hdi_access_info *access = &decl->access[row];
    *out = (hdi_use_desc){.resource = res, .resolve_of = HD_NONE, .before = before_of(decl, use)};
    out->use.access = access_of(row);
    out->use.clear = hdi_use_clear(decl, use);
    out->use.load = (hd_load)decl->use_exec[use].load;
    out->use.format = decl->use_exec[use].format;
    if (decl->use_range[use] != HDI_NONE)
        out->use.range = decl->range[decl->use_range[use]];
    if (out->use.access == HD_RESOLVE_WRITE) {
        out->resolve_of = decl->use_res[source_of(decl, use)];
        const uint32_t usual = hdi_format_aspects(decl->res_info[res].format) ? FIRST_SAMPLE : 0;
        const uint32_t mode = decl->use_exec[use].resolve_mode; /* of colors there is one alone */
        out->use.resolve_mode = usual && mode != usual ? mode : 0;
    }
    if (out->use.access == HD_ACCESS_CUSTOM)
        out->custom = (hd_custom_access){.stages = access->stages,
                                         .access = access->access,
                                         .layout = access->layout,
                                         .usage = access->image_usage,
                                         .reads = access->reads,
                                         .writes = access->writes};
}

/* ---- to a declaration ---- */

hd_resource hdi_declare_resource(hd_graph *graph, const hdi_resource_desc *desc, const hd_resource *declared)
{
    hd_history_desc history;
    switch (desc->kind) {
    case HDI_DESCRIBED_IMAGE:
        return hd_graph_image(graph, &desc->image);
    case HDI_DESCRIBED_BUFFER:
        return hd_graph_buffer(graph, &desc->buffer);
    case HDI_DESCRIBED_IMPORT:
        return hd_graph_import(graph, &desc->import);
    default:
        history = desc->history;
        history.of = declared[desc->of];
        return hd_graph_history_with(graph, &history);
    }
}

bool hdi_replay_make(hdi_replay *replay, const hd_allocator *allocator, uint32_t res_count, uint32_t pass_count,
                     uint32_t use_count)
{
    *replay = (hdi_replay){.res_count = res_count, .pass_count = pass_count, .use_count = use_count};
    const size_t sizes[] = {pass_count * sizeof(hd_pass_desc), use_count * sizeof(hdi_use_desc),
                            use_count * sizeof(hd_use),        res_count * sizeof(hd_resource),
                            res_count * sizeof(hd_resource),   res_count * sizeof(uint32_t),
                            pass_count * sizeof(uint32_t),     use_count * sizeof(uint32_t)};
    char *part[sizeof(sizes) / sizeof(sizes[0])];
    replay->bytes = sizeof(void *); /* of a frame without anything, too */
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        replay->bytes += sizes[i];
    replay->block = hdi_alloc(allocator, replay->bytes, sizeof(void *));
    if (!replay->block)
        return false;
    memset(replay->block, 0, replay->bytes);
    part[0] = replay->block;
    for (size_t i = 1; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        part[i] = part[i - 1] + sizes[i - 1];
    replay->pass = (hd_pass_desc *)part[0];
    replay->desc = (hdi_use_desc *)part[1];
    replay->use = (hd_use *)part[2];
    replay->handle = (hd_resource *)part[3];
    replay->next = (hd_resource *)part[4];
    replay->ended = (uint32_t *)part[5];
    replay->late_first = (uint32_t *)part[6];
    replay->late_next = (uint32_t *)part[7];
    return true;
}

void hdi_replay_free(hdi_replay *replay, const hd_allocator *allocator)
{
    hdi_free(allocator, replay->block, replay->bytes);
    *replay = (hdi_replay){0};
}

static bool use_writes(const hdi_use_desc *desc)
{
    switch (desc->use.access) {
    case HD_ACCESS_CUSTOM:
        return desc->custom.writes;
    case HD_RESOLVE_WRITE:
        return true;
    default:
        return (uint32_t)desc->use.access < HD_ACCESS_COUNT && hdi_access_table[desc->use.access].writes;
    }
}

/* A use of the pass's list that reads what the pass does not write. */
static uint32_t find_unwritten(hdi_replay *replay, uint32_t pass)
{
    const hd_pass_desc *p = &replay->pass[pass];
    const hdi_use_desc *desc = &replay->desc[p->uses - replay->use];
    uint32_t late = replay->late_first[pass];
    for (uint32_t u = 0; late != HD_NONE && u < p->use_count; u++) {
        if (use_writes(&desc[u]))
            replay->ended[desc[u].resource] = pass;
    }
    while (late != HD_NONE && replay->ended[replay->desc[late].resource] == pass)
        late = replay->late_next[late];
    return late;
}

/* Reads that go before passes, by these. Returns HD_NONE, or a use that cannot. */
static uint32_t list_late(hdi_replay *replay)
{
    for (uint32_t p = 0; p < replay->pass_count; p++)
        replay->late_first[p] = HD_NONE;
    for (uint32_t p = 0, u = 0; p < replay->pass_count; p++) {
        for (uint32_t end = u + replay->pass[p].use_count; u < end; u++) {
            const uint32_t before = replay->desc[u].before;
            if (before == HD_NONE)
                continue;
            if (before >= p || use_writes(&replay->desc[u]))
                return u;
            replay->late_next[u] = replay->late_first[before];
            replay->late_first[before] = u;
        }
    }
    return HD_NONE;
}

static void forget_ends(hdi_replay *replay)
{
    for (uint32_t r = 0; r < replay->res_count; r++)
        replay->ended[r] = HD_NONE;
}

uint32_t hdi_replay_prepare(hdi_replay *replay)
{
    uint32_t bad = list_late(replay);
    for (uint32_t p = 0, first = 0; p < replay->pass_count; p++) {
        replay->pass[p].uses = replay->use + first;
        first += replay->pass[p].use_count;
    }
    for (uint32_t u = 0; u < replay->use_count; u++) {
        replay->use[u] = replay->desc[u].use;
        if (replay->use[u].access == HD_ACCESS_CUSTOM)
            replay->use[u].custom = &replay->desc[u].custom;
    }
    forget_ends(replay);
    for (uint32_t p = 0; bad == HD_NONE && p < replay->pass_count; p++)
        bad = find_unwritten(replay, p);
    forget_ends(replay);
    return bad;
}

static bool declare_pass(hdi_replay *replay, hd_graph *graph, uint32_t pass)
{
    const hd_pass_desc *p = &replay->pass[pass];
    const uint32_t first = (uint32_t)(p->uses - replay->use), end = first + p->use_count;
    const bool ends = replay->late_first[pass] != HD_NONE;
    for (uint32_t use = replay->late_first[pass]; use != HD_NONE; use = replay->late_next[use]) {
        uint32_t res = replay->desc[use].resource;
        replay->use[use].resource = replay->handle[res];
        replay->ended[res] = pass;
    }
    for (uint32_t u = first; u < end; u++) {
        const hdi_use_desc *desc = &replay->desc[u];
        const uint32_t res = desc->resource;
        if (desc->before == HD_NONE)
            replay->use[u].resource = replay->handle[res];
        if (desc->resolve_of != HD_NONE)
            replay->use[u].resolve_of = replay->handle[desc->resolve_of];
        replay->use[u].next = ends && replay->ended[res] == pass && use_writes(desc) ? &replay->next[res] : NULL;
    }
    if (hd_graph_pass(graph, p).id == 0)
        return false;
    for (uint32_t u = first; ends && u < end; u++) {
        if (replay->use[u].next)
            replay->handle[replay->desc[u].resource] = *replay->use[u].next;
    }
    return true;
}

uint32_t hdi_replay_passes(hdi_replay *replay, hd_graph *graph)
{
    for (uint32_t p = 0; p < replay->pass_count; p++) {
        if (!declare_pass(replay, graph, p))
            return p;
    }
    return HD_NONE;
}
