/* Frames of odd_frame.h on odd queue sets: every way through the compiler leads to the same sound plan. One graph that
 * has made all frames before, a fresh one, workers, the cache, a budget, and what is done for short frames alone or for
 * long ones. HEDDLE_SEED=n replays one frame, HEDDLE_SEEDS=n tries n of them (both: from that one on). */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "brute.h"
#include "cells.h"
#include "fuzz.h"
#include "graph_state.h"
#include "odd_frame.h"
#include "random.h"
#include "random_graph.h"
#include "reference.h"

enum { FEW_CELLS = 60, MOST_PASSES = 60 };

typedef bool (*declare_fn)(hd_graph *graph, uint64_t seed, uint32_t pass_count); /* like hdt_odd_frame */

typedef struct run {
    hd_graph *old, *fresh;
    hd_jobs *jobs;
    hdt_odd_setting setting;
    uint64_t seed, plans, refused, over, cycles, brutes, failures;
    uint64_t enough; /* a budget that must do: what the frame takes without one, or what a refusal tells */
    bool plain; /* the models know all of the frame */
} run;

static void complain(run *r, const char *what, const char *why)
{
    if (r->failures++ < 8)
        cr_log_error("HEDDLE_SEED=%llu: %s: %s", (unsigned long long)r->seed, what, why);
}

static void keep_first(const char *text, void *user)
{
    char *to = user;
    if (!*to)
        snprintf(to, 512, "%s", text);
}

/* What compile must give without a budget. Cycles are not known beforehand. */
static bool expected(run *r, hd_result result)
{
    bool lacks = false;
    if (result == HD_VERSION_CYCLE && !r->plain) {
        r->cycles++;
        return true;
    }
    if (r->plain) {
        hdt_cells c = hdt_cells_make(r->fresh, NULL);
        for (uint32_t p = 0; p < c.d.pass_count; p++)
            lacks |= c.kept[p] && !hdt_odd_setting_runs(&r->setting, c.d.pass_type[p]);
        hdt_cells_free(&c);
    } else {
        lacks = result == HD_NO_QUEUE && !hdt_odd_setting_runs(&r->setting, HD_PASS_GFX);
    }
    r->refused += lacks;
    return result == (lacks ? HD_NO_QUEUE : HD_OK);
}

static uint64_t heap_bytes(const hd_plan *plan)
{
    hd_plan_view view = hd_plan_read(plan);
    uint64_t sum = 0;
    for (uint32_t h = 0; h < view.heap_count; h++)
        sum += view.heaps[h].bytes;
    return sum;
}

/* What is wrong with where submits are cut: null: nothing. */
static const char *wrong_cut(const hd_plan *plan)
{
    hd_plan_view view = hd_plan_read(plan);
    for (uint32_t s = 0; s < view.submit_count; s++) {
        const hd_plan_submit *submit = &view.submits[s];
        bool first = true;
        for (uint32_t before = 0; before < s && first; before++)
            first = view.submits[before].queue != submit->queue;
        if (first != (submit->cut == HD_CUT_FIRST))
            return first ? "the first submit of a queue is told to be cut" : "a second submit is told to be first";
        if (view.submit_count > 1 && !submit->command_count && !submit->wait_count && !submit->signal_value)
            return "a submit waits for nothing, does nothing and is not waited for";
    }
    return NULL;
}

static void check_plan(run *r, const hd_plan *plan, const char *what)
{
    char why[512] = "";
    r->plans++;
    const hd_verify_desc verify = {.message = keep_first, .user = why, .size = r->setting.desc.size};
    if (hd_plan_verify(r->fresh, plan, &verify) != HD_OK)
        complain(r, what, why);
    const char *cut = wrong_cut(plan);
    if (cut)
        complain(r, what, cut);
    if (!r->plain)
        return;
    if (!r->setting.desc.size && !hdt_reference(r->fresh, plan, why, sizeof(why)))
        complain(r, what, why);
    hdt_cells c = hdt_cells_make(r->fresh, plan);
    bool few = c.count <= FEW_CELLS && c.d.pass_count <= 16;
    hdt_cells_free(&c);
    r->brutes += few;
    if (few && !hdt_brute(r->fresh, plan, why, sizeof(why)))
        complain(r, what, why);
}

