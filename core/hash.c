#include "hash.h"

#include <stdbool.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

/* Stripes of 256 bytes, a word for each of 32 lanes: it is xored in, and both halves of what there is then are
 * multiplied by odd constants of 32 bits and added. A changed word so leaves a difference of many bits in its lane,
 * which no other changed bit takes back: where a half is added as it is, or a lane only rotated between a word and the
 * next, two flipped bits some hundred bytes apart pass unseen every other time. The last stripe ends where the bytes
 * end. Then lanes are folded by the same step, one of two being rotated before it: they begin alike, and as they are
 * two equal ones would come to nothing, and two others to the same either way round. Rotated alone, what a changed bit
 * leaves in the last stripe is what another one leaves there, 31 places higher and half of the lanes on, and both went
 * unseen once in 50000 times: so its upper bits come in twice. The last four are folded by a stronger step (that of
 * Collet's XXH64, with constants and finish of its own), which is also what fewer bytes take.
 *
 * Products of 32 bits are what vector units have: five instructions for 32 bytes with AVX2, which is asked for at run
 * time, for 16 without. Long inputs take two thirds of what products of 64 bits in eight lanes took, a quarter more
 * without AVX2. Lanes hide latency: with 16 or 24 of them it takes a fifth to two thirds longer, 48 gain a tenth and
 * make short inputs dearer.
 *
 * Lanes of 512 bits leave that latency open again. So a long input is two runs, which meet in the middle or share a
 * byte there, each with its lanes, and the lanes of both are folded in turn: where there are registers for it the two
 * go side by side, in half the time. It is asked for by an extension that came later than AVX-512 itself, as the first
 * processors to have that run slower for long after few such products. */

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

enum { LANES = 32, STRIPE_BYTES = LANES * 8, TURN = 31, SPREAD = 23, LONG_BYTES = 1 << 14 };

static const uint32_t odd_low = 0x9e3779b1u, odd_high = 0xd134253fu; /* primes near the upper halves of those above */

static uint64_t quick_step(uint64_t lane, uint64_t word)
{
    uint64_t both = lane ^ word;

    return (both & UINT32_MAX) * odd_low + (both >> 32) * odd_high;
}

/* A lane that is to take another one. */
static uint64_t turn(uint64_t lane)
{
    return rotate(lane, TURN) ^ lane >> SPREAD;
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

/* All lanes begin with `first` and take whole stripes, the last of which ends at `end` and may overlap the one before.
 * Then each half of the lanes takes in the other half, until four lanes are left. */
typedef void (*take_fn)(uint64_t first, const unsigned char *at, const unsigned char *end, uint64_t lane[4]);
/* The same for two runs of one length at once, the second `apart` bytes behind the first. Null: take_fn twice. */
typedef void (*take_both_fn)(uint64_t first, const unsigned char *at, const unsigned char *end, size_t apart,
                             uint64_t lane[8]);
typedef struct ways {
    take_fn take;
    take_both_fn take_both;
} ways;

static void take_plain(uint64_t first, const unsigned char *at, const unsigned char *end, uint64_t lane[4])
{
    uint64_t lanes[LANES];
    for (int i = 0; i < LANES; i++)
        lanes[i] = first;
    while (at < end) {
        if ((size_t)(end - at) < STRIPE_BYTES)
            at = end - STRIPE_BYTES;
        for (int i = 0; i < LANES; i++, at += 8)
            lanes[i] = quick_step(lanes[i], load(at));
    }
    for (int half = LANES / 2; half >= 4; half /= 2)
        for (int i = 0; i < half; i++)
            lanes[i] = quick_step(turn(lanes[i]), lanes[i + half]);
    memcpy(lane, lanes, 4 * sizeof(*lanes));
}

#ifdef __SSE2__

/* The same, `each` words at once. The vectors are an array that the loops, being unrolled, keep in registers. */
#define TAKE_STRIPES(vector, each, load_words, store_words, set_all, exclusive_or, shift_left, shift_right, multiply,  \
                     add)                                                                                              \
    enum { VECTORS = LANES / (each) };                                                                                 \
    const vector low = set_all((int64_t)odd_low), high = set_all((int64_t)odd_high);                                   \
    vector lanes[VECTORS], both;                                                                                       \
    for (int i = 0; i < VECTORS; i++)                                                                                  \
        lanes[i] = set_all((int64_t)first);                                                                            \
    while (at < end) {                                                                                                 \
        if ((size_t)(end - at) < STRIPE_BYTES)                                                                         \
            at = end - STRIPE_BYTES;                                                                                   \
        for (int i = 0; i < VECTORS; i++, at += 8 * (each)) {                                                          \
            both = exclusive_or(lanes[i], load_words((const vector *)(const void *)at));                               \
            lanes[i] = add(multiply(both, low), multiply(shift_right(both, 32), high));                                \
        }                                                                                                              \
    }                                                                                                                  \
    for (int half = VECTORS / 2; half >= 4 / (each); half /= 2) {                                                      \
        for (int i = 0; i < half; i++) {                                                                               \
            both = add(shift_left(lanes[i], TURN), shift_right(lanes[i], 64 - TURN));                                  \
            both = exclusive_or(exclusive_or(both, shift_right(lanes[i], SPREAD)), lanes[i + half]);                   \
            lanes[i] = add(multiply(both, low), multiply(shift_right(both, 32), high));                                \
        }                                                                                                              \
    }                                                                                                                  \
    for (int i = 0; i < 4 / (each); i++)                                                                               \
    store_words((vector *)(void *)(lane + i * (each)), lanes[i])

