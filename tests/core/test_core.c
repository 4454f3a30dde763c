#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "arena.h"
#include "bitset.h"
#include "clock.h"
#include "csr.h"
#include "hash.h"
#include "limited.h"
#include "random.h"
#include "sort.h"

#ifdef HDI_ARENA_GUARDS
#include <sanitizer/asan_interface.h>
#endif

/* core/ against models that are too simple to be wrong: one byte a bit, bubble-like sorts, lists by search. Each case
 * has a seed of its own, printed when it fails; HEDDLE_SEED=seed runs that case first. */

enum { CASES = 300 };

#define EACH_CASE(seed) for (uint64_t seed = hdt_seed(), end_of_##seed = seed + CASES; seed < end_of_##seed; seed++)
#define must(condition, seed) cr_assert(condition, "HEDDLE_SEED=%" PRIu64, seed)

/* ---- results, allocator, log ---- */

Test(results, every_result_has_a_name_and_a_sentence)
{
    for (int i = 0; i < HD_RESULT_COUNT; i++) {
        cr_assert(strncmp(hd_result_name((hd_result)i), "HD_", 3) == 0);
        cr_assert(strlen(hd_result_text((hd_result)i)) > 3);
        for (int k = 0; k < i; k++)
            cr_assert(strcmp(hd_result_text((hd_result)i), hd_result_text((hd_result)k)) != 0);
    }
    cr_assert_str_eq(hd_result_name(HD_OK), "HD_OK");
    cr_assert_str_eq(hd_result_name(HD_VULKAN), "HD_VULKAN");
    cr_assert_not_null(hd_result_name((hd_result)-1));
    cr_assert_not_null(hd_result_text((hd_result)10000));
}

Test(allocator, default_aligns)
{
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        void *pointer = hdi_alloc(NULL, 0, alignment);
        cr_assert_not_null(pointer);
        cr_assert((uintptr_t)pointer % alignment == 0);
        hdi_free(NULL, pointer, 0);
    }
    hdi_free(NULL, NULL, 1);
}

Test(allocator, zero_bytes_reach_the_hook_as_one)
{
    hdt_limited limited = {0};
    hd_allocator allocator = hdt_limited_allocator(&limited);
    void *pointer = hdi_alloc(&allocator, 0, 16);

    cr_assert(limited.bytes == 1);
    hdi_free(&allocator, pointer, 0);
    cr_assert(limited.out == 0 && limited.wrong == 0);
}

Test(allocator, grow_keeps_content_and_reports_failure)
{
    hdt_limited limited = {0};
    hd_allocator allocator = hdt_limited_allocator(&limited);
    uint32_t *array = NULL, capacity = 0;

    for (uint32_t i = 0; i < 5000; i++) {
        cr_assert(hdi_grow(&allocator, (void **)&array, &capacity, i + 1, sizeof *array) == HD_OK);
        cr_assert(capacity > i);
        array[i] = i * 7;
    }
    cr_assert(limited.made < 12, "doubling, not %d steps", (int)limited.made);
    for (uint32_t i = 0; i < 5000; i++)
        cr_assert(array[i] == i * 7);

    uint32_t *before = array, capacity_before = capacity;
    limited.fail_at = limited.made + 1;
    cr_assert(hdi_grow(&allocator, (void **)&array, &capacity, capacity + 1, sizeof *array) == HD_OUT_OF_MEMORY);
    cr_assert(array == before && capacity == capacity_before && array[4999] == 4999 * 7);
    cr_assert(hdi_grow(&allocator, (void **)&array, &capacity, UINT32_MAX, SIZE_MAX / 4) == HD_OUT_OF_MEMORY);
    hdi_free(&allocator, array, (size_t)capacity * sizeof *array);
    cr_assert(limited.out == 0 && limited.bytes == 0 && limited.wrong == 0);
}

static void keep_line(hd_log_level level, const char *text, void *user)
{
    snprintf(user, 600, "%d %s", (int)level, text);
}

