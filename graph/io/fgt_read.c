#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "fgt_settings.h"
#include "fgt_text.h"

/* Reads .fgt text. Resources are declared as their lines come; passes and uses are collected, since the uses of a pass
 * may stand anywhere behind it, and declared at the end, pass by pass. Lines of passes and uses stay with the graph, so
 * that what compile finds can be traced back; so do the names. Any error ends the reading and leaves the graph empty.
 * O(bytes). */

typedef struct pass_line {
    hd_pass_desc desc;
    uint32_t line;
} pass_line;

typedef struct use_line {
    hdi_use_desc use;
    uint32_t pass, line;
} use_line;

typedef struct reader {
    hdi_fgt_text t;
    hd_graph *graph;
    const hd_allocator *allocator;
    bool named;
    hd_resource *resources;
    uint8_t *is_buffer;
    uint32_t resource_count, resource_capacity, kind_capacity;
    pass_line *passes;
    uint32_t pass_count, pass_capacity;
    use_line *uses;
    uint32_t use_count, use_capacity;
    hdi_fgt_settings settings;
} reader;

/* The graph's own error, on the line that is being read. */
static bool fail_declared(reader *r)
{
    const hd_error *error = hd_graph_error(r->graph);
    return hdi_fgt_fail(&r->t, error->result, "%s", error->text);
}

/* ---- resources ---- */

static bool add_resource(reader *r, hd_resource resource, bool is_buffer)
{
    if (resource.id == 0)
        return fail_declared(r);
    uint32_t n = r->resource_count;
    if (hdi_grow(r->allocator, (void **)&r->resources, &r->resource_capacity, n + 1, sizeof(*r->resources)) != HD_OK ||
        hdi_grow(r->allocator, (void **)&r->is_buffer, &r->kind_capacity, n + 1, sizeof(*r->is_buffer)) != HD_OK)
        return hdi_fgt_no_memory(&r->t);
    r->resources[n] = resource;
    r->is_buffer[n] = is_buffer;
    r->resource_count = n + 1;
    return true;
}

static bool read_new_id(reader *r, uint32_t expected, const char *what)
{
    uint32_t id;
    if (!hdi_fgt_u32(&r->t, 1, "id", &id))
        return false;
    return id == expected ||
           hdi_fgt_fail(&r->t, HD_PARSE, "%s id %u is out of order: the next one is %u", what, id, expected);
}

/* A word of the format, Vulkan's name, or its number. */
static bool read_format(reader *r, const hdi_fgt_field *f, uint32_t *out)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < HDI_FGT_FORMAT_COUNT; i++) {
        if (hdi_fgt_is(f, hdi_fgt_formats[i].word))
            number = hdi_fgt_formats[i].format;
    }
    if (number == 0 && !hdi_words_read(HDI_WORDS_FORMAT, f->text, f->length, &number))
        return hdi_fgt_fail(&r->t, HD_PARSE, "unknown word '%.*s': not a format", HDI_FGT_SHOW(f));
    *out = (uint32_t)number;
    return number <= UINT32_MAX || hdi_fgt_fail(&r->t, HD_PARSE, "format '%.*s' is no VkFormat", HDI_FGT_SHOW(f));
}

