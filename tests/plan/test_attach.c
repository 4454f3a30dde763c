#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "random.h"
#include "random_graph.h"
#include "tables.h"
#include "vk_numbers.h"

/* Rendering scopes and their load and store ops, against a slow model: for each single cell of an attachment, what
 * comes next in the order of the plan's passes. */

static const hd_queue_desc queues[] = {
    {HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}, {HD_QUEUE_GFX, 0}};

static bool holds(const hdi_decl *decl, uint32_t use, uint32_t mip, uint32_t layer)
{
    if (decl->use_range[use] == HDI_NONE)
        return true;
    const hd_range *r = &decl->range[decl->use_range[use]];
    return mip >= r->mip_base && mip < r->mip_base + r->mip_count && layer >= r->layer_base &&
           layer < r->layer_base + r->layer_count;
}

/* Whether a pass reads what stands in a cell behind place `at` of the order, or it outlives the frame. */
static bool wanted(const hdi_decl *decl, const uint32_t *order, uint32_t count, uint32_t at, uint32_t res, uint32_t mip,
                   uint32_t layer)
{
    for (uint32_t i = at + 1; i < count; i++) {
        bool reads = false, writes = false;
        for (uint32_t u = decl->pass_use_begin[order[i]]; u < decl->pass_use_begin[order[i] + 1]; u++) {
            if (decl->use_res[u] != res || !holds(decl, u, mip, layer))
                continue;
            reads |= decl->access[decl->use_access[u]].reads;
            writes |= decl->access[decl->use_access[u]].writes;
        }
        if (reads || writes)
            return reads;
    }
    return (decl->res_flags[res] & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY)) != 0;
}

static uint32_t model_store(const hdi_decl *decl, const uint32_t *order, uint32_t count, uint32_t at, uint32_t use)
{
    uint32_t res = decl->use_res[use];
    if (!decl->access[decl->use_access[use]].writes)
        return HDI_STORE_OP_NONE;
    for (uint32_t mip = 0; mip < decl->res_info[res].mips; mip++) {
        for (uint32_t layer = 0; layer < decl->res_info[res].layers; layer++) {
            if (holds(decl, use, mip, layer) && wanted(decl, order, count, at, res, mip, layer))
                return HDI_STORE_OP_STORE;
        }
    }
    return HDI_STORE_OP_DONT_CARE;
}

static uint32_t model_load(const hdi_decl *decl, uint32_t use)
{
    switch (decl->use_access[use]) {
    case HD_COLOR_WRITE:
    case HD_DEPTH_WRITE:
    case HDI_DEPTH_WRITE_RESOLVED:
        return decl->use_exec[use].load == HD_LOAD_CLEAR ? HDI_LOAD_OP_CLEAR : HDI_LOAD_OP_DONT_CARE;
    default:
        return HDI_LOAD_OP_LOAD;
    }
}

static bool is_attachment(uint32_t access)
{
    return access == HD_COLOR_WRITE || access == HD_COLOR_RW || access == HD_DEPTH_WRITE || access == HD_DEPTH_RW ||
           access == HD_DEPTH_READ || access == HDI_DEPTH_WRITE_RESOLVED || access == HDI_DEPTH_RW_RESOLVED ||
           access == HDI_DEPTH_READ_RESOLVED;
}

/* One pass of a scope: its attachments are the scope's. first, last: of the passes of the scope. */
static void check_pass(const hdi_decl *decl, const hd_plan_view *view, const hd_plan_scope *scope, uint32_t c,
                       const uint32_t *order, uint32_t count, uint32_t at, uint64_t seed)
{
    uint32_t pass = view->commands[c].index, n = 0, first_pass = view->commands[scope->command_begin].index;
    bool first = c == scope->command_begin, last = c + 1 == scope->command_begin + scope->command_count;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        if (!is_attachment(decl->use_access[u]))
            continue;
        cr_assert_lt(n, scope->attachment_count, "HEDDLE_SEED=%llu pass %u", (unsigned long long)seed, pass);
        const hd_plan_attachment *a = &view->attachments[scope->attachment_begin + n++];
        cr_assert_eq(decl->use_res[decl->pass_use_begin[first_pass] + a->use], decl->use_res[u]);
        if (first)
            cr_assert_eq(a->load, model_load(decl, u), "HEDDLE_SEED=%llu pass %u use %u", (unsigned long long)seed,
                         pass, u);
        else
            cr_assert_eq(model_load(decl, u), HDI_LOAD_OP_LOAD);
        if (last) {
            cr_assert_eq(a->store, model_store(decl, order, count, at, u), "HEDDLE_SEED=%llu pass %u use %u: %u",
                         (unsigned long long)seed, pass, u, a->store);
            uint32_t resolve = decl->use_exec[u].resolve;
            uint32_t target = decl->pass_use_begin[pass] + resolve - 1;
            bool read = resolve && model_store(decl, order, count, at, target) == HDI_STORE_OP_STORE;
            cr_assert_eq(a->resolve, read ? resolve - 1 : HD_NONE);
        } else {
            cr_assert_eq(decl->use_exec[u].resolve, 0, "a resolve in the middle of a scope");
        }
    }
    cr_assert_eq(n, scope->attachment_count);
}