Test(log, formats_cuts_and_may_be_absent)
{
    char line[600] = "", longer[700];
    hd_log log = {keep_line, line};

    hdi_log(&log, HD_LOG_WARNING, "%s %u", "pass", 7u);
    cr_assert_str_eq(line, "1 pass 7");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    hdi_log(&log, HD_LOG_ERROR, "%s", longer);
    cr_assert(strlen(line) == 2 + 511);
    hdi_log(NULL, HD_LOG_ERROR, "%s", longer);
    hdi_log(&(hd_log){0}, HD_LOG_ERROR, "%s", longer);
}

Test(clock, never_goes_back)
{
    uint64_t before = hdi_clock_ns();

    for (int i = 0; i < 100000; i++) {
        uint64_t now = hdi_clock_ns();
        cr_assert(now >= before);
        before = now;
    }
}

/* ---- arena ---- */

typedef struct piece {
    unsigned char *at;
    size_t bytes;
    unsigned char mark;
} piece;

static void check_pieces(const piece *pieces, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < pieces[i].bytes; k++)
            must(pieces[i].at[k] == pieces[i].mark, seed);
}

/* One frame of random pieces; each is filled with its mark, and all marks must stand at the end: no two overlap. */
static void arena_frame(hdi_arena *arena, uint64_t random, uint64_t seed)
{
    piece pieces[64];
    uint32_t count = 1 + hdt_below(&random, 64);

    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = hdt_below(&random, 1u << hdt_below(&random, 16));
        pieces[i] = (piece){hdi_arena_alloc(arena, bytes), bytes, (unsigned char)i};
        must(pieces[i].at && (uintptr_t)pieces[i].at % 64 == 0, seed);
        memset(pieces[i].at, i, bytes);
    }
    check_pieces(pieces, count, seed);
}

Test(arena, pieces_are_aligned_and_apart_and_a_second_frame_allocates_nothing)
{
    EACH_CASE (seed) {
        hdt_limited limited = {0};
        hd_allocator allocator = hdt_limited_allocator(&limited);
        hdi_arena arena;
        uint64_t random = seed;

        hdi_arena_init(&arena, &allocator);
        for (int round = 0; round < 4; round++) {
            uint64_t frame = hdt_random(&random);
            arena_frame(&arena, frame, seed);
            hdi_arena_reset(&arena);
            must(limited.out <= 1, seed);
            uint64_t made = limited.made;
            for (int again = 0; again < 3; again++) {
                arena_frame(&arena, frame, seed);
                must(limited.made == made, seed);
                hdi_arena_reset(&arena);
                must(limited.made == made, seed);
            }
        }
        hdi_arena_free(&arena);
        must(limited.out == 0 && limited.bytes == 0 && limited.wrong == 0, seed);
    }
}

/* Arrays of several sizes grow in turn and against a reference, up to where memory ends: what they hold stays. */
Test(arena, arrays_that_grow_keep_what_they_hold)
{
    EACH_CASE (seed) {
        enum { ARRAYS = 3 };
        static const size_t bytes[ARRAYS] = {1, 12, 80};
        hdt_limited limited = {.fail_at = 6};
        hd_allocator allocator = hdt_limited_allocator(&limited);
        hdi_arena arena;
        uint64_t random = seed;
        unsigned char *array[ARRAYS] = {0};
        uint32_t capacity[ARRAYS] = {0}, count[ARRAYS] = {0};

        hdi_arena_init(&arena, &allocator);
        while (!arena.failed) {
            uint32_t k = hdt_below(&random, ARRAYS), more = 1 + hdt_below(&random, 1u << hdt_below(&random, 8));
            unsigned char *before = array[k];
            uint32_t room = capacity[k];
            if (!hdi_arena_grow(&arena, &array[k], &capacity[k], count[k], count[k] + more, bytes[k])) {
                must(arena.failed && array[k] == before && capacity[k] == room, seed);
                break;
            }
            must(capacity[k] >= count[k] + more && (room == capacity[k] || capacity[k] >= 2 * room), seed);
            for (uint32_t i = 0; i < more; i++, count[k]++)
                memset(array[k] + count[k] * bytes[k], (int)(count[k] % 251 + k), bytes[k]);
        }
        for (uint32_t k = 0; k < ARRAYS; k++) {
            for (size_t i = 0; i < count[k] * bytes[k]; i++)
                must(array[k][i] == (unsigned char)(i / bytes[k] % 251 + k), seed);
        }
        hdi_arena_free(&arena);
    }
}

