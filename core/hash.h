/* 64-bit hash of bytes for cache lookups (never a proof of equality). Same result on every machine of the same byte
 * order. hdi_hash_mix folds one more value into a running hash. */
#ifndef HDI_HASH_H
#define HDI_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hdi_hash_bytes(const void *data, size_t bytes, uint64_t seed);
uint64_t hdi_hash_bytes_plain(const void *data, size_t bytes, uint64_t seed); /* the same without vectors: its model */
uint64_t hdi_hash_mix(uint64_t hash, uint64_t value);

#endif
