#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdlib.h>
#include <time.h>

#include "random.h"
#include "random_graph.h"
#include "tables.h"

/* Passes that use a few resources many times: which use is refused, and which frames read in two layouts, is told the
 * same whether each use is compared with all before it, as here, or swept over. HEDDLE_SEED replays a pass. */

enum { RESOURCES = 6, MOST_USES = 400, LAYERS = 40, MIPS = 6, COLOR = 37, DEPTH_STENCIL = 130 };

static const hd_access buffer_reads[] = {HD_STORAGE_READ_COMPUTE, HD_UNIFORM_READ_COMPUTE, HD_UNIFORM_READ};
static const hd_access image_reads[] = {HD_SAMPLED_GRAPHICS, HD_SAMPLED_COMPUTE, HD_SAMPLED_COMPUTE};
static const hd_access depth_reads[] = {HD_SAMPLED_GRAPHICS, HD_DEPTH_READ, HD_SAMPLED_COMPUTE};

static bool is_buffer(uint32_t res)
{
    return res % 3 == 0;
}

static bool is_depth(uint32_t res)
{
    return res % 3 == 2;
}

/* rare: one use in so many writes, or reads in a layout that nothing agrees with; small: ranges are. */
static hd_use random_use(uint64_t *random, const hd_resource *resources, uint32_t rare, bool small)
{
    uint32_t res = hdt_below(random, RESOURCES), way = hdt_below(random, 3);
    bool odd = hdt_below(random, rare) == 0;
    hd_use use = {.resource = resources[res]};
    if (is_buffer(res)) {
        uint32_t offset = hdt_below(random, 4000);
        use.access = odd ? HD_STORAGE_WRITE_COMPUTE : buffer_reads[way];
        use.range = (hd_range){.offset = offset, .bytes = 1 + hdt_below(random, small ? 8 : 4096 - offset)};
        return use;
    }
    uint32_t layer = hdt_below(random, LAYERS), mip = hdt_below(random, MIPS);
    use.access = odd ? (way ? HD_TRANSFER_SRC : HD_TRANSFER_DST) : is_depth(res) ? depth_reads[way] : image_reads[way];
    use.range = (hd_range){.layer_base = layer,
                           .layer_count = small ? 1 : 1 + hdt_below(random, LAYERS - layer),
                           .mip_base = (uint16_t)mip,
                           .mip_count = (uint16_t)(1 + hdt_below(random, small ? 1 : MIPS - mip)),
                           .aspect = is_depth(res) ? 2 * hdt_below(random, 3) : 0};
    if (!small && hdt_below(random, 50) == 0)
        use.range = (hd_range){0};
    return use;
}

static bool meet(uint32_t a, uint32_t a_count, uint32_t b, uint32_t b_count)
{
    return a < b + b_count && b < a + a_count;
}

static bool overlap(const hd_use *a, const hd_use *b, bool buffer)
{
    const hd_range *x = &a->range, *y = &b->range;
    if (buffer)
        return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
    if (x->mip_count == 0 || y->mip_count == 0)
        return true; /* whole */
    return meet(x->mip_base, x->mip_count, y->mip_base, y->mip_count) &&
           meet(x->layer_base, x->layer_count, y->layer_base, y->layer_count) &&
           (!x->aspect || !y->aspect || (x->aspect & y->aspect));
}

/* The first use that conflicts with one before it, or count. */
static uint32_t first_conflict(const hd_resource *resources, const hd_use *uses, uint32_t count, bool *mixed)
{
    for (uint32_t u = 0; u < count; u++) {
        for (uint32_t v = 0; v < u; v++) {
            if (uses[u].resource.id != uses[v].resource.id)
                continue;
            bool buffer = is_buffer(uses[u].resource.id - resources[0].id);
            const hdi_access_info *a = &hdi_access_table[uses[u].access], *b = &hdi_access_table[uses[v].access];
            if (!overlap(&uses[u], &uses[v], buffer))
                continue;
            bool depth = (uses[u].access == HD_DEPTH_READ || uses[v].access == HD_DEPTH_READ) &&
                         uses[u].access != HD_TRANSFER_SRC && uses[v].access != HD_TRANSFER_SRC;
            if (a->writes || b->writes || (!buffer && a->layout != b->layout && !depth))
                return u;
            *mixed |= !buffer && a->layout != b->layout;
        }
    }
    return count;
}