Test(arena, memory_that_is_lent_goes_back)
{
    hdt_limited limited = {0};
    hd_allocator allocator = hdt_limited_allocator(&limited);
    hdi_arena arena;
    size_t bytes = 0;
    void *memory = NULL;

    hdi_arena_lend(&arena, &allocator, memory, bytes);
    cr_assert_eq(hdi_arena_room(&arena), 0u);
    cr_assert_null(hdi_arena_return(&arena, &bytes));
    for (int frame = 0; frame < 3; frame++) {
        hdi_arena_lend(&arena, &allocator, memory, bytes);
        hdi_arena_widen(&arena, 5000);
        cr_assert_geq(hdi_arena_room(&arena), 5000u);
        size_t room = hdi_arena_room(&arena);
        unsigned char *taken = hdi_arena_alloc(&arena, 4000);
        memset(taken, frame, 4000);
        hdi_arena_widen(&arena, 100000);
        cr_assert_eq(hdi_arena_room(&arena), room - 4032, "not while something is handed out");
        hdi_arena_reset(&arena);
        cr_assert_eq(hdi_arena_room(&arena), room);
        memory = hdi_arena_return(&arena, &bytes);
        cr_assert(memory && bytes > room && limited.made == 1 && limited.out == 1);
    }
    hdi_arena_lend(&arena, &allocator, memory, bytes);
    limited.fail_at = 2;
    hdi_arena_widen(&arena, 100000);
    cr_assert(hdi_arena_room(&arena) == 0 && limited.out == 0, "there is no more memory than that");
    cr_assert_null(hdi_arena_return(&arena, &bytes));
    cr_assert_eq(limited.wrong, 0u);
}

Test(arena, odd_sizes)
{
    hdi_arena arena;

    hdi_arena_init(&arena, NULL);
    unsigned char *none = hdi_arena_alloc(&arena, 0), *one = hdi_arena_alloc(&arena, 1);
    cr_assert(none && one && none != one);
    uint32_t *zeros = HDI_ARENA_ZEROED(&arena, uint32_t, 100000);
    for (int i = 0; i < 100000; i++)
        cr_assert(zeros[i] == 0);
    cr_assert(!arena.failed);
    cr_assert_null(hdi_arena_array(&arena, SIZE_MAX / 2, 4));
    cr_assert(arena.failed, "count times size overflows");
    hdi_arena_reset(&arena);
    cr_assert(!arena.failed && hdi_arena_total(&arena) == 0);
    cr_assert_null(hdi_arena_alloc(&arena, SIZE_MAX));
    cr_assert_null(hdi_arena_alloc(&arena, SIZE_MAX - 127));
    cr_assert_null(hdi_arena_zeroed(&arena, SIZE_MAX - 63, 1));
    cr_assert(arena.failed);
    hdi_arena_free(&arena);
    cr_assert_not_null(hdi_arena_alloc(&arena, 10), "usable again after free");
    hdi_arena_free(&arena);
}

#ifdef HDI_ARENA_GUARDS
Test(arena, nobody_touches_what_is_behind_an_array)
{
    const size_t bytes[] = {0, 1, 63, 64, 65, 1000};
    hdi_arena arena;

    hdi_arena_init(&arena, NULL);
    for (int frame = 0; frame < 2; frame++) {
        for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++) {
            unsigned char *array = hdi_arena_alloc(&arena, bytes[i]);
            cr_assert_null(__asan_region_is_poisoned(array, bytes[i]));
            for (unsigned char *behind = array + bytes[i]; behind < arena.at; behind++)
                cr_assert(__asan_address_is_poisoned(behind));
        }
        hdi_arena_reset(&arena);
    }
    hdi_arena_free(&arena);
}
#endif

/* ---- bitset ---- */

