#include <criterion/criterion.h>

#include "random.h"
#include "simd.h"

/* Eight numbers at once against one at a time. Both forms: test_simd_plain is built without SSE2. */

typedef struct eight {
    int16_t lane[HDI_LANES];
} eight;

static eight out(hdi_i16x8 value)
{
    eight to;
    hdi_i16_store(to.lane, value);
    return to;
}

static eight any(uint64_t *random)
{
    static const int16_t edges[] = {INT16_MIN, INT16_MIN + 1, -1, 0, 1, INT16_MAX - 1, INT16_MAX};
    eight to;
    for (int k = 0; k < HDI_LANES; k++)
        to.lane[k] = hdt_below(random, 3) ? (int16_t)hdt_below(random, 1 << 16) : edges[hdt_below(random, 7)];
    return to;
}

static int16_t clamp(int value)
{
    return (int16_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
}

#define EXPECT_LANES(got, k, wanted)                                                                                   \
    do {                                                                                                               \
        eight is = out(got);                                                                                           \
        for (int k = 0; k < HDI_LANES; k++)                                                                            \
            cr_expect_eq(is.lane[k], (int16_t)(wanted), "%s, lane %d: %d", #got, k, is.lane[k]);                       \
    } while (0)

Test(simd, lanes_are_what_one_number_at_a_time_is)
{
    uint64_t random = hdt_seed();
    for (int i = 0; i < 2000; i++) {
        eight x = any(&random), y = any(&random);
        hdi_i16x8 a = hdi_i16_load(x.lane), b = hdi_i16_load(y.lane), mask = hdi_i16_greater(a, b);
        int16_t most_so_far[HDI_LANES], so_far = 0;
        eight positive = x;
        uint32_t bits = 0;
        for (int k = 0; k < HDI_LANES; k++) {
            positive.lane[k] = x.lane[k] & INT16_MAX;
            most_so_far[k] = so_far = positive.lane[k] > so_far ? positive.lane[k] : so_far;
            bits |= (uint32_t)(x.lane[k] > y.lane[k]) << k;
        }
        EXPECT_LANES(hdi_i16_all(x.lane[3]), k, x.lane[3]);
        EXPECT_LANES(hdi_i16_subtract_clamped(a, b), k, clamp(x.lane[k] - y.lane[k]));
        EXPECT_LANES(hdi_i16_max(a, b), k, x.lane[k] > y.lane[k] ? x.lane[k] : y.lane[k]);
        EXPECT_LANES(mask, k, x.lane[k] > y.lane[k] ? -1 : 0);
        EXPECT_LANES(hdi_i16_and(a, b), k, x.lane[k] & y.lane[k]);
        EXPECT_LANES(hdi_i16_or(a, b), k, x.lane[k] | y.lane[k]);
        EXPECT_LANES(hdi_i16_unless(mask, a), k, x.lane[k] > y.lane[k] ? 0 : x.lane[k]);
        EXPECT_LANES(hdi_i16_move_up(a), k, k ? x.lane[k - 1] : 0);
        EXPECT_LANES(hdi_i16_largest_so_far(hdi_i16_load(positive.lane)), k, most_so_far[k]);
        EXPECT_LANES(hdi_i16_spread_last(a), k, x.lane[HDI_LANES - 1]);
        cr_expect_eq(hdi_i16_bits(mask), bits);
    }
}

Test(simd, four_numbers_are_what_one_at_a_time_is)
{
    static const uint32_t edges[] = {0, 1, 2, INT32_MAX - 1, INT32_MAX};
    uint64_t random = hdt_seed();
    for (int i = 0; i < 2000; i++) {
        uint32_t a[4], b[4], raised[4];
        bool exceeds = false;
        for (int k = 0; k < 4; k++) {
            a[k] = raised[k] = edges[hdt_below(&random, 5)];
            b[k] = hdt_below(&random, 4) ? a[k] : edges[hdt_below(&random, 5)];
            exceeds |= a[k] > b[k];
        }
        cr_expect_eq(hdi_u31x4_exceeds(a, b), exceeds);
        hdi_u31x4_raise(raised, b);
        for (int k = 0; k < 4; k++)
            cr_expect_eq(raised[k], a[k] > b[k] ? a[k] : b[k], "lane %d", k);
    }
}