/* Compiles in the old graph: the result and the bytes are those that the fresh one gave. */
static void same(run *r, const hd_compile_desc *desc, hd_result result, const void *data, size_t bytes,
                 const char *what)
{
    const hd_plan *plan;
    size_t count = 0;
    hd_result other = hd_graph_compile(r->old, desc, &plan);
    if (other != result) {
        complain(r, what, hd_result_name(other));
    } else if (result == HD_OK) {
        const void *own = hd_plan_data(plan, &count);
        if (count != bytes || memcmp(own, data, bytes) != 0)
            complain(r, what, "other bytes");
    }
}

/* Of one region a short frame and a long one have the same plan. */
static void same_cut(run *r, hd_compile_desc desc, hd_result result, const void *data, size_t bytes)
{
    if (r->setting.region_passes <= MOST_PASSES)
        return;
    desc.jobs = r->seed % 4 < 2 ? r->jobs : NULL;
    desc.cache = HD_CACHE_OFF;
    r->old->parallel_passes = r->setting.parallel_passes ? 0 : UINT32_MAX;
    same(r, &desc, result, data, bytes, r->setting.parallel_passes ? "cut" : "not cut");
    r->old->parallel_passes = r->setting.parallel_passes;
}

static void note_refusal(run *r, uint64_t budget)
{
    const char *told = strstr(hd_graph_error(r->fresh)->text, "allowed, ");
    r->over++;
    if (budget >= r->enough)
        complain(r, "with a budget that must do", hd_graph_error(r->fresh)->text);
    r->enough = told ? strtoull(told + strlen("allowed, "), NULL, 10) : 0;
    if (r->enough <= budget)
        complain(r, "with a budget", "a refusal that does not tell what would do");
}

/* One compile of the fresh graph, and all the ways of the old one. Returns the bytes of its heaps. */
static uint64_t try_ways(run *r, uint64_t budget)
{
    hd_compile_desc desc = r->setting.desc;
    const hd_plan *plan;
    size_t bytes = 0;
    desc.memory_budget = budget;
    desc.cache = HD_CACHE_OFF;
    hd_result result = hd_graph_compile(r->fresh, &desc, &plan);
    if (budget && result == HD_OVER_BUDGET)
        note_refusal(r, budget);
    else if (!expected(r, result))
        complain(r, "compile", hd_graph_error(r->fresh)->text);
    uint64_t sum = result == HD_OK ? heap_bytes(plan) : 0;
    const void *data = result == HD_OK ? hd_plan_data(plan, &bytes) : NULL;
    if (result == HD_OK)
        check_plan(r, plan, budget ? "with a budget" : "alone");
    if (budget && sum > budget)
        complain(r, "with a budget", "more than that");
    desc.jobs = r->seed % 2 ? r->jobs : NULL;
    desc.cache = HD_CACHE_ON;
    same(r, &desc, result, data, bytes, "after other frames");
    desc.jobs = r->seed % 2 ? NULL : r->jobs;
    desc.cache = HD_CACHE_CHECK;
    same(r, &desc, result, data, bytes, "found and checked");
    same_cut(r, desc, result, data, bytes);
    return sum;
}

/* Less than the frame takes without a budget, as much, or more; and what a refusal tells. */
static void try_budget(run *r, declare_fn declare, uint32_t passes, uint64_t bytes, uint64_t *rng)
{
    uint64_t refused = r->over;
    r->enough = bytes;
    try_ways(r, hdt_below(rng, 4) ? bytes * (60 + hdt_below(rng, 60)) / 100 + 1 : bytes);
    if (r->over == refused)
        return;
    declare(r->fresh, r->seed, passes); /* errors stick */
    declare(r->old, r->seed, passes);
    try_ways(r, r->enough);
}