Test(bitset, follows_one_byte_a_bit)
{
    enum { BITS = 330 };
    EACH_CASE (seed) {
        uint64_t random = seed, words[(BITS + 63) / 64 + 1] = {0};
        unsigned char model[BITS + 64] = {0};

        words[hdi_bit_words(BITS)] = 0xfeedfeedfeedfeedu;
        for (int step = 0; step < 60; step++) {
            uint32_t begin = hdt_below(&random, BITS + 1), end = hdt_below(&random, BITS + 1);
            uint32_t what = hdt_below(&random, 5);
            bool any = false;
            if (what == 0 && begin < BITS) {
                hdi_bit_set(words, begin);
                model[begin] = 1;
            } else if (what == 1 && begin < BITS) {
                hdi_bit_clear(words, begin);
                model[begin] = 0;
            } else if (what == 2) {
                hdi_bit_set_range(words, begin, end); /* an empty or reversed range is no bits */
                for (uint32_t i = begin; i < end; i++)
                    model[i] = 1;
            } else if (what == 3) {
                hdi_bit_clear_range(words, begin, end);
                for (uint32_t i = begin; i < end; i++)
                    model[i] = 0;
            }
            for (uint32_t i = begin; i < end; i++)
                any |= model[i];
            must(hdi_bit_any_range(words, begin, end) == any, seed);
            uint32_t count = 0, bits = hdt_below(&random, BITS + 1);
            for (uint32_t i = 0; i < bits; i++)
                count += model[i];
            must(hdi_bit_count(words, bits) == count, seed);
            for (uint32_t i = 0; i < BITS; i++)
                must(hdi_bit_get(words, i) == model[i], seed);
        }
        must(words[hdi_bit_words(BITS)] == 0xfeedfeedfeedfeedu, seed);
    }
    cr_assert(hdi_bit_words(0) == 0 && hdi_bit_words(64) == 1 && hdi_bit_words(UINT32_MAX) == 67108864);
}

/* ---- csr ---- */

Test(csr, groups_in_order)
{
    EACH_CASE (seed) {
        uint64_t random = seed;
        uint32_t n = 1 + hdt_below(&random, 40), count = hdt_below(&random, 300);
        uint32_t key[300], begin[42], items[300], scan[42] = {0};

        for (uint32_t i = 0; i < count; i++)
            scan[key[i] = hdt_below(&random, n)]++;
        begin[n + 1] = 12345;
        hdi_csr_build(key, count, n, begin, items);
        uint32_t at = 0;
        for (uint32_t k = 0; k < n; k++) {
            must(begin[k] == at, seed);
            for (uint32_t i = 0; i < count; i++)
                if (key[i] == k)
                    must(items[at++] == i, seed);
        }
        must(begin[n] == count && at == count && begin[n + 1] == 12345, seed);
        must(hdi_csr_scan(scan, n) == count && memcmp(scan, begin, (n + 1) * sizeof *scan) == 0, seed);
    }
    uint32_t none[1] = {9};
    hdi_csr_build(NULL, 0, 0, none, NULL);
    cr_assert(none[0] == 0);
}

/* ---- sort ---- */

Test(sort, is_sorted_and_stable)
{
    static uint64_t keys[5000], model[5000], scratch_keys[5000];
    static uint32_t values[5000], scratch_values[5000];

    EACH_CASE (seed) {
        uint64_t random = seed;
        uint32_t n = hdt_below(&random, 1u << (1 + hdt_below(&random, 12)));
        uint64_t mask = hdt_random(&random) & hdt_random(&random), base = hdt_random(&random);
        unsigned char seen[5000] = {0};

        for (uint32_t i = 0; i < n; i++) {
            /* Few bits: equal keys, and rounds in which all agree. */
            keys[i] = model[i] = base ^ (hdt_random(&random) & mask);
            values[i] = i;
        }
        hdi_sort_u64(keys, values, scratch_keys, scratch_values, n);
        for (uint32_t i = 0; i < n; i++) {
            must(values[i] < n && !seen[values[i]]++ && keys[i] == model[values[i]], seed);
            must(i == 0 || keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && values[i - 1] < values[i]), seed);
        }
    }
}