static bool read_image(reader *r)
{
    hdi_fgt_text *t = &r->t;
    const bool external = hdi_fgt_has_word(t, 7, "external");
    hdi_fgt_resource words;
    uint32_t width, height, mips, layers, format = 0;
    if (!hdi_fgt_expect(t, 7, "image ID WIDTH HEIGHT FORMAT MIPS LAYERS") ||
        !read_new_id(r, r->resource_count, "resource") || !hdi_fgt_u32(t, 2, "width", &width) ||
        !hdi_fgt_u32(t, 3, "height", &height) || !hdi_fgt_u32(t, 5, "mips", &mips) ||
        !hdi_fgt_u32(t, 6, "layers", &layers) ||
        !hdi_fgt_read_words(t, 7, external ? &hdi_fgt_of_external_image : &hdi_fgt_of_image, &words) ||
        !read_format(r, &t->fields[4], &format))
        return false;
    if (mips == 0 || layers == 0)
        return hdi_fgt_fail(t, HD_BAD_DESC, "mips and layers of resource %u must be at least 1", r->resource_count);
    hd_resource resource;
    if (external)
        resource = hd_graph_import(r->graph, &(hd_import_desc){.name = words.name,
                                                               .width = width,
                                                               .height = height,
                                                               .depth = words.depth,
                                                               .format = format,
                                                               .mips = mips,
                                                               .layers = layers,
                                                               .samples = words.samples,
                                                               .flags = words.flags,
                                                               .initial_layout = words.initial,
                                                               .final_layout = words.final,
                                                               .sharing = (hd_sharing)words.sharing,
                                                               .serial = words.serial});
    else
        resource = hd_graph_image(r->graph, &(hd_image_desc){.name = words.name,
                                                             .width = width,
                                                             .height = height,
                                                             .depth = words.depth,
                                                             .format = format,
                                                             .mips = mips,
                                                             .layers = layers,
                                                             .samples = words.samples,
                                                             .flags = words.flags,
                                                             .usage = words.usage,
                                                             .sharing = (hd_sharing)words.sharing});
    return add_resource(r, resource, false);
}

static bool read_buffer(reader *r)
{
    hdi_fgt_text *t = &r->t;
    const bool external = hdi_fgt_has_word(t, 3, "external");
    hdi_fgt_resource words;
    uint64_t bytes = 0;
    if (!hdi_fgt_expect(t, 3, "buffer ID BYTES") || !read_new_id(r, r->resource_count, "resource") ||
        !hdi_fgt_number(t, &t->fields[2], UINT64_MAX, "bytes", &bytes) ||
        !hdi_fgt_read_words(t, 3, external ? &hdi_fgt_of_external_buffer : &hdi_fgt_of_buffer, &words))
        return false;
    if (bytes == 0 && external)
        return hdi_fgt_fail(t, HD_BAD_DESC, "bytes of resource %u must be at least 1", r->resource_count);
    const hd_sharing sharing = (hd_sharing)words.sharing;
    if (external)
        return add_resource(
            r,
            hd_graph_import(
                r->graph,
                &(hd_import_desc){.name = words.name, .bytes = bytes, .sharing = sharing, .serial = words.serial}),
            true);
    return add_resource(
        r,
        hd_graph_buffer(
            r->graph,
            &(hd_buffer_desc){
                .name = words.name, .bytes = bytes, .usage = words.usage, .sharing = sharing, .token = bytes == 0}),
        true);
}

static bool read_history(reader *r)
{
    uint32_t of;
    hdi_fgt_resource words;
    if (!hdi_fgt_expect(&r->t, 3, "history ID OF") || !read_new_id(r, r->resource_count, "resource") ||
        !hdi_fgt_u32(&r->t, 2, "id", &of) || !hdi_fgt_read_words(&r->t, 3, &hdi_fgt_of_history, &words))
        return false;
    if (of >= r->resource_count)
        return hdi_fgt_fail(&r->t, HD_PARSE, "resource %u is not declared", of);
    const hd_history_desc desc = {.of = r->resources[of], .skipped = (hd_skipped)words.skipped, .key = words.key};
    return add_resource(r, hd_graph_history_with(r->graph, &desc), r->is_buffer[of]);
}

/* ---- passes and uses ---- */

static bool read_kind(reader *r, const hdi_fgt_field *f, uint32_t count, const char *what, uint32_t *out)
{
    uint32_t kind = 0;
    while (kind < count && !hdi_fgt_is(f, hdi_fgt_kinds[kind]))
        kind++;
    *out = kind;
    return kind < count || hdi_fgt_fail(&r->t, HD_PARSE, "unknown word '%.*s': %s is gfx, compute%s transfer%s",
                                        HDI_FGT_SHOW(f), what, count == 4 ? "," : " or", count == 4 ? " or host" : "");
}

