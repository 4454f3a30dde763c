#include <criterion/criterion.h>
#include <heddle/graph.h>

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
