#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "graph_state.h"
#include "random.h"
#include "random_graph.h"
#include "tables.h"

/* compile as a whole, against slow models that share nothing with it: they work on single cells (a mip of a layer, a
 * byte range cut at all boundaries) and on the plan's commands. */

static const hd_queue_desc queue_sets[3][4] = {
    {{HD_QUEUE_GFX, 0}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}, {HD_QUEUE_COMPUTE, 2}},
};
static const uint32_t queue_counts[3] = {1, 2, 4};

static bool overlap(const hdi_decl *decl, uint32_t a, uint32_t b)
{
    if (decl->use_res[a] != decl->use_res[b])
        return false;
    if (decl->use_range[a] == HDI_NONE || decl->use_range[b] == HDI_NONE)
        return true;
    const hd_range *x = &decl->range[decl->use_range[a]], *y = &decl->range[decl->use_range[b]];
    if (decl->res_flags[decl->use_res[a]] & HDI_RES_BUFFER)
        return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
    return x->mip_base < y->mip_base + y->mip_count && y->mip_base < x->mip_base + x->mip_count &&
           x->layer_base < y->layer_base + y->layer_count && y->layer_base < x->layer_base + x->layer_count;
}

/* ---- culling ---- */

enum { MAX_CELLS = 64 };

/* Whether cell c of a resource lies in a use. Random graphs cut buffers into eighths. */
static bool holds(const hdi_decl *decl, uint32_t use, uint32_t cell)
{
    uint32_t res = decl->use_res[use];
    if (decl->use_range[use] == HDI_NONE)
        return true;
    const hd_range *range = &decl->range[decl->use_range[use]];
    if (decl->res_flags[res] & HDI_RES_BUFFER) {
        uint64_t at = decl->res_info[res].bytes / 8 * cell;
        return at >= range->offset && at < range->offset + range->bytes;
    }
    uint32_t mip = cell / decl->res_info[res].layers, layer = cell % decl->res_info[res].layers;
    return mip >= range->mip_base && mip < range->mip_base + range->mip_count && layer >= range->layer_base &&
           layer < range->layer_base + range->layer_count;
}

static uint32_t cell_count(const hdi_decl *decl, uint32_t res)
{
    return decl->res_flags[res] & HDI_RES_BUFFER ? 8 : decl->res_info[res].mips * decl->res_info[res].layers;
}

static void model_kept(const hdi_decl *decl, bool *kept)
{
    bool(*live)[MAX_CELLS] = calloc(decl->res_count, sizeof(*live));
    for (uint32_t r = 0; r < decl->res_count; r++) {
        for (uint32_t c = 0; c < MAX_CELLS; c++)
            live[r][c] = (decl->res_flags[r] & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY)) != 0;
    }
    for (uint32_t p = decl->pass_count; p-- > 0;) {
        kept[p] = (decl->pass_flags[p] & HDI_PASS_ROOT) != 0;
        for (int step = 0; step < 3; step++) {
            for (uint32_t u = decl->pass_use_begin[p]; u < decl->pass_use_begin[p + 1]; u++) {
                const hdi_access_info *access = &decl->access[decl->use_access[u]];
                for (uint32_t c = 0; c < cell_count(decl, decl->use_res[u]); c++) {
                    bool *cell = &live[decl->use_res[u]][c];
                    if (!holds(decl, u, c))
                        continue;
                    if (step == 0 && access->writes && *cell)
                        kept[p] = true;
                    if (step == 1 && kept[p] && access->writes && !access->reads)
                        *cell = false;
                    if (step == 2 && kept[p] && access->reads)
                        *cell = true;
                }
            }
        }
    }
    free(live);
}

static void check_culled(const hdi_decl *decl, const hd_plan_view *view, uint64_t seed)
{
    bool *kept = calloc(decl->pass_count, sizeof(*kept));
    model_kept(decl, kept);
    uint32_t next = 0;
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        bool culled = next < view->culled_count && view->culled[next] == p;
        next += culled;
        cr_assert_eq(culled, !kept[p], "seed %llu: pass %u is %s", (unsigned long long)seed, p,
                     culled ? "culled" : "kept");
    }
    free(kept);
}

/* ---- order and placement, on the plan's commands ---- */