/* Returns how many attachments are thrown away. */
static uint32_t check_plan(const hd_graph *graph, const hd_plan *plan, uint64_t seed)
{
    hdi_decl decl = hdi_graph_decl(graph);
    hd_plan_view view = hd_plan_read(plan);
    uint32_t *order = malloc((decl.pass_count + 1) * sizeof(*order)), count = 0, scope = 0, dropped = 0;
    for (uint32_t c = 0; c < view.command_count; c++) {
        if (view.commands[c].kind == HD_COMMAND_PASS)
            order[count++] = view.commands[c].index;
    }
    uint32_t left = 0, at = 0;
    for (uint32_t c = 0; c < view.command_count; c++) {
        if (view.commands[c].kind != HD_COMMAND_PASS) {
            cr_assert_eq(left, 0, "HEDDLE_SEED=%llu: a barrier inside a scope", (unsigned long long)seed);
            continue;
        }
        uint32_t pass = view.commands[c].index, attachments = 0;
        for (uint32_t u = decl.pass_use_begin[pass]; u < decl.pass_use_begin[pass + 1]; u++)
            attachments += is_attachment(decl.use_access[u]);
        bool renders = attachments && !(decl.pass_flags[pass] & HDI_PASS_NO_RENDERING);
        if (left == 0 && scope < view.scope_count && view.scopes[scope].command_begin == c)
            left = view.scopes[scope++].command_count;
        cr_assert_eq(left > 0, renders, "HEDDLE_SEED=%llu pass %u", (unsigned long long)seed, pass);
        if (renders) {
            check_pass(&decl, &view, &view.scopes[scope - 1], c, order, count, at, seed);
            left--;
        }
        at++;
    }
    cr_assert_eq(scope, view.scope_count);
    cr_assert_eq(left, 0);
    for (uint32_t a = 0; a < view.attachment_count; a++)
        dropped += view.attachments[a].store == HDI_STORE_OP_DONT_CARE;
    free(order);
    return dropped;
}

Test(attach, model)
{
    uint64_t first = 1, count = 1500;
    hdt_seeds(&first, &count);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    uint32_t dropped = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        const hd_plan *plan;
        hd_compile_desc desc = {
            .queues = queues, .queue_count = 1 + (uint32_t)(seed % 4), .order = (hd_order)(seed / 4 % 3)};
        hdt_random_graph(graph, seed, 5 + (uint32_t)(seed % 40));
        cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK, "HEDDLE_SEED=%llu", (unsigned long long)seed);
        dropped += check_plan(graph, plan, seed);
    }
    if (count > 100)
        cr_expect_gt(dropped, 50, "the random graphs leave nothing that is never read");
    hd_graph_destroy(graph);
}

static hd_resource image(hd_graph *graph, uint32_t format)
{
    return hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = format});
}

static const hd_plan_attachment *attachment(const hd_plan_view *view, uint32_t scope, uint32_t n)
{
    cr_assert_lt(scope, view->scope_count);
    cr_assert_lt(n, view->scopes[scope].attachment_count);
    return &view->attachments[view->scopes[scope].attachment_begin + n];
}

