#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "graph_state.h"
#include "pieces.h"

/* The faults that frame graphs are known for, one test each. Orders are read off the plan by a walk over its submits
 * that shares nothing with compiler or verifier; and every plan goes through the verifier as well. */

/* ---- what a plan orders ---- */

typedef struct place {
    uint32_t submit, command;
} place;

static place place_of(const hd_plan_view *view, uint32_t wanted)
{
    for (uint32_t s = 0; s < view->submit_count; s++) {
        const hd_plan_submit *submit = &view->submits[s];
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            if (view->commands[c].kind == HD_COMMAND_PASS && view->commands[c].index == wanted)
                return (place){s, c};
        }
    }
    return (place){HD_NONE, HD_NONE};
}

static bool kept(const hd_plan_view *view, uint32_t wanted)
{
    return place_of(view, wanted).submit != HD_NONE;
}

/* The submit that brings a timeline to a value. */
static uint32_t signaller(const hd_plan_view *view, const hd_plan_wait *wait)
{
    for (uint32_t s = 0; s < view->submit_count; s++) {
        if (view->submits[s].queue == wait->queue && view->submits[s].signal_value >= wait->value)
            return s;
    }
    return HD_NONE;
}

/* Whether semaphores, or the order of one queue, put pass a before pass b. Barriers within a queue are the verifier's.
 */
static bool before(const hd_plan_view *view, uint32_t a, uint32_t b)
{
    place from = place_of(view, a), to = place_of(view, b);
    cr_assert(from.submit != HD_NONE && to.submit != HD_NONE, "passes %u and %u are in the plan", a, b);
    if (view->submits[from.submit].queue == view->submits[to.submit].queue)
        return from.command < to.command;
    bool *follows = calloc(view->submit_count, sizeof(bool));
    for (uint32_t s = from.submit + 1; s < view->submit_count; s++) {
        const hd_plan_submit *submit = &view->submits[s];
        for (uint32_t w = 0; w < submit->wait_count; w++) {
            const hd_plan_wait *wait = &view->waits[submit->wait_begin + w];
            uint32_t by = signaller(view, wait);
            follows[s] |= by != HD_NONE &&
                          (follows[by] || (wait->queue == view->submits[from.submit].queue && by >= from.submit));
        }
        for (uint32_t t = from.submit + 1; t < s; t++)
            follows[s] |= follows[t] && view->submits[t].queue == submit->queue;
    }
    bool result = follows[to.submit];
    free(follows);
    return result;
}

static const hd_plan_resource *placed(const hd_plan_view *view, uint32_t id)
{
    for (uint32_t i = 0; i < view->resource_count; i++) {
        if (view->resources[i].id == id)
            return &view->resources[i];
    }
    return NULL;
}

static bool share_bytes(const hd_plan_view *view, uint32_t a, uint32_t b)
{
    const hd_plan_resource *x = placed(view, a), *y = placed(view, b);
    return x && y && x->heap != HD_NONE && x->heap == y->heap && x->offset < y->offset + y->bytes &&
           y->offset < x->offset + x->bytes;
}

/* ---- memory ---- */

/* In any one order of all passes `a` is dead when `b` begins; but its last reader runs on another queue, and nothing
 * makes the writer of `b` wait for it. */
Test(known_faults, lifetimes_are_not_linear_across_queues)
{
    hd_graph *graph = new_graph();
    bool shared_once = false, apart_once = false;
    for (int order = 0; order < 3; order++) {
        for (uint32_t queues = 1; queues <= 3; queues += 2) {
            hd_graph_begin(graph);
            hd_resource a = buffer(graph, 1 << 20), b = buffer(graph, 1 << 20);
            hd_resource x = external(graph), y = external(graph);
            pass(graph, HD_PIN_GFX, 10, nothing, a);
            pass(graph, HD_PIN_COMPUTE, 1000, a, x); /* long */
            pass(graph, HD_PIN_GFX, 10, nothing, b);
            pass(graph, HD_PIN_GFX, 10, b, y);
            hd_plan_view view =
                compiled(graph, &(hd_compile_desc){.queues = three, .queue_count = queues, .order = (hd_order)order});
            bool shared = share_bytes(&view, 0, 1);
            cr_assert(!shared || before(&view, 1, 2) || before(&view, 3, 0), "order %d, %u queues", order, queues);
            shared_once |= shared && queues == 1;
            apart_once |= !shared && queues == 3;
        }
    }
    cr_assert(shared_once, "one queue orders them: sharing is safe and expected");
    cr_assert(apart_once);
    hd_graph_destroy(graph);
}