static bool read_pass(reader *r)
{
    hdi_fgt_text *t = &r->t;
    hdi_fgt_pass words;
    uint32_t type;
    if (!hdi_fgt_expect(t, 3, "pass ID TYPE") || !read_new_id(r, r->pass_count, "pass") ||
        !read_kind(r, &t->fields[2], 4, "a pass", &type) || !hdi_fgt_read_words(t, 3, &hdi_fgt_of_pass, &words))
        return false;
    if (!(words.cost >= 0) || words.cost > 3e38f)
        return hdi_fgt_fail(t, HD_PARSE, "the cost of a pass is no number of microseconds");
    if (hdi_grow(r->allocator, (void **)&r->passes, &r->pass_capacity, r->pass_count + 1, sizeof(*r->passes)) != HD_OK)
        return hdi_fgt_no_memory(t);
    r->passes[r->pass_count++] =
        (pass_line){.line = t->line,
                    .desc = {.name = words.name,
                             .type = (hd_pass_type)type,
                             .pin = (hd_pin)words.pin,
                             .root = words.root,
                             .no_rendering = words.rendering != 0,
                             .cost_us = words.cost > 0 ? words.cost : 1e-9f, /* zero would mean the default */
                             .splits = words.splits}};
    return true;
}

static bool read_image_range(reader *r, hd_range *range)
{
    uint32_t mip_base, mip_count;
    if (!hdi_fgt_u32(&r->t, 4, "mip base", &mip_base) || !hdi_fgt_u32(&r->t, 5, "mip count", &mip_count) ||
        !hdi_fgt_u32(&r->t, 6, "layer base", &range->layer_base) ||
        !hdi_fgt_u32(&r->t, 7, "layer count", &range->layer_count))
        return false;
    range->mip_base = (uint16_t)(mip_base < UINT16_MAX ? mip_base : UINT16_MAX); /* no image has so many */
    range->mip_count = (uint16_t)(mip_count < UINT16_MAX ? mip_count : UINT16_MAX);
    if (range->mip_count == 0 || range->layer_count == 0)
        return hdi_fgt_fail(&r->t, HD_BAD_RANGE, "%s: a count is 0", hd_result_text(HD_BAD_RANGE));
    return true;
}

static bool read_buffer_range(reader *r, hd_range *range)
{
    const hdi_fgt_field *at = &r->t.fields[4];
    if (at->text[0] != '@')
        return hdi_fgt_fail(&r->t, HD_PARSE, "unknown word '%.*s': a buffer's range is '@OFFSET BYTES'",
                            HDI_FGT_SHOW(at));
    const hdi_fgt_field offset = {at->text + 1, at->length - 1};
    if (!hdi_fgt_number(&r->t, &offset, UINT64_MAX, "offset", &range->offset) ||
        !hdi_fgt_number(&r->t, &r->t.fields[5], UINT64_MAX, "bytes", &range->bytes))
        return false;
    if (range->bytes == 0)
        return hdi_fgt_fail(&r->t, HD_BAD_RANGE, "%s: bytes is 0", hd_result_text(HD_BAD_RANGE));
    return true;
}

/* The fields of a range, if the use has any; *words: the first field behind it. */
static bool read_range(reader *r, bool is_buffer, hd_range *range, uint32_t *words)
{
    const hdi_fgt_text *t = &r->t;
    uint32_t end = 4, count = is_buffer ? 2 : 4;
    while (end < t->field_count && strchr("@-0123456789", t->fields[end].text[0]))
        end++;
    *words = end;
    if (end == 4)
        return true;
    if (end != 4 + count)
        return hdi_fgt_fail(&r->t, HD_PARSE, "a wrong count of fields: the range of %s",
                            is_buffer ? "a buffer is '@OFFSET BYTES'"
                                      : "an image is 'MIP_BASE MIP_COUNT LAYER_BASE LAYER_COUNT'");
    return is_buffer ? read_buffer_range(r, range) : read_image_range(r, range);
}