/* A shadow map that is drawn and sampled; a depth buffer that is not read behind its last pass; an output. */
Test(attach, frame)
{
    hd_graph *g;
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &g), HD_OK);
    hd_resource shadow = image(g, 126), depth = image(g, 126), color = image(g, 37);
    hd_resource out = hd_graph_import(g, &(hd_import_desc){.width = 64, .height = 64, .format = 37});
    hd_graph_pass(g, &(hd_pass_desc){.name = "shadow", .uses = HD_USES({shadow, HD_DEPTH_WRITE})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "early", .uses = HD_USES({depth, HD_DEPTH_WRITE})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "opaque",
                                     .uses = HD_USES({shadow, HD_SAMPLED_GRAPHICS},
                                                     {color, HD_COLOR_WRITE, .load = HD_LOAD_DONT_CARE},
                                                     {depth, HD_DEPTH_READ})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "glass", .uses = HD_USES({color, HD_COLOR_RW}, {depth, HD_DEPTH_RW})});
    hd_graph_pass(
        g, &(hd_pass_desc){.name = "tonemap", .uses = HD_USES({color, HD_SAMPLED_GRAPHICS}, {out, HD_COLOR_WRITE})});
    cr_assert_eq(hdt_compile(g, &(hd_compile_desc){.order = HD_ORDER_DECLARED}, &plan), HD_OK);
    hd_plan_view v = hd_plan_read(plan);
    cr_assert_eq(v.scope_count, 5);
    static const struct {
        uint32_t scope, n, use, load, store;
    } expect[] = {
        {0, 0, 0, HDI_LOAD_OP_CLEAR, HDI_STORE_OP_STORE},     {1, 0, 0, HDI_LOAD_OP_CLEAR, HDI_STORE_OP_STORE},
        {2, 0, 1, HDI_LOAD_OP_DONT_CARE, HDI_STORE_OP_STORE}, {2, 1, 2, HDI_LOAD_OP_LOAD, HDI_STORE_OP_NONE},
        {3, 0, 0, HDI_LOAD_OP_LOAD, HDI_STORE_OP_STORE},      {3, 1, 1, HDI_LOAD_OP_LOAD, HDI_STORE_OP_DONT_CARE},
        {4, 0, 1, HDI_LOAD_OP_CLEAR, HDI_STORE_OP_STORE},
    };
    for (size_t i = 0; i < sizeof(expect) / sizeof(expect[0]); i++) {
        const hd_plan_attachment *a = attachment(&v, expect[i].scope, expect[i].n);
        cr_expect(a->use == expect[i].use && a->load == expect[i].load && a->store == expect[i].store,
                  "case %zu: use %u load %u store %u", i, a->use, a->load, a->store);
        cr_expect_eq(a->resolve, HD_NONE);
    }
    hd_graph_destroy(g);
}

/* Two passes that only test against one depth buffer need nothing between them: one scope. */
Test(attach, readers_share_a_scope)
{
    hd_graph *g;
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &g), HD_OK);
    hd_resource depth = image(g, 126);
    hd_graph_pass(g, &(hd_pass_desc){.uses = HD_USES({depth, HD_DEPTH_WRITE})});
    for (uint32_t i = 0; i < 3; i++)
        hd_graph_pass(g,
                      &(hd_pass_desc){.root = true, .no_rendering = i == 2, .uses = HD_USES({depth, HD_DEPTH_READ})});
    cr_assert_eq(hdt_compile(g, &(hd_compile_desc){.order = HD_ORDER_DECLARED}, &plan), HD_OK);
    hd_plan_view v = hd_plan_read(plan);
    cr_assert_eq(v.scope_count, 2);
    cr_expect_eq(v.scopes[0].command_count, 1);
    cr_expect_eq(v.scopes[1].command_count, 2);
    cr_expect_eq(attachment(&v, 1, 0)->store, HDI_STORE_OP_NONE);
    cr_expect_eq(attachment(&v, 1, 0)->load, HDI_LOAD_OP_LOAD);
    hd_graph_destroy(g);
}