static void check_order(const hdi_decl *decl, const hd_plan_view *view, uint32_t *at, uint64_t seed)
{
    for (uint32_t p = 0; p < decl->pass_count; p++)
        at[p] = HD_NONE;
    uint32_t n = 0;
    for (uint32_t s = 0; s < view->submit_count; s++) {
        const hd_plan_submit *submit = &view->submits[s];
        for (uint32_t c = 0; c < submit->command_count; c++) {
            hd_plan_command command = view->commands[submit->command_begin + c];
            if (command.kind != HD_COMMAND_PASS)
                continue;
            cr_assert_eq(at[command.index], HD_NONE, "seed %llu: pass %u twice", (unsigned long long)seed,
                         command.index);
            at[command.index] = n++;
        }
    }
    cr_assert_eq(n + view->culled_count, decl->pass_count);
    for (uint32_t b = 0; b < decl->pass_count; b++) {
        for (uint32_t a = 0; a < b; a++) {
            bool depends = false;
            for (uint32_t u = decl->pass_use_begin[a]; u < decl->pass_use_begin[a + 1]; u++) {
                for (uint32_t v = decl->pass_use_begin[b]; v < decl->pass_use_begin[b + 1]; v++)
                    depends |= (decl->access[decl->use_access[u]].writes || decl->access[decl->use_access[v]].writes) &&
                               overlap(decl, u, v);
            }
            if (depends && at[a] != HD_NONE && at[b] != HD_NONE)
                cr_assert_lt(at[a], at[b], "seed %llu: pass %u before %u", (unsigned long long)seed, b, a);
        }
    }
}

static void check_placement(const hdi_decl *decl, const hd_plan_view *view, const uint32_t *at, uint64_t seed)
{
    uint32_t *first = malloc(decl->res_count * sizeof(*first)), *last = calloc(decl->res_count, sizeof(*last));
    memset(first, 0xff, decl->res_count * sizeof(*first));
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        for (uint32_t u = decl->pass_use_begin[p]; at[p] != HD_NONE && u < decl->pass_use_begin[p + 1]; u++) {
            uint32_t r = decl->use_res[u];
            first[r] = at[p] < first[r] ? at[p] : first[r];
            last[r] = at[p] > last[r] ? at[p] : last[r];
        }
    }
    for (uint32_t i = 0; i < view->resource_count; i++) {
        const hd_plan_resource *a = &view->resources[i];
        for (uint32_t k = 0; a->heap != HD_NONE && k < i; k++) {
            const hd_plan_resource *b = &view->resources[k];
            if (a->heap != b->heap || a->offset >= b->offset + b->bytes || b->offset >= a->offset + a->bytes)
                continue;
            cr_assert(last[a->id] < first[b->id] || last[b->id] < first[a->id],
                      "seed %llu: resources %u and %u share bytes and time", (unsigned long long)seed, a->id, b->id);
            cr_assert(!(view->heaps[a->heap].flags & HD_HEAP_PERSISTENT));
        }
    }
    free(first);
    free(last);
}

Test(compile, random_graphs_match_the_models)
{
    uint64_t first = 1, count = 3000;
    hdt_seeds(&first, &count);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint32_t passes = 1 + (uint32_t)(seed % 40);
        hdt_random_graph(graph, seed, passes);
        hdi_decl decl = hdi_graph_decl(graph);
        uint32_t *at = malloc((decl.pass_count + 1) * sizeof(*at));
        const hd_plan *plan;
        hd_compile_desc desc = {
            .queues = queue_sets[seed % 3], .queue_count = queue_counts[seed % 3], .order = (hd_order)(seed / 3 % 3)};
        desc.packing_effort = seed % 5;
        cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK, "seed %llu: %s", (unsigned long long)seed,
                     hd_graph_error(graph)->text);
        hd_plan_view view = hd_plan_read(plan);
        check_culled(&decl, &view, seed);
        check_order(&decl, &view, at, seed);
        check_placement(&decl, &view, at, seed);
        free(at);
    }
    hd_graph_destroy(graph);
}