static bool read_access(reader *r, const hdi_fgt_field *f, hd_access *out)
{
    *out = HD_ACCESS_NONE;
    for (int a = 1; a < HD_ACCESS_COUNT; a++) {
        if (hdi_fgt_is(f, hdi_access_table[a].name))
            *out = (hd_access)a;
    }
    if (hdi_fgt_is(f, HDI_FGT_RESOLVE))
        *out = HD_RESOLVE_WRITE;
    if (hdi_fgt_is(f, HDI_FGT_CUSTOM))
        *out = HD_ACCESS_CUSTOM;
    return *out != HD_ACCESS_NONE ||
           hdi_fgt_fail(&r->t, HD_PARSE, "unknown word '%.*s': not an access", HDI_FGT_SHOW(f));
}

static bool declared(reader *r, const char *what, uint32_t index, uint32_t count)
{
    return index < count || hdi_fgt_fail(&r->t, HD_PARSE, "%s %u is not declared", what, index);
}

static bool read_use(reader *r)
{
    hdi_fgt_text *t = &r->t;
    use_line line = {.line = t->line};
    hdi_use_desc *use = &line.use;
    hdi_fgt_use words;
    uint32_t first;
    if (!hdi_fgt_expect(t, 4, "use PASS RESOURCE ACCESS [RANGE]") || !hdi_fgt_u32(t, 1, "pass", &line.pass) ||
        !hdi_fgt_u32(t, 2, "resource", &use->resource) || !declared(r, "pass", line.pass, r->pass_count) ||
        !declared(r, "resource", use->resource, r->resource_count) || !read_access(r, &t->fields[3], &use->use.access))
        return false;
    const bool is_buffer = r->is_buffer[use->resource];
    const bool custom = use->use.access == HD_ACCESS_CUSTOM, resolve = use->use.access == HD_RESOLVE_WRITE;
    if (!read_range(r, is_buffer, &use->use.range, &first) ||
        !hdi_fgt_read_words(t, first,
                            resolve     ? &hdi_fgt_of_resolve
                            : custom    ? is_buffer ? &hdi_fgt_of_custom_buffer : &hdi_fgt_of_custom
                            : is_buffer ? &hdi_fgt_of_use_buffer
                                        : &hdi_fgt_of_use,
                            &words))
        return false;
    if (resolve && !declared(r, "resource of=", words.of, r->resource_count))
        return false;
    if (!is_buffer)
        use->use.range.aspect = words.aspect;
    use->use.load = (hd_load)words.load;
    use->use.clear = words.clear;
    use->use.resolve_mode = words.mode;
    use->use.format = words.format;
    use->resolve_of = words.of;
    use->before = words.before;
    use->custom = (hd_custom_access){.stages = words.stages,
                                     .access = words.access,
                                     .layout = words.layout,
                                     .usage = words.usage,
                                     .reads = (words.does & HDI_FGT_READS) != 0,
                                     .writes = (words.does & HDI_FGT_WRITES) != 0};
    if (hdi_grow(r->allocator, (void **)&r->uses, &r->use_capacity, r->use_count + 1, sizeof(line)) != HD_OK)
        return hdi_fgt_no_memory(t);
    r->uses[r->use_count++] = line;
    return true;
}

/* ---- lines ---- */

static bool read_graph(reader *r)
{
    hdi_fgt_text *t = &r->t;
    hdi_fgt_graph words;
    if (!hdi_fgt_expect(t, 2, "graph NAME") || !hdi_fgt_read_words(t, 2, &hdi_fgt_of_graph, &words))
        return false;
    if (r->named)
        return hdi_fgt_fail(t, HD_PARSE, "a second 'graph' line");
    if (t->fields[1].length > HDI_NAME_BYTES)
        return hdi_fgt_fail(t, HD_PARSE, "the name is longer than %d characters", HDI_NAME_BYTES);
    char name[HDI_NAME_BYTES + 1];
    snprintf(name, sizeof(name), "%.*s", (int)t->fields[1].length, t->fields[1].text);
    hd_graph_set_name(r->graph, words.name ? words.name : name);
    r->named = true;
    return true;
}

