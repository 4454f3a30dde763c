#include <criterion/criterion.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/graph.h>
#include <heddle/jobs.h>
#include <jansson.h>

#include "alloc.h"
#include "arena.h"
#include "graph_state.h"
#include "limited.h"
#include "odd_frame.h"
#include "random_graph.h"

/* Each case runs with an allocator that fails the k-th allocation, for every k until the case needs none any more: once
 * with all later ones failing too, once with only that one. Nothing may leak, crash or come back as anything but
 * HD_OUT_OF_MEMORY, unless the case got over it. */

typedef hd_result (*failure_case)(const hd_allocator *allocator);

static void try_all(failure_case run, uint64_t fewest_allocations)
{
    for (uint64_t fail_count = 0; fail_count < 2; fail_count++) {
        for (uint64_t k = 1;; k++) {
            hdt_limited limited = {.fail_at = k, .fail_count = fail_count};
            hd_allocator allocator = hdt_limited_allocator(&limited);
            hd_result result = run(&allocator);
            cr_assert(limited.out == 0 && limited.bytes == 0, "allocation %d: leak", (int)k);
            cr_assert(limited.wrong == 0, "allocation %d: wrong free", (int)k);
            if (limited.made < k) {
                cr_assert(result == HD_OK);
                cr_assert(k > fewest_allocations, "the case allocates less than it is known to");
                break;
            }
            cr_assert(result == HD_OUT_OF_MEMORY || (fail_count == 1 && result == HD_OK), "allocation %d gave %s",
                      (int)k, hd_result_name(result));
        }
    }
}

static hd_result grow_case(const hd_allocator *allocator)
{
    uint32_t *array = NULL, capacity = 0;
    hd_result result = HD_OK;

    for (uint32_t i = 0; i < 1000 && result == HD_OK; i++) {
        result = hdi_grow(allocator, (void **)&array, &capacity, i + 1, sizeof *array);
        if (result == HD_OK)
            array[i] = i;
        for (uint32_t k = 0; k < i; k++)
            cr_assert(array[k] == k);
    }
    hdi_free(allocator, array, (size_t)capacity * sizeof *array);
    return result;
}

Test(alloc_failure, grow)
{
    try_all(grow_case, 6);
}

/* Three frames that each need more than the last; a null is remembered until the reset. A reset that finds no memory is
 * no failure: the next allocation asks again. */
static hd_result arena_case(const hd_allocator *allocator)
{
    hdi_arena arena;
    bool failed = false;

    hdi_arena_init(&arena, allocator);
    for (size_t frame = 1; frame <= 3; frame++) {
        for (size_t i = 0; i < 40; i++) {
            void *piece = hdi_arena_alloc(&arena, frame * i * 500);
            if (piece)
                memset(piece, 1, frame * i * 500);
            else
                cr_assert(arena.failed);
        }
        failed |= arena.failed;
        hdi_arena_reset(&arena);
        cr_assert(!arena.failed);
    }
    hdi_arena_free(&arena);
    /* Once memory fails for good, frames that still fit into the block at hand go on working. */
    return failed ? HD_OUT_OF_MEMORY : HD_OK;
}

Test(alloc_failure, arena)
{
    try_all(arena_case, 5);
}

static void count_up(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    (void)worker;
    atomic_fetch_add((_Atomic(uint32_t) *)user, end - begin);
}

static hd_result jobs_case(const hd_allocator *allocator)
{
    _Atomic(uint32_t) sum = 0;
    hd_jobs *jobs;
    hd_result result = hd_jobs_create(&(hd_jobs_desc){.worker_count = 3, .allocator = *allocator}, &jobs);

    cr_assert((result == HD_OK) == (jobs != NULL));
    if (jobs)
        hd_jobs_parallel_for(jobs, 1000, 7, count_up, &sum);
    cr_assert(sum == (jobs ? 1000 : 0));
    hd_jobs_destroy(jobs);
    return result;
}

Test(alloc_failure, jobs)
{
    try_all(jobs_case, 2);
}

