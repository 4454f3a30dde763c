#include "fgt_words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const hdi_fgt_format hdi_fgt_formats[HDI_FGT_FORMAT_COUNT] = {
    {"rgba8", 37}, {"bgra8", 44}, {"rgba16f", 97}, {"rg16f", 83}, {"r8", 9}, {"r32f", 100}, {"d32f", 126},
};

const char *const hdi_fgt_kinds[4] = {"gfx", "compute", "transfer", "host"};

/* ---- the tables ---- */

/* clang-format off */

#define FIELD(line, member, what, word) .key = word, .kind = what, .offset = offsetof(hdi_fgt_##line, member)
#define RESOURCE(member, what) FIELD(resource, member, what, #member)
#define WORDS(line, of, absent_fields, ...)                                                                            \
    static const hdi_fgt_word line##_words[] = {__VA_ARGS__};                                                          \
    const hdi_fgt_words hdi_fgt_of_##line = {of, line##_words, sizeof(line##_words) / sizeof(line##_words[0]),         \
                                             &(absent_fields), sizeof(absent_fields)}

static const hdi_fgt_graph no_graph;
WORDS(graph, "a graph", no_graph, {FIELD(graph, name, HDI_FGT_NAME, "name")});

static const hdi_fgt_resource no_resource = {.depth = 1, .samples = 1, .initial = HDI_LAYOUT_GENERAL};
#define NAME {RESOURCE(name, HDI_FGT_NAME)}
#define EXTERNAL {RESOURCE(external, HDI_FGT_FLAG)}
#define SHARING {RESOURCE(sharing, HDI_FGT_CHOICE), .choice = {NULL, "exclusive", "concurrent"}}
#define SERIAL {RESOURCE(serial, HDI_FGT_LONG)}
#define EXTENT {RESOURCE(depth, HDI_FGT_NUMBER)}, {RESOURCE(samples, HDI_FGT_NUMBER)}
#define FLAGS {RESOURCE(flags, HDI_FGT_VULKAN), .vulkan = HDI_WORDS_IMAGE_FLAGS}
WORDS(image, "an image", no_resource, EXTERNAL, NAME, EXTENT, FLAGS,
      {RESOURCE(usage, HDI_FGT_VULKAN), .vulkan = HDI_WORDS_IMAGE_USAGE}, SHARING);
WORDS(external_image, "an external image", no_resource, EXTERNAL, NAME, EXTENT, FLAGS,
      {RESOURCE(initial, HDI_FGT_VULKAN), .vulkan = HDI_WORDS_LAYOUT},
      {RESOURCE(final, HDI_FGT_VULKAN), .vulkan = HDI_WORDS_LAYOUT}, SHARING, SERIAL);
WORDS(buffer, "a buffer", no_resource, EXTERNAL, NAME,
      {RESOURCE(usage, HDI_FGT_VULKAN), .vulkan = HDI_WORDS_BUFFER_USAGE}, SHARING);
WORDS(external_buffer, "an external buffer", no_resource, EXTERNAL, NAME, SHARING, SERIAL);
WORDS(history, "a history", no_resource, {RESOURCE(skipped, HDI_FGT_CHOICE), .choice = {NULL, "restart"}},
      {RESOURCE(key, HDI_FGT_LONG)});

static const hdi_fgt_pass no_pass = {.cost = 10};
WORDS(pass, "a pass", no_pass, {FIELD(pass, root, HDI_FGT_FLAG, "root")},
      {FIELD(pass, cost, HDI_FGT_DECIMAL, "cost")},
      {FIELD(pass, pin, HDI_FGT_CHOICE, "on"), .choice = {NULL, "gfx", "compute", "transfer"}},
      {FIELD(pass, name, HDI_FGT_NAME, "name")},
      {FIELD(pass, rendering, HDI_FGT_CHOICE, "rendering"), .choice = {NULL, "own"}},
      {FIELD(pass, splits, HDI_FGT_NUMBER, "splits")});

static const hdi_fgt_use no_use = {.of = HD_NONE, .before = HD_NONE};
#define ASPECT {FIELD(use, aspect, HDI_FGT_CHOICE, "aspect"), .choice = {NULL, NULL, "depth", NULL, "stencil"}}
#define START                                                                                                          \
    {FIELD(use, load, HDI_FGT_CHOICE, "load"), .choice = {NULL, "dont_care"}},                                         \
    {FIELD(use, clear, HDI_FGT_CLEAR, "clear")}
