#include "hash.h"

#include <string.h>

/* Eight independent lanes over stripes of 128 bytes, each takes two words a stripe: one is xored in, multiplied and
 * rotated, the other is added. Then the lanes and the tail are folded into one word by a stronger step (that of
 * Collet's XXH64, with constants and finish of its own). Each step is a bijection of its lane for fixed data, and of
 * either word for a fixed lane, so no input value can wipe out what came before it, as multiplying two data words
 * together could. One multiplication for 16 bytes and two instructions a word are all that a plan pays for its name:
 * with one a word it was half as much again. Eight lanes hide the multiplier's latency. */

static const uint64_t odd_a = 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
static const uint64_t odd_b = 0xd1342543de82ef95u; /* a full-period LCG multiplier (Steele, Vigna 2021) */

static uint64_t rotate(uint64_t value, unsigned by)
{
    return value << by | value >> (64 - by);
}

static uint64_t load(const unsigned char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t step(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * odd_b, 31) * odd_a;
}

/* The next 16 bytes. */
static uint64_t quick_step(uint64_t lane, const unsigned char *at)
{
    return rotate((lane ^ load(at)) * odd_a, 29) + load(at + 8);
}

/* Stafford's variant 13 of the finish of MurmurHash3. */
static uint64_t finish(uint64_t hash)
{
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}

uint64_t hdi_hash_mix(uint64_t hash, uint64_t value)
{
    return finish(step(hash + odd_a, value));
}

uint64_t hdi_hash_bytes(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *at = data;
    size_t left = bytes;
    uint64_t hash = seed + odd_a;

    if (left >= 128) {
        uint64_t a = seed + odd_a, b = seed ^ odd_b, c = seed - odd_a, d = seed + odd_b;
        uint64_t e = ~a, f = ~b, g = ~c, h = ~d;
        for (; left >= 128; at += 128, left -= 128) {
            a = quick_step(a, at);
            b = quick_step(b, at + 16);
            c = quick_step(c, at + 32);
            d = quick_step(d, at + 48);
            e = quick_step(e, at + 64);
            f = quick_step(f, at + 80);
            g = quick_step(g, at + 96);
            h = quick_step(h, at + 112);
        }
        const uint64_t lanes[] = {a, b, c, d, e, f, g, h};
        for (unsigned i = 0; i < 8; i++)
            hash = step(hash, lanes[i]);
    }
    for (; left >= 8; at += 8, left -= 8)
        hash = step(hash, load(at));
    if (left > 0) {
        unsigned char tail[8] = {0};
        memcpy(tail, at, left);
        hash = step(hash, load(tail));
    }
    return finish(step(hash, bytes)); /* the length tells "a" from "a\0" */
}