/* Two frames in which every version of a resource is read after it was ended, compiled, verified and measured. */
static hd_result version_case(const hd_allocator *allocator)
{
    enum { VERSIONS = 80 };
    hd_graph *graph;
    hd_result result = hd_graph_create(&(hd_graph_desc){.allocator = *allocator}, &graph);
    for (int frame = 0; frame < 2 && result == HD_OK; frame++) {
        hd_graph_begin(graph);
        hd_resource data = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 256}), version[VERSIONS] = {data};
        for (uint32_t i = 0; i + 1 < VERSIONS; i++)
            hd_graph_pass(graph, &(hd_pass_desc){
                                     .type = HD_PASS_COMPUTE,
                                     .uses = HD_USES({version[i], HD_STORAGE_WRITE_COMPUTE, .next = &version[i + 1]})});
        for (uint32_t i = 1; i < VERSIONS; i++)
            hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                                 .root = true,
                                                 .uses = HD_USES({version[i], HD_STORAGE_READ_COMPUTE})});
        const hd_plan *plan;
        hd_plan_stats stats;
        result = hd_graph_compile(graph, NULL, &plan);
        if (result == HD_OK)
            result = hd_plan_verify(graph, plan, &(hd_verify_desc){.allocator = *allocator});
        if (result == HD_OK)
            result = hd_plan_stats_get(graph, plan, 0, &stats);
    }
    hd_graph_destroy(graph);
    return result;
}

Test(alloc_failure, versions)
{
    try_all(version_case, 30);
}

/* Two frames with a pass of so many uses of one buffer that they are sorted. */
static hd_result many_uses_case(const hd_allocator *allocator)
{
    enum { USES = 2000 };
    static hd_use uses[USES];
    hd_graph *graph;
    hd_result result = hd_graph_create(&(hd_graph_desc){.allocator = *allocator}, &graph);
    for (int frame = 0; frame < 2 && result == HD_OK; frame++) {
        hd_graph_begin(graph);
        hd_resource data = hd_graph_import(graph, &(hd_import_desc){.bytes = USES});
        for (uint32_t u = 0; u < USES; u++)
            uses[u] = (hd_use){data, HD_STORAGE_WRITE_COMPUTE, {.offset = u, .bytes = 1}};
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = USES});
        const hd_plan *plan;
        result = hd_graph_compile(graph, NULL, &plan);
    }
    hd_graph_destroy(graph);
    return result;
}

Test(alloc_failure, many_uses)
{
    try_all(many_uses_case, 20);
}

/* ---- whole frames: everything that a graph and a plan can be asked for, then the next frame on the same graph ---- */

typedef hd_result (*declare_fn)(hd_graph *graph);

static const hd_queue_desc three[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}};

/* What the case at hand declares and compiles with. */
static declare_fn frame_declare;
static hd_compile_desc frame_desc;

static hd_result write_all(const hd_graph *graph, const hd_plan *plan, char **json, size_t *json_bytes)
{
    hd_result (*const writers[])(const hd_graph *, const hd_plan *, FILE *) = {hd_plan_write_json, hd_plan_write_dot,
                                                                               hd_plan_write_html};
    hd_result result = HD_OK;
    *json = NULL;
    for (int w = 0; w < 3 && result == HD_OK; w++) {
        char *text;
        size_t bytes;
        FILE *stream = open_memstream(&text, &bytes);
        result = writers[w](graph, plan, stream);
        fclose(stream);
        if (w == 0) {
            *json = text;
            *json_bytes = bytes;
        } else {
            free(text);
        }
    }
    return result;
}

