#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "limited.h"
#include "tables.h"

/* Versions by hand: where readers of old versions end up, what they keep alive, and what is refused. Random graphs
 * against a model are in test_version_random.c. */

static const hd_queue_desc three_queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}};

static hd_graph *new_graph(void)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    return graph;
}

static hd_resource new_buffer(hd_graph *graph)
{
    return hd_graph_buffer(graph, &(hd_buffer_desc){.name = "data", .bytes = 4096});
}

static hd_resource new_output(hd_graph *graph)
{
    return hd_graph_import(graph, &(hd_import_desc){.name = "output", .bytes = 4096});
}

/* A compute pass with up to two uses. */
static void pass(hd_graph *graph, const char *name, hd_use a, hd_use b)
{
    hd_use uses[] = {a, b};
    hd_graph_pass(graph,
                  &(hd_pass_desc){.name = name, .type = HD_PASS_COMPUTE, .uses = uses, .use_count = b.access ? 2 : 1});
}

#define READ(handle) ((hd_use){(handle), HD_STORAGE_READ_COMPUTE})
#define WRITE(handle) ((hd_use){(handle), HD_STORAGE_WRITE_COMPUTE})
#define NEXT(handle, to) ((hd_use){(handle), HD_STORAGE_WRITE_COMPUTE, .next = &(to)})
#define CHANGE(handle, to) ((hd_use){(handle), HD_STORAGE_RW_COMPUTE, .next = &(to)})
#define NOTHING ((hd_use){.access = HD_ACCESS_NONE})

/* Place of a pass in the order of the submits, HD_NONE: it is not there. */
static uint32_t place(const hd_plan *plan, uint32_t pass_index)
{
    hd_plan_view view = hd_plan_read(plan);
    for (uint32_t s = 0, n = 0; s < view.submit_count; s++) {
        const hd_plan_submit *submit = &view.submits[s];
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++, n++) {
            if (view.commands[c].kind == HD_COMMAND_PASS && view.commands[c].index == pass_index)
                return n;
        }
    }
    return HD_NONE;
}

static const hd_plan *compiled(hd_graph *graph, const hd_compile_desc *desc)
{
    const hd_plan *plan;
    hd_result result = hdt_compile(graph, desc, &plan);
    cr_assert_eq(result, HD_OK, "%s: %s", hd_result_name(result), hd_graph_error(graph)->text);
    return plan;
}

Test(version, old_reader_runs_before_the_write)
{
    hd_graph *graph = new_graph();
    hd_resource data = new_buffer(graph), out = new_output(graph), changed;
    pass(graph, "make", WRITE(data), NOTHING);
    pass(graph, "change", CHANGE(data, changed), NOTHING);
    pass(graph, "late", READ(data), WRITE(out));
    pass(graph, "new", READ(changed), (hd_use){out, HD_STORAGE_RW_COMPUTE});
    cr_assert_neq(changed.id, data.id);
    cr_assert_eq(hd_graph_resource_index(graph, changed), hd_graph_resource_index(graph, data));
    for (hd_order order = HD_ORDER_OVERLAP; order <= HD_ORDER_DECLARED; order++) {
        const hd_plan *plan = compiled(graph, &(hd_compile_desc){.order = order});
        cr_assert_lt(place(plan, 0), place(plan, 2));
        cr_assert_lt(place(plan, 2), place(plan, 1));
        cr_assert_lt(place(plan, 1), place(plan, 3));
        hd_plan_stats stats;
        cr_assert_eq(hd_plan_stats_get(graph, plan, 0, &stats), HD_OK);
        cr_assert_float_eq(stats.critical_path_us, 40.0, 1e-9);
    }
    hd_graph_destroy(graph);
}