Test(compile, same_input_same_bytes)
{
    hd_graph *a, *b;
    cr_assert_eq(hd_graph_create(NULL, &a), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &b), HD_OK);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        hd_compile_desc desc = {.queues = queue_sets[2], .queue_count = 4};
        const hd_plan *x, *y;
        size_t x_bytes, y_bytes;
        hdt_random_graph(a, seed + 7, 30); /* other content before, other memory behind it */
        hdt_random_graph(a, seed, 40);
        hdt_random_graph(b, seed, 40);
        cr_assert_eq(hdt_compile(a, &desc, &x), HD_OK);
        cr_assert_eq(hdt_compile(b, &desc, &y), HD_OK);
        const void *x_data = hd_plan_data(x, &x_bytes), *y_data = hd_plan_data(y, &y_bytes);
        cr_assert_eq(x_bytes, y_bytes);
        cr_assert_eq(memcmp(x_data, y_data, x_bytes), 0, "seed %llu", (unsigned long long)seed);
        cr_assert_eq(hd_plan_read(x).hash, hd_plan_read(y).hash);
    }
    hd_graph_destroy(a);
    hd_graph_destroy(b);
}

/* ---- memory ---- */

typedef struct counting {
    uint64_t calls, live, fail_at; /* fail_at: this call returns null; 0: none */
} counting;

static void *count_alloc(size_t bytes, size_t alignment, void *user)
{
    counting *c = user;
    if (++c->calls == c->fail_at)
        return NULL;
    c->live += bytes;
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    return aligned_alloc(alignment < sizeof(void *) ? sizeof(void *) : alignment, rounded ? rounded : alignment);
}

static void count_free(void *pointer, size_t bytes, void *user)
{
    counting *c = user;
    c->live -= bytes;
    free(pointer);
}

Test(compile, a_second_identical_frame_allocates_nothing)
{
    counting c = {0};
    hd_graph *graph;
    hd_graph_desc desc = {.allocator = {count_alloc, count_free, &c}};
    cr_assert_eq(hd_graph_create(&desc, &graph), HD_OK);
    uint64_t before = 0;
    for (int frame = 0; frame < 4; frame++) {
        const hd_plan *plan;
        hdt_random_graph(graph, 99, 200);
        cr_assert_eq(hdt_compile(graph, NULL, &plan), HD_OK);
        if (frame >= 2) /* the first frame grows arenas block by block, the second joins them */
            cr_assert_eq(c.calls, before, "frame %d", frame);
        before = c.calls;
    }
    hd_graph_destroy(graph);
    cr_assert_eq(c.live, 0u);
}

Test(compile, every_allocation_may_fail)
{
    for (uint64_t k = 1;; k++) {
        counting c = {.fail_at = k};
        hd_graph *graph = NULL;
        hd_graph_desc desc = {.allocator = {count_alloc, count_free, &c}};
        hd_result result = hd_graph_create(&desc, &graph);
        if (result == HD_OK) {
            const hd_plan *plan;
            hd_compile_desc compile = {.queues = queue_sets[2], .queue_count = 4};
            hdt_random_graph(graph, 5, 120);
            result = hdt_compile(graph, &compile, &plan);
            if (result != HD_OK) {
                cr_assert_null(plan);
                hdt_random_graph(graph, 5, 120);
                cr_assert_eq(hdt_compile(graph, &compile, &plan), HD_OK, "the next frame works, %llu",
                             (unsigned long long)k);
            }
        }
        hd_graph_destroy(graph);
        cr_assert_eq(c.live, 0u, "allocation %llu leaks", (unsigned long long)k);
        if (c.calls < k) {
            cr_assert(result == HD_OK && k > 10u);
            return;
        }
        /* Some are tried again, for less. */
        cr_assert(result == HD_OK || result == HD_OUT_OF_MEMORY, "allocation %llu: %s", (unsigned long long)k,
                  hd_result_name(result));
    }
}

/* ---- errors of compile ---- */

