/* CSR adjacency (`begin[n + 1] + items[]`) built by a counting sort: count, scan, fill. Stable: the items of a key keep
 * the order in which they stand. O(keys + items). */
#ifndef HDI_CSR_H
#define HDI_CSR_H

#include <stdint.h>

/* Turns counts in begin[0 .. n - 1] into starts, begin[n] into the total; returns the total. */
uint32_t hdi_csr_scan(uint32_t *begin, uint32_t n);
/* begin[n + 1] and items[count]: item i (its index) goes under key[i] < n. */
void hdi_csr_build(const uint32_t *key, uint32_t count, uint32_t n, uint32_t *begin, uint32_t *items);

#endif
