#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "odd_frame.h"
#include "random.h"
#include "random_graph.h"

/* Whatever can be declared goes through .fgt: random frames of all abilities, with all that no plan depends on added,
 * are written and read back, and compile to the same bytes with the queues, options and needs that the text gives. */

static char *write_with(const hd_graph *graph, const hd_compile_desc *desc, size_t *bytes)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, bytes);
    cr_assert_eq(hd_graph_write_fgt_with(graph, desc, stream), HD_OK);
    fclose(stream);
    return text;
}

static void read_text(hd_graph *graph, const char *text, size_t bytes)
{
    char error[600] = "";
    cr_assert_eq(hd_graph_read_fgt(graph, text, bytes, "f.fgt", error, sizeof(error)), HD_OK, "%s", error);
}

/* ---- what no plan depends on ---- */

static char long_name[6000];

static const char *any_name(uint64_t *rng)
{
    static const char *const names[] = {"shadow",          "shadow map",    "",  "a\"b\\c",
                                        "tab\tand\nline",  "\xc3\xbc\xff#", "=", "name=\"x\"",
                                        "\x01\x7f\\x41\"", "external"};
    memset(long_name, 'n', sizeof(long_name) - 1);
    uint32_t at = hdt_below(rng, 14);
    return at < 10 ? names[at] : at == 10 ? long_name : NULL;
}

static uint32_t some_bits(uint64_t *rng)
{
    return hdt_below(rng, 3) ? 0 : (uint32_t)hdt_random(rng);
}

static hd_clear any_clear(uint64_t *rng)
{
    static const float numbers[] = {0, 0, 1, 0.5f, -0.25f, 0.1f, 1e20f, 3e-12f, -0.0f};
    hd_clear clear;
    for (int i = 0; i < 4; i++)
        clear.color[i] = numbers[hdt_below(rng, 9)];
    if (hdt_below(rng, 4) == 0)
        clear.stencil = (uint32_t)hdt_random(rng);
    return hdt_below(rng, 3) ? (hd_clear){.color = {0}} : clear;
}

static void decorate_resource(uint64_t *rng, hdi_resource_desc *d)
{
    const char *name = any_name(rng);
    switch (d->kind) {
    case HDI_DESCRIBED_IMAGE:
        d->image.name = name;
        d->image.usage |= some_bits(rng);
        d->image.flags |= some_bits(rng);
        break;
    case HDI_DESCRIBED_BUFFER:
        d->buffer.name = name;
        d->buffer.usage |= some_bits(rng);
        break;
    case HDI_DESCRIBED_IMPORT:
        d->import.name = name;
        d->import.serial = hdt_below(rng, 2) ? hdt_random(rng) >> 1 : 0;
        d->import.flags |= d->import.bytes ? 0 : some_bits(rng);
        break;
    case HDI_DESCRIBED_HISTORY:
        d->history.key = hdt_below(rng, 2) ? hdt_random(rng) : 0;
        d->history.skipped = (hd_skipped)hdt_below(rng, 2);
        break;
    }
}

/* Declares in `to` what stands in `from`, with more to it. */
static void decorate(const hd_graph *from, hd_graph *to, uint64_t seed)
{
    const hdi_decl decl = hdi_graph_decl(from);
    uint64_t rng = seed ^ 0xdec0;
    hdi_replay replay;
    cr_assert(hdi_replay_make(&replay, NULL, decl.res_count, decl.pass_count, decl.use_count));
    hd_graph_begin(to);
    hd_graph_set_name(to, any_name(&rng));
    for (uint32_t r = 0; r < decl.res_count; r++) {
        hdi_resource_desc d;
        hdi_describe_resource(&decl, r, &d);
        decorate_resource(&rng, &d);
        replay.handle[r] = hdi_declare_resource(to, &d, replay.handle);
    }
    for (uint32_t p = 0; p < decl.pass_count; p++) {
        hdi_describe_pass(&decl, p, &replay.pass[p]);
        replay.pass[p].name = any_name(&rng);
        replay.pass[p].splits = hdt_below(&rng, 3) ? 0 : hdt_below(&rng, HD_MAX_SPLITS + 1);
    }
    for (uint32_t u = 0; u < decl.use_count; u++) {
        hdi_describe_use(&decl, u, &replay.desc[u]);
        replay.desc[u].use.clear = any_clear(&rng);
    }
    cr_assert_eq(hdi_replay_prepare(&replay), HD_NONE);
    cr_assert_eq(hdi_replay_passes(&replay, to), HD_NONE, "%s", hd_graph_error(to)->text);
    hdi_replay_free(&replay, NULL);
}