typedef struct asker {
    uint64_t factor, alignment;
} asker;

static hd_result drivers_size(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    const asker *a = user;
    uint64_t bytes = info->is_buffer ? info->bytes : (uint64_t)info->width * info->height * 4;
    *need = (hd_memory_need){(bytes * a->factor + 12345) / a->alignment * a->alignment + a->alignment, a->alignment, 0};
    return HD_OK;
}

/* What a driver needs is more than what the description adds up to, in steps of its own. */
Test(known_faults, memory_is_as_large_as_the_driver_says)
{
    hd_graph *graph = new_graph();
    static const asker askers[] = {{1, 256}, {2, 4096}, {3, 1 << 20}};
    for (int i = 0; i < 3; i++) {
        hd_graph_begin(graph);
        hd_resource chain[12];
        for (int r = 0; r < 12; r++)
            chain[r] = r & 1 ? hd_graph_image(graph, &(hd_image_desc){.width = 100, .height = 60, .format = 37})
                             : buffer(graph, 1000 * (r + 1));
        for (int r = 0; r < 12; r++)
            pass(graph, HD_PIN_NONE, 10, r ? chain[r - 1] : nothing, chain[r]);
        pass(graph, HD_PIN_NONE, 10, chain[11], external(graph));
        hd_compile_desc desc = {.size = drivers_size, .size_user = (void *)&askers[i]};
        hd_plan_view view = compiled(graph, &desc);
        for (uint32_t r = 0; r < 12; r++) {
            const hd_plan_resource *res = placed(&view, r);
            hd_memory_need need;
            hd_resource_info info = {.is_buffer = !(r & 1), .width = 100, .height = 60, .bytes = 1000 * (r + 1)};
            drivers_size(&info, &need, (void *)&askers[i]);
            cr_assert(res && res->bytes == need.bytes && res->offset % need.alignment == 0);
            cr_assert_leq(res->offset + res->bytes, view.heaps[res->heap].bytes);
            /* A neighbour in time is alive with it. */
            cr_assert(r == 0 || !share_bytes(&view, r - 1, r));
        }
        /* A plan made with the sizes that descriptions add up to is refused by a check with the driver's sizes. */
        const hd_plan *logical;
        cr_assert_eq(hd_graph_compile(graph, NULL, &logical), HD_OK);
        cr_assert_eq(
            hd_plan_verify(graph, logical, &(hd_verify_desc){.size = drivers_size, .size_user = (void *)&askers[i]}),
            HD_PLAN_INVALID);
    }
    hd_graph_destroy(graph);
}

/* ---- waits ---- */

/* Two inputs from one queue, each with a signal of its own because others wait for them too: the wait must be for the
 * later one, whichever is named first. And two inputs from two queues need a wait each. */
Test(known_faults, the_latest_input_is_waited_for)
{
    hd_graph *graph = new_graph();
    for (int variant = 0; variant < 12; variant++) {
        bool swapped = variant & 1, elsewhere = variant & 2;
        hd_graph_begin(graph);
        hd_resource early = buffer(graph, 4096), late = buffer(graph, 4096), out = external(graph);
        pass(graph, HD_PIN_COMPUTE, 10, nothing, early);
        pass(graph, HD_PIN_GFX, 10, early, external(graph)); /* so that `early` is signalled by itself */
        if (elsewhere)
            hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER,
                                                 .pin = HD_PIN_TRANSFER,
                                                 .uses = HD_USES({late, HD_TRANSFER_DST})});
        else
            pass(graph, HD_PIN_COMPUTE, 500, nothing, late);
        hd_graph_pass(graph, &(hd_pass_desc){.pin = HD_PIN_GFX,
                                             .uses = HD_USES({swapped ? late : early, HD_STORAGE_READ_COMPUTE},
                                                             {swapped ? early : late, HD_STORAGE_READ_COMPUTE},
                                                             {out, HD_STORAGE_WRITE_COMPUTE})});
        hd_plan_view view = compiled(
            graph, &(hd_compile_desc){.queues = three, .queue_count = 3, .order = (hd_order)(variant / 4 % 3)});
        cr_assert_neq(view.submits[place_of(&view, 2).submit].queue, view.submits[place_of(&view, 3).submit].queue);
        cr_assert(before(&view, 0, 1) && before(&view, 0, 3) && before(&view, 2, 3), "variant %d", variant);
    }
    hd_graph_destroy(graph);
}