/* ---- hash ---- */

Test(hash, sees_any_bit_and_the_length)
{
    unsigned char bytes[600];

    EACH_CASE (seed) {
        uint64_t random = seed;
        size_t length = hdt_below(&random, sizeof bytes + 1);

        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)hdt_random(&random);
        uint64_t hash = hdi_hash_bytes(bytes, length, seed);
        must(hash == hdi_hash_bytes_plain(bytes, length, seed), seed);
        must(hash != hdi_hash_bytes(bytes, length, seed + 1), seed);
        if (length < sizeof bytes)
            must(hash != hdi_hash_bytes(bytes, length + 1, seed), seed);
        for (size_t bit = hdt_below(&random, 8); bit < length * 8; bit += 1 + hdt_below(&random, 12)) {
            bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
            must(hash != hdi_hash_bytes(bytes, length, seed), seed);
            bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        }
        for (size_t a = 0; a + 8 <= length; a += 8) { /* and where words stand */
            size_t b = (a + 8 + 8 * hdt_below(&random, 16)) % (length & ~(size_t)7);
            unsigned char word[8];
            if (memcmp(bytes + a, bytes + b, 8) == 0)
                continue;
            memcpy(word, bytes + a, 8);
            memcpy(bytes + a, bytes + b, 8);
            memcpy(bytes + b, word, 8);
            must(hash != hdi_hash_bytes(bytes, length, seed), seed);
            memcpy(word, bytes + a, 8);
            memcpy(bytes + a, bytes + b, 8);
            memcpy(bytes + b, word, 8);
        }
        must(hdi_hash_mix(hash, 1) != hdi_hash_mix(hash, 2) && hdi_hash_mix(hash, 1) != hdi_hash_mix(hash + 1, 1),
             seed);
    }
    memset(bytes, 0, sizeof bytes);
    for (size_t a = 0; a <= sizeof bytes; a++)
        for (size_t b = 0; b < a; b++)
            cr_assert(hdi_hash_bytes(bytes, a, 0) != hdi_hash_bytes(bytes, b, 0));
}

/* Long inputs are taken as two runs that may share a byte: the same with vectors and without, and neither which run a
 * word is in nor where they meet is lost. */
Test(hash, sees_both_runs_of_long_inputs)
{
    enum { MOST = 33000 };
    unsigned char *bytes = malloc(MOST + 1);
    uint64_t random = 1;

    for (size_t i = 0; i <= MOST; i++)
        bytes[i] = (unsigned char)hdt_random(&random);
    for (size_t length = 16000; length <= MOST; length += 1 + hdt_below(&random, 97)) {
        const unsigned char *from = bytes + length % 2;
        size_t spots[] = {0, length / 2 - 1, length / 2, length / 2 + 1, length - 1, hdt_below(&random, length)};
        uint64_t hash = hdi_hash_bytes(from, length, length);
        cr_assert(hash == hdi_hash_bytes_plain(from, length, length), "%zu bytes", length);
        for (size_t i = 0; i < sizeof(spots) / sizeof(spots[0]); i++) {
            bytes[spots[i] + length % 2] ^= 16;
            cr_assert(hash != hdi_hash_bytes(from, length, length), "byte %zu of %zu", spots[i], length);
            bytes[spots[i] + length % 2] ^= 16;
        }
    }
    memset(bytes, 0, MOST);
    for (size_t at = 0; at < 16384; at += 504) { /* the same word in the one run and in the other */
        bytes[at] = 1;
        uint64_t hash = hdi_hash_bytes(bytes, 32768, 0);
        bytes[at] = 0;
        bytes[at + 16384] = 1;
        cr_assert(hash != hdi_hash_bytes(bytes, 32768, 0), "byte %zu", at);
        bytes[at + 16384] = 0;
    }
    free(bytes);
}