static bool read_queue(reader *r)
{
    uint32_t kind, family;
    if (!hdi_fgt_expect(&r->t, 3, "queue KIND FAMILY") || !read_kind(r, &r->t.fields[1], 3, "a queue", &kind) ||
        !hdi_fgt_u32(&r->t, 2, "family", &family))
        return false;
    return hdi_fgt_add_queue(&r->settings, &r->t, (hd_queue_kind)kind, family);
}

static bool read_option(reader *r)
{
    return hdi_fgt_read_option(&r->settings, &r->t);
}

static bool read_need(reader *r)
{
    return hdi_fgt_add_need(&r->settings, &r->t, r->allocator, r->resource_count);
}

static bool read_line(reader *r, const char *text, size_t length)
{
    static const struct {
        const char *word;
        bool (*read)(reader *);
    } declarations[] = {
        {"graph", read_graph},     {"image", read_image},   {"buffer", read_buffer},
        {"history", read_history}, {"pass", read_pass},     {"use", read_use},
        {"queue", read_queue},     {"option", read_option}, {"need", read_need},
    };
    if (length == 0 || text[0] == '#')
        return true;
    if (!hdi_fgt_split(&r->t, text, length))
        return false;
    for (size_t i = 0; i < sizeof(declarations) / sizeof(declarations[0]); i++) {
        if (!hdi_fgt_is(&r->t.fields[0], declarations[i].word))
            continue;
        if (i > 0 && !r->named)
            return hdi_fgt_fail(&r->t, HD_PARSE, "the first declaration must be 'graph NAME'");
        return declarations[i].read(r);
    }
    return hdi_fgt_fail(&r->t, HD_PARSE, "unknown word '%.*s'", HDI_FGT_SHOW(&r->t.fields[0]));
}

/* ---- the end: passes with their uses ---- */

static bool keep_lines(reader *r)
{
    hdi_fgt_lines *lines = hdi_graph_fgt_lines(r->graph);
    if (r->pass_count) {
        lines->pass_line = hdi_alloc(r->allocator, r->pass_count * sizeof(uint32_t), sizeof(uint32_t));
        lines->pass_count = lines->pass_line ? r->pass_count : 0;
    }
    if (r->use_count) {
        lines->use_line = hdi_alloc(r->allocator, r->use_count * sizeof(uint32_t), sizeof(uint32_t));
        lines->use_count = lines->use_line ? r->use_count : 0;
    }
    return (lines->pass_count == r->pass_count && lines->use_count == r->use_count) || hdi_fgt_no_memory(&r->t);
}

/* Uses in the order of their passes, then of their lines. */
static void group_uses(const reader *r, hdi_replay *replay)
{
    hdi_fgt_lines *lines = hdi_graph_fgt_lines(r->graph);
    for (uint32_t p = 0; p < r->pass_count; p++) {
        replay->pass[p] = r->passes[p].desc;
        lines->pass_line[p] = r->passes[p].line;
    }
    for (uint32_t u = 0; u < r->use_count; u++)
        replay->pass[r->uses[u].pass].use_count++;
    uint32_t *const at = replay->late_first; /* by pass: not needed yet */
    for (uint32_t p = 0, first = 0; p < r->pass_count; p++) {
        at[p] = first;
        first += replay->pass[p].use_count;
    }
    for (uint32_t u = 0; u < r->use_count; u++) {
        uint32_t to = at[r->uses[u].pass]++;
        replay->desc[to] = r->uses[u].use;
        lines->use_line[to] = r->uses[u].line;
    }
    if (r->resource_count)
        memcpy(replay->handle, r->resources, r->resource_count * sizeof(*r->resources));
}

static bool declare_passes(reader *r, hdi_replay *replay)
{
    const hdi_fgt_lines *lines = hdi_graph_fgt_lines(r->graph);
    group_uses(r, replay);
    uint32_t bad = hdi_replay_prepare(replay);
    if (bad != HD_NONE) {
        r->t.line = lines->use_line[bad];
        return hdi_fgt_fail(&r->t, HD_PARSE,
                            "before= is of a read, and names an earlier pass that writes the resource");
    }
    bad = hdi_replay_passes(replay, r->graph);
    if (bad == HD_NONE)
        return true;
    const hd_error *error = hd_graph_error(r->graph);
    r->t.line = error->use == HD_NONE ? lines->pass_line[bad]
                                      : lines->use_line[replay->pass[bad].uses - replay->use + error->use];
    return fail_declared(r);
}

