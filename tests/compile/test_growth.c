#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdlib.h>

#include "work.h"
#include "workloads.h"

/* Many uses a pass: declaring and compiling them takes work by their number, not by its square. Work is counted, in
 * basic blocks (support/work.h), whatever else the machine does. Of 16 times as many uses each takes at most half as
 * much again; comparing each with all before it would take up to 16 times as much. */

static double declare_work(uint32_t count, uint32_t buffers)
{
    hd_graph *graph;
    hd_use *uses = calloc(count, sizeof(*uses));
    cr_assert(uses && hd_graph_create(NULL, &graph) == HD_OK);
    for (uint32_t b = 0; b < buffers; b++)
        uses[b].resource = hd_graph_import(graph, &(hd_import_desc){.bytes = 4096 * (uint64_t)count});
    for (uint32_t u = 0; u < count; u++)
        uses[u] = (hd_use){uses[u % buffers].resource, HD_STORAGE_READ_COMPUTE, {.offset = u, .bytes = 1}};
    uint64_t before = hdt_work();
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = count});
    double work = (double)(hdt_work() - before) / count;
    cr_assert_eq(hd_graph_error(graph)->result, HD_OK);
    hd_graph_destroy(graph);
    free(uses);
    return work;
}

static void expect_linear(const char *what, double few, double many)
{
    printf("%s: %.1f and %.1f basic blocks a use\n", what, few, many);
    cr_expect(few > 1, "%s: nothing is counted", what);
    cr_expect(many < 1.5 * few, "%s: %.1f and %.1f basic blocks a use", what, few, many);
}

Test(growth, uses_of_a_pass)
{
    expect_linear("one buffer", declare_work(1000, 1), declare_work(16000, 1));
    expect_linear("each buffer twice", declare_work(1000, 500), declare_work(16000, 8000));
}

/* Of so many uses in all. The graph goes then, and uses with it. */
static double compile_work(hd_graph *graph, hd_use *uses, uint32_t count)
{
    const hd_plan *plan;
    hd_compile_desc desc = {.cache = HD_CACHE_OFF, .merge_rendering = true};
    uint64_t before = hdt_work();
    cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK);
    double work = (double)(hdt_work() - before) / count;
    hd_graph_destroy(graph);
    free(uses);
    return work;
}

enum { PASSES = 3 };

/* Passes that write one buffer in so many ranges: the compiler must find the first writer of each of them. */
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
    return compile_work(graph, uses, PASSES * count);
}

Test(growth, ranges_of_one_resource)
{
    expect_linear("ranges", compile_ranges(1000), compile_ranges(16000));
}

/* A pass of a frame of a family. */
static double compile_family(const char *family, uint32_t passes, const hd_compile_desc *desc)
{
    hdb_workload *workload = hdb_workload_make(hdb_family_index(family), passes, 1, false);
    const hd_plan *plan;
    hd_graph *graph;
    cr_assert(workload && hd_graph_create(NULL, &graph) == HD_OK);
    hdb_workload_declare(workload, graph);
    uint64_t before = hdt_work();
    cr_assert_eq(hd_graph_compile(graph, desc, &plan), HD_OK);
    double work = (double)(hdt_work() - before) / hdb_workload_pass_count(workload);
    hd_graph_destroy(graph);
    hdb_workload_free(workload);
    return work;
}

/* Packing has a budget in every order: without one, some of these take 100 times as much. More effort takes more. */
Test(growth, packing_in_every_order)
{
    static const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}};
    static const char *const families[] = {"async", "layered", "temporal"};
    static const uint32_t sizes[] = {50, 150, 1000};
    enum { MOST = 20000 };
    double effort = 0, none = 0;
    for (int i = 0; i < 3 * 3 * 2 * 2; i++) {
        hd_compile_desc desc = {.queues = queues, .queue_count = i / 9 % 2 ? 3 : 1, .cache = HD_CACHE_OFF};
        const char *family = families[i % 3];
        uint32_t size = sizes[i / 3 % 3];
        desc.order = i / 18 ? HD_ORDER_DECLARED : HD_ORDER_MEMORY;
        double work = compile_family(family, size, &desc);
        printf("%s %u, %u queues: %.0f basic blocks a pass\n", family, size, desc.queue_count, work);
        cr_expect(work > 1 && work < MOST, "%s %u: %.0f basic blocks a pass", family, size, work);
        none += work;
        desc.packing_effort = 2;
        effort += compile_family(family, size, &desc);
    }
    cr_expect(effort > none);
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
    return compile_work(graph, uses, PASSES * count);
}

Test(growth, uses_of_passes_of_a_scope)
{
    expect_linear("draws", compile_draws(1000), compile_draws(16000));
}

/* ---- what is done with a plan ---- */

typedef struct plan_work {
    double verify, count, explain, draw;
} plan_work;