Test(version, ignored_means_declaration_order)
{
    hd_graph *graph = new_graph();
    hd_resource data = new_buffer(graph), out = new_output(graph);
    pass(graph, "make", WRITE(data), NOTHING);
    pass(graph, "change", (hd_use){data, HD_STORAGE_RW_COMPUTE}, NOTHING);
    pass(graph, "late", READ(data), WRITE(out));
    const hd_plan *plan = compiled(graph, NULL);
    cr_assert_lt(place(plan, 1), place(plan, 2));
    cr_assert_eq(hdi_graph_decl(graph).late_count, 0);
    hd_graph_destroy(graph);
}

/* Two resources that take turns as input and output; a reader of every step comes last of all. */
Test(version, ping_pong)
{
    enum { STEPS = 6 };
    hd_graph *graph = new_graph();
    hd_resource now[2] = {new_buffer(graph), new_buffer(graph)}, out = new_output(graph), seen[STEPS];
    pass(graph, "start", WRITE(now[0]), NOTHING);
    for (uint32_t i = 0; i < STEPS; i++) {
        seen[i] = now[i & 1];
        pass(graph, "step", READ(now[i & 1]), NEXT(now[~i & 1], now[~i & 1]));
    }
    for (uint32_t i = 0; i < STEPS; i++)
        pass(graph, "look", READ(seen[i]), (hd_use){out, HD_STORAGE_RW_COMPUTE});
    const hd_plan *plan = compiled(graph, &(hd_compile_desc){.queues = three_queues, .queue_count = 3});
    for (uint32_t i = 0; i + 2 < STEPS; i++) {
        uint32_t look = 1 + STEPS + i, made = i, ended = i + 2;
        cr_assert_lt(place(plan, made), place(plan, look), "step %u", i);
        cr_assert_lt(place(plan, look), place(plan, ended), "step %u", i);
    }
    hd_graph_destroy(graph);
}

Test(version, three_versions_in_any_order)
{
    hd_graph *graph = new_graph();
    hd_resource v0 = new_buffer(graph), out[3], v1, v2;
    for (uint32_t i = 0; i < 3; i++)
        out[i] = new_output(graph);
    pass(graph, "make", WRITE(v0), NOTHING);
    pass(graph, "one", CHANGE(v0, v1), NOTHING);
    pass(graph, "two", CHANGE(v1, v2), NOTHING);
    pass(graph, "read 2", READ(v2), WRITE(out[2]));
    pass(graph, "read 1", READ(v1), WRITE(out[1]));
    pass(graph, "read 0", READ(v0), WRITE(out[0]));
    const hd_plan *plan = compiled(graph, NULL);
    const uint32_t wanted[] = {0, 5, 1, 4, 2, 3};
    for (uint32_t i = 0; i + 1 < 6; i++)
        cr_assert_lt(place(plan, wanted[i]), place(plan, wanted[i + 1]), "passes %u and %u", wanted[i], wanted[i + 1]);
    hd_graph_destroy(graph);
}

/* The initial content of an import is its first version. */
Test(version, initial_content)
{
    hd_graph *graph = new_graph();
    hd_resource target = new_output(graph), out = new_output(graph), after;
    pass(graph, "overwrite", NEXT(target, after), NOTHING);
    pass(graph, "save", READ(target), WRITE(out));
    const hd_plan *plan = compiled(graph, NULL);
    cr_assert_lt(place(plan, 1), place(plan, 0));
    hd_graph_destroy(graph);
}

/* The old reader keeps what it reads alive, in its place and with its number in the list of culled passes. */
Test(version, old_reader_keeps_the_old_write)
{
    hd_graph *graph = new_graph();
    hd_resource data = new_buffer(graph), out = new_output(graph), idle = new_buffer(graph), changed;
    pass(graph, "make", WRITE(data), NOTHING);
    pass(graph, "overwrite", NEXT(data, changed), NOTHING);
    pass(graph, "idle", WRITE(idle), NOTHING);
    pass(graph, "late", READ(data), WRITE(out));
    hd_plan_view view = hd_plan_read(compiled(graph, NULL));
    cr_assert_eq(view.culled_count, 2);
    cr_assert_eq(view.culled[0], 1);
    cr_assert_eq(view.culled[1], 2);

    hd_graph_begin(graph); /* without the late reader the first write is dead */
    data = new_buffer(graph);
    out = new_output(graph);
    pass(graph, "make", WRITE(data), NOTHING);
    pass(graph, "overwrite", NEXT(data, changed), NOTHING);
    pass(graph, "new", READ(changed), WRITE(out));
    view = hd_plan_read(compiled(graph, NULL));
    cr_assert_eq(view.culled_count, 1);
    cr_assert_eq(view.culled[0], 0);
    hd_graph_destroy(graph);
}

