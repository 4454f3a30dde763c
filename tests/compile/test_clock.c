#include <criterion/criterion.h>

#include <inttypes.h>

#include "random.h"
#include "schedule_clock.h"

/* Clocks of the list schedule: words of fields against an array of numbers, for short clocks and for long ones. */

typedef struct model {
    uint32_t of[HD_MAX_QUEUES];
    uint64_t clock[HDI_CLOCK_WORDS];
} model;

static void put(model *m, uint32_t words, uint32_t queue, uint32_t value)
{
    uint64_t *word = &m->clock[hdi_clock_word(words, queue)];
    uint32_t shift = hdi_clock_shift(words, queue);
    *word = (*word & ~(hdi_clock_mask(words) << shift)) | (uint64_t)value << shift;
    m->of[queue] = value;
}

/* None, the most that there can be, and few numbers between, so that some are the same. */
static model any(uint64_t *state, uint32_t words, uint32_t queues)
{
    model m = {{0}, {0}};
    for (uint32_t q = 0; q < queues; q++) {
        uint32_t most = (uint32_t)hdi_clock_mask(words), kind = hdt_below(state, 4);
        put(&m, words, q, kind == 0 ? 0 : kind == 1 ? most : kind == 2 ? hdt_below(state, 4) : hdt_below(state, most));
    }
    return m;
}

static void check(uint64_t seed, uint32_t queues, uint32_t slots)
{
    uint32_t words = hdi_clock_words(queues, slots);
    uint64_t state = seed;
    model a = any(&state, words, queues), b = any(&state, words, queues);
    bool covers = true;
    cr_assert(slots <= hdi_clock_mask(words) && words <= HDI_CLOCK_WORDS);
    for (uint32_t q = 0; q < queues; q++)
        covers &= a.of[q] >= b.of[q];
    cr_assert(hdi_clock_covers(words, a.clock, b.clock) == covers, "HEDDLE_SEED=%" PRIu64 " queues %u", seed, queues);
    hdi_clock_raise(words, a.clock, b.clock);
    for (uint32_t q = 0; q < queues; q++) {
        uint32_t newest = a.of[q] > b.of[q] ? a.of[q] : b.of[q];
        cr_assert(hdi_clock_get(words, a.clock, q) == newest, "HEDDLE_SEED=%" PRIu64 " queues %u: %u", seed, queues, q);
    }
    cr_assert(hdi_clock_covers(words, a.clock, b.clock), "HEDDLE_SEED=%" PRIu64 " queues %u", seed, queues);
}

Test(clock, words_do_what_numbers_do)
{
    for (uint64_t seed = hdt_seed(), last = seed + 2000; seed < last; seed++) {
        for (uint32_t queues = 1; queues <= HD_MAX_QUEUES; queues++) {
            check(seed, queues, HDI_SHORT_SLOTS);
            check(seed, queues, HDI_SHORT_SLOTS + 1);
        }
    }
}