/* What is resolved is not stored, unless a pass reads it; depth is resolved in another stage than it is tested in. */
Test(attach, resolves)
{
    hd_graph *g;
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &g), HD_OK);
    const hd_image_desc color = {.width = 64, .height = 64, .format = 37},
                        depth = {.width = 64, .height = 64, .format = 126};
    hd_image_desc colors = color, depths = depth;
    colors.samples = depths.samples = 4;
    hd_resource many = hd_graph_image(g, &colors), far = hd_graph_image(g, &depths);
    hd_resource one = hd_graph_image(g, &color), near = hd_graph_image(g, &depth);
    hd_graph_pass(g, &(hd_pass_desc){.uses = HD_USES({one, HD_RESOLVE_WRITE, .resolve_of = many},
                                                     {many, HD_COLOR_WRITE}, {far, HD_DEPTH_WRITE},
                                                     {near, HD_RESOLVE_WRITE, .resolve_of = far, .resolve_mode = 4})});
    hd_graph_pass(g, &(hd_pass_desc){.root = true,
                                     .uses = HD_USES({one, HD_SAMPLED_GRAPHICS}, {near, HD_SAMPLED_GRAPHICS},
                                                     {far, HD_DEPTH_WRITE})});
    cr_assert_eq(hdt_compile(g, &(hd_compile_desc){.order = HD_ORDER_DECLARED}, &plan), HD_OK);
    hd_plan_view v = hd_plan_read(plan);
    cr_assert_eq(v.scope_count, 2);
    cr_assert_eq(v.scopes[0].attachment_count, 2);
    cr_expect(attachment(&v, 0, 0)->use == 1 && attachment(&v, 0, 0)->resolve == 0);
    cr_expect(attachment(&v, 0, 1)->use == 2 && attachment(&v, 0, 1)->resolve == 3);
    cr_expect_eq(attachment(&v, 0, 0)->store, HDI_STORE_OP_DONT_CARE);
    cr_expect_eq(attachment(&v, 0, 1)->store, HDI_STORE_OP_DONT_CARE);
    cr_expect_eq(attachment(&v, 1, 0)->resolve, HD_NONE);
    bool waits = false;
    for (uint32_t b = 0; b < v.barrier_count; b++)
        waits |= v.barriers[b].src_stages & HDI_STAGE_COLOR_ATTACHMENT_OUTPUT &&
                 v.barriers[b].src_stages & HDI_STAGE_LATE_FRAGMENT_TESTS &&
                 v.barriers[b].dst_stages & HDI_STAGE_EARLY_FRAGMENT_TESTS;
    cr_expect(waits, "the next depth test waits for the resolve of the last one");
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    hd_plan *copy = malloc(bytes);
    for (uint32_t i = 0; i < 2; i++) {
        memcpy(copy, data, bytes);
        cr_expect_eq(hd_plan_verify(g, copy, NULL), HD_OK);
        ((hd_plan_attachment *)hd_plan_read(copy).attachments)[i].resolve = HD_NONE;
        cr_expect_eq(hd_plan_verify(g, copy, NULL), HD_PLAN_INVALID, "nothing is resolved into what is sampled");
    }
    free(copy);
    hd_graph_destroy(g);
}

/* ---- scopes that passes share ---- */

enum { RENDER_PASSES = 24 };

/* Frames of draws over few attachments, some multisampled and resolved, with reads and other writes in between. */
static void render_graph(hd_graph *g, uint64_t seed)
{
    uint64_t random = seed;
    hd_graph_begin(g);
    hd_resource color[4], depth[2], one[4], buffer[2];
    const hd_image_desc desc = {.width = 64, .height = 64, .format = 37};
    for (uint32_t i = 0; i < 4; i++) {
        hd_image_desc color_desc = desc, depth_desc = desc;
        color_desc.samples = i < 2 ? 1 : 4;
        depth_desc.samples = i == 0 ? 1 : 4;
        depth_desc.format = 126;
        color[i] = hd_graph_image(g, &color_desc);
        one[i] = hd_graph_image(g, &desc);
        if (i < 2) {
            depth[i] = hd_graph_image(g, &depth_desc);
            buffer[i] = hd_graph_buffer(g, &(hd_buffer_desc){.bytes = 4096});
        }
    }
    bool written[16] = {false};
    for (uint32_t p = 0; p < RENDER_PASSES; p++) {
        hd_use uses[6];
        uint32_t count = 0, set = hdt_below(&random, 100) < 60 ? 0 : 2, kind = hdt_below(&random, 10);
        if (kind == 0) { /* a pass without attachments reads or writes a buffer */
            uint32_t which = hdt_below(&random, 2);
            hd_access access = written[10 + which] ? HD_STORAGE_RW_COMPUTE : HD_STORAGE_WRITE_COMPUTE;
            uses[count++] = (hd_use){buffer[which], access};
            if (written[which])
                uses[count++] = (hd_use){color[which], HD_SAMPLED_COMPUTE};
            written[10 + which] = true;
            hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = uses, .use_count = count});
            continue;
        }
        for (uint32_t i = set; i < set + 2; i++) {
            bool anew = !written[i] || hdt_below(&random, 8) == 0;
            uses[count++] = (hd_use){color[i], anew ? HD_COLOR_WRITE : HD_COLOR_RW};
            written[i] = true;
        }
        bool anew = !written[4 + set / 2] || hdt_below(&random, 8) == 0;
        uses[count++] = (hd_use){depth[set / 2], anew ? HD_DEPTH_WRITE : HD_DEPTH_RW};
        written[4 + set / 2] = true;
        if (set == 2 && hdt_below(&random, 3) == 0)
            uses[count++] = (hd_use){one[2], HD_RESOLVE_WRITE, .resolve_of = color[2]};
        if (kind < 4) {
            uint32_t which = hdt_below(&random, 2);
            hd_access access = !written[10 + which] ? HD_STORAGE_WRITE_COMPUTE
                               : kind < 3           ? HD_UNIFORM_READ
                                                    : HD_STORAGE_RW_COMPUTE;
            uses[count++] = (hd_use){buffer[which], access};
            written[10 + which] = true;
        }
        hd_graph_pass(g, &(hd_pass_desc){.root = hdt_below(&random, 2), .uses = uses, .use_count = count});
    }
}