#define SEEN {FIELD(use, format, HDI_FGT_VULKAN, "format"), .vulkan = HDI_WORDS_FORMAT}
#define BEFORE {FIELD(use, before, HDI_FGT_NUMBER, "before")}
WORDS(use, "a use", no_use, ASPECT, START, SEEN, BEFORE);
WORDS(use_buffer, "a use of a buffer", no_use, START, BEFORE);
#define CUSTOM                                                                                                         \
    {FIELD(use, stages, HDI_FGT_VULKAN_LONG, "stages"), .vulkan = HDI_WORDS_STAGES},                                   \
    {FIELD(use, access, HDI_FGT_VULKAN_LONG, "access"), .vulkan = HDI_WORDS_ACCESS},                                   \
    {FIELD(use, does, HDI_FGT_CHOICE, "does"), .choice = {NULL, "read", "write", "both"}}
#define USAGE(words) {FIELD(use, usage, HDI_FGT_VULKAN, "usage"), .vulkan = (words)}
WORDS(custom, "a custom use", no_use, CUSTOM,
      {FIELD(use, layout, HDI_FGT_VULKAN, "layout"), .vulkan = HDI_WORDS_LAYOUT},
      USAGE(HDI_WORDS_IMAGE_USAGE), ASPECT, START, SEEN, BEFORE);
WORDS(custom_buffer, "a custom use of a buffer", no_use, CUSTOM, USAGE(HDI_WORDS_BUFFER_USAGE), START, BEFORE);
WORDS(resolve, "a resolve", no_use, {FIELD(use, of, HDI_FGT_NUMBER, "of")},
      {FIELD(use, mode, HDI_FGT_VULKAN, "mode"), .vulkan = HDI_WORDS_RESOLVE_MODE}, ASPECT, START, SEEN);

static const hdi_fgt_option no_option;
WORDS(option, "an option", no_option,
      {FIELD(option, order, HDI_FGT_CHOICE, "order"), .choice = {"overlap", "memory", "declared"}},
      {FIELD(option, memory_budget, HDI_FGT_LONG, "memory_budget")},
      {FIELD(option, packing_effort, HDI_FGT_NUMBER, "packing_effort")},
      {FIELD(option, handoff, HDI_FGT_DECIMAL, "handoff")},
      {FIELD(option, merge_rendering, HDI_FGT_FLAG, "merge_rendering")});

/* clang-format on */

/* ---- numbers ---- */

/* The largest number that is written as a decimal; and more decimals than any number needs to be told from its
 * neighbours. */
static const double MOST_DECIMAL = 1e12;
enum { MOST_DECIMALS = 48 };

