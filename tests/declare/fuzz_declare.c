#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "random_graph.h"
#include "tables.h"

/* The input as a sequence of calls: resources of every kind, histories, passes with ranges, versions, resolves and
 * custom accesses, handles of other frames and of nothing, and compiles on queue sets and options that the input picks.
 * A few bytes steer towards declarations that make sense (a read of what was written, an access that fits); every
 * choice can also go wild, so that each error is a step away. Whatever compiles is verified. */

enum { MAX_HANDLES = 64, MAX_USES = 8, MAX_CALLS = 120 };

typedef struct handle {
    hd_resource resource;
    uint32_t root; /* the handle of its first version */
    bool ended;    /* a write has made a next version of it */
} handle;

/* What is known of a resource, at the place of its first handle. */
typedef struct known {
    bool is_buffer, read_only, written;
    uint32_t format, samples, mips, layers;
    uint64_t bytes;
} known;

typedef struct input {
    const uint8_t *data;
    size_t left;
    hd_graph *graph;
    handle handles[MAX_HANDLES];
    known known[MAX_HANDLES];
    uint32_t handle_count, first; /* first: of this frame */
} input;

static uint32_t byte(input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->data++;
}

static uint32_t below(input *in, uint32_t limit)
{
    return byte(in) % limit;
}

static uint32_t word(input *in)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 8 | byte(in);
    return value;
}

/* One choice in forty goes wild. */
static bool wild(input *in)
{
    return below(in, 40) == 39;
}

/* ---- resources ---- */

static void add_handle(input *in, hd_resource resource, uint32_t root, const known *k)
{
    if (in->handle_count == MAX_HANDLES)
        return;
    uint32_t at = in->handle_count++;
    in->handles[at] = (handle){resource, root == HD_NONE ? at : root, false};
    if (k)
        in->known[at] = *k;
}

static void add_image(input *in, bool external)
{
    static const uint32_t formats[] = {37, 37, 41, 97, 126, 130};
    static const uint32_t layouts[] = {1, 1, 1, 0, 5, 7, 1000001002};
    known k = {.format = formats[below(in, 6)], .samples = below(in, 4) == 3 ? 4 : 1, .mips = 1 + below(in, 4)};
    uint32_t side = 16u << below(in, 3), depth = below(in, 16) == 15 ? 8 : 0;
    k.layers = below(in, 3) == 2 ? 1 + below(in, 5) : 1;
    uint32_t width = wild(in) ? word(in) : side;
    hd_sharing sharing = (hd_sharing)below(in, 3);
    hd_resource resource;
    if (external) {
        hd_import_desc desc = {.width = width,
                               .height = side,
                               .depth = depth,
                               .format = k.format,
                               .mips = k.mips,
                               .layers = k.layers,
                               .samples = k.samples,
                               .sharing = sharing};
        desc.initial_layout = layouts[below(in, 7)];
        desc.final_layout = below(in, 2) ? layouts[below(in, 7)] : 0;
        k.written = desc.initial_layout != 0;
        resource = hd_graph_import(in->graph, &desc);
    } else {
        resource = hd_graph_image(in->graph, &(hd_image_desc){.name = "image",
                                                              .width = width,
                                                              .height = side,
                                                              .depth = depth,
                                                              .format = k.format,
                                                              .mips = k.mips,
                                                              .layers = k.layers,
                                                              .samples = k.samples,
                                                              .sharing = sharing});
    }
    add_handle(in, resource, HD_NONE, &k);
}

static void add_buffer(input *in, bool external)
{
    known k = {.is_buffer = true, .written = external, .bytes = 1 + below(in, 255) * 64};
    if (wild(in))
        k.bytes = (uint64_t)word(in) << below(in, 34);
    hd_sharing sharing = (hd_sharing)below(in, 3);
    add_handle(in,
               external ? hd_graph_import(in->graph, &(hd_import_desc){.bytes = k.bytes, .sharing = sharing})
                        : hd_graph_buffer(in->graph, &(hd_buffer_desc){"buffer", k.bytes, .sharing = sharing}),
               HD_NONE, &k);
}

/* Of this frame, rarely of one before or of nothing. */
static uint32_t pick_handle(input *in)
{
    uint32_t count = in->handle_count - in->first;
    if (in->handle_count == 0)
        return HD_NONE;
    if (count == 0 || below(in, 64) == 63)
        return below(in, in->handle_count);
    return in->first + below(in, count);
}