static void try_frame(run *r, declare_fn declare, uint32_t passes)
{
    uint64_t rng = r->seed;
    cr_assert_eq(hd_graph_create(NULL, &r->fresh), HD_OK);
    r->plain = declare(r->fresh, r->seed, passes);
    declare(r->old, r->seed, passes);
    hdt_odd_setting_make(r->seed, &r->setting);
    r->fresh->region_passes = r->old->region_passes = r->setting.region_passes;
    r->fresh->parallel_passes = r->old->parallel_passes = r->setting.parallel_passes;
    if (hd_graph_error(r->fresh)->result != HD_OK)
        complain(r, "declare", hd_graph_error(r->fresh)->text);
    uint64_t failures = r->failures, bytes = try_ways(r, 0);
    if (bytes && hdt_below(&rng, 3) == 0)
        try_budget(r, declare, passes, bytes, &rng);
    if (r->failures == failures && hdt_below(&rng, 6) == 0) { /* on a set that devices have, and through its texts */
        char name[64];
        snprintf(name, sizeof(name), "HEDDLE_SEED=%llu", (unsigned long long)r->seed);
        setenv("HDT_CORPUS_FILE", name, 1); /* named by a fault's sentence */
        hdt_fuzz_compile(r->fresh, hdt_random(&rng));
    }
    hd_graph_destroy(r->fresh);
}

static void try_frames(declare_fn declare, uint64_t first, uint64_t count, uint32_t most)
{
    run r = {0};
#if defined(__SANITIZE_ADDRESS__)
    count = count > 5 ? count / 5 : count;
#endif
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &r.old), HD_OK);
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = 3}, &r.jobs), HD_OK);
    for (r.seed = first; r.seed < first + count; r.seed++) {
        hdt_try_seed(r.seed);
        try_frame(&r, declare, (uint32_t)(r.seed % (most + 1)));
    }
    printf("%llu plans, %llu small enough for the plain graph, %llu refused, %llu over budget, %llu cycles\n",
           (unsigned long long)r.plans, (unsigned long long)r.brutes, (unsigned long long)r.refused,
           (unsigned long long)r.over, (unsigned long long)r.cycles);
    hd_jobs_destroy(r.jobs);
    hd_graph_destroy(r.old);
    cr_assert_eq(r.failures, 0, "%llu failures", (unsigned long long)r.failures);
}

/* ---- images of more mips and layers than what is asked of barriers notes in a word ---- */

enum { IMAGES = 4, SIDE = 1 << 15 };

typedef struct deep_image {
    hd_resource handle, history; /* history: none is 0 */
    uint32_t mips, layers;
    bool depth;
} deep_image;

static deep_image add_deep_image(hd_graph *graph, uint64_t *rng)
{
    static const uint32_t mips[] = {1, 2, 15, 16}, layers[] = {1, 6, 2047, 2048, 4096};
    deep_image image = {.mips = mips[hdt_below(rng, 4)], .layers = layers[hdt_below(rng, 5)]};
    image.depth = hdt_below(rng, 3) == 0;
    uint32_t format = image.depth ? 129 : 37, kind = hdt_below(rng, 4);
    if (kind == 0) {
        image.handle = hd_graph_import(graph, &(hd_import_desc){.width = SIDE,
                                                                .height = SIDE,
                                                                .format = format,
                                                                .mips = image.mips,
                                                                .layers = image.layers,
                                                                .initial_layout = hdt_below(rng, 2) ? 1 : 5,
                                                                .final_layout = hdt_below(rng, 2) ? 5 : 0});
        return image;
    }
    image.handle = hd_graph_image(
        graph,
        &(hd_image_desc){.width = SIDE, .height = SIDE, .format = format, .mips = image.mips, .layers = image.layers});
    if (kind == 1)
        image.history = hd_graph_history(graph, image.handle);
    return image;
}

/* Some of its mips and layers, often all of these or of those, at times of one aspect. */
static hd_range pick_box(const deep_image *image, uint64_t *rng)
{
    hd_range range = {.mip_count = (uint16_t)image->mips, .layer_count = image->layers};
    if (hdt_below(rng, 2)) {
        range.mip_base = (uint16_t)hdt_below(rng, image->mips);
        range.mip_count = (uint16_t)(1 + hdt_below(rng, image->mips - range.mip_base));
    }
    if (hdt_below(rng, 2)) {
        range.layer_base = hdt_below(rng, image->layers);
        range.layer_count = 1 + hdt_below(rng, image->layers - range.layer_base);
    }
    if (image->depth && hdt_below(rng, 2))
        range.aspect = hdt_below(rng, 2) ? HD_ASPECT_DEPTH : HD_ASPECT_STENCIL;
    return range;
}

