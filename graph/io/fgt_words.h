/* Words of the .fgt format, which reader and writer share: what may stand at the end of each kind of line is a table of
 * keys, each of which fills a field of a struct. Access words stand in the access table. */
#ifndef HDI_FGT_WORDS_H
#define HDI_FGT_WORDS_H

#include <stdio.h>

#include "tables.h"
#include "vk_words.h"

#define HDI_FGT_FORMAT_COUNT 7
typedef struct hdi_fgt_format {
    const char *word;
    uint32_t format; /* VkFormat */
} hdi_fgt_format;
extern const hdi_fgt_format hdi_fgt_formats[HDI_FGT_FORMAT_COUNT];

/* Indexed by hd_pass_type and by hd_queue_kind alike. */
extern const char *const hdi_fgt_kinds[4];

/* Words of accesses beside those of the access table; and bits of does=. */
#define HDI_FGT_RESOLVE "resolve_write"
#define HDI_FGT_CUSTOM "custom"
enum { HDI_FGT_READS = 1, HDI_FGT_WRITES = 2 };

/* ---- what follows the fields of a line ---- */

typedef struct hdi_fgt_graph {
    const char *name;
} hdi_fgt_graph;

typedef struct hdi_fgt_resource {
    const char *name;
    bool external;
    uint32_t depth, samples, flags, usage, sharing, initial, final, skipped;
    uint64_t serial, key;
} hdi_fgt_resource;

typedef struct hdi_fgt_pass {
    const char *name;
    bool root;
    float cost;
    uint32_t pin, rendering, splits;
} hdi_fgt_pass;

typedef struct hdi_fgt_use {
    uint32_t aspect, load, of, mode, before, layout, usage, does, format;
    uint64_t stages, access;
    hd_clear clear;
} hdi_fgt_use;

typedef struct hdi_fgt_option {
    uint32_t order, packing_effort;
    uint64_t memory_budget;
    float handoff;
    bool merge_rendering;
} hdi_fgt_option;

typedef enum hdi_fgt_kind {
    HDI_FGT_FLAG,    /* bool: the key alone */
    HDI_FGT_NUMBER,  /* uint32_t */
    HDI_FGT_LONG,    /* uint64_t */
    HDI_FGT_DECIMAL, /* float */
    HDI_FGT_CLEAR,   /* hd_clear: four floats with commas between them */
    HDI_FGT_NAME,    /* const char * */
    HDI_FGT_CHOICE,  /* uint32_t: the number of one of the words */
    HDI_FGT_VULKAN,  /* uint32_t: Vulkan's name or names of it */
    HDI_FGT_VULKAN_LONG, /* uint64_t */
} hdi_fgt_kind;

enum { HDI_FGT_CHOICES = 5 };
typedef struct hdi_fgt_word {
    const char *key;
    hdi_fgt_kind kind;
    uint32_t offset; /* of its field */
    hdi_words vulkan;
    const char *choice[HDI_FGT_CHOICES]; /* null: the number has no word */
} hdi_fgt_word;

typedef struct hdi_fgt_words {
    const char *of; /* the line: "a pass" */
    const hdi_fgt_word *word;
    uint32_t count;
    const void *absent; /* the struct of a line that has none of the words */
    size_t bytes;       /* of the struct */
} hdi_fgt_words;
extern const hdi_fgt_words hdi_fgt_of_graph, hdi_fgt_of_image, hdi_fgt_of_external_image, hdi_fgt_of_buffer,
    hdi_fgt_of_external_buffer, hdi_fgt_of_history, hdi_fgt_of_pass, hdi_fgt_of_use, hdi_fgt_of_use_buffer,
    hdi_fgt_of_custom, hdi_fgt_of_custom_buffer, hdi_fgt_of_resolve, hdi_fgt_of_option;

/* What differs from the line without words, each with a space before it. */
void hdi_fgt_write_words(const hdi_fgt_words *words, const void *fields, FILE *stream);
/* Decimal, whatever the locale, in the fewest digits that read back as the same number; bits of what has none. */
void hdi_fgt_write_decimal(float number, FILE *stream);
/* Reads it. */
bool hdi_fgt_read_decimal(const char *text, size_t length, float *out);

#endif