static void add_history(input *in)
{
    uint32_t of = pick_handle(in);
    if (of == HD_NONE)
        return;
    uint32_t root = in->handles[of].root;
    known k = in->known[root];
    for (uint32_t h = in->first; h < in->handle_count && !wild(in); h++) {
        if (in->known[h].read_only)
            return; /* one a frame is enough, and a second of the same is an error */
    }
    if (k.written && !wild(in)) /* an external perhaps */
        return;
    hd_resource history = hd_graph_history(in->graph, in->handles[of].resource);
    k.read_only = k.written = true;
    add_handle(in, history, HD_NONE, &k);
}

/* ---- passes ---- */

static hd_range pick_range(input *in, const known *k, bool *whole)
{
    hd_range range = {0};
    uint32_t kind = below(in, 3);
    *whole = kind != 2;
    if (kind != 2)
        return range;
    if (k->is_buffer) {
        range.offset = k->bytes * below(in, 4) / 4;
        range.bytes = below(in, 3) ? k->bytes * (1 + below(in, 3)) / 4 : 0;
    } else {
        range.mip_base = (uint16_t)below(in, k->mips);
        range.mip_count = (uint16_t)below(in, k->mips - range.mip_base + 1);
        range.layer_base = below(in, k->layers);
        range.layer_count = below(in, k->layers - range.layer_base + 1);
        range.aspect = below(in, 4) == 3 ? below(in, 8) : 0;
    }
    if (wild(in)) {
        range.offset = (uint64_t)word(in) << 32 | word(in);
        range.bytes = (uint64_t)word(in) << 32 | word(in);
    }
    return range;
}

static bool fits(const known *k, uint32_t access, uint32_t type)
{
    const hdi_access_info *row = &hdi_access_table[access];
    bool depth = k->format >= 124 && k->format <= 130;
    if (!(k->is_buffer ? row->on_buffer : row->on_image) || !(row->pass_types >> type & 1))
        return false;
    if ((row->attachment == HDI_ATTACHMENT_DEPTH && !depth) || (row->attachment == HDI_ATTACHMENT_COLOR && depth))
        return false;
    return row->writes ? !k->read_only && (k->written || !row->reads) : k->written;
}

static bool pick_access(input *in, const known *k, uint32_t type, hd_use *use, hd_custom_access *custom)
{
    static const uint64_t stages[] = {0x800, 0x80, 0x10000, 0x100000000, 0x400, 0x40};
    static const uint64_t reads[] = {0x20, 0x8000, 0x100000000}, writes[] = {0x40, 0x10000, 0x400000000};
    if (below(in, 12) == 11 && type != HD_PASS_HOST) {
        uint32_t kind = 1 + below(in, 3);
        if (k->read_only || !k->written)
            kind = k->read_only ? 1 : 2;
        *custom =
            (hd_custom_access){.stages = stages[below(in, 6)], .layout = 1, .reads = kind & 1, .writes = kind >> 1};
        custom->access = (custom->reads ? reads[below(in, 3)] : 0) | (custom->writes ? writes[below(in, 3)] : 0);
        custom->layout = wild(in) ? byte(in) : 1;
        use->access = HD_ACCESS_CUSTOM;
        use->custom = wild(in) ? NULL : custom;
        return true;
    }
    uint32_t start = byte(in);
    for (uint32_t i = 0; i < HD_ACCESS_COUNT - 1; i++) {
        uint32_t access = 1 + (start + i) % (HD_ACCESS_COUNT - 1);
        if (!fits(k, access, type) && !(i == 0 && start > 250))
            continue;
        use->access = (hd_access)access;
        return true;
    }
    return false;
}

/* What a pass did to the handles and resources that it used, once it stands. */
typedef struct step {
    uint32_t at;
    bool whole, writes, versioned;
    hd_resource next;
} step;

static bool add_use(input *in, uint32_t type, hd_use *use, step *s, hd_custom_access *custom)
{
    uint32_t at = pick_handle(in), root;
    if (at == HD_NONE)
        return false;
    root = in->handles[at].root;
    *use = (hd_use){.resource = in->handles[at].resource, .load = (hd_load)below(in, 2)};
    *s = (step){.at = at};
    if (!pick_access(in, &in->known[root], type, use, custom))
        return false;
    s->writes = use->access == HD_ACCESS_CUSTOM ? custom->writes : hdi_access_table[use->access].writes;
    /* What an ended version holds can be read only: a write takes the newest. */
    for (uint32_t h = in->handle_count; s->writes && in->handles[s->at].ended && h-- > in->first && !wild(in);) {
        if (in->handles[h].root == root && !in->handles[h].ended)
            s->at = h;
    }
    use->resource = in->handles[s->at].resource;
    use->range = pick_range(in, &in->known[root], &s->whole);
    s->versioned = below(in, 4) == 3;
    use->next = s->versioned ? &s->next : NULL;
    if (wild(in))
        use->resource.id = word(in);
    return true;
}