static hd_result one_frame(hd_graph *graph, const hd_allocator *allocator)
{
    const hd_plan *plan;
    const hd_plan_reasons *reasons;
    hd_plan *copy = NULL;
    hd_plan_stats stats;
    char *json = NULL, error[600];
    size_t bytes = 0;
    hd_result result = frame_declare(graph);
    if (result == HD_OK)
        result = hd_graph_compile(graph, &frame_desc, &plan);
    if (result == HD_OK)
        result = hd_plan_verify(graph, plan, &(hd_verify_desc){.allocator = *allocator});
    if (result == HD_OK)
        result = hd_plan_stats_get(graph, plan, 0, &stats);
    if (result == HD_OK)
        result = hd_plan_explain(graph, plan, allocator, &reasons);
    if (result == HD_OK)
        hd_plan_reasons_free(reasons, allocator);
    if (result == HD_OK)
        result = write_all(graph, plan, &json, &bytes);
    if (result == HD_OK)
        result = hd_plan_read_json(graph, json, bytes, allocator, &copy, error, sizeof(error));
    cr_assert((result == HD_OK) == (copy != NULL));
    hd_plan_free(copy, allocator);
    free(json);
    return result;
}

/* Two frames on one graph; where one allocation alone failed, the frame after it must work. */
static hd_result frames_case(const hd_allocator *allocator)
{
    const hdt_limited *limited = allocator->user;
    hd_graph *graph;
    hd_result result = hd_graph_create(&(hd_graph_desc){.allocator = *allocator}, &graph);
    cr_assert((result == HD_OK) == (graph != NULL));
    for (int frame = 0; frame < 2 && result == HD_OK; frame++) {
        result = one_frame(graph, allocator);
        if (result == HD_OUT_OF_MEMORY && limited->fail_count == 1)
            cr_assert_eq(one_frame(graph, allocator), HD_OK, "allocation %d: no frame after it", (int)limited->fail_at);
    }
    hd_graph_destroy(graph);
    return result;
}

static void try_frames(declare_fn declare, hd_compile_desc desc, uint64_t fewest)
{
    frame_declare = declare;
    frame_desc = desc;
    try_all(frames_case, fewest);
}

static uint64_t random_seed = 77;

static hd_result declare_random(hd_graph *graph)
{
    hdt_random_graph(graph, random_seed, 70); /* ranges, histories, host passes, externals */
    return hd_graph_error(graph)->result;
}

/* Declares until columns and lists have to grow: versions, ranges, custom accesses, resolves. */
static hd_result declare_much(hd_graph *graph)
{
    hd_graph_begin(graph);
    hd_resource version[90] = {hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 1 << 16})};
    for (uint32_t i = 0; i + 1 < 90; i++) {
        hd_custom_access own = {.stages = 0x800, .access = 0x60, .layout = 1, .reads = i > 0, .writes = true};
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .uses = HD_USES({version[i], HD_ACCESS_CUSTOM, .custom = &own,
                                                              .next = &version[i + 1]})});
        hd_resource many = hd_graph_image(graph, &(hd_image_desc){.width = 8, .height = 8, .format = 37, .samples = 4});
        hd_resource one = hd_graph_image(graph, &(hd_image_desc){.width = 8, .height = 8, .format = 37, .mips = 2});
        hd_graph_pass(graph,
                      &(hd_pass_desc){.root = true,
                                      .uses = HD_USES({many, HD_COLOR_WRITE},
                                                      {one, HD_RESOLVE_WRITE, {.mip_count = 1}, .resolve_of = many})});
    }
    for (uint32_t i = 1; i < 90; i++)
        hd_graph_pass(
            graph,
            &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                            .root = true,
                            .uses = HD_USES({version[i], HD_STORAGE_READ_COMPUTE, {.offset = i * 16, .bytes = 512}})});
    return hd_graph_error(graph)->result;
}

/* Through a file: the text is made with memory to spare, read with little. */
static hd_result declare_file(hd_graph *graph)
{
    static char *text;
    static size_t bytes;
    char error[600];
    if (!text) {
        hd_graph *writer;
        cr_assert_eq(hd_graph_create(NULL, &writer), HD_OK);
        hdt_random_graph(writer, 78, 60);
        FILE *stream = open_memstream(&text, &bytes);
        cr_assert_eq(hd_graph_write_fgt(writer, stream), HD_OK);
        fclose(stream);
        hd_graph_destroy(writer);
    }
    return hd_graph_read_fgt(graph, text, bytes, "f", error, sizeof(error));
}

/* Pieces of an image that are read one by one and then all at once: more edges than there is room for at first, and a
 * pass is culled. */
static uint32_t piece_layers;