Test(compile, errors_have_names)
{
    hd_graph *graph;
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_resource a = hd_graph_image(graph, &(hd_image_desc){.name = "a", .width = 64, .height = 64, .format = 37});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "early", .root = true, .uses = HD_USES({a, HD_SAMPLED_GRAPHICS})});
    cr_assert_eq(hdt_compile(graph, NULL, &plan), HD_UNWRITTEN_READ);
    cr_assert_null(plan);
    cr_assert_eq(hd_graph_error(graph)->pass, 0u);
    cr_assert_eq(hd_graph_error(graph)->resource, 0u);
    cr_assert_eq(hd_graph_error(graph)->use, 0u);
    cr_assert(strstr(hd_graph_error(graph)->text, "'early'") && strstr(hd_graph_error(graph)->text, "'a'"));
    /* It sticks until the next frame. */
    cr_assert_eq(hdt_compile(graph, NULL, &plan), HD_UNWRITTEN_READ);

    hd_graph_begin(graph);
    a = hd_graph_image(graph, &(hd_image_desc){.name = "a", .width = 64, .height = 64, .format = 37});
    hd_graph_pass(graph, &(hd_pass_desc){.root = true, .uses = HD_USES({a, HD_COLOR_WRITE})});
    hd_queue_desc compute = {HD_QUEUE_COMPUTE, 1};
    cr_assert_eq(hdt_compile(graph, &(hd_compile_desc){.queues = &compute, .queue_count = 1}, &plan), HD_NO_QUEUE);

    hd_graph_begin(graph);
    hd_queue_desc host = {HD_QUEUE_HOST, 0};
    cr_assert_eq(hdt_compile(graph, &(hd_compile_desc){.queues = &host, .queue_count = 1}, &plan), HD_INVALID_ARGUMENT);
    hd_graph_begin(graph);
    a = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37});
    hd_graph_pass(graph, &(hd_pass_desc){.root = true, .uses = HD_USES({a, HD_COLOR_WRITE})});
    cr_assert_eq(hdt_compile(graph, &(hd_compile_desc){.memory_budget = 65535}, &plan), HD_OVER_BUDGET);
    cr_assert(strstr(hd_graph_error(graph)->text, "65536"), "%s", hd_graph_error(graph)->text);
    hd_graph_destroy(graph);
}

Test(compile, an_empty_frame_is_a_plan)
{
    hd_graph *graph;
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hdt_compile(graph, NULL, &plan), HD_OK);
    hd_plan_view view = hd_plan_read(plan);
    cr_assert_eq(view.submit_count, 0u);
    cr_assert_eq(view.resource_count, 0u);
    hd_graph_destroy(graph);
}

/* A wait holds back the stages that count on it and no others; where ownership arrives, all of them. */
Test(compile, waits_name_their_stages)
{
    const uint64_t read_shaders = 0x88, vertex_attributes = UINT64_C(0x2000000000), all_commands = UINT64_C(0x10000);
    const hd_plan *plan;
    for (int how = 0; how < 3; how++) {
        hd_graph *graph;
        cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
        hd_resource made = how < 2 ? hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 4096})
                                   : hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37});
        hd_resource out = hd_graph_import(graph, &(hd_import_desc){.width = 64, .height = 64, .format = 37});
        hd_access access = how == 0 ? HD_UNIFORM_READ : how == 1 ? HD_VERTEX_READ : HD_SAMPLED_GRAPHICS;
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .pin = HD_PIN_COMPUTE,
                                             .uses = HD_USES({made, HD_STORAGE_WRITE_COMPUTE})});
        hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({made, access}, {out, HD_COLOR_WRITE})});
        cr_assert_eq(hdt_compile(graph, &(hd_compile_desc){.queues = queue_sets[1], .queue_count = 2}, &plan), HD_OK);
        hd_plan_view view = hd_plan_read(plan);
        cr_assert_eq(view.wait_count, 1u);
        uint64_t expected = how == 0 ? read_shaders : how == 1 ? vertex_attributes : all_commands;
        cr_assert_eq(view.waits[0].stages, expected, "%d: %llx", how, (unsigned long long)view.waits[0].stages);
        hd_graph_destroy(graph);
    }
}

/* Layers of passes that all read two of the layer before: bytes that a barrier would save are not worth one. */
Test(compile, a_few_mebibytes_add_no_barriers)
{
    enum { LAYERS = 33, WIDTH = 6 };
    hd_graph *graph;
    const hd_plan *plan;
    hd_resource made[2][WIDTH];
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        for (uint32_t i = 0; i < WIDTH; i++) {
            hd_resource out = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 256});
            const hd_resource *from = made[(layer + 1) % 2];
            hd_use uses[3] = {{out, HD_STORAGE_WRITE_COMPUTE}};
            uint32_t count = 1, other = (i + layer) % WIDTH;
            if (layer)
                uses[count++] = (hd_use){from[i], HD_STORAGE_READ_COMPUTE};
            if (layer && other != i)
                uses[count++] = (hd_use){from[other], HD_STORAGE_READ_COMPUTE};
            hd_graph_pass(graph,
                          &(hd_pass_desc){
                              .type = HD_PASS_COMPUTE, .root = layer + 1 == LAYERS, .uses = uses, .use_count = count});
            made[layer % 2][i] = out;
        }
    }
    cr_assert_eq(hdt_compile(graph, NULL, &plan), HD_OK);
    cr_assert_eq(hd_plan_read(plan).batch_count, LAYERS - 1u, "%u batches", hd_plan_read(plan).batch_count);
    hd_graph_destroy(graph);
}

