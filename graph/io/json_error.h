/* Where a reader of JSON is, and what is wrong there: for readers of plans and of captured streams. */
#ifndef HDI_JSON_ERROR_H
#define HDI_JSON_ERROR_H

#include <jansson.h>
#include <stdbool.h>

#include <heddle/base.h>

#include "alloc.h"

typedef struct hdi_json {
    const char *what; /* is read: stands for the path at its root */
    char *error;      /* the caller's; may be null */
    size_t error_bytes;
    hd_result result;
    char where[128]; /* what is being read, as a path */
} hdi_json;

/* Both return false; the first sentence stays. */
bool hdi_json_fail(hdi_json *j, const char *format, ...) HDI_PRINTF(2, 3);
bool hdi_json_no_memory(hdi_json *j);
/* The text's root, to be given back with json_decref; null after an error: HD_PARSE, or HD_OUT_OF_MEMORY. */
json_t *hdi_json_parse(hdi_json *j, const char *text, size_t bytes);
void hdi_json_enter(hdi_json *j, const char *format, ...) HDI_PRINTF(2, 3);
/* A natural number that is at most `most`. */
bool hdi_json_natural(hdi_json *j, const json_t *value, const char *key, uint64_t most, uint64_t *out);

#endif