/* ---- culling ---- */

/* Declares writes and reads around a pass that is to be culled: it reads `image` in a layout of its own and writes what
 * is never read. */
static void declare_around(hd_graph *graph, bool with_dead)
{
    hd_graph_begin(graph);
    hd_resource image = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37});
    hd_resource out = external(graph);
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES({image, HD_STORAGE_WRITE_COMPUTE})});
    if (with_dead) {
        hd_resource dead = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37});
        hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({image, HD_SAMPLED_GRAPHICS}, {dead, HD_COLOR_WRITE})});
        hd_graph_pass(graph, &(hd_pass_desc){.pin = HD_PIN_TRANSFER,
                                             .type = HD_PASS_TRANSFER,
                                             .uses = HD_USES({image, HD_TRANSFER_SRC}, {dead, HD_TRANSFER_DST})});
    }
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES({image, HD_STORAGE_RW_COMPUTE})});
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({image, HD_TRANSFER_SRC}, {out, HD_TRANSFER_DST})});
}

Test(known_faults, culled_passes_leave_no_trace)
{
    hd_graph *with = new_graph(), *without = new_graph();
    for (int order = 0; order < 3; order++) {
        for (uint32_t queues = 1; queues <= 3; queues++) {
            hd_compile_desc desc = {.queues = three, .queue_count = queues, .order = (hd_order)order};
            declare_around(with, true);
            declare_around(without, false);
            hd_plan_view a = compiled(with, &desc), b = compiled(without, &desc);
            cr_assert(a.culled_count == 2 && a.culled[0] == 1 && a.culled[1] == 2 && b.culled_count == 0);
            cr_assert(a.barrier_count == b.barrier_count && a.batch_count == b.batch_count &&
                      a.submit_count == b.submit_count && a.wait_count == b.wait_count &&
                      a.command_count == b.command_count && a.resource_count == b.resource_count);
            cr_assert_null(placed(&a, 2));
            for (uint32_t i = 0; i < a.barrier_count; i++) {
                const hd_plan_barrier *x = &a.barriers[i], *y = &b.barriers[i];
                cr_assert(x->src_stages == y->src_stages && x->src_access == y->src_access &&
                          x->dst_stages == y->dst_stages && x->dst_access == y->dst_access &&
                          x->old_layout == y->old_layout && x->new_layout == y->new_layout &&
                          x->resource == y->resource && x->src_family == y->src_family &&
                          x->dst_family == y->dst_family);
            }
        }
    }
    hd_graph_destroy(with);
    hd_graph_destroy(without);
}

Test(known_faults, what_is_kept_after_the_frame_is_written)
{
    hd_graph *graph = new_graph();
    hd_resource out = external(graph),
                picture = hd_graph_import(graph, &(hd_import_desc){.width = 8, .height = 8, .format = 37});
    hd_resource own = buffer(graph, 4096), last = buffer(graph, 4096);
    hd_graph_history(graph, last);                                                     /* the next frame may read it */
    pass(graph, HD_PIN_NONE, 10, nothing, out);                                        /* 0: overwritten by 1 */
    pass(graph, HD_PIN_NONE, 10, nothing, out);                                        /* 1 */
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({picture, HD_COLOR_WRITE})}); /* 2 */
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = HD_USES({last, HD_TRANSFER_DST})}); /* 3 */
    pass(graph, HD_PIN_NONE, 10, nothing, own); /* 4: never read */
    hd_graph_pass(graph,
                  &(hd_pass_desc){.type = HD_PASS_HOST, .uses = HD_USES({out, HD_HOST_WRITE, {.bytes = 16}})}); /* 5 */
    hd_plan_view view = compiled(graph, NULL);
    cr_assert(!kept(&view, 0) && kept(&view, 1) && kept(&view, 2) && kept(&view, 3) && !kept(&view, 4) &&
              kept(&view, 5));
    hd_graph_destroy(graph);
}