static hd_access pick_deep_access(const deep_image *image, hd_pass_type type, bool writes)
{
    if (type == HD_PASS_TRANSFER)
        return writes ? HD_TRANSFER_DST : HD_TRANSFER_SRC;
    if (type == HD_PASS_COMPUTE)
        return writes && !image->depth ? HD_STORAGE_WRITE_COMPUTE : HD_SAMPLED_COMPUTE;
    if (image->depth)
        return writes ? HD_DEPTH_WRITE : HD_DEPTH_READ;
    return writes ? HD_COLOR_WRITE : HD_SAMPLED_GRAPHICS;
}

static bool deep_frame(hd_graph *graph, uint64_t seed, uint32_t pass_count)
{
    uint64_t rng = seed;
    deep_image images[IMAGES];
    hd_graph_begin(graph);
    for (uint32_t i = 0; i < IMAGES; i++)
        images[i] = add_deep_image(graph, &rng);
    for (uint32_t p = 0; p < pass_count + IMAGES; p++) {
        hd_pass_type type = p < IMAGES ? HD_PASS_TRANSFER : (hd_pass_type)hdt_below(&rng, HD_PASS_HOST);
        hd_use uses[2 * IMAGES];
        uint32_t count = 0;
        for (uint32_t i = 0; i < IMAGES; i++) {
            const deep_image *image = &images[i];
            bool first = p < IMAGES;
            if (first ? i != p : hdt_below(&rng, 2) == 0) /* first each is written as a whole */
                continue;
            uses[count] = (hd_use){.resource = image->handle,
                                   .access = pick_deep_access(image, type, first || hdt_below(&rng, 2) == 0)};
            if (!first)
                uses[count].range = pick_box(image, &rng);
            count++;
            if (image->history.id && hdt_below(&rng, 3) == 0)
                uses[count++] = (hd_use){.resource = image->history,
                                         .access = pick_deep_access(image, type, false),
                                         .range = pick_box(image, &rng)};
        }
        hd_graph_pass(graph,
                      &(hd_pass_desc){.type = type, .uses = uses, .use_count = count, .root = hdt_below(&rng, 4) > 0});
    }
    return false; /* there are too many cells for the models */
}

/* ---- uses that need not be counted ---- */

/* Images that later passes read; the last pass is alone, and the last to read many of them. */
static void last_frame(hd_graph *graph, uint64_t seed)
{
    enum { LAST_READS = 16, READS = 2, PASSES = 80 };
    uint64_t rng = seed;
    uint32_t passes = 1 + hdt_below(&rng, PASSES);
    hd_resource image[PASSES];
    hd_graph_begin(graph);
    for (uint32_t p = 0; p < passes; p++) {
        bool last = p + 1 == passes;
        hd_use uses[1 + LAST_READS];
        uint32_t count = 0, back = 1;
        image[p] =
            hd_graph_image(graph, &(hd_image_desc){.width = 256u << hdt_below(&rng, 4), .height = 512, .format = 37});
        uses[count++] = (hd_use){image[p], HD_STORAGE_WRITE_COMPUTE};
        for (uint32_t k = 0; k < (last ? LAST_READS : READS); k++, back++) {
            back += hdt_below(&rng, last ? 5 : 20);
            if (back <= p)
                uses[count++] = (hd_use){image[p - back], HD_SAMPLED_COMPUTE};
        }
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = count, .root = true});
    }
}

/* Where a frame may read what no pass wrote, all uses are counted. A frame that is marked so without such a read has
 * the same plan. */
Test(odd, counted_uses)
{
    uint64_t first = 1, count = 4000;
    hd_graph *graph[2];
    hdt_seeds(&first, &count);
    for (int k = 0; k < 2; k++)
        cr_assert_eq(hd_graph_create(NULL, &graph[k]), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        const void *data[2];
        size_t bytes[2];
        for (int k = 0; k < 2; k++) {
            const hd_plan *plan;
            last_frame(graph[k], seed);
            graph[k]->unwritten_reads |= k;
            cr_assert_eq(hd_graph_compile(graph[k], &(hd_compile_desc){.cache = HD_CACHE_OFF}, &plan), HD_OK);
            data[k] = hd_plan_data(plan, &bytes[k]);
        }
        cr_assert(bytes[0] == bytes[1] && memcmp(data[0], data[1], bytes[0]) == 0, "HEDDLE_SEED=%llu",
                  (unsigned long long)seed);
    }
    for (int k = 0; k < 2; k++)
        hd_graph_destroy(graph[k]);
}

/* ---- what the declaration tells of uses ---- */

