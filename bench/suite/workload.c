#include "workload.h"

#include <stdlib.h>
#include <string.h>

#include "tables.h"
#include "workloads.h"

/* Frames are declared into a graph of heddle's and read back from its columns, so that every frame that heddle can hold,
 * made or from a file, is a workload for all adapters. */

const char *const hbs_families[] = {"deferred", "layered",  "chain",   "fanout", "async", "temporal",
                                    "diamonds", "readers", "mips",    "histories", NULL};

bool hbs_is_family(const char *name)
{
    for (uint32_t i = 0; hbs_families[i]; i++) {
        if (strcmp(hbs_families[i], name) == 0)
            return true;
    }
    return false;
}

/* ---- adversarial frames ---- */

enum { RGBA8 = 37, RGBA16F = 97, SIDE = 256, LEVELS = 9, LAYERS = 6 };

static hd_resource image(hd_graph *g, uint32_t mips, uint32_t layers)
{
    return hd_graph_image(
        g, &(hd_image_desc){.width = SIDE, .height = SIDE, .format = RGBA16F, .mips = mips, .layers = layers});
}

static hd_resource target(hd_graph *g)
{
    return hd_graph_import(g, &(hd_import_desc){.width = SIDE, .height = SIDE, .format = RGBA8, .mips = 1, .layers = 1,
                                                .initial_layout = HDI_LAYOUT_GENERAL, .serial = 1});
}

static void compute(hd_graph *g, const hd_use *uses, uint32_t count)
{
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = count});
}

/* n ways through n diamonds: a walk without memory takes 2^n steps. */
static void diamonds(hd_graph *g, uint32_t passes)
{
    hd_resource top = image(g, 1, 1), end = target(g);
    compute(g, (hd_use[]){{.resource = top, .access = HD_STORAGE_WRITE_COMPUTE}}, 1);
    for (uint32_t p = 2; p + 3 <= passes; p += 3) {
        hd_resource left = image(g, 1, 1), right = image(g, 1, 1), bottom = image(g, 1, 1);
        for (int side = 0; side < 2; side++)
            compute(g, (hd_use[]){{.resource = top, .access = HD_SAMPLED_COMPUTE},
                                  {.resource = side ? left : right, .access = HD_STORAGE_WRITE_COMPUTE}}, 2);
        compute(g, (hd_use[]){{.resource = left, .access = HD_SAMPLED_COMPUTE},
                              {.resource = right, .access = HD_SAMPLED_COMPUTE},
                              {.resource = bottom, .access = HD_STORAGE_WRITE_COMPUTE}}, 3);
        top = bottom;
    }
    compute(g, (hd_use[]){{.resource = top, .access = HD_SAMPLED_COMPUTE},
                          {.resource = end, .access = HD_STORAGE_WRITE_COMPUTE}}, 2);
}

/* One resource that all passes read, then one that overwrites it. */
static void readers(hd_graph *g, uint32_t passes)
{
    hd_resource read = image(g, 1, 1), end = target(g);
    compute(g, (hd_use[]){{.resource = read, .access = HD_STORAGE_WRITE_COMPUTE}}, 1);
    for (uint32_t p = 3; p <= passes; p++) {
        hd_resource own = hd_graph_buffer(g, &(hd_buffer_desc){.bytes = 4096});
        hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true,
                                         .uses = HD_USES({read, HD_SAMPLED_COMPUTE}, {own, HD_STORAGE_WRITE_COMPUTE})});
    }
    compute(g, (hd_use[]){{.resource = read, .access = HD_STORAGE_RW_COMPUTE},
                          {.resource = end, .access = HD_STORAGE_WRITE_COMPUTE}}, 2);
}

/* Chains of single mips of single layers. */
static void mips(hd_graph *g, uint32_t passes)
{
    hd_resource end = target(g);
    for (uint32_t p = 0; p < passes;) {
        hd_resource chain = image(g, LEVELS, LAYERS);
        for (uint32_t layer = 0; layer < LAYERS && p < passes; layer++) {
            for (uint16_t mip = 0; mip < LEVELS && p < passes; mip++, p++) {
                hd_use uses[2] = {{.resource = chain, .access = HD_STORAGE_WRITE_COMPUTE,
                                   .range = {.mip_base = mip, .mip_count = 1, .layer_base = layer, .layer_count = 1}}};
                uses[1] = uses[0];
                uses[1].access = HD_SAMPLED_COMPUTE;
                uses[1].range.mip_base = (uint16_t)(mip - 1);
                compute(g, uses, mip ? 2 : 1);
            }
            hd_use show[2] = {{.resource = chain, .access = HD_SAMPLED_COMPUTE,
                               .range = {.mip_base = 0, .mip_count = 1, .layer_base = layer, .layer_count = 1}},
                              {.resource = end, .access = HD_STORAGE_RW_COMPUTE}};
            compute(g, show, 2);
            p++;
        }
    }
}