/* ---- the cache ---- */

static void declare_small(hd_graph *graph, int variant)
{
    hd_graph_begin(graph);
    hd_resource a = buffer(graph, variant & 1 ? 4096 : 8192), out = external(graph);
    pass(graph, HD_PIN_NONE, 10, nothing, a);
    if (variant & 2)
        pass(graph, HD_PIN_NONE, 10, a, out);
    pass(graph, HD_PIN_NONE, 10, a, out);
}

/* Every key has the same hash. */
Test(known_faults, the_cache_compares_what_it_finds)
{
    hd_graph *graph = new_graph(), *plain = new_graph();
    graph->cache.hash_mask = 0;
    for (int i = 0; i < 16; i++) {
        const hd_plan *found, *made;
        size_t found_bytes, made_bytes;
        declare_small(graph, i % 4);
        declare_small(plain, i % 4);
        cr_assert_eq(hdt_compile(graph, NULL, &found), HD_OK);
        cr_assert_eq(hdt_compile(plain, &(hd_compile_desc){.cache = HD_CACHE_OFF}, &made), HD_OK);
        const void *x = hd_plan_data(found, &found_bytes), *y = hd_plan_data(made, &made_bytes);
        cr_assert(found_bytes == made_bytes && memcmp(x, y, found_bytes) == 0, "frame %d", i);
    }
    hd_cache_stats stats = hd_graph_cache_stats(graph);
    cr_assert(stats.misses == 4 && stats.hits == 12);
    hd_graph_destroy(graph);
    hd_graph_destroy(plain);
}

/* ---- a state to be left, where nothing else needs a barrier ---- */

Test(known_faults, a_level_that_nobody_uses_is_left_in_the_final_layout_without_any_other_barrier)
{
    enum { GENERAL = 1, READ_ONLY = 5 };
    static const uint32_t level_uses[] = {1, 2};
    for (uint32_t queues = 1; queues <= 3; queues += 2) {
        for (uint32_t i = 0; i < 2; i++) {
            hd_graph *graph = new_graph();
            hd_graph_begin(graph);
            hd_resource image = hd_graph_import(graph, &(hd_import_desc){.width = 64,
                                                                         .height = 64,
                                                                         .format = 37,
                                                                         .mips = 2,
                                                                         .initial_layout = GENERAL,
                                                                         .final_layout = READ_ONLY});
            hd_use use = {image, HD_STORAGE_WRITE_COMPUTE};
            use.range.mip_count = (uint16_t)level_uses[i];
            hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = &use, .use_count = 1});
            hd_plan_view plan = compiled(graph, &(hd_compile_desc){.queues = three, .queue_count = queues});
            uint32_t levels = 0;
            for (uint32_t b = 0; b < plan.barrier_count; b++) {
                cr_assert_eq(plan.barriers[b].new_layout, READ_ONLY);
                levels += plan.barriers[b].range.mip_count;
            }
            cr_assert_eq(levels, 2, "%u queues: %u levels are left as they should be", queues, levels);
            hd_graph_destroy(graph);
        }
    }
}

