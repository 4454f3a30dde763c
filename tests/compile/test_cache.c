#include <criterion/criterion.h>

#include <string.h>

#include <heddle/graph.h>

#include "checked.h"
#include "graph_state.h"
#include "limited.h"
#include "random.h"
#include "random_graph.h"

/* The plan cache against compiling: whatever is changed about a declaration or its options, the plan that comes back
 * has the bytes of one that a graph without a cache compiles. */

static const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}};

static hd_graph *make(uint32_t plans)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.plans = plans}, &graph), HD_OK);
    return graph;
}

static void count_errors(hd_log_level level, const char *text, void *user)
{
    *(uint32_t *)user += level == HD_LOG_ERROR && strstr(text, "plans is 1025");
}

static void expect_stats(const hd_graph *graph, uint64_t hits, uint64_t misses, uint64_t dropped)
{
    hd_cache_stats stats = hd_graph_cache_stats(graph);
    cr_assert(stats.hits == hits && stats.misses == misses && stats.dropped == dropped,
              "%llu hits, %llu misses, %llu dropped", (unsigned long long)stats.hits, (unsigned long long)stats.misses,
              (unsigned long long)stats.dropped);
}

static bool same_plan(const hd_plan *a, const hd_plan *b)
{
    size_t a_bytes, b_bytes;
    const void *x = hd_plan_data(a, &a_bytes), *y = hd_plan_data(b, &b_bytes);
    return a_bytes == b_bytes && memcmp(x, y, a_bytes) == 0;
}

static void touch(hd_recorder *recorder, void *user)
{
    (void)recorder;
    (void)user;
}

/* ---- what finds a plan again ---- */

/* One pass; what no plan tells may differ from frame to frame. */
static void plain_frame(hd_graph *graph, const char *name, float red, void *native)
{
    hd_history_desc history = {.skipped = native ? HD_SKIPPED_RESTART : HD_SKIPPED_KEEP, .key = native ? 5 : 0};
    hd_graph_begin(graph);
    hd_resource in = hd_graph_import(graph, &(hd_import_desc){.name = name, .bytes = 64, .buffer = native});
    hd_resource out = hd_graph_image(graph, &(hd_image_desc){.name = name, .width = 8, .height = 8, .format = 37});
    hd_graph_pass(graph, &(hd_pass_desc){
                             .name = name,
                             .root = true,
                             .record = native ? touch : NULL,
                             .user = native,
                             .uses = HD_USES({in, HD_UNIFORM_READ}, {out, HD_COLOR_WRITE, .clear = {.color = {red}}})});
    history.of = out;
    hd_graph_history_with(graph, &history);
}

Test(cache, names_pointers_and_clears_are_no_key)
{
    hd_graph *graph = make(0);
    const hd_plan *first, *second;
    plain_frame(graph, "a", 0.0f, NULL);
    cr_assert_eq(hdt_compile(graph, NULL, &first), HD_OK);
    plain_frame(graph, "another name", 1.0f, graph);
    hd_graph_set_name(graph, "renamed");
    uint64_t phase_ns[HD_PHASE_COUNT];
    memset(phase_ns, 0xff, sizeof(phase_ns));
    cr_assert_eq(hdt_compile(graph, &(hd_compile_desc){.phase_ns = phase_ns}, &second), HD_OK);
    cr_assert_eq(first, second);
    for (int p = 0; p < HD_PHASE_COUNT; p++)
        cr_assert_eq(phase_ns[p], 0u);
    expect_stats(graph, 1, 1, 0);
    hd_graph_destroy(graph);
}

Test(cache, defaults_are_what_they_stand_for)
{
    hd_graph *graph = make(0);
    const hd_plan *first, *second;
    const hd_queue_desc one = {HD_QUEUE_GFX, 0};
    plain_frame(graph, NULL, 0.0f, NULL);
    cr_assert_eq(hdt_compile(graph, NULL, &first), HD_OK);
    hd_compile_desc spelled = {.queues = &one, .queue_count = 1, .size_user = graph};
    cr_assert_eq(hdt_compile(graph, &spelled, &second), HD_OK);
    cr_assert_eq(first, second);
    hd_graph_destroy(graph);
}

/* ---- one change at a time ---- */