enum { READ_PASSES = 200, MOST_READS = 3 };

/* A read of an image, in one of the usual layouts or in one of three that no named access has. */
static hd_use read_image(uint64_t *rng, hd_resource image, uint32_t unusual, hd_custom_access *custom)
{
    static const hd_access usual[] = {HD_SAMPLED_COMPUTE, HD_STORAGE_READ_COMPUTE, HD_TRANSFER_SRC};
    uint32_t kind = hdt_below(rng, 100), layout = 1000314000 + hdt_below(rng, 3);
    if (kind < unusual) {
        *custom = (hd_custom_access){.stages = 0x800, .access = 0x20, .layout = layout, .reads = true};
        return (hd_use){.resource = image, .access = HD_ACCESS_CUSTOM, .custom = custom};
    }
    return (hd_use){image, usual[kind > 80 ? kind % 3 : 0]};
}

/* Each pass writes an image and reads a few; some are culled. At times the last one is, and reads all that there is. */
static void reads_frame(hd_graph *graph, uint64_t seed)
{
    uint64_t rng = seed;
    uint32_t passes = 20 + hdt_below(&rng, READ_PASSES - 20), dead = 4 * hdt_below(&rng, 6), count = 0;
    uint32_t reads = 1 + hdt_below(&rng, MOST_READS), back = 1 + hdt_below(&rng, 40), unusual = 25 * hdt_below(&rng, 3);
    bool all = hdt_below(&rng, 2) == 0;
    hd_resource image[READ_PASSES];
    hd_graph_begin(graph);
    for (uint32_t p = 0; p < passes; p++) {
        hd_use uses[READ_PASSES];
        hd_custom_access custom[READ_PASSES];
        bool last = all && p + 1 == passes, is_dead = last || hdt_below(&rng, 100) < dead;
        uint32_t side = 64u << hdt_below(&rng, 5), wanted = last ? count : hdt_below(&rng, reads + 1), at = 1;
        hd_resource own = hd_graph_image(graph, &(hd_image_desc){.width = side, .height = side, .format = 37});
        uses[0] = (hd_use){own, HD_STORAGE_WRITE_COMPUTE};
        for (uint32_t from = count; at <= wanted && from > 0; at++) {
            from -= last ? 1 : 1 + hdt_below(&rng, back < from ? back : from);
            uses[at] = read_image(&rng, image[from], unusual, &custom[at]);
        }
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .uses = uses,
                                             .use_count = at,
                                             .root = !is_dead && hdt_below(&rng, 2) == 0,
                                             .cost_us = (float)(1 + hdt_below(&rng, 50))});
        if (!is_dead)
            image[count++] = own;
    }
}

/* Passes that write and read halves of many buffers, at times one half of a buffer and the other. */
static void halves_frame(hd_graph *graph, uint64_t seed)
{
    enum { BUFFERS = 70, PASSES = 24, HALF = 256 };
    uint64_t rng = seed;
    uint32_t buffers = 20 + hdt_below(&rng, BUFFERS - 20), passes = 2 + hdt_below(&rng, PASSES), written[BUFFERS] = {0};
    uint32_t used = 20 + hdt_below(&rng, 80), reads = hdt_below(&rng, 80);
    hd_resource buffer[BUFFERS];
    hd_graph_begin(graph);
    for (uint32_t b = 0; b < buffers; b++)
        buffer[b] = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 2 * HALF});
    for (uint32_t p = 0; p < passes; p++) {
        hd_use uses[2 * BUFFERS];
        uint32_t count = 0;
        for (uint32_t b = 0; b < buffers; b++) {
            uint32_t before = written[b];
            for (uint32_t half = 0; half < 2; half++) {
                bool read = before >> half & 1 && hdt_below(&rng, 100) < reads;
                if (hdt_below(&rng, 100) >= used)
                    continue;
                uses[count++] = (hd_use){.resource = buffer[b],
                                         .access = read ? HD_STORAGE_READ_COMPUTE : HD_STORAGE_WRITE_COMPUTE,
                                         .range = {.offset = half * HALF, .bytes = HALF}};
                written[b] |= 1u << half;
            }
        }
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = count, .root = true});
    }
}

/* Long runs of passes that go on with the same attachments; at times one samples what was drawn before them, or what a
 * compute pass in between has written. Scopes of such runs reach over where regions end. */
