#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "fgt_words.h"
#include "tables.h"

/* Reads .fgt text. Resources are declared as their lines come; passes and uses are collected, since the uses of a pass
 * may stand anywhere behind it, and declared at the end, pass by pass. Lines of passes and uses stay with the graph, so
 * that what compile finds can be traced back. Any error ends the reading and leaves the graph empty. O(bytes). */

enum { MAX_FIELDS = 10 };

typedef struct field {
    const char *text;
    uint32_t length;
} field;

typedef struct pass_line {
    hd_pass_desc desc;
    uint32_t line;
} pass_line;

typedef struct use_line {
    hd_use use;
    uint32_t pass, line;
} use_line;

typedef struct reader {
    hd_graph *graph;
    const hd_allocator *allocator;
    const char *file;
    char *error;
    size_t error_bytes;
    uint32_t line;
    hd_result result;
    field fields[MAX_FIELDS];
    uint32_t field_count;
    bool named;
    hd_resource *resources;
    uint8_t *is_buffer;
    uint32_t resource_count, resource_capacity, kind_capacity;
    pass_line *passes;
    uint32_t pass_count, pass_capacity;
    use_line *uses;
    uint32_t use_count, use_capacity;
} reader;

/* ---- errors ---- */

HDI_PRINTF(3, 4) static bool fail(reader *r, hd_result result, const char *format, ...)
{
    if (r->result != HD_OK)
        return false;
    r->result = result;
    if (!r->error || r->error_bytes == 0)
        return false;
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    snprintf(r->error, r->error_bytes, "%s:%u: %s", r->file, r->line, sentence);
    return false;
}