/* A write of a part ends the version of the whole; what it does not touch needs no order. */
Test(version, ranges)
{
    hd_graph *graph = new_graph();
    hd_resource data = new_buffer(graph), out = new_output(graph), other = new_output(graph), changed, again;
    hd_range low = {.offset = 0, .bytes = 2048}, high = {.offset = 2048, .bytes = 2048};
    pass(graph, "make", WRITE(data), NOTHING);
    /* two uses of one pass end the version together */
    pass(graph, "change", (hd_use){data, HD_STORAGE_RW_COMPUTE, low, .next = &changed},
         (hd_use){data, HD_STORAGE_WRITE_COMPUTE, high, .next = &again});
    cr_assert_eq(changed.id, again.id);
    pass(graph, "high", (hd_use){changed, HD_STORAGE_RW_COMPUTE, high, .next = &again}, NOTHING);
    /* reads the low part of the second version, which the third has too, and of the first */
    pass(graph, "late", (hd_use){changed, HD_STORAGE_READ_COMPUTE, high}, WRITE(out));
    pass(graph, "later", (hd_use){data, HD_STORAGE_READ_COMPUTE, low}, WRITE(other));
    pass(graph, "last", READ(again), (hd_use){out, HD_STORAGE_RW_COMPUTE});
    const hd_plan *plan = compiled(graph, NULL);
    const uint32_t wanted[] = {0, 4, 1, 3, 2, 5};
    for (uint32_t i = 0; i + 1 < 6; i++)
        cr_assert_lt(place(plan, wanted[i]), place(plan, wanted[i + 1]), "passes %u and %u", wanted[i], wanted[i + 1]);

    hd_graph_begin(graph); /* each reads what the other's write has not touched: both orders are good */
    data = new_output(graph);
    out = new_output(graph);
    pass(graph, "a", (hd_use){data, HD_STORAGE_WRITE_COMPUTE, low, .next = &changed}, NOTHING);
    pass(graph, "b", (hd_use){data, HD_STORAGE_READ_COMPUTE, high}, (hd_use){changed, HD_STORAGE_READ_COMPUTE, low});
    compiled(graph, NULL);
    hd_graph_destroy(graph);
}

Test(version, queues)
{
    hd_graph *graph = new_graph();
    hd_resource image = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37});
    hd_resource out = new_output(graph), first = new_output(graph), blurred, sharp;
    hd_graph_pass(graph,
                  &(hd_pass_desc){.name = "draw", .type = HD_PASS_GFX, .uses = HD_USES({image, HD_COLOR_WRITE})});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "blur",
                                         .type = HD_PASS_COMPUTE,
                                         .pin = HD_PIN_COMPUTE,
                                         .uses = HD_USES({image, HD_STORAGE_RW_COMPUTE, .next = &blurred})});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "sharpen",
                                         .type = HD_PASS_GFX,
                                         .uses = HD_USES({blurred, HD_COLOR_RW, .next = &sharp})});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "copy",
                                         .type = HD_PASS_TRANSFER,
                                         .pin = HD_PIN_TRANSFER,
                                         .uses = HD_USES({image, HD_TRANSFER_SRC}, {first, HD_TRANSFER_DST})});
    hd_graph_pass(graph,
                  &(hd_pass_desc){.name = "show",
                                  .type = HD_PASS_COMPUTE,
                                  .uses = HD_USES({sharp, HD_SAMPLED_COMPUTE}, {out, HD_STORAGE_WRITE_COMPUTE})});
    hd_graph_pass(
        graph,
        &(hd_pass_desc){.name = "check", .type = HD_PASS_HOST, .root = true, .uses = HD_USES({first, HD_HOST_READ})});
    const hd_plan *plan = compiled(graph, &(hd_compile_desc){.queues = three_queues, .queue_count = 3});
    const uint32_t wanted[] = {0, 3, 1, 2, 4};
    for (uint32_t i = 0; i + 1 < 5; i++)
        cr_assert_lt(place(plan, wanted[i]), place(plan, wanted[i + 1]), "passes %u and %u", wanted[i], wanted[i + 1]);
    hd_plan_view view = hd_plan_read(plan);
    bool found = false; /* reasons speak of passes as declared: blur waits for copy */
    for (uint32_t w = 0; w < view.wait_count; w++)
        found |= view.waits[w].reason_pass == 3;
    cr_assert(found);
    hd_graph_destroy(graph);
}