/* Queues that no pass could run on are left out of the compile; the set's first may be one of them. */
Test(known_faults, an_import_that_only_the_host_uses_belongs_to_the_queue_of_its_barriers)
{
    static const hd_queue_desc queues[] = {{HD_QUEUE_TRANSFER, 2}, {HD_QUEUE_GFX, 7}};
    enum { PRESENTED = 1000001002 };
    hd_graph *graph = new_graph();
    hd_graph_begin(graph);
    hd_resource image = hd_graph_import(
        graph, &(hd_import_desc){.width = 64, .height = 64, .format = 37, .initial_layout = PRESENTED});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_GFX, .root = true});
    hd_graph_pass(graph,
                  &(hd_pass_desc){
                      .type = HD_PASS_HOST, .root = true, .uses = &(hd_use){image, HD_HOST_READ}, .use_count = 1});
    hd_plan_view plan = compiled(graph, &(hd_compile_desc){.queues = queues, .queue_count = 2});
    cr_assert_eq(plan.resource_count, 1);
    cr_assert_eq(plan.barrier_count, 1);
    cr_assert_eq(plan.resources[0].first_family, 7);
    cr_assert_eq(plan.resources[0].final_family, 7);
    hd_graph_destroy(graph);
}

static hd_result bytes_as_they_are(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    (void)user;
    *need = (hd_memory_need){.bytes = info->bytes, .alignment = 256};
    return HD_OK;
}

/* The largest alone stands out of a cap below its size in units: a search for a lower packing ends. */
Test(known_faults, sizes_that_are_no_multiples_of_their_alignment_are_packed, .timeout = 30)
{
    hd_graph *graph = new_graph();
    hd_graph_begin(graph);
    hd_resource large = buffer(graph, 726), small = buffer(graph, 555);
    const hd_use uses[] = {{small, HD_STORAGE_WRITE_COMPUTE}, {large, HD_STORAGE_WRITE_COMPUTE}};
    for (uint32_t p = 0; p < 2; p++)
        hd_graph_pass(graph,
                      &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = &uses[p], .use_count = 1});
    const hd_plan *plan;
    const hd_compile_desc desc = {.size = bytes_as_they_are, .order = HD_ORDER_DECLARED};
    cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK);
    cr_assert_eq(hd_plan_verify(graph, plan, &(hd_verify_desc){.size = bytes_as_they_are}), HD_OK);
    cr_assert_leq(hd_plan_read(plan).heaps[0].bytes, 768);
    hd_graph_destroy(graph);
}

/* Reads of one pass in a number that no layout has stand in one barrier, on one queue and on several. */
Test(known_faults, a_pass_that_reads_twice_in_an_unknown_layout_is_made_ready_for_both)
{
    static const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}};
    const hd_custom_access first = {.stages = 0x80, .access = 0x20, .layout = UINT32_C(1) << 31, .reads = true};
    const hd_custom_access second = {.stages = 8, .access = 0x20, .layout = UINT32_C(1) << 31, .reads = true};
    hd_graph *graph = new_graph();
    hd_graph_begin(graph);
    hd_resource image = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE, .uses = HD_USES({image, HD_STORAGE_WRITE_COMPUTE})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_GFX,
                                         .root = true,
                                         .uses = HD_USES({image, HD_ACCESS_CUSTOM, .custom = &first},
                                                         {image, HD_ACCESS_CUSTOM, .custom = &second})});
    for (uint32_t count = 1; count <= 2; count++) {
        const hd_plan *plan;
        const hd_compile_desc desc = {.queues = queues, .queue_count = count};
        cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK);
        cr_assert_eq(hd_plan_verify(graph, plan, NULL), HD_OK, "%u queues", count);
    }
    hd_graph_destroy(graph);
}

/* What one region promises about memory is not waited for where no memory needs it. */
Test(known_faults, uploads_before_which_nobody_is_waited_for_share_no_bytes)
{
    enum { UPLOADS = 64 };
    hd_graph *graph = new_graph();
    graph->parallel_passes = 0;
    graph->region_passes = 8;
    hd_resource upload[UPLOADS];
    for (uint32_t i = 0; i < UPLOADS; i++) {
        upload[i] = buffer(graph, 65536);
        hd_use writes = {upload[i], HD_HOST_WRITE};
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_HOST, .uses = &writes, .use_count = 1});
        pass(graph, i % 2 ? HD_PIN_COMPUTE : HD_PIN_GFX, 5.0f, upload[i], external(graph));
    }
    hd_plan_view view = compiled(graph, &(hd_compile_desc){.queues = three, .queue_count = 2});
    for (uint32_t i = 0; i < view.resource_count; i++)
        cr_expect_neq(view.resources[i].placing, HD_PLACING_TAKES_OVER, "resource %u", view.resources[i].id);
    hd_graph_destroy(graph);
}