static void scopes_frame(hd_graph *graph, uint64_t seed)
{
    enum { SCOPE_PASSES = 160 };
    uint64_t rng = seed;
    uint32_t passes = 20 + hdt_below(&rng, SCOPE_PASSES - 20), most = 2 + hdt_below(&rng, 60);
    uint32_t breaks = hdt_below(&rng, 12), targets = 1 + hdt_below(&rng, 3), others = hdt_below(&rng, 20);
    hd_resource target[3] = {{0}}, drawn = {0}, written = {0};
    hd_graph_begin(graph);
    for (uint32_t p = 0, left = 0; p < passes; p++) {
        hd_use uses[5];
        uint32_t count = 0;
        bool begins = left == 0, other = !begins && hdt_below(&rng, 100) < others;
        if (other) { /* beside them */
            written = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37});
            uses[0] = (hd_use){written, HD_STORAGE_WRITE_COMPUTE};
            hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = 1, .root = p % 2});
            continue;
        }
        if (begins) {
            drawn = target[0];
            left = 1 + hdt_below(&rng, most);
        }
        for (uint32_t t = 0; t < targets; t++) {
            if (begins)
                target[t] = hd_graph_image(graph, &(hd_image_desc){.width = 128, .height = 128, .format = 37});
            uses[count++] = (hd_use){target[t], begins ? HD_COLOR_WRITE : HD_COLOR_RW};
        }
        if (drawn.id && (begins || hdt_below(&rng, 100) < breaks))
            uses[count++] = (hd_use){drawn, HD_SAMPLED_GRAPHICS};
        if (written.id && hdt_below(&rng, 100) < breaks)
            uses[count++] = (hd_use){written, HD_SAMPLED_GRAPHICS};
        left--;
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_GFX,
                                             .uses = uses,
                                             .use_count = count,
                                             .root = true,
                                             .cost_us = (float)(1 + hdt_below(&rng, 50))});
    }
}

/* The last uses of each piece, their layouts, and the first pass that overwrites what several overwrite are the same
 * for any number of workers. */
static void try_all(void (*declare)(hd_graph *graph, uint64_t seed), uint64_t count)
{
    uint64_t first = 1;
    hd_graph *graph;
    hd_jobs *jobs;
#if defined(__SANITIZE_ADDRESS__)
    count = count > 5 ? count / 5 : count;
#endif
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = 3}, &jobs), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}};
        hd_compile_desc desc = {.queues = queues, .queue_count = seed % 4 ? 1 : 2, .cache = HD_CACHE_OFF};
        uint64_t hash = 0;
        desc.order = (hd_order)(seed % 5 % 3);
        desc.merge_rendering = declare == scopes_frame;
        declare(graph, seed);
        graph->region_passes = seed % 3 ? 1 + (uint32_t)(seed % 60) : HDI_REGION_PASSES;
        graph->parallel_passes = 0;
        for (int way = 0; way < 2; way++) { /* one worker, several */
            const hd_plan *plan;
            desc.jobs = way ? jobs : NULL;
            cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK);
            uint64_t own = hd_plan_read(plan).hash;
            cr_assert(way || seed % 8 || hd_plan_verify(graph, plan, NULL) == HD_OK, "HEDDLE_SEED=%llu",
                      (unsigned long long)seed);
            cr_assert(way == 0 || own == hash, "HEDDLE_SEED=%llu: way %d", (unsigned long long)seed, way);
            hash = own;
        }
    }
    hd_jobs_destroy(jobs);
    hd_graph_destroy(graph);
}

Test(odd, scopes_over_regions)
{
    try_all(scopes_frame, 600);
}

Test(odd, told_uses)
{
    try_all(reads_frame, 1000);
}

Test(odd, many_uses)
{
    try_all(halves_frame, 400);
}

Test(odd, deep_images)
{
    try_frames(deep_frame, 1, 1500, 16);
}

Test(odd, small_frames)
{
    try_frames(hdt_odd_frame, 1, 8000, 8);
}

/* One whose budget was too small, and what it was told would do was too small as well. */
Test(odd, named_budget)
{
    try_frames(hdt_odd_frame, 36030, 5, MOST_PASSES);
}

Test(odd, frames)
{
    try_frames(hdt_odd_frame, 1, 3500, MOST_PASSES);
}