/* A column of the declaration, or an option, and how to change one of its elements. The graph's own columns are changed
 * behind its back: what is no longer sound is still a key, and must not find the plan of another. */
enum {
    CHANGE_TYPE,
    CHANGE_FLAGS,
    CHANGE_PIN,
    CHANGE_COST,
    CHANGE_BOUNDS,
    CHANGE_USE_RES,
    CHANGE_ACCESS,
    CHANGE_USE_RANGE,
    CHANGE_LOAD,
    CHANGE_RESOLVE,
    CHANGE_LATE_USE,
    CHANGE_LATE_END,
    CHANGE_RANGE,
    CHANGE_RES_FLAGS,
    CHANGE_PAIR,
    CHANGE_WIDTH,
    CHANGE_HEIGHT,
    CHANGE_DEPTH,
    CHANGE_FORMAT,
    CHANGE_MIPS,
    CHANGE_LAYERS,
    CHANGE_SAMPLES,
    CHANGE_IMAGE_FLAGS,
    CHANGE_USAGE,
    CHANGE_INITIAL,
    CHANGE_FINAL,
    CHANGE_SHARING,
    CHANGE_BYTES,
    CHANGE_CUSTOM_STAGES,
    CHANGE_CUSTOM_ACCESS,
    CHANGE_CUSTOM_LAYOUT,
    CHANGE_CUSTOM_USAGE,
    CHANGE_CUSTOM_BUFFER_USAGE,
    CHANGE_CUSTOM_READS,
    CHANGE_CUSTOM_WRITES,
    CHANGE_CUSTOM_ATTACHMENT,
    CHANGE_COUNT
};

/* Adds 1 to an element of a column, and says where. */
static void *nth(void *column, size_t element_bytes, uint32_t count, uint64_t *rng)
{
    return count ? (char *)column + element_bytes * hdt_below(rng, count) : NULL;
}
#define NTH(column, count) nth(column, sizeof(*(column)), count, rng)

static unsigned char *element(hd_graph *g, int change, uint64_t *rng)
{
    hdi_use_exec *use = NTH(g->use_exec, g->use_count);
    hdi_res_info *info = NTH(g->res_info, g->res_count);
    hdi_access_info *custom = NTH(g->access + HDI_ACCESS_CUSTOM_FIRST, g->access_count - HDI_ACCESS_CUSTOM_FIRST);
    switch (change) {
    case CHANGE_TYPE:
        return NTH(g->pass_type, g->pass_count);
    case CHANGE_FLAGS:
        return NTH(g->pass_flags, g->pass_count);
    case CHANGE_PIN:
        return NTH(g->pass_pin, g->pass_count);
    case CHANGE_COST:
        return NTH(g->pass_cost, g->pass_count);
    case CHANGE_BOUNDS:
        return NTH(g->pass_use_begin, g->pass_count);
    case CHANGE_USE_RES:
        return NTH(g->use_res, g->use_count);
    case CHANGE_ACCESS:
        return NTH(g->use_access, g->use_count);
    case CHANGE_USE_RANGE:
        return NTH(g->use_range, g->use_count);
    case CHANGE_LOAD:
        return NTH(g->use_exec, g->use_count);
    case CHANGE_RESOLVE:
        return use ? (void *)&use->resolve : NULL;
    case CHANGE_LATE_USE:
        return NTH(g->late_use, g->late_count);
    case CHANGE_LATE_END:
        return NTH(g->late_end, g->late_count);
    case CHANGE_RANGE:
        return NTH(g->range, g->range_count);
    case CHANGE_RES_FLAGS:
        return NTH(g->res_flags, g->res_count);
    case CHANGE_PAIR:
        return NTH(g->res_pair, g->res_count);
    case CHANGE_WIDTH:
        return (void *)&info->width;
    case CHANGE_HEIGHT:
        return (void *)&info->height;
    case CHANGE_DEPTH:
        return (void *)&info->depth;
    case CHANGE_FORMAT:
        return (void *)&info->format;
    case CHANGE_MIPS:
        return (void *)&info->mips;
    case CHANGE_LAYERS:
        return (void *)&info->layers;
    case CHANGE_SAMPLES:
        return (void *)&info->samples;
    case CHANGE_IMAGE_FLAGS:
        return (void *)&info->flags;
    case CHANGE_USAGE:
        return (void *)&info->usage;
    case CHANGE_INITIAL:
        return (void *)&info->initial_layout;
    case CHANGE_FINAL:
        return (void *)&info->final_layout;
    case CHANGE_SHARING:
        return (void *)&info->sharing;
    case CHANGE_BYTES:
        return (void *)&info->bytes;
    default:
        break;
    }
    if (!custom)
        return NULL;
    switch (change) {
    case CHANGE_CUSTOM_STAGES:
        return (void *)&custom->stages;
    case CHANGE_CUSTOM_ACCESS:
        return (void *)&custom->access;
    case CHANGE_CUSTOM_LAYOUT:
        return (void *)&custom->layout;
    case CHANGE_CUSTOM_USAGE:
        return (void *)&custom->image_usage;
    case CHANGE_CUSTOM_BUFFER_USAGE:
        return (void *)&custom->buffer_usage;
    case CHANGE_CUSTOM_READS:
        return &custom->reads;
    case CHANGE_CUSTOM_WRITES:
        return &custom->writes;
    default:
        return &custom->attachment;
    }
}