/* ---- the plans ---- */

static hd_result compile(hd_graph *graph, hd_compile_desc desc, const hd_plan **plan)
{
    desc.cache = HD_CACHE_OFF;
    return hd_graph_compile(graph, &desc, plan);
}

static void expect_same_plan(const hd_plan *a, const hd_plan *b)
{
    size_t a_bytes, b_bytes;
    const void *x = hd_plan_data(a, &a_bytes), *y = hd_plan_data(b, &b_bytes);
    cr_assert(a_bytes == b_bytes && memcmp(x, y, a_bytes) == 0);
}

/* The plan as JSON is the plan again, and passes with the sizes of the text. */
static void expect_plan_reads_back(const hd_graph *graph, const hd_plan *plan)
{
    char *text = NULL, error[600] = "";
    size_t bytes;
    hd_plan *read;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(hd_plan_write_json(graph, plan, stream), HD_OK);
    fclose(stream);
    cr_assert_eq(hd_plan_read_json(graph, text, bytes, NULL, &read, error, sizeof(error)), HD_OK, "%s", error);
    expect_same_plan(plan, read);
    const hd_compile_desc *desc = hd_graph_fgt_desc(graph);
    cr_assert_eq(hd_plan_verify(graph, read, &(hd_verify_desc){.size = desc->size, .size_user = desc->size_user}),
                 HD_OK);
    hd_plan_free(read, NULL);
    free(text);
}

/* Each word of the format has to come up. */
static const char *const words[] = {
    "name=",   "external",       "depth",           "samples=", "flags=", "usage=",         "initial=",
    "final=",  "sharing=",       "serial=",         "skipped=", "key=",   "root",           "cost=",
    "on=",     "rendering=own",  "splits=",         "aspect=",  "load=",  "clear=",         "before=",
    "stages=", "access=",        "layout=",         "does=",    "of=",    "queue ",         "option ",
    "order=",  "memory_budget=", "packing_effort=", "handoff=", "need ",  "merge_rendering",
    "format="};
enum { WORDS = sizeof(words) / sizeof(words[0]) };
static bool seen[WORDS];

static void note_words(const char *text)
{
    for (size_t w = 0; w < WORDS; w++)
        seen[w] = seen[w] || strstr(text, words[w]);
}

Test(fgt_frames, any_frame_reads_back_and_compiles_to_the_same_plan, .timeout = 300)
{
    uint64_t first = 1, count = 6000, compiled = 0;
    hd_graph *plain, *frame, *back;
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &plain), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &frame), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &back), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        const hd_plan *plan, *again;
        hdt_odd_setting setting;
        size_t x_bytes, y_bytes;
        hdt_try_seed(seed);
        hdt_odd_frame(plain, seed, 1 + (uint32_t)(seed % 40));
        hdt_odd_setting_make(seed, &setting);
        setting.desc.packing_effort = seed % 3 == 0 ? 2 : 0;
        setting.desc.memory_budget = seed % 17 == 0 ? UINT64_C(1) << 40 : 0;
        decorate(plain, frame, seed);
        char *x = write_with(frame, &setting.desc, &x_bytes);
        read_text(back, x, x_bytes);
        note_words(x);
        char *y = write_with(back, hd_graph_fgt_desc(back), &y_bytes);
        cr_assert(x_bytes == y_bytes && memcmp(x, y, x_bytes) == 0, "HEDDLE_SEED=%llu", (unsigned long long)seed);
        hd_result result = compile(frame, setting.desc, &plan);
        cr_assert_eq(compile(back, *hd_graph_fgt_desc(back), &again), result, "HEDDLE_SEED=%llu: %s",
                     (unsigned long long)seed, hd_graph_error(back)->text);
        if (result == HD_OK) {
            expect_same_plan(plan, again);
            expect_plan_reads_back(back, again);
            cr_assert_eq(compile(plain, setting.desc, &again), HD_OK);
            expect_same_plan(plan, again);
            compiled++;
        }
        free(x);
        free(y);
    }
    cr_assert(count < 100 || compiled > count / 2, "%llu", (unsigned long long)compiled);
    for (size_t w = 0; count >= 100 && w < WORDS; w++)
        cr_expect(seen[w], "no frame says '%s'", words[w]);
    hd_graph_destroy(plain);
    hd_graph_destroy(frame);
    hd_graph_destroy(back);
}