static void declare_resources(hd_graph *graph, hd_resource *resources)
{
    for (uint32_t r = 0; r < RESOURCES; r++) {
        const hd_import_desc image = {.width = 64,
                                      .height = 64,
                                      .layers = LAYERS,
                                      .mips = MIPS,
                                      .format = is_depth(r) ? DEPTH_STENCIL : COLOR,
                                      .initial_layout = 1,
                                      .final_layout = 1};
        resources[r] = hd_graph_import(graph, is_buffer(r) ? &(hd_import_desc){.bytes = 4096} : &image);
    }
}

Test(twice, as_if_each_were_compared)
{
    uint64_t first = 1, count = 3000, refused = 0, mixed_frames = 0, whole = 0;
    hdt_seeds(&first, &count);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t random = seed;
        hd_resource resources[RESOURCES];
        hd_use uses[MOST_USES];
        uint32_t use_count = 2 + hdt_below(&random, MOST_USES - 1), rare = 1 << hdt_below(&random, 14);
        bool small = hdt_below(&random, 2), mixed = false;
        hd_graph_begin(graph);
        declare_resources(graph, resources);
        for (uint32_t u = 0; u < use_count; u++)
            uses[u] = random_use(&random, resources, rare, small);
        uint32_t bad = first_conflict(resources, uses, use_count, &mixed);
        if (hdt_below(&random, 8) == 0) { /* something else is wrong further on */
            uint32_t u = hdt_below(&random, use_count);
            uses[u].resource.id = 0;
            bad = u <= bad ? HD_NONE : bad;
        }
        hd_graph_pass(graph, &(hd_pass_desc){.uses = uses, .use_count = use_count});
        const hd_error *error = hd_graph_error(graph);
        hd_result expected = bad == HD_NONE ? HD_BAD_HANDLE : bad < use_count ? HD_CONFLICTING_USES : HD_OK;
        cr_assert_eq(error->result, expected, "HEDDLE_SEED=%llu: %s", (unsigned long long)seed, error->text);
        cr_assert(expected != HD_CONFLICTING_USES || error->use == bad, "HEDDLE_SEED=%llu: use %u, not %u",
                  (unsigned long long)seed, error->use, bad);
        cr_assert(expected != HD_OK || hdi_graph_decl(graph).mixed_layouts == mixed, "HEDDLE_SEED=%llu: mixed layouts",
                  (unsigned long long)seed);
        refused += expected == HD_CONFLICTING_USES;
        whole += expected == HD_OK && use_count > 100;
        mixed_frames += expected == HD_OK && mixed;
    }
    hd_graph_destroy(graph);
    cr_assert(count < 3000 || (refused > 500 && whole > 100 && mixed_frames > 20),
              "%llu refused, %llu whole, %llu mixed", (unsigned long long)refused, (unsigned long long)whole,
              (unsigned long long)mixed_frames);
}

/* Of this thread alone, so that it matters little what else the machine does. */
static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double declare_ns(uint32_t count, uint32_t buffers)
{
    hd_graph *graph;
    hd_use *uses = calloc(count, sizeof(*uses));
    cr_assert(uses && hd_graph_create(NULL, &graph) == HD_OK);
    double least = 0;
    for (int repeat = 0; repeat < 5; repeat++) {
        hd_graph_begin(graph);
        for (uint32_t b = 0; b < buffers; b++)
            uses[b].resource = hd_graph_import(graph, &(hd_import_desc){.bytes = 4096 * (uint64_t)count});
        for (uint32_t u = 0; u < count; u++)
            uses[u] = (hd_use){uses[u % buffers].resource, HD_STORAGE_READ_COMPUTE, {.offset = u, .bytes = 1}};
        uint64_t begin = cpu_ns();
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = count});
        double took = (double)(cpu_ns() - begin) / count;
        least = repeat == 0 || took < least ? took : least;
        cr_assert_eq(hd_graph_error(graph)->result, HD_OK);
    }
    hd_graph_destroy(graph);
    free(uses);
    return least;
}