/* A random frame, and behind it a pass with a custom access and an attachment. */
static void declare(hd_graph *graph, uint64_t seed, uint32_t passes)
{
    static const hd_custom_access custom = {
        .stages = 1u << 16, .access = 1u << 6, .layout = 1, .usage = 8, .writes = true};
    hdt_random_graph(graph, seed, passes);
    hd_resource image = hd_graph_image(graph, &(hd_image_desc){.width = 4, .height = 4, .format = 37});
    hd_resource other = hd_graph_image(graph, &(hd_image_desc){.width = 4, .height = 4, .format = 37});
    hd_graph_pass(
        graph, &(hd_pass_desc){.root = true,
                               .uses = HD_USES({image, HD_COLOR_WRITE}, {other, HD_ACCESS_CUSTOM, .custom = &custom})});
}

/* Every column is in the key, whether or not the change would show in the plan. */
Test(cache, every_column_is_in_the_key)
{
    uint64_t first = hdt_seed(), count = 40;
    hdt_seeds(&first, &count);
    hd_graph *graph = make(0);
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t random = seed, *rng = &random;
        declare(graph, seed, 1 + hdt_below(rng, 60));
        hdi_queues set = {.count = 1};
        hd_compile_desc desc = {0};
        for (int change = 0; change < CHANGE_COUNT; change++) {
            hdi_decl decl = hdi_graph_decl(graph);
            hd_graph_drop_plans(graph);
            cr_assert_null(hdi_cache_find(&graph->cache, &graph->allocator, &decl, &set, &desc));
            hdi_cache_keep(&graph->cache, &graph->plan);
            hdi_cache_entry *entry = hdi_cache_find(&graph->cache, &graph->allocator, &decl, &set, &desc);
            cr_assert_not_null(entry);
            unsigned char *at = element(graph, change, rng);
            if (!at)
                continue;
            at[0] ^= 1;
            cr_assert_null(hdi_cache_find(&graph->cache, &graph->allocator, &decl, &set, &desc), "seed %llu, change %d",
                           (unsigned long long)seed, change);
            at[0] ^= 1;
            cr_assert_eq(hdi_cache_find(&graph->cache, &graph->allocator, &decl, &set, &desc), entry);
        }
    }
    hd_graph_destroy(graph);
}

static hd_result double_need(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    hdi_default_need(info, need);
    need->bytes *= user ? 3 : 2;
    need->heap = info->host_visible;
    return HD_OK;
}