/* A resolve of an attachment with several samples, where an image fits it. */
static bool add_resolve(input *in, const hd_use *of, const step *source, hd_use *use, step *s)
{
    const known *from = &in->known[in->handles[source->at].root];
    if (from->samples == 1 && !wild(in))
        return false;
    for (uint32_t h = in->first; h < in->handle_count; h++) {
        const known *to = &in->known[in->handles[h].root];
        if (to->is_buffer || to->read_only || to->samples != 1 || to->format != from->format || in->handles[h].ended)
            continue;
        *use = (hd_use){.resource = in->handles[h].resource, .access = HD_RESOLVE_WRITE, .resolve_of = of->resource};
        use->range = (hd_range){.mip_base = of->range.mip_base, .mip_count = 1, .layer_count = 1};
        use->resolve_mode = wild(in) ? byte(in) : 0;
        *s = (step){.at = h, .writes = true};
        return true;
    }
    return false;
}

static void add_pass(input *in)
{
    static const uint8_t types[] = {0, 0, 0, 1, 1, 2, 3};
    hd_use uses[MAX_USES];
    hd_custom_access custom[MAX_USES];
    step steps[MAX_USES];
    uint32_t count = 0, want = below(in, MAX_USES), type = types[below(in, 7)];
    while (count < want) {
        if (!add_use(in, type, &uses[count], &steps[count], &custom[count]))
            break;
        bool twice = false;
        for (uint32_t u = 0; u < count; u++)
            twice |= in->handles[steps[u].at].root == in->handles[steps[count].at].root;
        if (twice && below(in, 8) != 7) {
            want--;
            continue;
        }
        count++;
        uint32_t kind =
            uses[count - 1].access < HD_ACCESS_COUNT ? hdi_access_table[uses[count - 1].access].attachment : 0;
        if (kind && count < want && add_resolve(in, &uses[count - 1], &steps[count - 1], &uses[count], &steps[count]))
            count++;
    }
    uint32_t bits = byte(in);
    hd_pass_desc desc = {
        .name = bits & 1 ? "pass" : NULL,
        .type = (hd_pass_type)(wild(in) ? byte(in) : type),
        .pin = hdt_pin_for(type, bits >> 1 & 7),
        .root = bits >> 4 & 1,
        .no_rendering = (bits >> 5 & 3) == 3,
        .cost_us = (float)below(in, 64),
        .uses = uses,
        .use_count = count,
    };
    hd_pass pass = hd_graph_pass(in->graph, &desc);
    HDT_FUZZ_CHECK((pass.id != 0) == (hd_graph_error(in->graph)->result == HD_OK),
                   "a handle and an error that disagree");
    for (uint32_t u = 0; u < count && pass.id; u++) {
        step *s = &steps[u];
        known *k = &in->known[in->handles[s->at].root];
        k->written |= s->writes && s->whole;
        if (!s->versioned)
            continue;
        HDT_FUZZ_CHECK(s->next.id && hd_graph_resource_index(in->graph, s->next) ==
                                         hd_graph_resource_index(in->graph, uses[u].resource),
                       "a version of another resource");
        if (s->writes) {
            in->handles[s->at].ended = true;
            add_handle(in, s->next, in->handles[s->at].root, NULL);
        }
    }
}

static void begin(input *in)
{
    hd_graph_begin(in->graph);
    if (in->handle_count > MAX_HANDLES / 2)
        in->handle_count = 0;
    in->first = in->handle_count;
}

void hdt_fuzz_declare(const uint8_t *data, size_t bytes)
{
    input in = {.data = data, .left = bytes};
    if (hd_graph_create(&(hd_graph_desc){.plans = 2}, &in.graph) != HD_OK)
        hdt_fuzz_fault("no graph");
    for (uint32_t call = 0; call < MAX_CALLS && in.left; call++) {
        uint32_t kind = below(&in, 32);
        if (kind < 4)
            add_image(&in, kind == 0);
        else if (kind < 8)
            add_buffer(&in, kind == 4);
        else if (kind == 8)
            add_history(&in);
        else if (kind == 9) {
            hdt_fuzz_compile(in.graph, word(&in));
            if (below(&in, 2)) /* or more is declared into the same frame */
                begin(&in);
        } else
            add_pass(&in);
    }
    hdt_fuzz_compile(in.graph, hdt_fuzz_hash(data, bytes));
    hd_graph_destroy(in.graph);
}

HDT_FUZZ_ENTRY(hdt_fuzz_declare)