/* A use costs about as much among 40000 as among 2000; comparing each with all before it took 20 times as long. */
Test(twice, many_uses_are_not_compared_with_one_another)
{
    double few = declare_ns(2000, 1), many = declare_ns(40000, 1);
    cr_assert(many < 6 * few, "one buffer: %.1f and %.1f ns a use", few, many);
    few = declare_ns(2000, 1000), many = declare_ns(40000, 20000);
    cr_assert(many < 6 * few, "each buffer twice: %.1f and %.1f ns a use", few, many);
}

static double compile_ns(hd_graph *graph, uint32_t uses)
{
    double least = 0;
    for (int repeat = 0; repeat < 5; repeat++) {
        const hd_plan *plan;
        hd_compile_desc desc = {.cache = HD_CACHE_OFF, .merge_rendering = true};
        uint64_t begin = cpu_ns();
        cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK);
        double took = (double)(cpu_ns() - begin) / uses;
        least = repeat == 0 || took < least ? took : least;
    }
    return least;
}

enum { PASSES = 3 };

/* Passes that write one buffer in so many ranges, so that it is asked of each of these who opens it. */
static double compile_ranges(uint32_t count)
{
    hd_graph *graph;
    hd_use *uses = calloc(count, sizeof(*uses));
    cr_assert(uses && hd_graph_create(NULL, &graph) == HD_OK);
    hd_resource buffer = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 4 * (uint64_t)count});
    for (uint32_t u = 0; u < count; u++)
        uses[u] = (hd_use){buffer, HD_STORAGE_WRITE_COMPUTE, {.offset = 4 * (uint64_t)u, .bytes = 4}};
    for (uint32_t p = 0; p < PASSES; p++)
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = count, .root = true});
    double took = compile_ns(graph, PASSES * count);
    hd_graph_destroy(graph);
    free(uses);
    return took;
}

Test(twice, ranges_of_one_resource_are_not_compared_with_one_another)
{
    double few = compile_ranges(2000), many = compile_ranges(40000);
    cr_assert(many < 6 * few, "%.1f and %.1f ns a use", few, many);
}

/* Passes that draw to one image, one behind the other, with so many buffers that each of them reads. */
static double compile_draws(uint32_t count)
{
    hd_graph *graph;
    hd_use *uses = calloc(count + 1, sizeof(*uses));
    cr_assert(uses && hd_graph_create(NULL, &graph) == HD_OK);
    hd_resource image = hd_graph_image(graph, &(hd_image_desc){.width = 16, .height = 16, .format = 37});
    for (uint32_t u = 0; u < count; u++)
        uses[u] = (hd_use){hd_graph_import(graph, &(hd_import_desc){.bytes = 4096}), HD_UNIFORM_READ};
    for (uint32_t p = 0; p < PASSES; p++) {
        hd_resource own = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 4096});
        hd_graph_pass(graph,
                      &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES({own, HD_STORAGE_WRITE_COMPUTE})});
        uses[0].resource = own; /* so that they are not ready at once */
        uses[count] = (hd_use){image, p ? HD_COLOR_RW : HD_COLOR_WRITE};
        hd_graph_pass(graph, &(hd_pass_desc){.uses = uses, .use_count = count + 1, .root = true});
    }
    double took = compile_ns(graph, PASSES * count);
    hd_graph_destroy(graph);
    free(uses);
    return took;
}

Test(twice, passes_of_a_scope_are_not_compared_use_by_use)
{
    double few = compile_draws(1000), many = compile_draws(20000);
    cr_assert(many < 6 * few, "%.1f and %.1f ns a use", few, many);
}