/* Options and queue sets one apart from the first. */
static const hd_compile_desc option_sets[] = {
    {.queues = queues, .queue_count = 3},
    {.queues = queues, .queue_count = 2},
    {.queues = queues, .queue_count = 1},
    {.queues = queues, .queue_count = 3, .order = HD_ORDER_MEMORY},
    {.queues = queues, .queue_count = 3, .order = HD_ORDER_DECLARED},
    {.queues = queues, .queue_count = 3, .memory_budget = UINT64_C(1) << 40},
    {.queues = queues, .queue_count = 3, .packing_effort = 1},
    {.queues = queues, .queue_count = 3, .handoff_us = 50},
    {.queues = queues, .queue_count = 3, .merge_rendering = true},
    {.queues = queues, .queue_count = 3, .size = double_need},
    {.queues = queues, .queue_count = 3, .size = double_need, .size_user = (void *)queues},
    {.queues = (const hd_queue_desc[]){{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 3}, {HD_QUEUE_TRANSFER, 2}},
     .queue_count = 3},
    {.queues = (const hd_queue_desc[]){{HD_QUEUE_GFX, 0}, {HD_QUEUE_TRANSFER, 1}, {HD_QUEUE_TRANSFER, 2}},
     .queue_count = 3},
};
enum { OPTION_SETS = sizeof(option_sets) / sizeof(option_sets[0]) };

Test(cache, every_option_is_in_the_key)
{
    hd_graph *graph = make(OPTION_SETS);
    const hd_plan *plan, *plans[OPTION_SETS];
    declare(graph, 7, 30);
    for (int o = 0; o < OPTION_SETS; o++)
        cr_assert_eq(hdt_compile(graph, &option_sets[o], &plans[o]), HD_OK);
    expect_stats(graph, 0, OPTION_SETS, 0);
    for (int o = OPTION_SETS - 1; o >= 0; o--) {
        cr_assert_eq(hdt_compile(graph, &option_sets[o], &plan), HD_OK);
        cr_assert_eq(plan, plans[o]);
    }
    expect_stats(graph, OPTION_SETS, OPTION_SETS, 0);
    hd_graph_destroy(graph);
}

/* ---- against a graph without a cache ---- */

/* Frames come and go, some again, some with one thing changed through the public interface's columns; few plans are
 * kept. */
static void against_compiling(uint64_t seed, uint64_t hash_mask, uint32_t plans)
{
    uint64_t random = seed, *rng = &random;
    hd_graph *cached = make(plans), *plain = make(HD_NONE);
    cached->cache.hash_mask = hash_mask;
    for (int frame = 0; frame < 60; frame++) {
        const hd_plan *mine, *fresh;
        uint64_t graph_seed = seed * 8 + hdt_below(rng, 4);
        hd_compile_desc desc = option_sets[hdt_below(rng, 2) ? 0 : hdt_below(rng, OPTION_SETS)];
        declare(cached, graph_seed, 24);
        declare(plain, graph_seed, 24);
        /* Changes that leave the frame sound. */
        uint32_t pass = hdt_below(rng, plain->pass_count), use = hdt_below(rng, plain->use_count);
        switch (hdt_below(rng, 8)) {
        case 0:
            cached->pass_cost[pass] += 500.0f, plain->pass_cost[pass] += 500.0f;
            break;
        case 1:
            cached->pass_flags[pass] ^= HDI_PASS_ROOT, plain->pass_flags[pass] ^= HDI_PASS_ROOT;
            break;
        case 2:
            cached->use_exec[use].load ^= 1, plain->use_exec[use].load ^= 1;
            break;
        case 3:
            if (plain->pass_type[pass] != HD_PASS_HOST) /* which no queue of the GPU runs */
                cached->pass_pin[pass] = plain->pass_pin[pass] = HD_PIN_GFX;
            break;
        default:
            break;
        }
        cr_assert_eq(hdt_compile(cached, &desc, &mine), HD_OK, "seed %llu", (unsigned long long)seed);
        cr_assert_eq(hd_graph_compile(plain, &desc, &fresh), HD_OK, "seed %llu", (unsigned long long)seed);
        cr_assert(same_plan(mine, fresh), "seed %llu, frame %d", (unsigned long long)seed, frame);
        desc.cache = HD_CACHE_CHECK;
        cr_assert_eq(hd_graph_compile(cached, &desc, &fresh), HD_OK);
        cr_assert_eq(mine, fresh);
    }
    hd_cache_stats stats = hd_graph_cache_stats(cached);
    cr_assert_eq(stats.hits + stats.misses, 120u);
    cr_assert_geq(stats.checks, 60u);
    cr_assert_leq(stats.plans, stats.most);
    cr_assert_eq(stats.plans + stats.dropped, stats.misses);
    cr_assert_eq(hd_graph_cache_stats(plain).hits + hd_graph_cache_stats(plain).misses, 0u);
    hd_graph_destroy(cached);
    hd_graph_destroy(plain);
}