/* Tables change in few places: no two flipped bits may undo each other, wherever they stand. */
Test(hash, sees_two_flipped_bits)
{
    enum { WORDS = 110 };
    static const int bits[] = {0, 1, 16, 31, 32, 33, 63};
    enum { BITS = sizeof(bits) / sizeof(bits[0]), FLIPS = WORDS * BITS };
    uint64_t words[WORDS], random = 1;

    for (int i = 0; i < WORDS; i++)
        words[i] = hdt_random(&random);
    uint64_t hash = hdi_hash_bytes(words, sizeof(words), 0);
    for (int a = 0; a < FLIPS; a++) {
        words[a / BITS] ^= (uint64_t)1 << bits[a % BITS];
        for (int b = 0; b < a; b++) {
            words[b / BITS] ^= (uint64_t)1 << bits[b % BITS];
            cr_assert(hdi_hash_bytes(words, sizeof(words), 0) != hash, "bit %d of word %d and %d of %d", bits[a % BITS],
                      a / BITS, bits[b % BITS], b / BITS);
            words[b / BITS] ^= (uint64_t)1 << bits[b % BITS];
        }
        words[a / BITS] ^= (uint64_t)1 << bits[a % BITS];
    }
}

/* Nor where nothing comes behind either of them, and one leaves in its lane what the other leaves, rotated. */
Test(hash, sees_two_flipped_bits_at_the_end)
{
    enum { WORDS = 32 };
    uint64_t words[WORDS], random = 1;

    for (int i = 0; i < 1 << 18; i++) {
        int at = i % (WORDS / 2), to = at + WORDS / 2, half = i & 1 << 17 ? 32 : 0;
        memset(words, 0, sizeof(words));
        words[at] = hdt_random(&random);
        words[to] = hdt_random(&random);
        uint64_t hash = hdi_hash_bytes(words, sizeof(words), 0);
        words[at] ^= (uint64_t)1 << half;
        words[to] ^= (uint64_t)1 << (half + 31);
        cr_assert(hdi_hash_bytes(words, sizeof(words), 0) != hash, "words %d and %d", at, to);
    }
}

/* Much of a table is zero, and some of it equal: what happens to two words alike must not vanish, nor their order. */
Test(hash, sees_equal_words)
{
    enum { WORDS = 110 };
    static const int counts[] = {31, 32, 33, 64, WORDS};
    uint64_t words[WORDS] = {0};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        size_t bytes = (size_t)counts[i] * sizeof(*words);
        uint64_t hash = hdi_hash_bytes(words, bytes, 0);
        for (int a = 0; a < counts[i]; a++) {
            for (int b = 0; b < a; b++) {
                words[a] = words[b] = 5;
                cr_assert(hdi_hash_bytes(words, bytes, 0) != hash, "words %d and %d of %d", a, b, counts[i]);
                words[a] = 7;
                uint64_t other = hdi_hash_bytes(words, bytes, 0);
                words[a] = 5;
                words[b] = 7;
                cr_assert(hdi_hash_bytes(words, bytes, 0) != other, "order of %d and %d of %d", a, b, counts[i]);
                words[a] = words[b] = 0;
            }
        }
        memset(words, 0xff, bytes);
        cr_assert(hdi_hash_bytes(words, bytes, 0) != hash, "all bits of %d words", counts[i]);
        memset(words, 0, bytes);
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Small integers are what tables are made of: no two of 200000 pairs may meet in 64 bits (chance 1e-9), and each bit of
 * the hash must be set about every other time. */
Test(hash, spreads_small_integers)
{
    enum { COUNT = 200000 };
    uint64_t *hashes = malloc(COUNT * sizeof *hashes);
    uint32_t ones[64] = {0};

    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t pair[2] = {i % 450, i / 450};
        hashes[i] = hdi_hash_bytes(pair, sizeof pair, 0);
        for (int bit = 0; bit < 64; bit++)
            ones[bit] += hashes[i] >> bit & 1;
    }
    qsort(hashes, COUNT, sizeof *hashes, compare_u64);
    for (uint32_t i = 1; i < COUNT; i++)
        cr_assert(hashes[i - 1] != hashes[i]);
    for (int bit = 0; bit < 64; bit++)
        cr_assert(ones[bit] > COUNT * 48 / 100 && ones[bit] < COUNT * 52 / 100);
    free(hashes);
}
