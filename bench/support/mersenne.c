#include "mersenne.h"

#include <assert.h>
#include <stdbool.h>

/* MT19937 (Matsumoto and Nishimura 1998) seeded by an array, here the one or two 32-bit words of the seed; numbers
 * below a limit by drawing as many bits as the limit has until one fits; samples by swapping within a list where that
 * is short, by drawing again what was drawn before where it is long. Python draws in the same way, which is the only
 * reason for the choice: where it does not matter, the tests use a smaller generator. */

enum { MIDDLE = 397 };

static void seed_with_number(hdb_mersenne *m, uint32_t number)
{
    m->word[0] = number;
    for (uint32_t i = 1; i < HDB_MERSENNE_WORDS; i++) {
        uint32_t before = m->word[i - 1];
        m->word[i] = 1812433253u * (before ^ before >> 30) + i;
    }
    m->next = HDB_MERSENNE_WORDS;
}

/* Steps through the words 1 to 623 in a circle; word 0 follows word 623 when the circle closes. */
static uint32_t step(hdb_mersenne *m, uint32_t i)
{
    if (++i == HDB_MERSENNE_WORDS) {
        m->word[0] = m->word[HDB_MERSENNE_WORDS - 1];
        i = 1;
    }
    return i;
}

void hdb_mersenne_seed(hdb_mersenne *m, uint64_t seed)
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t key_count = key[1] ? 2 : 1, i = 1;

    seed_with_number(m, 19650218u);
    for (uint32_t k = 0; k < HDB_MERSENNE_WORDS; k++) {
        uint32_t before = m->word[i - 1], part = k % key_count;
        m->word[i] = (m->word[i] ^ (before ^ before >> 30) * 1664525u) + key[part] + part;
        i = step(m, i);
    }
    for (uint32_t k = 1; k < HDB_MERSENNE_WORDS; k++) {
        uint32_t before = m->word[i - 1];
        m->word[i] = (m->word[i] ^ (before ^ before >> 30) * 1566083941u) - i;
        i = step(m, i);
    }
    m->word[0] = 0x80000000u;
}

static void make_words(hdb_mersenne *m)
{
    for (uint32_t i = 0; i < HDB_MERSENNE_WORDS; i++) {
        uint32_t bits = (m->word[i] & 0x80000000u) | (m->word[(i + 1) % HDB_MERSENNE_WORDS] & 0x7fffffffu);
        m->word[i] = m->word[(i + MIDDLE) % HDB_MERSENNE_WORDS] ^ bits >> 1 ^ (bits & 1 ? 0x9908b0dfu : 0);
    }
    m->next = 0;
}

static uint32_t draw(hdb_mersenne *m)
{
    if (m->next == HDB_MERSENNE_WORDS)
        make_words(m);
    uint32_t bits = m->word[m->next++];
    bits ^= bits >> 11;
    bits ^= bits << 7 & 0x9d2c5680u;
    bits ^= bits << 15 & 0xefc60000u;
    return bits ^ bits >> 18;
}

double hdb_random(hdb_mersenne *m)
{
    uint32_t high = draw(m) >> 5, low = draw(m) >> 6;

    return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

uint32_t hdb_below(hdb_mersenne *m, uint32_t limit)
{
    uint32_t bits = 0, value;

    while (bits < 32 && limit >> bits)
        bits++;
    do
        value = draw(m) >> (32 - bits);
    while (value >= limit);
    return value;
}

uint32_t hdb_between(hdb_mersenne *m, uint32_t low, uint32_t high)
{
    return low + hdb_below(m, high - low + 1);
}

static bool is_among(const uint32_t *numbers, uint32_t count, uint32_t number)
{
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] == number)
            return true;
    }
    return false;
}

void hdb_sample(hdb_mersenne *m, uint32_t limit, uint32_t count, uint32_t *scratch, uint32_t *out)
{
    uint32_t list_limit = 21; /* up to here the list is shorter than the set of what was drawn */

    assert(count <= limit && count <= 16);
    if (count > 5) {
        uint32_t table = 1;
        while (table < count * 3)
            table *= 4;
        list_limit += table;
    }
    if (limit > list_limit) {
        for (uint32_t i = 0; i < count; i++) {
            do
                out[i] = hdb_below(m, limit);
            while (is_among(out, i, out[i]));
        }
        return;
    }
    for (uint32_t i = 0; i < limit; i++)
        scratch[i] = i;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = hdb_below(m, limit - i);
        out[i] = scratch[at];
        scratch[at] = scratch[limit - i - 1];
    }
}