/* Every pass goes on with what it left in the frame before. */
static void histories(hd_graph *g, uint32_t passes)
{
    for (uint32_t p = 0; p < passes; p++) {
        hd_resource now = image(g, 1, 1), before = hd_graph_history(g, now);
        compute(g, (hd_use[]){{.resource = before, .access = HD_SAMPLED_COMPUTE},
                              {.resource = now, .access = HD_STORAGE_WRITE_COMPUTE}}, 2);
    }
}

/* ---- declaring ---- */

static bool read_file(const hbs_source *source, hd_graph *graph)
{
    char error[512] = "cannot be read";
    FILE *file = fopen(source->file, "rb");
    char *text = NULL;
    size_t bytes = 0, room = 0;
    bool good = file != NULL;
    while (good && !feof(file) && !ferror(file)) {
        room = room ? room * 2 : 1 << 16;
        char *grown = realloc(text, room);
        good = grown != NULL;
        text = good ? grown : text;
        bytes += good ? fread(text + bytes, 1, room - bytes, file) : 0;
    }
    good = good && !ferror(file) &&
           hd_graph_read_fgt(graph, text, bytes, source->file, error, sizeof(error)) == HD_OK;
    if (!good)
        fprintf(stderr, "heddle-bench: %s: %s\n", source->file, error);
    if (file)
        fclose(file);
    free(text);
    return good;
}

bool hbs_declare(const hbs_source *source, uint32_t variant, hd_graph *graph)
{
    static const struct {
        const char *name;
        void (*declare)(hd_graph *graph, uint32_t passes);
    } own[] = {{"diamonds", diamonds}, {"readers", readers}, {"mips", mips}, {"histories", histories}};
    if (source->file[0])
        return read_file(source, graph);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcmp(source->family, own[i].name) == 0) {
            hd_graph_begin(graph);
            own[i].declare(graph, source->passes);
            return hd_graph_error(graph)->result == HD_OK;
        }
    }
    hdb_workload *w = hdb_workload_make(hdb_family_index(source->family), source->passes, source->seed + variant,
                                        source->cost);
    if (w)
        hdb_workload_declare(w, graph);
    hdb_workload_free(w);
    return w && hd_graph_error(graph)->result == HD_OK;
}

/* ---- flat ---- */

/* One block: the struct, then its arrays. */
typedef struct flat {
    hb_workload w;
    char name[64], family[32];
    hb_access access[HD_ACCESS_COUNT];
    uint8_t queue_kind[3];
    uint32_t queue_family[3];
} flat;

#define ARRAYS(X, w)                                                                                                   \
    X(pass_type, (w)->pass_count) X(pass_root, (w)->pass_count) X(pass_pin, (w)->pass_count)                           \
    X(pass_cost_us, (w)->pass_count) X(pass_use_begin, (w)->pass_count + 1) X(resource_kind, (w)->resource_count)      \
    X(resource_external, (w)->resource_count) X(resource_of, (w)->resource_count)                                      \
    X(resource_format, (w)->resource_count) X(resource_width, (w)->resource_count)                                     \
    X(resource_height, (w)->resource_count) X(resource_mips, (w)->resource_count)                                      \
    X(resource_layers, (w)->resource_count) X(resource_bytes, (w)->resource_count)                                     \
    X(resource_size, (w)->resource_count) X(resource_alignment, (w)->resource_count) X(use_resource, (w)->use_count)   \
    X(use_access, (w)->use_count) X(use_range, (w)->use_count) X(range, (w)->range_count)

void hbs_free(hb_workload *w)
{
    if (!w)
        return;
#define FREE(name, count) free((void *)(uintptr_t)w->name);
    ARRAYS(FREE, w)
#undef FREE
    free(w);
}

static bool make_arrays(hb_workload *w)
{
    bool good = true;
#define MAKE(name, count) good &= (w->name = calloc((size_t)(count) + 1, sizeof(*w->name))) != NULL;
    ARRAYS(MAKE, w)
#undef MAKE
    return good;
}
#define FILL(type, name, i) ((type *)(uintptr_t)w->name)[i]