/* Nothing of versions is left to the heap in a second identical frame, and the plan is the same to the byte. */
Test(version, second_frame)
{
    hdt_limited limited = {0};
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.allocator = hdt_limited_allocator(&limited)}, &graph), HD_OK);
    uint64_t hash = 0, made = 0;
    for (uint32_t frame = 0; frame < 4; frame++) {
        const hd_plan *plan;
        hd_resource version[100];
        hd_graph_begin(graph);
        version[0] = new_buffer(graph);
        hd_resource out = new_output(graph);
        for (uint32_t i = 0; i + 1 < 100; i++)
            pass(graph, "make", NEXT(version[i], version[i + 1]), NOTHING);
        for (uint32_t i = 100; i-- > 1;)
            pass(graph, "late", READ(version[i]), (hd_use){out, HD_STORAGE_WRITE_COMPUTE, {.offset = i, .bytes = 1}});
        cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK);
        cr_assert(frame == 0 || hd_plan_read(plan).hash == hash);
        cr_assert(frame < 2 || limited.made == made, "frame %u allocates", frame);
        hash = hd_plan_read(plan).hash;
        made = limited.made;
    }
    hd_graph_destroy(graph);
    cr_assert_eq(limited.out, 0);
}

/* A plan that was written and read again is the same plan of the same declaration. */
Test(version, plan_as_text)
{
    hd_graph *graph = new_graph();
    hd_resource data = new_buffer(graph), out = new_output(graph), other = new_output(graph), changed;
    pass(graph, "make", WRITE(data), NOTHING);
    pass(graph, "change", CHANGE(data, changed), NOTHING);
    pass(graph, "new", READ(changed), WRITE(other));
    pass(graph, "late", READ(data), WRITE(out));
    const hd_plan *plan = compiled(graph, NULL);
    char *text = NULL, error[256];
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert_eq(hd_plan_write_json(graph, plan, file), HD_OK);
    fclose(file);
    hd_plan *again;
    cr_assert_eq(hd_plan_read_json(graph, text, bytes, NULL, &again, error, sizeof(error)), HD_OK, "%s", error);
    cr_assert_eq(hd_plan_verify(graph, again, NULL), HD_OK);
    cr_assert_lt(place(again, 3), place(again, 1));
    hd_plan_free(again, NULL);
    free(text);
    hd_graph_destroy(graph);
}

/* A plan that is good for declaration order is not good for versions. */
Test(version, verifier_knows_versions)
{
    hd_graph *plain = new_graph(), *versioned = new_graph();
    for (uint32_t i = 0; i < 2; i++) {
        hd_graph *graph = i ? versioned : plain;
        hd_resource data = new_buffer(graph), out = new_output(graph), changed;
        pass(graph, "make", WRITE(data), NOTHING);
        pass(graph, "change", (hd_use){data, HD_STORAGE_RW_COMPUTE, .next = i ? &changed : NULL}, NOTHING);
        pass(graph, "late", READ(data), WRITE(out));
    }
    cr_assert_eq(hd_plan_verify(plain, compiled(plain, NULL), NULL), HD_OK);
    cr_assert_eq(hd_plan_verify(versioned, compiled(plain, NULL), NULL), HD_PLAN_INVALID);
    cr_assert_eq(hd_plan_verify(plain, compiled(versioned, NULL), NULL), HD_PLAN_INVALID);
    hd_graph_destroy(versioned);
    hd_graph_destroy(plain);
}

