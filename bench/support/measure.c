#include "measure.h"

#include <sched.h>
#include <stdlib.h>

#include "alloc.h"

/* Medians, because a shared machine interrupts a few runs and must not move the figure. */

bool hdb_times_add(hdb_times *times, uint64_t ns)
{
    if (times->count == times->capacity) {
        uint32_t capacity = times->capacity ? times->capacity * 2 : 64;
        uint64_t *grown = realloc(times->ns, capacity * sizeof(*grown));
        if (!grown)
            return false;
        times->ns = grown;
        times->capacity = capacity;
    }
    times->ns[times->count++] = ns;
    return true;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

double hdb_times_median(hdb_times *times)
{
    uint32_t half = times->count / 2;

    if (times->count == 0)
        return 0;
    qsort(times->ns, times->count, sizeof(*times->ns), compare);
    if (times->count % 2)
        return (double)times->ns[half];
    return ((double)times->ns[half - 1] + (double)times->ns[half]) / 2;
}

void hdb_times_clear(hdb_times *times)
{
    times->count = 0;
}

void hdb_times_free(hdb_times *times)
{
    free(times->ns);
    *times = (hdb_times){0};
}

static void *counted_alloc(size_t bytes, size_t alignment, void *user)
{
    hdb_counted *counted = user;
    void *piece = hdi_alloc(NULL, bytes, alignment);

    if (!piece)
        return NULL;
    counted->made++;
    counted->bytes += bytes;
    counted->peak = counted->bytes > counted->peak ? counted->bytes : counted->peak;
    return piece;
}

static void counted_free(void *pointer, size_t bytes, void *user)
{
    hdb_counted *counted = user;

    counted->bytes -= bytes;
    hdi_free(NULL, pointer, bytes);
}

hd_allocator hdb_counted_allocator(hdb_counted *counted)
{
    return (hd_allocator){counted_alloc, counted_free, counted};
}

bool hdb_number(const char *text, uint32_t least, uint32_t most, uint32_t *out)
{
    uint64_t value = 0;

    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || value > most)
            return false;
        value = value * 10 + (uint64_t)(*c - '0');
    }
    *out = (uint32_t)value;
    return *text && value >= least && value <= most;
}

bool hdb_pin(int *processor)
{
    cpu_set_t set;

    *processor = sched_getcpu();
    if (*processor < 0)
        return false;
    CPU_ZERO(&set);
    CPU_SET(*processor, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}