Test(cache, gives_what_compiling_gives)
{
    uint64_t first = hdt_seed(), count = 60;
    hdt_seeds(&first, &count);
    for (uint64_t seed = first; seed < first + count; seed++)
        against_compiling(seed, UINT64_MAX, 1 + (uint32_t)(seed % 5));
}

/* All hashes alike: the full key alone tells plans apart. */
Test(cache, trusts_no_hash)
{
    uint64_t first = hdt_seed(), count = 30;
    hdt_seeds(&first, &count);
    for (uint64_t seed = first; seed < first + count; seed++)
        against_compiling(seed, 0, 8);
}

/* ---- which plans stay ---- */

static const hd_plan *compile_width(hd_graph *graph, uint32_t width)
{
    const hd_plan *plan;
    hd_graph_begin(graph);
    hd_resource image = hd_graph_image(graph, &(hd_image_desc){.width = width, .height = 1, .format = 37});
    hd_graph_pass(graph, &(hd_pass_desc){.root = true, .uses = HD_USES({image, HD_COLOR_WRITE})});
    cr_assert_eq(hdt_compile(graph, NULL, &plan), HD_OK);
    return plan;
}

Test(cache, drops_the_least_recently_used)
{
    hd_graph *graph = make(3);
    const hd_plan *one = compile_width(graph, 1), *two = compile_width(graph, 2), *three = compile_width(graph, 3);
    expect_stats(graph, 0, 3, 0);
    cr_assert_eq(compile_width(graph, 1), one);
    compile_width(graph, 4); /* in place of 2 */
    expect_stats(graph, 1, 4, 1);
    cr_assert_eq(compile_width(graph, 3), three);
    cr_assert_eq(compile_width(graph, 1), one);
    expect_stats(graph, 3, 4, 1);
    compile_width(graph, 2); /* in place of 4 */
    expect_stats(graph, 3, 5, 2);
    compile_width(graph, 4);
    expect_stats(graph, 3, 6, 3);
    (void)two;
    cr_assert_eq(hd_graph_cache_stats(graph).plans, 3u);
    hd_graph_drop_plans(graph);
    cr_assert_eq(hd_graph_cache_stats(graph).plans, 0u);
    cr_assert_eq(hd_graph_cache_stats(graph).bytes, 0u);
    compile_width(graph, 4);
    expect_stats(graph, 3, 7, 3);
    hd_graph_destroy(graph);
}

/* A compile that fails costs no plan. */
Test(cache, failure_keeps_plans)
{
    hd_graph *graph = make(1);
    const hd_plan *one = compile_width(graph, 1), *none;
    hd_graph_begin(graph);
    hd_resource image = hd_graph_image(graph, &(hd_image_desc){.width = 2, .height = 1, .format = 37});
    hd_graph_pass(graph, &(hd_pass_desc){.root = true, .uses = HD_USES({image, HD_SAMPLED_GRAPHICS})});
    cr_assert_eq(hd_graph_compile(graph, NULL, &none), HD_UNWRITTEN_READ);
    cr_assert_null(none);
    cr_assert_eq(compile_width(graph, 1), one);
    expect_stats(graph, 1, 2, 0);
    hd_graph_destroy(graph);
}

Test(cache, off)
{
    hd_graph *graph = make(HD_NONE), *cached = make(0);
    const hd_plan *plan;
    compile_width(graph, 1);
    compile_width(graph, 1);
    expect_stats(graph, 0, 0, 0);
    compile_width(cached, 1);
    cr_assert_eq(hd_graph_compile(cached, &(hd_compile_desc){.cache = HD_CACHE_OFF}, &plan), HD_OK);
    expect_stats(cached, 0, 1, 0);
    hd_graph_destroy(graph);
    hd_graph_destroy(cached);
    uint32_t errors = 0;
    const hd_graph_desc too_many = {.plans = 1025, .log = {count_errors, &errors}};
    cr_assert_eq(hd_graph_create(&too_many, &graph), HD_INVALID_ARGUMENT);
    cr_assert_eq(errors, 1u);
    cr_assert_null(graph);
}