/* ---- refused ---- */

Test(version, cycle_names_its_passes)
{
    hd_graph *graph = new_graph();
    hd_resource data = new_buffer(graph), out = new_output(graph), changed;
    const hd_plan *plan;
    pass(graph, "make", WRITE(data), NOTHING);
    pass(graph, "change", CHANGE(data, changed), NOTHING);
    pass(graph, "middle", READ(changed), WRITE(out));
    pass(graph, "both", (hd_use){out, HD_STORAGE_RW_COMPUTE}, READ(data));
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_VERSION_CYCLE);
    cr_assert_null(plan);
    const hd_error *error = hd_graph_error(graph);
    cr_assert_eq(error->result, HD_VERSION_CYCLE);
    cr_assert_eq(error->pass, 3);
    cr_assert_eq(error->resource, hd_graph_resource_index(graph, data));
    cr_assert_eq(error->use, 1);
    cr_assert(strstr(error->text, "pass 3 'both' before pass 1 'change' before pass 2 'middle' before pass 3 'both'"),
              "%s", error->text);

    hd_graph_begin(graph); /* both versions in one pass */
    data = new_buffer(graph);
    pass(graph, "make", WRITE(data), NOTHING);
    pass(graph, "change", CHANGE(data, changed), NOTHING);
    pass(graph, "both", READ(data), READ(changed));
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_VERSION_CYCLE);
    cr_assert(strstr(hd_graph_error(graph)->text, "pass 2 'both' before pass 1 'change' before pass 2 'both'"), "%s",
              hd_graph_error(graph)->text);
    hd_graph_destroy(graph);
}

Test(version, long_cycles_are_cut_short)
{
    hd_graph *graph = new_graph();
    hd_resource data = new_buffer(graph), changed, chain = new_buffer(graph);
    const hd_plan *plan;
    pass(graph, "make", WRITE(data), NOTHING);
    pass(graph, "change", CHANGE(data, changed), WRITE(chain));
    for (uint32_t i = 0; i < 20; i++)
        pass(graph, "a link with a very long name", (hd_use){chain, HD_STORAGE_RW_COMPUTE}, NOTHING);
    pass(graph, "end", READ(chain), READ(data));
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_VERSION_CYCLE);
    const char *text = hd_graph_error(graph)->text;
    cr_assert(strstr(text, "pass 22 'end' before pass 1 'change' before"), "%s", text);
    cr_assert(strstr(text, "before 18 more before pass 22 'end'"), "%s", text);
    hd_graph_destroy(graph);
}

Test(version, forks_are_refused)
{
    const hd_access writes[] = {HD_STORAGE_WRITE_COMPUTE, HD_STORAGE_RW_COMPUTE};
    hd_graph *graph = new_graph();
    for (uint32_t i = 0; i < 4; i++) {
        hd_graph_begin(graph);
        hd_resource data = new_buffer(graph), v1, v2 = {1}, v3 = {1};
        pass(graph, "make", NEXT(data, v1), NOTHING);
        pass(graph, "change", CHANGE(v1, v2), NOTHING);
        pass(graph, "fork", (hd_use){i < 2 ? v1 : data, writes[i & 1], .next = i & 1 ? &v3 : NULL}, NOTHING);
        const hd_error *error = hd_graph_error(graph);
        cr_assert_eq(error->result, HD_VERSION_FORKED);
        cr_assert_eq(error->pass, 2);
        cr_assert_eq(error->resource, 0);
        cr_assert_eq(error->use, 0);
        cr_assert(strstr(error->text, "'fork'") && strstr(error->text, "'data'"), "%s", error->text);
        cr_assert_eq(v3.id, i & 1 ? 0 : 1);
        pass(graph, "after the error", CHANGE(v2, v2), NOTHING);
        cr_assert_eq(v2.id, 0);
    }
    hd_graph_destroy(graph);
}

