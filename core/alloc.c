#include "alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

/* The public hooks with their defaults. An all-zero hd_allocator is looked at by its alloc member only: a host whose
 * memory is dropped as a whole may leave free out. posix_memalign instead of aligned_alloc: the latter wants sizes that
 * are multiples of the alignment. */

/* A long frame walks through tens of megabytes, by many columns at a time: pages of 2 MiB, which the kernel gives on
 * request, save misses of the TLB. Only a hint: its result is not looked at. */
static void *alloc_large(size_t bytes, size_t alignment)
{
    enum { PAGE = 2 << 20 };
    void *pointer = NULL;

    if (posix_memalign(&pointer, alignment < PAGE ? PAGE : alignment, bytes) != 0)
        return NULL;
#if defined(MADV_HUGEPAGE)
    madvise(pointer, bytes & ~(size_t)(PAGE - 1), MADV_HUGEPAGE);
#endif
    return pointer;
}

enum { LARGE_BYTES = 4 << 20 };

void *hdi_alloc(const hd_allocator *allocator, size_t bytes, size_t alignment)
{
    void *pointer = NULL;

    if (bytes == 0)
        bytes = 1;
    if (bytes > PTRDIFF_MAX) /* no object can be larger; hosts need not check it */
        return NULL;
    if (allocator && allocator->alloc)
        return allocator->alloc(bytes, alignment, allocator->user);
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    if (bytes >= LARGE_BYTES)
        return alloc_large(bytes, alignment);
    return posix_memalign(&pointer, alignment, bytes) == 0 ? pointer : NULL;
}

void hdi_free(const hd_allocator *allocator, void *pointer, size_t bytes)
{
    if (!pointer)
        return;
    if (!allocator || !allocator->alloc)
        free(pointer);
    else if (allocator->free)
        allocator->free(pointer, bytes ? bytes : 1, allocator->user);
}

hd_result hdi_grow(const hd_allocator *allocator, void **pointer, uint32_t *capacity, uint32_t need,
                   size_t element_bytes)
{
    if (need <= *capacity)
        return HD_OK;
    uint64_t wanted = *capacity ? (uint64_t)*capacity * 2 : 16;
    if (wanted < need)
        wanted = need;
    if (wanted > UINT32_MAX)
        wanted = UINT32_MAX;
    if (element_bytes != 0 && wanted > SIZE_MAX / element_bytes)
        return HD_OUT_OF_MEMORY;

    /* 64: any array may be read a cache line at a time. */
    void *grown = hdi_alloc(allocator, (size_t)wanted * element_bytes, 64);
    if (!grown)
        return HD_OUT_OF_MEMORY;
    size_t old_bytes = (size_t)*capacity * element_bytes;
    if (*pointer) {
        memcpy(grown, *pointer, old_bytes);
        hdi_free(allocator, *pointer, old_bytes);
    }
    *pointer = grown;
    *capacity = (uint32_t)wanted;
    return HD_OK;
}

void hdi_one_line(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
    }
}

void hdi_log(const hd_log *log, hd_log_level level, const char *format, ...)
{
    char line[512];
    va_list arguments;

    if (!log || !log->write)
        return;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    hdi_one_line(line);
    log->write(level, line, log->user);
}