static hd_result declare_pieces(hd_graph *graph)
{
    enum { MIPS = 15 };
    hd_graph_begin(graph);
    hd_resource dead = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "dead", .bytes = 256});
    hd_resource image = hd_graph_image(graph, &(hd_image_desc){.width = 1 << (MIPS - 1),
                                                               .height = 1,
                                                               .format = 37,
                                                               .mips = MIPS,
                                                               .layers = piece_layers});
    for (uint32_t p = 0; p <= MIPS + piece_layers; p++) {
        bool is_mip = p > 0 && p < MIPS, is_layer = p > MIPS && p < MIPS + piece_layers, is_dead = p == MIPS;
        hd_use use = {.resource = image, .access = p ? HD_SAMPLED_COMPUTE : HD_STORAGE_WRITE_COMPUTE};
        if (is_dead)
            use = (hd_use){.resource = dead, .access = HD_STORAGE_WRITE_COMPUTE, .range.bytes = 128};
        else if (is_mip)
            use.range = (hd_range){.mip_base = (uint16_t)p, .mip_count = 1};
        else if (is_layer)
            use.range = (hd_range){.layer_base = p - MIPS, .layer_count = 1};
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = &use, .use_count = 1, .root = !is_dead});
    }
    return hd_graph_error(graph)->result;
}

Test(alloc_failure, pieces, .timeout = 150)
{
    for (piece_layers = 60; piece_layers <= 120; piece_layers += 20)
        try_frames(declare_pieces, (hd_compile_desc){.queues = three, .queue_count = 1}, 3);
}

Test(alloc_failure, frames_of_all_kinds, .timeout = 150)
{
    try_frames(declare_random, (hd_compile_desc){.queues = three, .queue_count = 3}, 30);
}

Test(alloc_failure, frames_in_one_scope, .timeout = 150)
{
    try_frames(declare_random, (hd_compile_desc){.merge_rendering = true, .cache = HD_CACHE_CHECK}, 30);
}

Test(alloc_failure, much_is_declared, .timeout = 150)
{
    try_frames(declare_much, (hd_compile_desc){.queues = three, .queue_count = 2}, 40);
}

Test(alloc_failure, files, .timeout = 150)
{
    try_frames(declare_file, (hd_compile_desc){.queues = three, .queue_count = 3, .order = HD_ORDER_MEMORY}, 30);
}

/* Odd frames within so and so many bytes: arenas, which else find all that they need at once, end anywhere on the way.
 * HEDDLE_SEED and HEDDLE_SEEDS as in test_odd.c. */
enum { STEPS = 24, TIGHT_PASSES = 60 };

static hd_result compile_tight(hd_graph *graph, const hdt_odd_setting *setting, uint64_t *hash)
{
    const hd_plan *plan;
    graph->region_passes = setting->region_passes % 16 + 1;
    graph->parallel_passes = 0;
    hd_result result = hd_graph_compile(graph, &setting->desc, &plan);
    *hash = result == HD_OK ? hd_plan_read(plan).hash : 0;
    return result;
}

static void try_tight(uint64_t seed)
{
    hdt_odd_setting setting;
    hdt_odd_setting_make(seed, &setting);
    setting.desc.cache = HD_CACHE_OFF;
    uint64_t least = 0, most = 0, hash = 0, other;
    hd_result expected = HD_OK;
    for (uint64_t step = 0; step <= STEPS; step++) {
        hdt_limited limited = {0};
        hd_graph *graph;
        cr_assert_eq(hd_graph_create(&(hd_graph_desc){.allocator = hdt_limited_allocator(&limited)}, &graph), HD_OK);
        hdt_odd_frame(graph, seed, TIGHT_PASSES);
        if (step == 0) {
            least = limited.bytes;
            expected = compile_tight(graph, &setting, &hash);
            most = limited.bytes;
        } else {
            limited.most_bytes = least + 1 + (most - least) * step / STEPS;
            hd_result result = compile_tight(graph, &setting, &other);
            cr_assert(result == HD_OUT_OF_MEMORY || (result == expected && other == hash),
                      "HEDDLE_SEED=%d: %d bytes gave %s", (int)seed, (int)limited.most_bytes, hd_result_name(result));
            limited.most_bytes = 0;
            hdt_odd_frame(graph, seed, TIGHT_PASSES);
            cr_assert_eq(compile_tight(graph, &setting, &other), expected, "HEDDLE_SEED=%d", (int)seed);
            cr_assert_eq(other, hash, "HEDDLE_SEED=%d: another plan after it", (int)seed);
        }
        hd_graph_destroy(graph);
        cr_assert(limited.out == 0 && limited.wrong == 0, "HEDDLE_SEED=%d", (int)seed);
    }
}