Test(attach, shared_scopes)
{
    uint64_t first = 1, count = 1500;
    hdt_seeds(&first, &count);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    uint64_t apart = 0, together = 0, batches_apart = 0, batches_together = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        for (uint32_t merge = 0; merge < 2; merge++) {
            const hd_plan *plan;
            hd_compile_desc desc = {.queues = queues,
                                    .queue_count = 1 + (uint32_t)(seed % 4),
                                    .order = (hd_order)(seed / 4 % 3),
                                    .merge_rendering = merge};
            if (seed % 3 == 0)
                hdt_random_graph(graph, seed, 40);
            else
                render_graph(graph, seed);
            cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK, "HEDDLE_SEED=%llu: %s", (unsigned long long)seed,
                         hd_graph_error(graph)->text);
            check_plan(graph, plan, seed);
            hd_plan_view view = hd_plan_read(plan);
            *(merge ? &together : &apart) += view.scope_count;
            *(merge ? &batches_together : &batches_apart) += view.batch_count;
        }
    }
    if (count > 100) {
        cr_expect_lt(together, apart * 9 / 10, "scopes: %llu, with merging %llu", (unsigned long long)apart,
                     (unsigned long long)together);
        cr_expect_lt(batches_together, batches_apart);
    }
    hd_graph_destroy(graph);
}

/* Views of three passes each, blended into one image; behind `reader` of them a pass reads it. */
static void blend_views(hd_graph *g, uint32_t views, uint32_t reader)
{
    hd_image_desc desc = {.width = 256, .height = 256, .format = 37};
    hd_resource sum = hd_graph_image(g, &desc);
    hd_graph_pass(g, &(hd_pass_desc){.uses = HD_USES({sum, HD_COLOR_WRITE})});
    for (uint32_t v = 0; v < views; v++) {
        hd_resource image[3];
        for (uint32_t i = 0; i < 3; i++) {
            image[i] = hd_graph_image(g, &desc);
            hd_use uses[2] = {{image[i], HD_STORAGE_WRITE_COMPUTE}, {image[i ? i - 1 : 0], HD_SAMPLED_COMPUTE}};
            hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = uses, .use_count = i ? 2 : 1});
        }
        hd_graph_pass(g, &(hd_pass_desc){.uses = HD_USES({image[2], HD_SAMPLED_GRAPHICS}, {sum, HD_COLOR_RW})});
        if (v + 1 == reader)
            hd_graph_pass(g, &(hd_pass_desc){.root = true, .uses = HD_USES({sum, HD_SAMPLED_GRAPHICS})});
    }
    hd_graph_pass(g, &(hd_pass_desc){.root = true, .uses = HD_USES({sum, HD_SAMPLED_GRAPHICS})});
}

static hd_plan_view compile_views(hd_graph *g, uint32_t views, uint32_t reader, uint64_t budget, bool merge)
{
    const hd_plan *plan;
    hd_graph_begin(g);
    blend_views(g, views, reader);
    hd_compile_desc desc = {.memory_budget = budget, .merge_rendering = merge};
    cr_assert_eq(hdt_compile(g, &desc, &plan), HD_OK, "%s", hd_graph_error(g)->text);
    return hd_plan_read(plan);
}