__attribute__((target("avx2"))) static void take_by_four(uint64_t first, const unsigned char *at,
                                                         const unsigned char *end, uint64_t lane[4])
{
    TAKE_STRIPES(__m256i, 4, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_set1_epi64x, _mm256_xor_si256,
                 _mm256_slli_epi64, _mm256_srli_epi64, _mm256_mul_epu32, _mm256_add_epi64);
}

static void take_by_two(uint64_t first, const unsigned char *at, const unsigned char *end, uint64_t lane[4])
{
    TAKE_STRIPES(__m128i, 2, _mm_loadu_si128, _mm_storeu_si128, _mm_set1_epi64x, _mm_xor_si128, _mm_slli_epi64,
                 _mm_srli_epi64, _mm_mul_epu32, _mm_add_epi64);
}

#define BY_EIGHT __attribute__((target("avx512f")))

BY_EIGHT static __m512i step_eight(__m512i lanes, __m512i words)
{
    const __m512i low = _mm512_set1_epi64((int64_t)odd_low), high = _mm512_set1_epi64((int64_t)odd_high);
    __m512i both = _mm512_xor_si512(lanes, words);
    return _mm512_add_epi64(_mm512_mul_epu32(both, low), _mm512_mul_epu32(_mm512_srli_epi64(both, 32), high));
}

BY_EIGHT static __m512i turn_eight(__m512i lanes)
{
    return _mm512_xor_si512(_mm512_rol_epi64(lanes, TURN), _mm512_srli_epi64(lanes, SPREAD));
}

BY_EIGHT static void take_both_by_eight(uint64_t first, const unsigned char *at, const unsigned char *end, size_t apart,
                                        uint64_t lane[8])
{
    enum { VECTORS = LANES / 8 };
    __m512i lanes[2 * VECTORS];
    for (int i = 0; i < 2 * VECTORS; i++)
        lanes[i] = _mm512_set1_epi64((int64_t)first);
    while (at < end) {
        if ((size_t)(end - at) < STRIPE_BYTES)
            at = end - STRIPE_BYTES;
        for (int i = 0; i < VECTORS; i++, at += 64) {
            lanes[i] = step_eight(lanes[i], _mm512_loadu_si512(at));
            lanes[i + VECTORS] = step_eight(lanes[i + VECTORS], _mm512_loadu_si512(at + apart));
        }
    }
    for (int run = 0; run < 2; run++) {
        __m512i *of = lanes + run * VECTORS;
        uint64_t eight[8];
        for (int half = VECTORS / 2; half; half /= 2)
            for (int i = 0; i < half; i++)
                of[i] = step_eight(turn_eight(of[i]), of[i + half]);
        _mm512_storeu_si512(eight, of[0]);
        for (int i = 0; i < 4; i++)
            lane[4 * run + i] = quick_step(turn(eight[i]), eight[i + 4]);
    }
}

static ways fastest(void)
{
    return (ways){__builtin_cpu_supports("avx2") ? take_by_four : take_by_two,
                  __builtin_cpu_supports("avx512vbmi2") ? take_both_by_eight : NULL};
}

#else

static ways fastest(void)
{
    return (ways){take_plain, NULL};
}

#endif

static uint64_t hash_by(ways by, const unsigned char *at, size_t bytes, uint64_t seed)
{
    uint64_t hash = seed + odd_a;
    size_t left = bytes;

    if (left >= STRIPE_BYTES) {
        const bool two = bytes >= LONG_BYTES;
        size_t run = two ? (bytes + 1) / 2 : bytes;
        uint64_t lane[8];
        if (two && by.take_both) {
            by.take_both(hash, at, at + run, bytes - run, lane);
        } else {
            by.take(hash, at, at + run, lane);
            if (two)
                by.take(hash, at + bytes - run, at + bytes, lane + 4);
        }
        for (int i = 0; i < (two ? 8 : 4); i++)
            hash = step(hash, lane[i]);
        left = 0;
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

uint64_t hdi_hash_bytes(const void *data, size_t bytes, uint64_t seed)
{
    return hash_by(fastest(), data, bytes, seed);
}

uint64_t hdi_hash_bytes_plain(const void *data, size_t bytes, uint64_t seed)
{
    return hash_by((ways){take_plain, NULL}, data, bytes, seed);
}