static float with_bits(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

static uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

/* The value of digits without a point, and of the point's place. */
static float value_of(double digits, double scale)
{
    return (float)(digits / scale);
}

void hdi_fgt_write_decimal(float number, FILE *stream)
{
    const double size = fabs((double)number);
    double scale = 1, value = 0; /* as the reader has them */
    int decimals = 0;
    for (; size <= MOST_DECIMAL && decimals <= MOST_DECIMALS; decimals++, scale *= 10) {
        value = (double)(uint64_t)(size * scale + 0.5);
        if (bits_of(value_of(value, scale)) == bits_of((float)size))
            break;
    }
    if (!(size <= MOST_DECIMAL) || decimals > MOST_DECIMALS || bits_of(number) == bits_of(-0.0f)) {
        fprintf(stream, "0x%08" PRIx32, bits_of(number));
        return;
    }
    char digits[MOST_DECIMALS + 24];
    int before = snprintf(digits, sizeof(digits), "%0*llu", decimals + 1, (unsigned long long)value) - decimals;
    fprintf(stream, "%s%.*s%s%s", number < 0 ? "-" : "", before, digits, decimals ? "." : "", digits + before);
}

static bool read_bits(const char *text, size_t length, float *out)
{
    uint64_t bits;
    if (length < 3 || !hdi_words_read(HDI_WORDS_FORMAT, text, length, &bits) || bits > UINT32_MAX)
        return false;
    *out = with_bits((uint32_t)bits);
    return true;
}

bool hdi_fgt_read_decimal(const char *text, size_t length, float *out)
{
    double value = 0, scale = 1;
    bool point = false, digits = false, negative = length > 0 && text[0] == '-';
    if (length > 64)
        return false;
    if (length > 1 && text[0] == '0' && text[1] == 'x')
        return read_bits(text, length, out);
    for (size_t i = negative; i < length; i++) {
        char c = text[i];
        if (c == '.' && !point) {
            point = true;
        } else if (c >= '0' && c <= '9') {
            value = value * 10 + (c - '0');
            scale *= point ? 10 : 1;
            digits = true;
        } else {
            return false;
        }
    }
    *out = negative ? -value_of(value, scale) : value_of(value, scale);
    return digits && value / scale <= MOST_DECIMAL;
}

/* ---- writing ---- */

static void write_name(const char *name, FILE *stream)
{
    bool bare = *name != 0;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        bare = bare && *c > ' ' && *c != 0x7f && *c != '"' && *c != '\\';
    if (bare) {
        fputs(name, stream);
        return;
    }
    fputc('"', stream);
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        if (*c < ' ' || *c == 0x7f)
            fprintf(stream, "\\x%02x", *c);
        else
            fprintf(stream, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    }
    fputc('"', stream);
}

/* Below it stand stencil values, not colors. */
static const double LEAST_CLEAR = 1e-9;

static void write_clear(const void *field, FILE *stream)
{
    const hd_clear *clear = field;
    for (int i = 0; i < 4; i++) {
        const double size = fabs((double)clear->color[i]);
        fputs(i ? "," : "", stream);
        if (size > 0 && size < LEAST_CLEAR)
            fprintf(stream, "0x%08" PRIx32, bits_of(clear->color[i]));
        else
            hdi_fgt_write_decimal(clear->color[i], stream);
    }
}

static size_t field_bytes(hdi_fgt_kind kind)
{
    static const size_t bytes[] = {
        [HDI_FGT_FLAG] = sizeof(bool),       [HDI_FGT_NUMBER] = sizeof(uint32_t),
        [HDI_FGT_LONG] = sizeof(uint64_t),   [HDI_FGT_DECIMAL] = sizeof(float),
        [HDI_FGT_CLEAR] = sizeof(hd_clear),  [HDI_FGT_NAME] = sizeof(const char *),
        [HDI_FGT_CHOICE] = sizeof(uint32_t), [HDI_FGT_VULKAN] = sizeof(uint32_t),
        [HDI_FGT_VULKAN_LONG] = sizeof(uint64_t),
    };
    return bytes[kind];
}

static void write_value(const hdi_fgt_word *word, const char *field, FILE *stream)
{
    hdi_text room;
    switch (word->kind) {
    case HDI_FGT_FLAG:
        return;
    case HDI_FGT_NUMBER:
        fprintf(stream, "%" PRIu32, *(const uint32_t *)(const void *)field);
        return;
    case HDI_FGT_LONG:
        fprintf(stream, "%" PRIu64, *(const uint64_t *)(const void *)field);
        return;
    case HDI_FGT_DECIMAL:
        hdi_fgt_write_decimal(*(const float *)(const void *)field, stream);
        return;
    case HDI_FGT_CLEAR:
        write_clear(field, stream);
        return;
    case HDI_FGT_NAME:
        write_name(*(const char *const *)(const void *)field, stream);
        return;
    case HDI_FGT_CHOICE:
        fputs(word->choice[*(const uint32_t *)(const void *)field], stream);
        return;
    case HDI_FGT_VULKAN:
        fputs(hdi_words_of(word->vulkan, *(const uint32_t *)(const void *)field, &room), stream);
        return;
    case HDI_FGT_VULKAN_LONG:
        fputs(hdi_words_of(word->vulkan, *(const uint64_t *)(const void *)field, &room), stream);
        return;
    }
}

void hdi_fgt_write_words(const hdi_fgt_words *words, const void *fields, FILE *stream)
{
    for (uint32_t w = 0; w < words->count; w++) {
        const hdi_fgt_word *word = &words->word[w];
        const char *field = (const char *)fields + word->offset;
        if (memcmp(field, (const char *)words->absent + word->offset, field_bytes(word->kind)) == 0)
            continue;
        fprintf(stream, word->kind == HDI_FGT_FLAG ? " %s" : " %s=", word->key);
        write_value(word, field, stream);
    }
}