/* What goes on with the same attachments stands side by side, where there is memory for what it reads until then: so
 * many views are one scope. */
Test(attach, scopes_gather)
{
    enum { VIEWS = 20, PLENTY = 1 << 28 };
    hd_graph *g;
    cr_assert_eq(hd_graph_create(NULL, &g), HD_OK);
    hd_plan_view v = compile_views(g, VIEWS, 0, PLENTY, false);
    cr_expect_eq(v.scope_count, VIEWS + 1);
    cr_expect_geq(v.batch_count, VIEWS);
    v = compile_views(g, VIEWS, 0, PLENTY, true);
    cr_expect_eq(v.scope_count, 1);
    cr_expect_eq(v.scopes[0].command_count, VIEWS + 1);
    cr_expect_leq(v.batch_count, 5);
    v = compile_views(g, VIEWS, 8, PLENTY, true); /* no view moves past the reader of the image */
    cr_expect_eq(v.scope_count, 2);
    cr_expect_eq(v.scopes[0].command_count, 9);
    cr_expect_leq(v.batch_count, 7);
    v = compile_views(g, VIEWS, 0, 6 * 256 * 256 * 4, true); /* no memory for it, but for a few */
    cr_expect_gt(v.scope_count, 2);
    cr_expect_lt(v.scope_count, VIEWS + 1);
    v = compile_views(g, VIEWS, 0, 0, true);
    cr_expect_lt(v.scope_count, VIEWS + 1);
    hd_graph_destroy(g);
}

/* Opaque, sky and glass in one scope that nothing is stored of but what is resolved; the storage buffer that the second
 * writes is read by the fourth, which begins anew. */
Test(attach, scope_of_many)
{
    hd_graph *g;
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &g), HD_OK);
    hd_image_desc desc = {.width = 64, .height = 64, .format = 37};
    hd_resource one = hd_graph_image(g, &desc);
    desc.samples = 4;
    hd_resource many = hd_graph_image(g, &desc);
    desc.format = 126;
    hd_resource depth = hd_graph_image(g, &desc), hits = hd_graph_buffer(g, &(hd_buffer_desc){.bytes = 256});
    hd_graph_pass(g, &(hd_pass_desc){.uses = HD_USES({many, HD_COLOR_WRITE}, {depth, HD_DEPTH_WRITE})});
    hd_graph_pass(g, &(hd_pass_desc){
                         .uses = HD_USES({hits, HD_STORAGE_WRITE_COMPUTE}, {many, HD_COLOR_RW}, {depth, HD_DEPTH_RW})});
    hd_graph_pass(g, &(hd_pass_desc){.uses = HD_USES({one, HD_RESOLVE_WRITE, .resolve_of = many}, {many, HD_COLOR_RW},
                                                     {depth, HD_DEPTH_RW})});
    hd_graph_pass(g, &(hd_pass_desc){
                         .root = true,
                         .uses = HD_USES({many, HD_COLOR_RW}, {depth, HD_DEPTH_RW}, {hits, HD_STORAGE_READ_COMPUTE})});
    hd_graph_pass(g, &(hd_pass_desc){.root = true, .uses = HD_USES({one, HD_SAMPLED_GRAPHICS})});
    cr_assert_eq(hdt_compile(g, &(hd_compile_desc){.order = HD_ORDER_DECLARED, .merge_rendering = true}, &plan), HD_OK);
    hd_plan_view v = hd_plan_read(plan);
    cr_assert_eq(v.scope_count, 2);
    cr_expect_eq(v.scopes[0].command_count, 3);
    cr_expect(attachment(&v, 0, 0)->load == HDI_LOAD_OP_CLEAR && attachment(&v, 0, 0)->store == HDI_STORE_OP_STORE);
    cr_expect_eq(attachment(&v, 0, 0)->resolve, 0, "of the last pass");
    cr_expect_eq(attachment(&v, 1, 0)->store, HDI_STORE_OP_DONT_CARE);
    cr_expect_eq(attachment(&v, 1, 1)->store, HDI_STORE_OP_DONT_CARE);
    hd_graph_destroy(g);
}