static void fill_resource(const hdi_decl *decl, uint32_t r, hb_workload *w)
{
    const hdi_res_info *info = &decl->res_info[r];
    bool buffer = decl->res_flags[r] & HDI_RES_BUFFER, history = decl->res_flags[r] & HDI_RES_HISTORY;
    hd_resource_info about;
    hd_memory_need need;
    hdi_resource_info(decl, r, &about);
    hdi_default_need(&about, &need);
    FILL(uint8_t, resource_kind, r) = history ? HB_RESOURCE_HISTORY : buffer ? HB_RESOURCE_BUFFER : HB_RESOURCE_IMAGE;
    FILL(uint8_t, resource_external, r) = (decl->res_flags[r] & HDI_RES_EXTERNAL) != 0;
    FILL(uint32_t, resource_of, r) = history ? decl->res_pair[r] : HB_NONE;
    FILL(uint32_t, resource_format, r) = buffer ? 0 : info->format;
    FILL(uint32_t, resource_width, r) = info->width;
    FILL(uint32_t, resource_height, r) = info->height;
    FILL(uint32_t, resource_mips, r) = buffer ? 1 : info->mips;
    FILL(uint32_t, resource_layers, r) = buffer ? 1 : info->layers;
    FILL(uint64_t, resource_bytes, r) = need.bytes;
    FILL(uint64_t, resource_size, r) = buffer ? info->bytes : 0;
    FILL(uint64_t, resource_alignment, r) = need.alignment;
    w->needs |= history ? HB_CAN_HISTORIES : 0;
}

static bool fill_use(const hdi_decl *decl, uint32_t u, hb_workload *w)
{
    uint32_t access = hdi_access_of(decl->use_access[u]), range = decl->use_range[u];
    FILL(uint32_t, use_resource, u) = decl->use_res[u];
    FILL(uint16_t, use_access, u) = (uint16_t)access;
    FILL(uint32_t, use_range, u) = range == HDI_NONE ? HB_NONE : range;
    if (range != HDI_NONE) {
        const hd_range *from = &decl->range[range];
        bool buffer = decl->res_flags[decl->use_res[u]] & HDI_RES_BUFFER;
        FILL(hb_range, range, range) = buffer ? (hb_range){.offset = from->offset, .bytes = from->bytes}
                                              : (hb_range){from->mip_base, from->mip_count, from->layer_base,
                                                           from->layer_count, 0, 0};
        w->needs |= buffer ? HB_CAN_BUFFER_RANGES : HB_CAN_IMAGE_RANGES;
    }
    return access < HD_ACCESS_COUNT;
}

static void fill_fixed(flat *f, const hbs_source *source)
{
    static const uint8_t kinds[3] = {HB_QUEUE_GFX, HB_QUEUE_COMPUTE, HB_QUEUE_TRANSFER};
    static const uint32_t families[3] = {0, 2, 1};
    for (uint32_t a = 0; a < HD_ACCESS_COUNT; a++) {
        const hdi_access_info *info = &hdi_access_table[a];
        f->access[a] = (hb_access){info->name,   info->stages, info->access,    info->layout,
                                   info->reads, info->writes, info->attachment};
    }
    memcpy(f->queue_kind, kinds, sizeof(kinds));
    memcpy(f->queue_family, families, sizeof(families));
    snprintf(f->name, sizeof(f->name), "%s-%u", source->family, source->passes);
    snprintf(f->family, sizeof(f->family), "%s", source->family);
    f->w.name = f->name;
    f->w.family = f->family;
    f->w.access = f->access;
    f->w.queue_kind = f->queue_kind;
    f->w.queue_family = f->queue_family;
}

/* Images of one sample and slice, used in all aspects at once, and no tokens: others have no word. */
static bool is_plain(const hdi_decl *decl)
{
    bool plain = true;
    for (uint32_t r = 0; r < decl->res_count; r++)
        plain = plain && ((decl->res_flags[r] & HDI_RES_BUFFER)
                              ? !hdi_is_token(decl, r)
                              : decl->res_info[r].samples == 1 && decl->res_info[r].depth == 1);
    for (uint32_t i = 0; i < decl->range_count; i++)
        plain = plain && ((decl->res_flags[decl->range_res[i]] & HDI_RES_BUFFER) || decl->range[i].aspect == 0);
    return plain;
}