Test(version, handles)
{
    hd_graph *graph = new_graph(), *foreign = new_graph();
    hd_resource data = new_buffer(graph), v1, same, history;
    pass(graph, "make", NEXT(data, v1), NOTHING);
    pass(graph, "read", (hd_use){v1, HD_STORAGE_READ_COMPUTE, .next = &same}, NOTHING);
    cr_assert_eq(same.id, v1.id); /* a read leaves the version as it is */
    history = hd_graph_history(graph, v1);
    cr_assert_eq(hd_graph_resource_index(graph, history), 1);
    cr_assert_eq(hd_graph_resource_index(foreign, v1), HD_NONE);
    cr_assert_eq(hd_graph_resource_index(graph, (hd_resource){v1.id - 1}), HD_NONE); /* no such version yet */
    cr_assert_eq(hd_graph_pass_index(graph, (hd_pass){v1.id}), HD_NONE);
    hd_graph_begin(graph);
    cr_assert_eq(hd_graph_resource_index(graph, v1), HD_NONE);
    data = new_buffer(graph);
    pass(graph, "stale", READ(v1), NOTHING);
    cr_assert_eq(hd_graph_error(graph)->result, HD_BAD_HANDLE);
    hd_graph_destroy(foreign);
    hd_graph_destroy(graph);
}

Test(version, old_content_must_exist)
{
    hd_graph *graph = new_graph();
    hd_resource data = new_buffer(graph), out = new_output(graph), v1;
    const hd_plan *plan;
    pass(graph, "make", NEXT(data, v1), NOTHING);
    pass(graph, "fine", READ(v1), WRITE(out));
    pass(graph, "late", (hd_use){out, HD_STORAGE_RW_COMPUTE}, READ(data));
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_VERSION_CYCLE); /* make, fine, late, make */

    hd_graph_begin(graph);
    data = new_buffer(graph);
    out = new_output(graph);
    pass(graph, "make", NEXT(data, v1), NOTHING);
    pass(graph, "late", WRITE(out), READ(data));
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_UNWRITTEN_READ);
    cr_assert_eq(hd_graph_error(graph)->pass, 1); /* as declared */
    cr_assert_eq(hd_graph_error(graph)->resource, 0);
    cr_assert_eq(hd_graph_error(graph)->use, 1);

    hd_graph_begin(graph); /* nor does a queue for the pass: its number is the declared one too */
    data = new_output(graph);
    out = new_output(graph);
    pass(graph, "make", NEXT(data, v1), NOTHING);
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_GFX, .uses = HD_USES({data, HD_VERTEX_READ}), .root = true});
    hd_queue_desc compute = {HD_QUEUE_COMPUTE, 0};
    cr_assert_eq(hd_graph_compile(graph, &(hd_compile_desc){.queues = &compute, .queue_count = 1}, &plan), HD_NO_QUEUE);
    cr_assert_eq(hd_graph_error(graph)->pass, 1);
    hd_graph_destroy(graph);
}

Test(version, files_say_which_version_is_read)
{
    hd_graph *graph = new_graph();
    hd_resource data = new_output(graph), v1;
    char text[4096];
    FILE *file = fmemopen(text, sizeof(text), "w");
    pass(graph, "make", NEXT(data, v1), NOTHING);
    pass(graph, "fine", READ(v1), NOTHING);
    cr_assert_eq(hd_graph_write_fgt(graph, file), HD_OK);
    pass(graph, "late", READ(data), NOTHING);
    rewind(file);
    cr_assert_eq(hd_graph_write_fgt(graph, file), HD_OK);
    fclose(file);
    cr_expect(strstr(text, "use 2 0 storage_read_compute before=0\n"), "%s", text);
    hd_graph_destroy(graph);
}