/* Nor once the host has waited, for what it reads: it takes bytes over only from what is over by then. */
Test(known_faults, uploads_add_no_waits)
{
    enum { UPLOADS = 64 };
    hd_graph *graph = new_graph();
    graph->parallel_passes = 0;
    graph->region_passes = 8;
    for (uint32_t i = 0; i < 2; i++) {
        hd_resource back = buffer(graph, 256);
        hd_use reads = {back, HD_HOST_READ};
        pass(graph, i ? HD_PIN_COMPUTE : HD_PIN_GFX, 5.0f, nothing, back);
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_HOST, .root = true, .uses = &reads, .use_count = 1});
    }
    for (uint32_t i = 0; i < UPLOADS; i++) {
        hd_resource upload = buffer(graph, 65536);
        hd_use writes = {upload, HD_HOST_WRITE};
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_HOST, .uses = &writes, .use_count = 1});
        pass(graph, i % 2 ? HD_PIN_COMPUTE : HD_PIN_GFX, 5.0f, upload, external(graph));
    }
    hd_plan_view view = compiled(graph, &(hd_compile_desc){.queues = three, .queue_count = 2});
    uint32_t waits = 0;
    for (uint32_t s = 0; s < view.submit_count; s++)
        waits += view.queues[view.submits[s].queue].kind == HD_QUEUE_HOST ? view.submits[s].wait_count : 0;
    cr_expect_eq(waits, 2, "%u waits of the host", waits);
    hd_graph_destroy(graph);
}

/* Images that the host writes first are made ready for it by one submit, and waited for once. */
Test(known_faults, images_of_the_host_add_one_wait)
{
    enum { IMAGES = 4 };
    hd_graph *graph = new_graph();
    for (uint32_t i = 0; i < IMAGES; i++) {
        hd_resource image = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37});
        hd_use writes = {image, HD_HOST_WRITE}, reads[] = {{image, HD_TRANSFER_SRC}};
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_HOST, .uses = &writes, .use_count = 1});
        hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_GFX, .root = true, .uses = reads, .use_count = 1});
    }
    hd_plan_view view = compiled(graph, &(hd_compile_desc){.queues = three, .queue_count = 1});
    uint32_t waits = 0;
    for (uint32_t s = 0; s < view.submit_count; s++) {
        waits += view.queues[view.submits[s].queue].kind == HD_QUEUE_HOST ? view.submits[s].wait_count : 0;
        cr_expect_gt(view.submits[s].command_count, 0, "submit %u", s);
    }
    cr_expect_eq(waits, 1, "%u waits of the host", waits);
    hd_graph_destroy(graph);
}

/* A write behind reads of what was there before the frame asks for order alone. Where an image's barrier of the same
 * batch brings that, also for logically earlier stages, and though it is asked for later, no global one is left. */
Test(known_faults, order_that_an_image_barrier_brings_needs_no_global_one)
{
    hd_graph *graph = new_graph();
    hd_graph_begin(graph);
    hd_resource numbers = external(graph),
                image = hd_graph_image(graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_GFX,
                                         .uses = HD_USES({numbers, HD_UNIFORM_READ}, {image, HD_COLOR_WRITE})});
    hd_graph_pass(graph,
                  &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                  .uses = HD_USES({numbers, HD_STORAGE_WRITE_COMPUTE}, {image, HD_SAMPLED_COMPUTE})});
    hd_plan_view view = compiled(graph, &(hd_compile_desc){.queues = three, .queue_count = 1});
    for (uint32_t b = 0; b < view.barrier_count; b++)
        cr_expect_neq(view.barriers[b].resource, HD_NONE, "barrier %u", b);
    cr_expect_eq(view.barrier_count, 2);
    hd_graph_destroy(graph);
}