/* ---- the check ---- */

static hd_result growing_need(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    hdi_default_need(info, need);
    need->bytes += *(uint64_t *)user;
    return HD_OK;
}

Test(cache, check_finds_a_callback_that_changes_its_mind)
{
    hd_graph *graph = make(0);
    const hd_plan *first, *second;
    uint64_t more = 0;
    hd_compile_desc desc = {.size = growing_need, .size_user = &more, .cache = HD_CACHE_CHECK};
    plain_frame(graph, NULL, 0.0f, NULL);
    cr_assert_eq(hd_graph_compile(graph, &desc, &first), HD_OK);
    cr_assert_eq(hd_graph_compile(graph, &desc, &second), HD_OK);
    cr_assert_eq(first, second);
    more = 65536;
    cr_assert_eq(hd_graph_compile(graph, &desc, &second), HD_CACHE_MISMATCH);
    cr_assert_null(second);
    cr_assert_eq(hd_graph_error(graph)->result, HD_CACHE_MISMATCH);
    plain_frame(graph, NULL, 0.0f, NULL);
    hd_graph_drop_plans(graph);
    cr_assert_eq(hd_graph_compile(graph, &desc, &second), HD_OK);
    hd_graph_destroy(graph);
}

/* ---- memory ---- */

/* Three frames in turn, each twice, and one of them checked. */
static hd_result few_frames(const hd_allocator *allocator)
{
    hd_graph *graph;
    hd_result result = hd_graph_create(&(hd_graph_desc){.allocator = *allocator, .plans = 2}, &graph);
    if (result != HD_OK)
        return result;
    for (uint32_t frame = 0; frame < 8 && result == HD_OK; frame++) {
        const hd_plan *plan;
        declare(graph, frame / 2 % 3, 10 + 20 * (frame / 2 % 3));
        result = hdt_compile(graph, &(hd_compile_desc){.cache = frame == 7 ? HD_CACHE_CHECK : HD_CACHE_ON}, &plan);
    }
    hd_graph_destroy(graph);
    return result;
}

Test(cache, allocation_failures)
{
    for (uint64_t fail_count = 0; fail_count < 2; fail_count++) {
        for (uint64_t k = 1;; k++) {
            hdt_limited limited = {.fail_at = k, .fail_count = fail_count};
            hd_allocator allocator = hdt_limited_allocator(&limited);
            hd_result result = few_frames(&allocator);
            cr_assert(limited.out == 0 && limited.wrong == 0, "allocation %d", (int)k);
            if (limited.made < k)
                break;
            /* Without memory for a key the plan is not kept, and that is all. */
            cr_assert(result == HD_OUT_OF_MEMORY || result == HD_OK, "allocation %d: %s", (int)k,
                      hd_result_name(result));
            cr_assert(fail_count == 1 || result == HD_OUT_OF_MEMORY || k + 1 >= limited.made);
        }
    }
}

/* The second of two frames that are the same, and every frame of a rotation that has come round once, allocates
 * nothing. */
Test(cache, steady_frames_allocate_nothing)
{
    static const hd_cache modes[] = {HD_CACHE_ON, HD_CACHE_OFF, HD_CACHE_CHECK};
    for (int mode = 0; mode < 3; mode++) {
        hdt_limited limited = {0};
        hd_graph *graph;
        const hd_plan *plan;
        hd_graph_desc desc = {.allocator = hdt_limited_allocator(&limited), .plans = 2};
        cr_assert_eq(hd_graph_create(&desc, &graph), HD_OK);
        for (int frame = 0; frame < 4; frame++) {
            uint64_t made = limited.made;
            declare(graph, 3, 200);
            cr_assert_eq(hd_graph_compile(graph, &(hd_compile_desc){.cache = modes[mode]}, &plan), HD_OK);
            /* A first check packs the plan a second time, into a block of its own. */
            cr_assert(frame == 0 || limited.made == made || (frame == 1 && modes[mode] == HD_CACHE_CHECK),
                      "mode %d, frame %d", mode, frame);
        }
        hd_graph_destroy(graph);
        cr_assert_eq(limited.out, 0u);
    }
}
