/* The allocator and log behind the public hooks: a zero hd_allocator means the C library. */
#ifndef HDI_ALLOC_H
#define HDI_ALLOC_H

#include <heddle/base.h>

/* Null when there is no memory; bytes 0 is allocated as 1. */
void *hdi_alloc(const hd_allocator *allocator, size_t bytes, size_t alignment);
void hdi_free(const hd_allocator *allocator, void *pointer, size_t bytes);
/* Grows an array in place of *pointer to at least need elements by doubling; keeps the old content. Returns HD_OK or
 * HD_OUT_OF_MEMORY (then nothing changed). capacity counts elements. */
hd_result hdi_grow(const hd_allocator *allocator, void **pointer, uint32_t *capacity, uint32_t need,
                   size_t element_bytes);

#if defined(__GNUC__)
#define HDI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HDI_PRINTF(text, first)
#endif
/* What a line of text may not hold, a line's end among it, becomes spaces: names come from anywhere. */
void hdi_one_line(char *text);
/* One formatted line (cut at 511 characters) to the log, if there is one. */
void hdi_log(const hd_log *log, hd_log_level level, const char *format, ...) HDI_PRINTF(3, 4);

#endif