/* A terabyte alive at once: in units of 256 bytes as many as 32 bits have. */
Test(compile, bytes_that_wrap_are_packed)
{
    enum { LARGE = 8, COUNT = 24 };
    const uint64_t large = UINT64_C(1) << 36;
    hd_graph *graph;
    const hd_plan *plan;
    hd_use writes[COUNT], reads[COUNT];
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t bytes = i < LARGE ? large : large / 2;
        writes[i] = (hd_use){hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = bytes}), HD_STORAGE_WRITE_COMPUTE};
        reads[i] = (hd_use){writes[i].resource, HD_STORAGE_READ_COMPUTE};
    }
    hd_graph_pass(graph, &(hd_pass_desc){.uses = writes, .use_count = COUNT});
    hd_graph_pass(graph, &(hd_pass_desc){.root = true, .uses = reads, .use_count = COUNT});
    cr_assert_eq(hdt_compile(graph, NULL, &plan), HD_OK);
    hd_plan_view view = hd_plan_read(plan);
    cr_assert_eq(view.heap_count, 1u);
    cr_assert_eq(view.heaps[0].bytes, 16 * large);
    hd_graph_destroy(graph);
}

/* Where all passes have to run on one queue, the other ones change nothing but how the plan numbers it. */
Test(compile, queues_that_nobody_can_use_change_nothing)
{
    static const hd_queue_desc sets[2][3] = {{{HD_QUEUE_GFX, 0}},
                                             {{HD_QUEUE_TRANSFER, 2}, {HD_QUEUE_TRANSFER, 1}, {HD_QUEUE_GFX, 0}}};
    static const uint32_t counts[2] = {1, 3};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        bool host = seed % 2;
        hd_plan_view view[2];
        hd_graph *graph[2];
        for (int set = 0; set < 2; set++) {
            const hd_plan *plan;
            uint64_t state = seed;
            hd_resource made[24];
            cr_assert_eq(hd_graph_create(NULL, &graph[set]), HD_OK);
            for (uint32_t i = 0; i < 24; i++) {
                hd_buffer_desc buffer = {.bytes = 4096, .sharing = (hd_sharing)(seed % 3)};
                made[i] = hd_graph_buffer(graph[set], &buffer);
                hd_use uses[3] = {{made[i], HD_STORAGE_WRITE_COMPUTE}};
                uint32_t count = 1, first = i ? (uint32_t)(hdt_random(&state) % i) : 0;
                if (i)
                    uses[count++] = (hd_use){made[first], HD_STORAGE_READ_COMPUTE};
                if (i > 1 && first != i - 1)
                    uses[count++] = (hd_use){made[i - 1], HD_STORAGE_READ_COMPUTE};
                hd_pass_desc pass = {.type = HD_PASS_COMPUTE, .root = i > 20, .uses = uses, .use_count = count};
                hd_graph_pass(graph[set], &pass);
            }
            if (host)
                hd_graph_pass(
                    graph[set],
                    &(hd_pass_desc){.type = HD_PASS_HOST, .root = true, .uses = HD_USES({made[9], HD_HOST_READ})});
            hd_compile_desc desc = {.queues = sets[set], .queue_count = counts[set]};
            cr_assert_eq(hdt_compile(graph[set], &desc, &plan), HD_OK, "seed %llu: %s", (unsigned long long)seed,
                         hd_graph_error(graph[set])->text);
            view[set] = hd_plan_read(plan);
            cr_assert_eq(view[set].queue_count, counts[set] + host);
        }
        cr_assert_eq(view[0].submit_count, view[1].submit_count);
        for (uint32_t s = 0; s < view[0].submit_count; s++)
            cr_assert_eq(view[0].submits[s].queue + 2, view[1].submits[s].queue);
        cr_assert_eq(view[0].wait_count, view[1].wait_count);
        for (uint32_t w = 0; w < view[0].wait_count; w++)
            cr_assert_eq(view[0].waits[w].queue + 2, view[1].waits[w].queue);
        cr_assert_eq(view[0].command_count, view[1].command_count);
        cr_assert_eq(memcmp(view[0].commands, view[1].commands, view[0].command_count * sizeof(*view[0].commands)), 0);
        cr_assert_eq(view[0].barrier_count, view[1].barrier_count);
        cr_assert_eq(memcmp(view[0].barriers, view[1].barriers, view[0].barrier_count * sizeof(*view[0].barriers)), 0);
        hd_graph_destroy(graph[0]);
        hd_graph_destroy(graph[1]);
    }
}