Test(alloc_failure, too_few_bytes, .timeout = 150)
{
    uint64_t first = 1, count = 400;
    hdt_seeds(&first, &count);
    for (uint64_t seed = first; seed < first + count; seed++) {
        hdt_try_seed(seed);
        try_tight(seed);
    }
}

/* A budget that only the order for memory can hold: all orders are tried. */
Test(alloc_failure, budget, .timeout = 150)
{
    static const hd_order orders[] = {HD_ORDER_OVERLAP, HD_ORDER_MEMORY};
    hd_graph *graph;
    hd_plan_stats stats[2] = {0};
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (random_seed = 1; random_seed < 100 && stats[1].heap_bytes >= stats[0].heap_bytes; random_seed++) {
        for (int i = 0; i < 2; i++) {
            const hd_plan *plan;
            declare_random(graph);
            cr_assert_eq(hd_graph_compile(graph, &(hd_compile_desc){.order = orders[i]}, &plan), HD_OK);
            cr_assert_eq(hd_plan_stats_get(graph, plan, 0, &stats[i]), HD_OK);
        }
    }
    random_seed--;
    hd_graph_destroy(graph);
    cr_assert_lt(stats[1].heap_bytes, stats[0].heap_bytes);
    try_frames(declare_random, (hd_compile_desc){.memory_budget = stats[1].heap_bytes}, 30);
}

/* ---- the JSON library has an allocator of its own: each of its allocations fails as well ---- */

Test(alloc_failure, json_library, .timeout = 150)
{
    hd_graph *graph;
    const hd_plan *plan;
    char *text, error[600];
    size_t bytes;
    uint64_t out_of_memory = 0;
    hdt_limited limit = {.fail_at = 1, .fail_count = 1};
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdt_random_graph(graph, 79, 6);
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK);
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(hd_plan_write_json(graph, plan, stream), HD_OK);
    fclose(stream);
    hdt_limit_json(&limit);
    for (;; limit.fail_at++) {
        hd_plan *copy = NULL;
        limit.made = 0;
        hd_result result = hd_plan_read_json(graph, text, bytes, NULL, &copy, error, sizeof(error));
        if (result == HD_OK) { /* then nothing of it is missing */
            char *again = NULL;
            size_t again_bytes;
            stream = open_memstream(&again, &again_bytes);
            cr_assert_eq(hd_plan_write_json(graph, copy, stream), HD_OK);
            fclose(stream);
            cr_assert(again_bytes == bytes && memcmp(again, text, bytes) == 0, "allocation %d", (int)limit.fail_at);
            free(again);
        }
        hd_plan_free(copy, NULL);
        cr_assert_eq(limit.out, 0, "allocation %d leaks", (int)limit.fail_at);
        if (limit.made < limit.fail_at) {
            cr_assert_eq(result, HD_OK);
            break;
        }
        /* Within a token the library takes a failed allocation for a fault of the text. */
        cr_assert(result == HD_OK || result == HD_OUT_OF_MEMORY || result == HD_PARSE, "allocation %d gave %s: %s",
                  (int)limit.fail_at, hd_result_name(result), error);
        out_of_memory += result == HD_OUT_OF_MEMORY;
    }
    cr_assert(out_of_memory * 2 > limit.fail_at, "%d of %d", (int)out_of_memory, (int)limit.fail_at);
    cr_assert(limit.fail_at > 50);
    hdt_limit_json(NULL);
    free(text);
    hd_graph_destroy(graph);
}