static plan_work measure_plan(hd_graph *graph, const hd_compile_desc *desc, uint32_t count)
{
    const hd_plan *plan;
    hd_plan_stats stats;
    const hd_plan_reasons *reasons;
    char *text = NULL;
    size_t bytes;
    cr_assert_eq(hd_graph_compile(graph, desc, &plan), HD_OK, "%s", hd_graph_error(graph)->text);
    uint64_t start = hdt_work();
    cr_assert_eq(hd_plan_verify(graph, plan, NULL), HD_OK);
    uint64_t verified = hdt_work();
    cr_assert_eq(hd_plan_stats_get(graph, plan, 0, &stats), HD_OK);
    uint64_t counted = hdt_work();
    cr_assert_eq(hd_plan_explain(graph, plan, NULL, &reasons), HD_OK);
    uint64_t explained = hdt_work();
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file && hd_plan_write_html(graph, plan, file) == HD_OK && hd_plan_write_dot(graph, plan, file) == HD_OK);
    uint64_t drawn = hdt_work();
    fclose(file);
    free(text);
    hd_plan_reasons_free(reasons, NULL);
    hd_graph_destroy(graph);
    return (plan_work){(double)(verified - start) / count, (double)(counted - verified) / count,
                       (double)(explained - counted) / count, (double)(drawn - explained) / count};
}

static void expect_all_linear(const char *what, plan_work few, plan_work many)
{
    char name[128];
    const struct {
        const char *name;
        double few, many;
    } parts[] = {{"verify", few.verify, many.verify},
                 {"count", few.count, many.count},
                 {"explain", few.explain, many.explain},
                 {"draw", few.draw, many.draw}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(name, sizeof(name), "%s %s", parts[i].name, what);
        expect_linear(name, parts[i].few, parts[i].many);
    }
}

/* A pass behind the other, on queues by turns; each writes an image that the next one reads, so that few bytes have
 * as many tenants as there are passes. */
static plan_work plan_chain(uint32_t count, uint32_t queues)
{
    static const hd_queue_desc queue[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}};
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint32_t p = 0; p < count; p++) {
        static hd_resource last;
        hd_resource own = hd_graph_image(graph, &(hd_image_desc){.width = 16 + p % 7, .height = 16, .format = 37});
        hd_use uses[] = {{own, HD_STORAGE_WRITE_COMPUTE}, {last, HD_SAMPLED_COMPUTE}};
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                             .pin = p % queues ? HD_PIN_COMPUTE : HD_PIN_GFX,
                                             .root = p + 1 == count,
                                             .uses = uses,
                                             .use_count = p ? 2 : 1});
        last = own;
    }
    return measure_plan(graph, &(hd_compile_desc){.queues = queue, .queue_count = queues}, count);
}

Test(growth, plans_of_chains)
{
    expect_all_linear("a chain", plan_chain(500, 1), plan_chain(8000, 1));
    expect_all_linear("a chain on two queues", plan_chain(500, 2), plan_chain(8000, 2));
}

/* One buffer that so many passes read, the whole of it or a range each; each leaves one for the last pass. */
static plan_work plan_readers(uint32_t count, bool ranges)
{
    hd_graph *graph;
    hd_use *all = calloc(count + 1, sizeof(*all));
    cr_assert(all && hd_graph_create(NULL, &graph) == HD_OK);
    hd_resource buffer = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 4 * (uint64_t)count});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES({buffer, HD_STORAGE_WRITE_COMPUTE})});
    for (uint32_t p = 0; p < count; p++) {
        all[p] = (hd_use){hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 4096}), HD_STORAGE_READ_COMPUTE};
        hd_use uses[] = {{buffer, HD_STORAGE_READ_COMPUTE}, {all[p].resource, HD_STORAGE_WRITE_COMPUTE}};
        if (ranges)
            uses[0] = (hd_use){buffer, HD_STORAGE_READ_COMPUTE, {.offset = 4 * (uint64_t)p, .bytes = 4}};
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = 2});
    }
    all[count] = (hd_use){buffer, HD_STORAGE_WRITE_COMPUTE};
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = all, .use_count = count + 1});
    free(all);
    return measure_plan(graph, &(hd_compile_desc){0}, count);
}

/* Each pass reads what the one declared before it has overwritten: all have to run in the reverse order. */
static double verify_backwards(uint32_t count)
{
    const hd_plan *plan;
    hd_graph *graph;
    hd_resource last = {0}, buffer, changed;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint32_t p = 0; p < count; p++) {
        buffer = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 256});
        hd_use uses[] = {{buffer, HD_STORAGE_WRITE_COMPUTE}, {last, HD_STORAGE_READ_COMPUTE}};
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = 1});
        uses[0] = (hd_use){buffer, HD_STORAGE_RW_COMPUTE, .next = &changed};
        hd_graph_pass(graph,
                      &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = uses, .use_count = p ? 2 : 1});
        last = buffer;
    }
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK, "%s", hd_graph_error(graph)->text);
    uint64_t before = hdt_work();
    cr_assert_eq(hd_plan_verify(graph, plan, NULL), HD_OK);
    double work = (double)(hdt_work() - before) / count;
    hd_graph_destroy(graph);
    return work;
}

Test(growth, plans_of_versions)
{
    expect_linear("verify passes in reverse", verify_backwards(500), verify_backwards(8000));
}

Test(growth, plans_of_readers)
{
    expect_all_linear("readers of one buffer", plan_readers(500, false), plan_readers(8000, false));
    plan_work few = plan_readers(500, true), many = plan_readers(8000, true);
    expect_linear("verify readers of ranges", few.verify, many.verify);
    expect_linear("count readers of ranges", few.count, many.count);
}
