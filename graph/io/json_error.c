#include "json_error.h"

#include <stdarg.h>
#include <stdio.h>

bool hdi_json_fail(hdi_json *j, const char *format, ...)
{
    if (j->result != HD_OK)
        return false;
    j->result = HD_PARSE;
    char sentence[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    if (j->error && j->error_bytes)
        snprintf(j->error, j->error_bytes, "%s: %s", j->where[0] ? j->where : j->what, sentence);
    return false;
}

bool hdi_json_no_memory(hdi_json *j)
{
    j->result = j->result == HD_OK ? HD_OUT_OF_MEMORY : j->result;
    if (j->error && j->error_bytes)
        snprintf(j->error, j->error_bytes, "%s", hd_result_text(j->result));
    return false;
}

json_t *hdi_json_parse(hdi_json *j, const char *text, size_t bytes)
{
    json_error_t fault = {0}; /* the library leaves its code unset where it fails early */
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &fault);
    if (root)
        return root;
    /* Out of memory the library mostly says nothing at all, or blames the text. */
    if (json_error_code(&fault) == json_error_out_of_memory || !fault.text[0]) {
        j->result = HD_OUT_OF_MEMORY;
        hdi_json_no_memory(j);
    } else {
        hdi_json_fail(j, "line %d, column %d: %s", fault.line, fault.column, fault.text);
    }
    return NULL;
}

void hdi_json_enter(hdi_json *j, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(j->where, sizeof(j->where), format, arguments);
    va_end(arguments);
}

bool hdi_json_natural(hdi_json *j, const json_t *value, const char *key, uint64_t most, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return hdi_json_fail(j, "'%s' is no natural number", key);
    *out = (uint64_t)json_integer_value(value);
    return *out <= most || hdi_json_fail(j, "'%s' is larger than %llu", key, (unsigned long long)most);
}