static bool out_of_memory(reader *r)
{
    return fail(r, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
}

/* The graph's own error, on the line that is being read. */
static bool fail_declared(reader *r)
{
    const hd_error *error = hd_graph_error(r->graph);
    return fail(r, error->result, "%s", error->text);
}

/* ---- fields ---- */

#define SHOW(f) (int)((f)->length < 40 ? (f)->length : 40), (f)->text

static bool is_word(const field *f, const char *word)
{
    return strlen(word) == f->length && memcmp(f->text, word, f->length) == 0;
}

static bool has_prefix(const field *f, const char *prefix)
{
    return f->length >= strlen(prefix) && memcmp(f->text, prefix, strlen(prefix)) == 0;
}

static bool read_number(reader *r, const field *f, uint64_t most, const char *what, uint64_t *out)
{
    uint64_t value = 0;
    bool fits = f->length > 0;
    for (uint32_t i = 0; fits && i < f->length; i++) {
        uint32_t digit = (uint32_t)(f->text[i] - '0');
        fits = digit < 10 && value <= (most - digit) / 10;
        value = value * 10 + digit;
    }
    if (!fits)
        return fail(r, HD_PARSE, "%s '%.*s' is not a number from 0 to %llu", what, SHOW(f), (unsigned long long)most);
    *out = value;
    return true;
}

static bool read_u32(reader *r, uint32_t index, const char *what, uint32_t *out)
{
    uint64_t value = 0; /* gcc at -O3 does not see that fail() returns false */
    if (!read_number(r, &r->fields[index], UINT32_MAX, what, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

/* Decimal, by hand: the C library's depends on the locale. */
static bool read_cost(reader *r, const field *f, float *out)
{
    double value = 0, scale = 1;
    bool point = false, digits = false, good = f->length <= 64;
    for (uint32_t i = 0; good && i < f->length; i++) {
        char c = f->text[i];
        if (c == '.' && !point) {
            point = true;
        } else if (c >= '0' && c <= '9') {
            value = value * 10 + (c - '0');
            scale *= point ? 10 : 1;
            digits = true;
        } else {
            good = false;
        }
    }
    value /= scale;
    if (!good || !digits || value > 1e12)
        return fail(r, HD_PARSE, "cost '%.*s' is not a decimal number of microseconds", SHOW(f));
    *out = (float)value > 0 ? (float)value : 1e-9f; /* zero would mean the default */
    return true;
}

static bool expect_fields(reader *r, uint32_t least, uint32_t most, const char *form)
{
    if (r->field_count >= least && r->field_count <= most)
        return true;
    return fail(r, HD_PARSE, "a wrong count of fields: expected '%s'", form);
}

static bool split_line(reader *r, const char *text, size_t length)
{
    r->field_count = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && (unsigned char)text[i] < ' ')
            return fail(r, HD_PARSE, "a control character, number %u", (unsigned)text[i]);
        if (i < length && text[i] != ' ')
            continue;
        if (i == begin)
            return fail(r, HD_PARSE, "fields are separated by single spaces");
        if (r->field_count == MAX_FIELDS)
            return fail(r, HD_PARSE, "a wrong count of fields: more than any declaration has");
        if (i - begin > HDI_NAME_BYTES)
            return fail(r, HD_PARSE, "a field is longer than %d characters", HDI_NAME_BYTES);
        r->fields[r->field_count++] = (field){text + begin, (uint32_t)(i - begin)};
        begin = i + 1;
    }
    return true;
}

/* ---- resources ---- */

static bool add_resource(reader *r, hd_resource resource, bool is_buffer)
{
    if (resource.id == 0)
        return fail_declared(r);
    uint32_t n = r->resource_count;
    if (hdi_grow(r->allocator, (void **)&r->resources, &r->resource_capacity, n + 1, sizeof(*r->resources)) != HD_OK ||
        hdi_grow(r->allocator, (void **)&r->is_buffer, &r->kind_capacity, n + 1, sizeof(*r->is_buffer)) != HD_OK)
        return out_of_memory(r);
    r->resources[n] = resource;
    r->is_buffer[n] = is_buffer;
    r->resource_count = n + 1;
    return true;
}

static bool read_new_id(reader *r, uint32_t expected, const char *what)
{
    uint32_t id;
    if (!read_u32(r, 1, "id", &id))
        return false;
    return id == expected || fail(r, HD_PARSE, "%s id %u is out of order: the next one is %u", what, id, expected);
}

static bool read_external(reader *r, uint32_t index, bool *external)
{
    *external = r->field_count > index;
    if (*external && !is_word(&r->fields[index], "external"))
        return fail(r, HD_PARSE, "unknown word '%.*s': only 'external' may stand here", SHOW(&r->fields[index]));
    return true;
}

static bool read_image(reader *r)
{
    uint32_t width, height, mips, layers, format = 0;
    bool external;
    if (!expect_fields(r, 7, 8, "image ID WIDTH HEIGHT FORMAT MIPS LAYERS [external]") ||
        !read_new_id(r, r->resource_count, "resource") || !read_u32(r, 2, "width", &width) ||
        !read_u32(r, 3, "height", &height) || !read_u32(r, 5, "mips", &mips) || !read_u32(r, 6, "layers", &layers) ||
        !read_external(r, 7, &external))
        return false;
    for (uint32_t f = 0; f < HDI_FGT_FORMAT_COUNT; f++) {
        if (is_word(&r->fields[4], hdi_fgt_formats[f].word))
            format = hdi_fgt_formats[f].format;
    }
    if (format == 0)
        return fail(r, HD_PARSE, "unknown word '%.*s': not a format", SHOW(&r->fields[4]));
    if (mips == 0 || layers == 0)
        return fail(r, HD_BAD_DESC, "mips and layers of resource %u must be at least 1", r->resource_count);
    hd_resource resource;
    if (external)
        resource = hd_graph_import(r->graph, &(hd_import_desc){.width = width,
                                                               .height = height,
                                                               .format = format,
                                                               .mips = mips,
                                                               .layers = layers,
                                                               .initial_layout = 1});
    else
        resource = hd_graph_image(r->graph, &(hd_image_desc){.width = width,
                                                             .height = height,
                                                             .format = format,
                                                             .mips = mips,
                                                             .layers = layers});
    return add_resource(r, resource, false);
}

static bool read_buffer(reader *r)
{
    uint64_t bytes = 0;
    bool external;
    if (!expect_fields(r, 3, 4, "buffer ID BYTES [external]") || !read_new_id(r, r->resource_count, "resource") ||
        !read_number(r, &r->fields[2], UINT64_MAX, "bytes", &bytes) || !read_external(r, 3, &external))
        return false;
    if (bytes == 0)
        return fail(r, HD_BAD_DESC, "bytes of resource %u must be at least 1", r->resource_count);
    return add_resource(r,
                        external ? hd_graph_import(r->graph, &(hd_import_desc){.bytes = bytes})
                                 : hd_graph_buffer(r->graph, &(hd_buffer_desc){.bytes = bytes}),
                        true);
}

static bool read_history(reader *r)
{
    uint32_t of;
    hd_history_desc desc = {0};
    if (!expect_fields(r, 3, 4, "history ID OF [skipped=restart]") || !read_new_id(r, r->resource_count, "resource") ||
        !read_u32(r, 2, "id", &of))
        return false;
    if (of >= r->resource_count)
        return fail(r, HD_PARSE, "resource %u is not declared", of);
    if (r->field_count > 3 && !is_word(&r->fields[3], "skipped=restart"))
        return fail(r, HD_PARSE, "unknown word '%.*s': only 'skipped=restart' may stand here", SHOW(&r->fields[3]));
    desc.of = r->resources[of];
    desc.skipped = r->field_count > 3 ? HD_SKIPPED_RESTART : HD_SKIPPED_KEEP;
    return add_resource(r, hd_graph_history_with(r->graph, &desc), r->is_buffer[of]);
}

/* ---- passes and uses ---- */

static bool read_pass_option(reader *r, const field *f, hd_pass_desc *desc)
{
    if (is_word(f, "root") && !desc->root) {
        desc->root = true;
        return true;
    }
    if (has_prefix(f, "cost=") && desc->cost_us <= 0) {
        field value = {f->text + 5, f->length - 5};
        return read_cost(r, &value, &desc->cost_us);
    }
    for (uint32_t pin = HD_PIN_GFX; has_prefix(f, "on=") && pin <= HD_PIN_TRANSFER && desc->pin == HD_PIN_NONE; pin++) {
        field value = {f->text + 3, f->length - 3};
        if (is_word(&value, hdi_fgt_kinds[pin - HD_PIN_GFX])) {
            desc->pin = (hd_pin)pin;
            return true;
        }
    }
    return fail(r, HD_PARSE, "unknown word '%.*s': a pass takes [root] [cost=US] [on=gfx|compute|transfer], each once",
                SHOW(f));
}

static bool read_pass(reader *r)
{
    pass_line pass = {.line = r->line};
    if (!expect_fields(r, 3, 6, "pass ID TYPE [root] [cost=US] [on=QUEUE]") || !read_new_id(r, r->pass_count, "pass"))
        return false;
    uint32_t type = 0;
    while (type < 4 && !is_word(&r->fields[2], hdi_fgt_kinds[type]))
        type++;
    if (type == 4)
        return fail(r, HD_PARSE, "unknown word '%.*s': a pass is gfx, compute, transfer or host", SHOW(&r->fields[2]));
    pass.desc.type = (hd_pass_type)type;
    for (uint32_t i = 3; i < r->field_count; i++) {
        if (!read_pass_option(r, &r->fields[i], &pass.desc))
            return false;
    }
    if (hdi_grow(r->allocator, (void **)&r->passes, &r->pass_capacity, r->pass_count + 1, sizeof(pass)) != HD_OK)
        return out_of_memory(r);
    r->passes[r->pass_count++] = pass;
    return true;
}

static bool read_image_range(reader *r, hd_range *range)
{
    uint32_t mip_base, mip_count;
    if (!read_u32(r, 4, "mip base", &mip_base) || !read_u32(r, 5, "mip count", &mip_count) ||
        !read_u32(r, 6, "layer base", &range->layer_base) || !read_u32(r, 7, "layer count", &range->layer_count))
        return false;
    range->mip_base = (uint16_t)(mip_base < UINT16_MAX ? mip_base : UINT16_MAX); /* no image has so many */
    range->mip_count = (uint16_t)(mip_count < UINT16_MAX ? mip_count : UINT16_MAX);
    if (range->mip_count == 0 || range->layer_count == 0)
        return fail(r, HD_BAD_RANGE, "%s: a count is 0", hd_result_text(HD_BAD_RANGE));
    return true;
}

static bool read_buffer_range(reader *r, hd_range *range)
{
    const field *at = &r->fields[4];
    if (at->text[0] != '@')
        return fail(r, HD_PARSE, "unknown word '%.*s': a buffer's range is '@OFFSET BYTES'", SHOW(at));
    field offset = {at->text + 1, at->length - 1};
    if (!read_number(r, &offset, UINT64_MAX, "offset", &range->offset) ||
        !read_number(r, &r->fields[5], UINT64_MAX, "bytes", &range->bytes))
        return false;
    if (range->bytes == 0)
        return fail(r, HD_BAD_RANGE, "%s: bytes is 0", hd_result_text(HD_BAD_RANGE));
    return true;
}

static bool read_use(reader *r)
{
    use_line use = {.line = r->line};
    uint32_t resource;
    if (!expect_fields(r, 4, 8, "use PASS RESOURCE ACCESS [RANGE]") || !read_u32(r, 1, "pass", &use.pass) ||
        !read_u32(r, 2, "resource", &resource))
        return false;
    if (use.pass >= r->pass_count)
        return fail(r, HD_PARSE, "pass %u is not declared", use.pass);
    if (resource >= r->resource_count)
        return fail(r, HD_PARSE, "resource %u is not declared", resource);
    use.use.resource = r->resources[resource];
    for (int a = 1; a < HD_ACCESS_COUNT; a++) {
        if (is_word(&r->fields[3], hdi_access_table[a].name))
            use.use.access = (hd_access)a;
    }
    if (use.use.access == HD_ACCESS_NONE)
        return fail(r, HD_PARSE, "unknown word '%.*s': not an access", SHOW(&r->fields[3]));
    if (r->field_count > 4) {
        bool is_buffer = r->is_buffer[resource];
        if (r->field_count != (is_buffer ? 6u : 8u))
            return fail(r, HD_PARSE, "a wrong count of fields: the range of %s",
                        is_buffer ? "a buffer is '@OFFSET BYTES'"
                                  : "an image is 'MIP_BASE MIP_COUNT LAYER_BASE LAYER_COUNT'");
        if (is_buffer ? !read_buffer_range(r, &use.use.range) : !read_image_range(r, &use.use.range))
            return false;
    }
    if (hdi_grow(r->allocator, (void **)&r->uses, &r->use_capacity, r->use_count + 1, sizeof(use)) != HD_OK)
        return out_of_memory(r);
    r->uses[r->use_count++] = use;
    return true;
}

static bool read_graph(reader *r)
{
    if (!expect_fields(r, 2, 2, "graph NAME"))
        return false;
    if (r->named)
        return fail(r, HD_PARSE, "a second 'graph' line");
    char name[HDI_NAME_BYTES + 1];
    snprintf(name, sizeof(name), "%.*s", (int)r->fields[1].length, r->fields[1].text);
    hd_graph_set_name(r->graph, name);
    r->named = true;
    return true;
}

static bool read_line(reader *r, const char *text, size_t length)
{
    static const struct {
        const char *word;
        bool (*read)(reader *);
    } declarations[] = {
        {"graph", read_graph},     {"image", read_image}, {"buffer", read_buffer},
        {"history", read_history}, {"pass", read_pass},   {"use", read_use},
    };
    if (length == 0 || text[0] == '#')
        return true;
    if (!split_line(r, text, length))
        return false;
    for (size_t i = 0; i < sizeof(declarations) / sizeof(declarations[0]); i++) {
        if (!is_word(&r->fields[0], declarations[i].word))
            continue;
        if (i > 0 && !r->named)
            return fail(r, HD_PARSE, "the first declaration must be 'graph NAME'");
        return declarations[i].read(r);
    }
    return fail(r, HD_PARSE, "unknown word '%.*s'", SHOW(&r->fields[0]));
}

/* ---- the end: passes with their uses ---- */

static bool keep_lines(reader *r)
{
    hdi_fgt_lines *lines = hdi_graph_fgt_lines(r->graph);
    hdi_free(r->allocator, lines->pass_line, lines->pass_count * sizeof(uint32_t));
    hdi_free(r->allocator, lines->use_line, lines->use_count * sizeof(uint32_t));
    *lines = (hdi_fgt_lines){0};
    if (r->pass_count) {
        lines->pass_line = hdi_alloc(r->allocator, r->pass_count * sizeof(uint32_t), sizeof(uint32_t));
        lines->pass_count = lines->pass_line ? r->pass_count : 0;
    }
    if (r->use_count) {
        lines->use_line = hdi_alloc(r->allocator, r->use_count * sizeof(uint32_t), sizeof(uint32_t));
        lines->use_count = lines->use_line ? r->use_count : 0;
    }
    return (lines->pass_count == r->pass_count && lines->use_count == r->use_count) || out_of_memory(r);
}

/* Uses in the order of their passes, then of their lines; begin[pass_count + 1]. */
static bool declare_passes(reader *r, hd_use *grouped, uint32_t *begin)
{
    hdi_fgt_lines *lines = hdi_graph_fgt_lines(r->graph);
    for (uint32_t u = 0; u < r->use_count; u++)
        begin[r->uses[u].pass + 1]++;
    for (uint32_t p = 0; p < r->pass_count; p++)
        begin[p + 1] += begin[p];
    for (uint32_t u = 0; u < r->use_count; u++) {
        uint32_t at = begin[r->uses[u].pass]++;
        grouped[at] = r->uses[u].use;
        lines->use_line[at] = r->uses[u].line;
    }
    for (uint32_t p = 0, first = 0; p < r->pass_count; p++) { /* begin[p] is now the end of pass p */
        hd_pass_desc *desc = &r->passes[p].desc;
        lines->pass_line[p] = r->passes[p].line;
        desc->uses = grouped + first;
        desc->use_count = begin[p] - first;
        first = begin[p];
        if (hd_graph_pass(r->graph, desc).id)
            continue;
        const hd_error *error = hd_graph_error(r->graph);
        r->line = error->use == HD_NONE ? r->passes[p].line : lines->use_line[first - desc->use_count + error->use];
        return fail_declared(r);
    }
    return true;
}

static bool finish(reader *r)
{
    if (!r->named)
        return fail(r, HD_PARSE, "the text has no 'graph NAME'");
    size_t use_bytes = r->use_count * sizeof(hd_use), begin_bytes = ((size_t)r->pass_count + 1) * sizeof(uint32_t);
    hd_use *grouped = hdi_alloc(r->allocator, use_bytes, sizeof(void *));
    uint32_t *begin = hdi_alloc(r->allocator, begin_bytes, sizeof(uint32_t));
    bool good = grouped && begin ? keep_lines(r) : out_of_memory(r);
    if (good) {
        memset(begin, 0, begin_bytes);
        good = declare_passes(r, grouped, begin);
    }
    hdi_free(r->allocator, grouped, use_bytes ? use_bytes : 1);
    hdi_free(r->allocator, begin, begin_bytes);
    return good;
}

hd_result hd_graph_read_fgt(hd_graph *graph, const char *text, size_t bytes, const char *file, char *error,
                            size_t error_bytes)
{
    if (!graph || (!text && bytes))
        return HD_INVALID_ARGUMENT;
    reader r = {.graph = graph,
                .allocator = hdi_graph_allocator(graph),
                .file = file ? file : "?",
                .error = error,
                .error_bytes = error_bytes};
    hd_graph_begin(graph);
    bool good = true;
    for (size_t begin = 0; good && begin < bytes;) {
        const char *end = memchr(text + begin, '\n', bytes - begin);
        size_t length = end ? (size_t)(end - text) - begin : bytes - begin;
        r.line++;
        good = read_line(&r, text + begin, length);
        begin += length + 1;
    }
    r.line = r.line ? r.line : 1;
    if (good)
        finish(&r);
    hdi_free(r.allocator, r.resources, r.resource_capacity * sizeof(*r.resources));
    hdi_free(r.allocator, r.is_buffer, r.kind_capacity * sizeof(*r.is_buffer));
    hdi_free(r.allocator, r.passes, r.pass_capacity * sizeof(*r.passes));
    hdi_free(r.allocator, r.uses, r.use_capacity * sizeof(*r.uses));
    if (r.result != HD_OK)
        hd_graph_begin(graph); /* nothing half declared */
    return r.result;
}

void hd_graph_fgt_error(const hd_graph *graph, const char *file, char *error, size_t error_bytes)
{
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