/* A pass of no use that is the last to use much, lately or long ago, changes nothing of the others. */
Test(compile, who_is_of_no_use_uses_nothing_last)
{
    enum { PASSES = 200 };
    static const uint32_t reads[] = {0, 36, PASSES};
    hd_plan_view view[3];
    hd_graph *graph[3];
    for (int k = 0; k < 3; k++) {
        const hd_plan *plan;
        hd_resource made[PASSES];
        hd_use uses[PASSES] = {{{0}}};
        uint64_t state = 1;
        cr_assert_eq(hd_graph_create(NULL, &graph[k]), HD_OK);
        for (uint32_t i = 0; i < PASSES; i++) {
            uint64_t bytes = (1 + hdt_random(&state) % 16) << 20;
            uint32_t back = i ? 1 + (uint32_t)(hdt_random(&state) % (i < 9 ? i : 9)) : 0;
            made[i] = hd_graph_buffer(graph[k], &(hd_buffer_desc){.bytes = bytes});
            hd_use own[] = {{made[i], HD_STORAGE_WRITE_COMPUTE}, {made[i - back], HD_STORAGE_READ_COMPUTE}};
            hd_graph_pass(
                graph[k],
                &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = own, .use_count = back ? 2 : 1});
        }
        for (uint32_t i = 0; i < reads[k]; i++)
            uses[i] = (hd_use){made[PASSES - 1 - i], HD_STORAGE_READ_COMPUTE};
        if (reads[k])
            hd_graph_pass(graph[k], &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = reads[k]});
        hd_compile_desc desc = {.queues = queue_sets[0], .queue_count = 1};
        cr_assert_eq(hdt_compile(graph[k], &desc, &plan), HD_OK);
        view[k] = hd_plan_read(plan);
        cr_assert_eq(view[k].command_count, view[0].command_count);
        cr_assert_eq(memcmp(view[k].commands, view[0].commands, view[0].command_count * sizeof(*view[0].commands)), 0);
        cr_assert_eq(view[k].barrier_count, view[0].barrier_count);
        cr_assert_eq(memcmp(view[k].barriers, view[0].barriers, view[0].barrier_count * sizeof(*view[0].barriers)), 0);
    }
    for (int k = 0; k < 3; k++)
        hd_graph_destroy(graph[k]);
}

/* A first attempt at the groups may be given up when all passes but one are taken: the second one starts anew. */
Test(compile, a_late_second_attempt_starts_anew)
{
    const uint32_t most = 64u << 20;
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = 3685; seed < 3700; seed++) { /* 3692 is one */
        uint64_t state = seed;
        uint32_t passes = 90 + (uint32_t)(hdt_random(&state) % 100), part = 12 + (uint32_t)(hdt_random(&state) % 16);
        hd_graph_begin(graph);
        hd_resource last = hd_graph_import(graph, &(hd_import_desc){.bytes = 1024}), open = {0};
        for (uint32_t p = 0; p <= passes; p++) {
            uint32_t what = (uint32_t)(hdt_random(&state) % 12), use_count = 1;
            uint64_t bytes = p == passes ? most : most / part / (1 + what / 6);
            hd_resource made = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = bytes});
            hd_use uses[3] = {{made, HD_STORAGE_WRITE_COMPUTE}};
            if (what == 0 && open.id) {
                uses[use_count++] = (hd_use){open, HD_STORAGE_READ_COMPUTE};
                open.id = 0;
            } else if (what == 1 || !open.id) {
                open = made;
            }
            if (p + 1 >= passes)
                uses[use_count++] = (hd_use){last, p == passes ? HD_STORAGE_READ_COMPUTE : HD_STORAGE_WRITE_COMPUTE};
            hd_graph_pass(graph,
                          &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = uses, .use_count = use_count});
        }
        hd_compile_desc desc = {.queues = queue_sets[0], .queue_count = 1};
        const hd_plan *plan;
        cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK, "seed %llu", (unsigned long long)seed);
    }
    hd_graph_destroy(graph);
}
