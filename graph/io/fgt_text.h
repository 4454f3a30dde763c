/* Lines of .fgt text, their fields, and what the fields say; the first error of a text. */
#ifndef HDI_FGT_TEXT_H
#define HDI_FGT_TEXT_H

#include "alloc.h"
#include "fgt_words.h"

enum { HDI_FGT_MAX_FIELDS = 32 };

typedef struct hdi_fgt_field {
    const char *text;
    size_t length;
} hdi_fgt_field;

typedef struct hdi_fgt_text {
    const char *file;
    char *error;
    size_t error_bytes;
    uint32_t line;
    hd_result result;
    hdi_fgt_field fields[HDI_FGT_MAX_FIELDS];
    uint32_t field_count;
    char *names, *names_end; /* room for the names of the text, and where the next one goes */
} hdi_fgt_text;

/* All return false after an error; the first sentence stays. */
bool hdi_fgt_fail(hdi_fgt_text *t, hd_result result, const char *format, ...) HDI_PRINTF(3, 4);
bool hdi_fgt_no_memory(hdi_fgt_text *t);
/* For messages: "%.*s". */
#define HDI_FGT_SHOW(f) (int)((f)->length < 40 ? (f)->length : 40), (f)->text

bool hdi_fgt_split(hdi_fgt_text *t, const char *text, size_t length);
bool hdi_fgt_is(const hdi_fgt_field *f, const char *word);
/* So many fields before the words. */
bool hdi_fgt_expect(hdi_fgt_text *t, uint32_t count, const char *form);
bool hdi_fgt_number(hdi_fgt_text *t, const hdi_fgt_field *f, uint64_t most, const char *what, uint64_t *out);
bool hdi_fgt_u32(hdi_fgt_text *t, uint32_t index, const char *what, uint32_t *out);
/* The words from field `first` on, each at most once. fields: the struct of the line; gets what is absent first. */
bool hdi_fgt_read_words(hdi_fgt_text *t, uint32_t first, const hdi_fgt_words *words, void *fields);
bool hdi_fgt_has_word(const hdi_fgt_text *t, uint32_t first, const char *word);

#endif
