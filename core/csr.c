#include "csr.h"

#include <string.h>

/* Counting sort. The build turns counts into ends and fills from the last item down: each step moves an end to its
 * start, so no second array of cursors is needed and the order within a key stays. */

uint32_t hdi_csr_scan(uint32_t *begin, uint32_t n)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t count = begin[i];
        begin[i] = sum;
        sum += count;
    }
    begin[n] = sum;
    return sum;
}

void hdi_csr_build(const uint32_t *key, uint32_t count, uint32_t n, uint32_t *begin, uint32_t *items)
{
    uint32_t sum = 0;

    memset(begin, 0, ((size_t)n + 1) * sizeof *begin);
    for (uint32_t i = 0; i < count; i++)
        begin[key[i]]++;
    for (uint32_t k = 0; k < n; k++) {
        sum += begin[k];
        begin[k] = sum;
    }
    begin[n] = sum;
    for (uint32_t i = count; i-- > 0;)
        items[--begin[key[i]]] = i;
}
