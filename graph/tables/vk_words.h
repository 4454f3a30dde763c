/* Vulkan's numbers as words, for sentences and files, and words as numbers. */
#ifndef HDI_VK_WORDS_H
#define HDI_VK_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hdi_words {
    /* Masks: a word a bit. */
    HDI_WORDS_STAGES,
    HDI_WORDS_ACCESS,
    HDI_WORDS_IMAGE_USAGE,
    HDI_WORDS_BUFFER_USAGE,
    HDI_WORDS_IMAGE_FLAGS,
    /* Numbers: one word. */
    HDI_WORDS_RESOLVE_MODE,
    HDI_WORDS_LAYOUT,
    HDI_WORDS_LOAD,
    HDI_WORDS_STORE,
    HDI_WORDS_FORMAT,
    HDI_WORDS_COUNT
} hdi_words;

/* Room for all the words of a mask. */
typedef struct hdi_text {
    char text[1600];
} hdi_text;

/* The words of a mask with bars between them, "none" for 0; or the word of a number. A bit without a word is
 * hexadecimal, a number without one decimal. In room; returns its text. */
const char *hdi_words_of(hdi_words words, uint64_t number, hdi_text *room);
/* In a sentence. */
#define HDI_STAGE_TEXT(mask) hdi_words_of(HDI_WORDS_STAGES, mask, &(hdi_text){{0}})
#define HDI_ACCESS_TEXT(mask) hdi_words_of(HDI_WORDS_ACCESS, mask, &(hdi_text){{0}})
#define HDI_LAYOUT_TEXT(layout) hdi_words_of(HDI_WORDS_LAYOUT, layout, &(hdi_text){{0}})
#define HDI_LOAD_TEXT(op) hdi_words_of(HDI_WORDS_LOAD, op, &(hdi_text){{0}})
#define HDI_STORE_TEXT(op) hdi_words_of(HDI_WORDS_STORE, op, &(hdi_text){{0}})
#define HDI_FORMAT_TEXT(format) hdi_words_of(HDI_WORDS_FORMAT, format, &(hdi_text){{0}})
/* Reads what hdi_words_of writes; false: it is no such text. */
bool hdi_words_read(hdi_words words, const char *text, size_t length, uint64_t *number);

#endif