static bool finish(reader *r)
{
    hdi_replay replay;
    if (!r->named)
        return hdi_fgt_fail(&r->t, HD_PARSE, "the text has no 'graph NAME'");
    if (!keep_lines(r))
        return false;
    if (!hdi_replay_make(&replay, r->allocator, r->resource_count, r->pass_count, r->use_count))
        return hdi_fgt_no_memory(&r->t);
    bool good = declare_passes(r, &replay);
    hdi_replay_free(&replay, r->allocator);
    return good && hdi_fgt_keep_settings(&r->settings, &r->t, r->graph);
}

static bool read_text(reader *r, const char *text, size_t bytes)
{
    hdi_fgt_lines *lines = hdi_graph_fgt_lines(r->graph);
    bool good = true;
    lines->names = bytes ? hdi_alloc(r->allocator, bytes, 1) : NULL;
    lines->name_bytes = lines->names ? bytes : 0;
    r->t.names_end = lines->names;
    if (bytes && !lines->names)
        return hdi_fgt_no_memory(&r->t);
    for (size_t begin = 0; good && begin < bytes;) {
        const char *end = memchr(text + begin, '\n', bytes - begin);
        size_t length = end ? (size_t)(end - text) - begin : bytes - begin;
        r->t.line++;
        good = read_line(r, text + begin, length);
        begin += length + 1;
    }
    r->t.line = r->t.line ? r->t.line : 1;
    return good && finish(r);
}

hd_result hd_graph_read_fgt(hd_graph *graph, const char *text, size_t bytes, const char *file, char *error,
                            size_t error_bytes)
{
    if (!graph || hdi_graph_is_list(graph) || (!text && bytes))
        return HD_INVALID_ARGUMENT;
    reader r = {.graph = graph,
                .allocator = hdi_graph_allocator(graph),
                .t = {.file = file ? file : "?", .error = error, .error_bytes = error_bytes}};
    hd_graph_begin(graph);
    hdi_graph_forget_lines(graph);
    read_text(&r, text, bytes);
    hdi_free(r.allocator, r.resources, r.resource_capacity * sizeof(*r.resources));
    hdi_free(r.allocator, r.is_buffer, r.kind_capacity * sizeof(*r.is_buffer));
    hdi_free(r.allocator, r.passes, r.pass_capacity * sizeof(*r.passes));
    hdi_free(r.allocator, r.uses, r.use_capacity * sizeof(*r.uses));
    hdi_fgt_free_settings(&r.settings, r.allocator);
    if (r.t.result != HD_OK) { /* nothing half declared */
        hd_graph_begin(graph);
        hdi_graph_forget_lines(graph);
    }
    return r.t.result;
}

void hd_graph_fgt_error(const hd_graph *graph, const char *file, char *error, size_t error_bytes)
{
    if (!graph || hdi_graph_is_list(graph) || !file || !error || error_bytes == 0)
        return;
    /* The lines are kept with the graph and not changed here. */
    const hdi_fgt_lines *lines = hdi_graph_fgt_lines((hd_graph *)graph);
    const hd_error *e = hd_graph_error(graph);
    hdi_decl decl = hdi_graph_decl(graph);
    uint32_t line = 0;
    if (e->pass < lines->pass_count) {
        line = lines->pass_line[e->pass];
        if (e->use != HD_NONE && decl.pass_use_begin[e->pass] + e->use < lines->use_count)
            line = lines->use_line[decl.pass_use_begin[e->pass] + e->use];
    }
    if (line)
        snprintf(error, error_bytes, "%s:%u: %s", file, line, e->text);
    else
        snprintf(error, error_bytes, "%s: %s", file, e->text);
}