hb_workload *hbs_flatten(const hd_graph *graph, const hbs_source *source)
{
    hdi_decl decl = hdi_graph_decl(graph);
    flat *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    hb_workload *w = &f->w;
    *w = (hb_workload){.pass_count = decl.pass_count, .resource_count = decl.res_count, .use_count = decl.use_count,
                       .range_count = decl.range_count, .access_count = HD_ACCESS_COUNT, .queue_count = source->queues};
    bool good = make_arrays(w) && decl.late_count == 0 && is_plain(&decl);
    for (uint32_t p = 0; good && p < decl.pass_count; p++) {
        FILL(uint8_t, pass_type, p) = decl.pass_type[p];
        FILL(uint8_t, pass_root, p) = (decl.pass_flags[p] & HDI_PASS_ROOT) != 0;
        FILL(uint8_t, pass_pin, p) = decl.pass_pin[p];
        FILL(float, pass_cost_us, p) = decl.pass_cost[p];
        FILL(uint32_t, pass_use_begin, p) = decl.pass_use_begin[p];
        w->needs |= decl.pass_type[p] == HD_PASS_HOST ? HB_CAN_HOST_PASSES : 0;
        w->needs |= decl.pass_pin[p] ? HB_CAN_PINS : 0;
    }
    if (good)
        FILL(uint32_t, pass_use_begin, decl.pass_count) = decl.use_count;
    for (uint32_t r = 0; good && r < decl.res_count; r++)
        fill_resource(&decl, r, w);
    for (uint32_t u = 0; good && u < decl.use_count; u++)
        good = fill_use(&decl, u, w);
    w->needs |= source->queues > 1 ? HB_CAN_SEVERAL_QUEUES : 0;
    if (!good) {
        fprintf(stderr, "heddle-bench: %s: no memory, or something that adapters have no word for\n", source->family);
        hbs_free(w);
        return NULL;
    }
    fill_fixed(f, source);
    return w;
}

hb_workload *hbs_changed(const hb_workload *from, uint32_t round)
{
    flat *f = malloc(sizeof(*f));
    if (!f)
        return NULL;
    memcpy(f, from, sizeof(*f)); /* the struct comes first */
    hb_workload *w = &f->w;
    w->name = f->name;
    w->family = f->family;
    w->access = f->access;
    w->queue_kind = f->queue_kind;
    w->queue_family = f->queue_family;
    if (!make_arrays(w)) {
        hbs_free(w);
        return NULL;
    }
#define COPY(name, count) memcpy((void *)(uintptr_t)w->name, from->name, (size_t)(count) * sizeof(*w->name));
    ARRAYS(COPY, w)
#undef COPY
    enum { EACH = 100, UNIT = 256 };
    for (uint32_t p = round % EACH; p < w->pass_count; p += EACH)
        FILL(float, pass_cost_us, p) += 1.0f + (float)(round % 7);
    for (uint32_t r = round % EACH; r < w->resource_count; r += EACH) {
        if (w->resource_kind[r] == HB_RESOURCE_BUFFER && !w->resource_external[r]) {
            FILL(uint64_t, resource_size, r) += UNIT;
            FILL(uint64_t, resource_bytes, r) += UNIT;
        }
    }
    for (uint32_t r = 0; r < w->resource_count; r++) { /* a history is as large as its resource */
        if (w->resource_kind[r] == HB_RESOURCE_HISTORY) {
            FILL(uint64_t, resource_size, r) = w->resource_size[w->resource_of[r]];
            FILL(uint64_t, resource_bytes, r) = w->resource_bytes[w->resource_of[r]];
        }
    }
    return w;
}

uint64_t hbs_floor(const hb_workload *w, uint64_t *out)
{
    uint64_t sum = 0;
    for (uint32_t p = 0; p < w->pass_count; p++)
        sum += w->pass_type[p] + w->pass_root[p] + w->pass_pin[p] + w->pass_use_begin[p];
    for (uint32_t r = 0; r < w->resource_count; r++)
        sum += w->resource_kind[r] + w->resource_width[r] + w->resource_height[r] + w->resource_format[r] +
               w->resource_bytes[r];
    for (uint32_t u = 0; u < w->use_count; u++, out += 3) {
        out[0] = w->use_resource[u];
        out[1] = w->use_access[u];
        out[2] = sum + w->use_range[u];
    }
    return sum;
}
