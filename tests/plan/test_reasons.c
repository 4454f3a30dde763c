#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "limited.h"
#include "random_graph.h"
#include "tables.h"

/* Reasons: small frames whose every barrier, wait, cut, placement and cull is known by hand; random frames whose
 * reasons must name passes and resources that really are involved; plans from elsewhere, which give no reasons. */

static const hd_queue_desc queues[] = {
    {HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}, {HD_QUEUE_COMPUTE, 2}};

static hd_graph *graph;
static const hd_plan *plan;
static hd_plan_view view;
static const hd_plan_reasons *reasons;

static void setup(void)
{
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    reasons = NULL;
}

static void teardown(void)
{
    hd_plan_reasons_free(reasons, NULL);
    hd_graph_destroy(graph);
}

TestSuite(reasons, .init = setup, .fini = teardown);

static void explain(uint32_t queue_count)
{
    hd_compile_desc desc = {.queues = queues, .queue_count = queue_count, .order = HD_ORDER_DECLARED};
    hd_plan_reasons_free(reasons, NULL);
    cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK, "%s", hd_graph_error(graph)->text);
    view = hd_plan_read(plan);
    cr_assert_eq(hd_plan_explain(graph, plan, NULL, &reasons), HD_OK);
}

/* ---- by hand ---- */

#define N HD_NONE

static void expect(const char *what, const hd_why *got, uint32_t got_count, const hd_why *want, uint32_t want_count)
{
    for (uint32_t i = 0; i < got_count && i < want_count; i++)
        cr_assert(got[i].code == want[i].code && got[i].pass == want[i].pass &&
                      got[i].other_pass == want[i].other_pass && got[i].resource == want[i].resource &&
                      got[i].other_resource == want[i].other_resource,
                  "%s %u is {%u, %d, %d, %d, %d}, not {%u, %d, %d, %d, %d}", what, i, got[i].code, (int)got[i].pass,
                  (int)got[i].other_pass, (int)got[i].resource, (int)got[i].other_resource, want[i].code,
                  (int)want[i].pass, (int)want[i].other_pass, (int)want[i].resource, (int)want[i].other_resource);
    cr_assert_eq(got_count, want_count, "%u %s, not %u", got_count, what, want_count);
}
#define EXPECT(what, got, got_count, ...)                                                                              \
    expect(what, got, got_count, (const hd_why[]){__VA_ARGS__}, sizeof((const hd_why[]){__VA_ARGS__}) / sizeof(hd_why))

static hd_resource image(void)
{
    return hd_graph_image(graph, &(hd_image_desc){.width = 256, .height = 256, .format = 37});
}

static hd_resource buffer(void)
{
    return hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 4096});
}

#define PASS(...) hd_graph_pass(graph, &(hd_pass_desc){__VA_ARGS__})

Test(reasons, barriers_by_hand)
{
    hd_resource a = image(),
                out = hd_graph_import(
                    graph,
                    &(hd_import_desc){.width = 64, .height = 64, .format = 37, .initial_layout = 1, .final_layout = 1});
    hd_resource data = buffer();
    PASS(.uses = HD_USES({a, HD_COLOR_WRITE}));                                                      /* 0 */
    PASS(.root = true, .uses = HD_USES({a, HD_SAMPLED_GRAPHICS}));                                   /* 1 */
    PASS(.type = HD_PASS_TRANSFER, .uses = HD_USES({a, HD_TRANSFER_SRC}, {data, HD_TRANSFER_DST}));  /* 2 */
    PASS(.root = true, .uses = HD_USES({a, HD_COLOR_WRITE}));                                        /* 3 */
    PASS(.type = HD_PASS_COMPUTE, .uses = HD_USES({a, HD_STORAGE_WRITE_COMPUTE}));                   /* 4 */
    PASS(.uses = HD_USES({a, HD_SAMPLED_GRAPHICS}, {data, HD_UNIFORM_READ}, {out, HD_COLOR_WRITE})); /* 5 */
    explain(1);
    EXPECT("barriers", reasons->barriers, view.barrier_count, {HD_REASON_FIRST_USE, 0, N, 0, N}, /* a thrown away */
           {HD_REASON_READ_AFTER_WRITE, 1, 0, 0, N},                                             /* a sampled */
           {HD_REASON_LAYOUT, 2, 1, 0, N},                                                       /* a copied from */
           {HD_REASON_WRITE_AFTER_READ, 3, 2, 0, N}, /* a drawn into once more */
           {HD_REASON_WRITE_AFTER_WRITE, 4, 3, 0, N}, {HD_REASON_READ_AFTER_WRITE, 5, 4, 0, N},
           {HD_REASON_READ_AFTER_WRITE, 5, 2, 2, N}, /* data: a global barrier, which names its resource all the same */
           {HD_REASON_FIRST_USE, 5, N, 1, N},
           {HD_REASON_FINAL_STATE, N, 5, 1, N});
    EXPECT("waits", reasons->waits, view.wait_count, );
    EXPECT("submits", reasons->submits, view.submit_count, {HD_CUT_FIRST, 0, N, N, N});
    EXPECT("ends", reasons->submit_ends, view.submit_count, {HD_CUT_END, 5, N, N, N});
}

Test(reasons, waits_and_cuts_by_hand)
{
    hd_resource a = image(), b = buffer(), c = image();
    hd_resource shown = hd_graph_import(graph, &(hd_import_desc){.width = 64, .height = 64, .format = 37});
    PASS(.uses = HD_USES({a, HD_COLOR_WRITE})); /* 0 gfx */
    PASS(.type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE,
         .uses = HD_USES({a, HD_SAMPLED_COMPUTE}, {b, HD_STORAGE_WRITE_COMPUTE}));
    PASS(.uses = HD_USES({c, HD_COLOR_WRITE}));                                                     /* 2 gfx */
    PASS(.uses = HD_USES({c, HD_SAMPLED_GRAPHICS}, {b, HD_UNIFORM_READ}, {shown, HD_COLOR_WRITE})); /* 3 gfx */
    PASS(.type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .root = true, .uses = HD_USES({b, HD_STORAGE_WRITE_COMPUTE}));
    explain(2);
    EXPECT("waits", reasons->waits, view.wait_count, {HD_REASON_READ_AFTER_WRITE, 1, 0, 0, N},
           {HD_REASON_READ_AFTER_WRITE, 3, 1, 1, N}, {HD_REASON_WRITE_AFTER_READ, 4, 3, 1, N});
    /* gfx: 0 | 2 | 3; compute: 1 | 4. */
    EXPECT("submits", reasons->submits, view.submit_count, {HD_CUT_FIRST, 0, N, N, N}, {HD_CUT_FIRST, 1, N, N, N},
           {HD_CUT_SIGNAL, 1, 0, 0, N}, {HD_CUT_WAIT, 3, 1, 1, N}, {HD_CUT_WAIT, 4, 3, 1, N});
    EXPECT("ends", reasons->submit_ends, view.submit_count, {HD_CUT_SIGNAL, 1, 0, 0, N}, {HD_CUT_SIGNAL, 3, 1, 1, N},
           {HD_CUT_WAIT, 3, 1, 1, N}, {HD_CUT_END, 3, N, N, N}, {HD_CUT_END, 4, N, N, N});
    for (uint32_t s = 0; s < view.submit_count; s++)
        cr_assert_eq(view.submits[s].cut, reasons->submits[s].code);
}

/* An image that one family writes and another reads, and gives back: ownership moves. */
Test(reasons, ownership_by_hand)
{
    hd_resource a = hd_graph_image(
        graph, &(hd_image_desc){.width = 64, .height = 64, .format = 37, .sharing = HD_SHARING_EXCLUSIVE});
    PASS(.uses = HD_USES({a, HD_COLOR_WRITE}));
    PASS(.type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .root = true, .uses = HD_USES({a, HD_SAMPLED_COMPUTE}));
    PASS(.root = true, .uses = HD_USES({a, HD_SAMPLED_GRAPHICS}));
    explain(2);
    EXPECT("barriers", reasons->barriers, view.barrier_count, {HD_REASON_FIRST_USE, 0, N, 0, N},
           {HD_REASON_RELEASE, 1, 0, 0, N}, {HD_REASON_ACQUIRE, 1, 0, 0, N}, {HD_REASON_RELEASE, 2, 1, 0, N},
           {HD_REASON_ACQUIRE, 2, 1, 0, N});
    EXPECT("waits", reasons->waits, view.wait_count, {HD_REASON_READ_AFTER_WRITE, 1, 0, 0, N},
           {HD_REASON_ACQUIRE, 2, 1, 0, N});
}

Test(reasons, placement_by_hand)
{
    hd_resource a = image(), b = image(), c = image(), old = hd_graph_history(graph, c);
    hd_resource seen = buffer(), out = hd_graph_import(graph, &(hd_import_desc){.bytes = 256});
    hd_resource d = image();
    PASS(.uses = HD_USES({a, HD_COLOR_WRITE}));
    PASS(.uses = HD_USES({a, HD_SAMPLED_GRAPHICS}, {b, HD_COLOR_WRITE}));
    PASS(.uses =
             HD_USES({b, HD_SAMPLED_GRAPHICS}, {old, HD_SAMPLED_GRAPHICS}, {c, HD_COLOR_WRITE}, {d, HD_COLOR_WRITE}));
    PASS(.type = HD_PASS_TRANSFER, .uses = HD_USES({d, HD_TRANSFER_SRC}, {seen, HD_TRANSFER_DST}));
    PASS(.type = HD_PASS_TRANSFER, .uses = HD_USES({seen, HD_TRANSFER_SRC}, {out, HD_TRANSFER_DST}));
    PASS(.type = HD_PASS_HOST, .root = true, .uses = HD_USES({seen, HD_HOST_READ}));
    explain(1);
    EXPECT("resources", reasons->resources, view.resource_count, {HD_PLACING_FIRST, 0, N, 0, N}, /* a: at 0 */
           {HD_PLACING_FIRST, 1, N, 1, 0},      /* b: above a, which is still read */
           {HD_PLACING_PERSISTENT, 2, N, 2, 3}, /* c and its history */
           {HD_PLACING_PERSISTENT, 2, N, 3, 2}, {HD_PLACING_HOST, 5, N, 4, N}, {HD_PLACING_EXTERNAL, 4, N, 5, N},
           {HD_PLACING_TAKES_OVER, 2, 1, 6, 0}); /* d: has a's bytes */
    cr_assert_eq(view.resources[6].tenant, 0u);
    uint32_t aliases = 0;
    for (uint32_t i = 0; i < view.barrier_count; i++) {
        const hd_why *why = &reasons->barriers[i];
        if (why->code != HD_REASON_ALIAS)
            continue;
        aliases++;
        expect("alias", why, 1, &(hd_why){HD_REASON_ALIAS, 2, 1, 6, 0}, 1);
    }
    cr_assert_gt(aliases, 0u);
}

Test(reasons, culls_by_hand)
{
    hd_resource a = image(), b = image(), c = image();
    hd_resource out = hd_graph_import(graph, &(hd_import_desc){.width = 64, .height = 64, .format = 37});
    PASS(.uses = HD_USES({a, HD_COLOR_WRITE}));                           /* 0: b's writer would read it */
    PASS(.uses = HD_USES({a, HD_SAMPLED_GRAPHICS}, {b, HD_COLOR_WRITE})); /* 1: b is not read */
    PASS(.uses = HD_USES({c, HD_COLOR_WRITE}));                           /* 2: 4 overwrites c */
    PASS(.uses = HD_USES({out, HD_COLOR_WRITE})); /* 3: 4 overwrites what is kept after the frame */
    PASS(.uses = HD_USES({c, HD_COLOR_WRITE}, {out, HD_COLOR_WRITE})); /* 4: kept */
    PASS(.uses = HD_USES({c, HD_SAMPLED_GRAPHICS}));                   /* 5: writes nothing */
    explain(1);
    EXPECT("culls", reasons->culled, view.culled_count, {HD_CULL_READER_CULLED, 0, 1, 0, N},
           {HD_CULL_UNREAD, 1, N, 1, N}, {HD_CULL_OVERWRITTEN, 2, 4, 2, N}, {HD_CULL_OVERWRITTEN, 3, 4, 3, N},
           {HD_CULL_WRITES_NOTHING, 5, N, N, N});
}

/* A reader of an older version stands before the write that ended it, wherever the reader is declared. */
Test(reasons, culls_of_versions_by_hand)
{
    hd_resource a = image(), next;
    PASS(.uses = HD_USES({a, HD_COLOR_WRITE}));                              /* 0 */
    PASS(.root = true, .uses = HD_USES({a, HD_COLOR_WRITE, .next = &next})); /* 1 */
    PASS(.uses = HD_USES({a, HD_SAMPLED_GRAPHICS}));                         /* 2: what 0 wrote */
    PASS(.uses = HD_USES({next, HD_SAMPLED_GRAPHICS}));                      /* 3 */
    explain(1);
    EXPECT("culls", reasons->culled, view.culled_count, {HD_CULL_READER_CULLED, 0, 2, 0, N},
           {HD_CULL_WRITES_NOTHING, 2, N, N, N}, {HD_CULL_WRITES_NOTHING, 3, N, N, N});
}

Test(reasons, a_cull_without_a_reason_says_so)
{
    static const char text[] =
        "{\"plan\": 1, \"queues\": [{\"kind\": \"gfx\", \"family\": 0}], \"culled\": [0, 1], \"heaps\": [], "
        "\"resources\": [], \"submits\": []}";
    hd_resource out = hd_graph_import(graph, &(hd_import_desc){.width = 64, .height = 64, .format = 37});
    hd_resource a = image();
    PASS(.uses = HD_USES({out, HD_COLOR_WRITE}));
    PASS(.root = true, .uses = HD_USES({a, HD_COLOR_WRITE}));
    hd_plan *read;
    cr_assert_eq(hd_plan_read_json(graph, text, strlen(text), NULL, &read, NULL, 0), HD_OK);
    cr_assert_eq(hd_plan_explain(graph, read, NULL, &reasons), HD_OK);
    EXPECT("culls", reasons->culled, 2, {HD_CULL_NONE, 0, N, 0, N}, {HD_CULL_NONE, 1, N, N, N});
    hd_plan_free(read, NULL);
}

/* ---- random frames ---- */

static hdi_decl decl;
static uint32_t *pass_submit, *pass_at; /* HD_NONE: culled */
static uint64_t seed;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            cr_assert_fail("seed %llu: %s: " #condition, (unsigned long long)seed,                                     \
                           (snprintf(what, sizeof(what), __VA_ARGS__), what));                                         \
    } while (0)
static char what[128];

static void place_passes(void)
{
    pass_submit = realloc(pass_submit, (decl.pass_count + 1) * sizeof(*pass_submit));
    pass_at = realloc(pass_at, (decl.pass_count + 1) * sizeof(*pass_at));
    memset(pass_submit, 0xff, decl.pass_count * sizeof(*pass_submit));
    memset(pass_at, 0xff, decl.pass_count * sizeof(*pass_at));
    for (uint32_t s = 0; s < view.submit_count; s++) {
        for (uint32_t c = 0; c < view.submits[s].command_count; c++) {
            hd_plan_command command = view.commands[view.submits[s].command_begin + c];
            if (command.kind != HD_COMMAND_PASS)
                continue;
            pass_submit[command.index] = s;
            pass_at[command.index] = view.submits[s].command_begin + c;
        }
    }
}

enum { READS = 1, WRITES = 2 };

/* What a kept pass does to a resource; 0: it is culled or does nothing. */
static int does(uint32_t pass, uint32_t res, bool also_culled)
{
    int done = 0;
    if (pass >= decl.pass_count || (!also_culled && pass_at[pass] == HD_NONE))
        return 0;
    for (uint32_t u = decl.pass_use_begin[pass]; u < decl.pass_use_begin[pass + 1]; u++) {
        const hdi_access_info *access = &decl.access[decl.use_access[u]];
        if (decl.use_res[u] == res)
            done |= (access->reads ? READS : 0) | (access->writes ? WRITES : 0);
    }
    return done;
}

static const hd_plan_resource *in_plan(uint32_t res)
{
    for (uint32_t i = 0; i < view.resource_count; i++) {
        if (view.resources[i].id == res)
            return &view.resources[i];
    }
    return NULL;
}

/* One had the bytes of the other, and is done with them when a command runs. */
static bool was_tenant(uint32_t res, uint32_t tenant, uint32_t command)
{
    const hd_plan_resource *a = in_plan(res), *b = in_plan(tenant);
    if (!a || !b || a == b || a->heap == HD_NONE || a->heap != b->heap || a->offset >= b->offset + b->bytes ||
        b->offset >= a->offset + a->bytes)
        return false;
    for (uint32_t p = 0; p < decl.pass_count; p++) {
        if (does(p, tenant, false) && pass_at[p] > command)
            return false;
    }
    return true;
}

static bool fits(const hd_why *why)
{
    int before = does(why->other_pass, why->resource, false), behind = does(why->pass, why->resource, false);
    switch (why->code) {
    case HD_REASON_READ_AFTER_WRITE:
        return before & WRITES && behind & READS;
    case HD_REASON_WRITE_AFTER_READ:
        return before & READS && behind & WRITES;
    case HD_REASON_WRITE_AFTER_WRITE:
        return before & WRITES && behind & WRITES;
    case HD_REASON_FINAL_STATE:
        return why->pass == HD_NONE && (before || why->other_pass == HD_NONE);
    case HD_REASON_FIRST_USE:
        return behind && why->other_pass == HD_NONE;
    case HD_REASON_ALIAS:
        return behind && does(why->other_pass, why->other_resource, false);
    default:
        return before && behind;
    }
}

static void check_barriers(void)
{
    for (uint32_t c = 0; c < view.command_count; c++) {
        if (view.commands[c].kind == HD_COMMAND_PASS)
            continue;
        const hd_plan_batch *batch = &view.batches[view.commands[c].index];
        for (uint32_t b = batch->barrier_begin; b < batch->barrier_begin + batch->barrier_count; b++) {
            const hd_plan_barrier *barrier = &view.barriers[b];
            const hd_why *why = &reasons->barriers[b];
            const char *name = hd_reason_name((hd_reason)why->code);
            CHECK(why->code != HD_REASON_NONE && why->code == barrier->reason, "barrier %u", b);
            CHECK(why->pass == barrier->reason_pass, "barrier %u, %s", b, name);
            CHECK(why->resource < decl.res_count && why->resource == barrier->reason_resource, "barrier %u, %s", b,
                  name);
            CHECK(barrier->resource == HD_NONE || barrier->resource == why->resource, "barrier %u, %s", b, name);
            CHECK(fits(why), "barrier %u, %s", b, name);
            CHECK(why->pass == HD_NONE || pass_at[why->pass] > c, "barrier %u, %s", b, name);
            CHECK(why->other_pass == HD_NONE || pass_at[why->other_pass] < c, "barrier %u, %s", b, name);
            if (why->code == HD_REASON_ALIAS)
                CHECK(was_tenant(why->resource, why->other_resource, pass_at[why->pass]), "barrier %u", b);
            else
                CHECK(why->other_resource == HD_NONE, "barrier %u, %s", b, name);
        }
    }
}

static void check_waits(void)
{
    for (uint32_t s = 0; s < view.submit_count; s++) {
        for (uint32_t w = view.submits[s].wait_begin; w < view.submits[s].wait_begin + view.submits[s].wait_count;
             w++) {
            const hd_plan_wait *wait = &view.waits[w];
            const hd_why *why = &reasons->waits[w];
            const char *name = hd_reason_name((hd_reason)why->code);
            CHECK(why->code != HD_REASON_NONE, "wait %u", w);
            CHECK(wait->reason_pass == HD_NONE || wait->reason_pass == why->other_pass, "wait %u, %s", w, name);
            CHECK(why->resource < decl.res_count, "wait %u, %s", w, name);
            /* Without a pass on the other side it is a barrier of the signalling submit, without one on this side a
             * final state, that is waited for. */
            CHECK(why->other_pass != HD_NONE || wait->reason_pass == HD_NONE, "wait %u, %s", w, name);
            if (why->other_pass != HD_NONE && why->pass != HD_NONE)
                CHECK(fits(why), "wait %u, %s", w, name);
            if (why->code == HD_REASON_ALIAS)
                CHECK(was_tenant(why->resource, why->other_resource, pass_at[why->pass]), "wait %u", w);
            if (why->pass != HD_NONE) {
                CHECK(does(why->pass, why->resource, false), "wait %u, %s", w, name);
                CHECK(pass_submit[why->pass] >= s, "wait %u, %s", w, name);
            }
            if (why->other_pass == HD_NONE)
                continue;
            uint32_t from = pass_submit[why->other_pass], signal = from;
            CHECK(from < s, "wait %u, %s", w, name);
            if (wait->reason_pass == HD_NONE)
                continue;
            CHECK(view.submits[from].queue == wait->queue, "wait %u, %s", w, name);
            while (signal < s &&
                   (view.submits[signal].queue != wait->queue || view.submits[signal].signal_value < wait->value))
                signal++;
            CHECK(signal < s, "wait %u, %s: its pass stands at or before what it waits for", w, name);
        }
    }
}

static void check_submits(void)
{
    uint32_t before[HD_MAX_QUEUES];
    memset(before, 0xff, sizeof(before));
    for (uint32_t s = 0; s < view.submit_count; s++) {
        const hd_plan_submit *submit = &view.submits[s];
        const hd_why *start = &reasons->submits[s];
        uint32_t last = before[submit->queue], next = s + 1;
        before[submit->queue] = s;
        while (next < view.submit_count && view.submits[next].queue != submit->queue)
            next++;
        CHECK(start->code == submit->cut, "submit %u", s);
        CHECK((start->code == HD_CUT_FIRST) == (last == HD_NONE), "submit %u", s);
        CHECK(start->code != HD_CUT_WAIT || submit->wait_count, "submit %u", s);
        CHECK(start->code != HD_CUT_SIGNAL || (view.submits[last].signal_value && !submit->wait_count), "submit %u", s);
        CHECK(start->code != HD_CUT_NONE && start->code != HD_CUT_END, "submit %u", s);
        const hd_why *end = &reasons->submit_ends[s];
        CHECK((end->code == HD_CUT_END) == (next == view.submit_count), "submit %u", s);
        CHECK(end->code != HD_CUT_SIGNAL || submit->signal_value, "submit %u", s);
        CHECK(end->code != HD_CUT_WAIT || (!submit->signal_value && view.submits[next].wait_count), "submit %u", s);
        CHECK(end->code != HD_CUT_NONE && end->code != HD_CUT_FIRST, "submit %u", s);
        if (end->code == HD_CUT_SIGNAL && end->other_pass != HD_NONE && end->pass != HD_NONE)
            CHECK(pass_submit[end->other_pass] <= s && pass_submit[end->pass] > s, "submit %u", s);
    }
}

static void check_resources(void)
{
    for (uint32_t i = 0; i < view.resource_count; i++) {
        const hd_plan_resource *r = &view.resources[i];
        const hd_why *why = &reasons->resources[i];
        uint32_t flags = r->heap == HD_NONE ? 0 : view.heaps[r->heap].flags;
        CHECK(why->code == r->placing && why->resource == r->id, "resource %u", r->id);
        CHECK((why->code == HD_PLACING_EXTERNAL) == ((r->flags & HD_PLAN_EXTERNAL) != 0), "resource %u", r->id);
        CHECK((why->code == HD_PLACING_PERSISTENT) == ((flags & HD_HEAP_PERSISTENT) != 0), "resource %u", r->id);
        CHECK((why->code == HD_PLACING_HOST) == (flags == HD_HEAP_HOST && why->code != HD_PLACING_TAKES_OVER),
              "resource %u", r->id);
        /* Of a history and what it is of one may be unused. */
        bool host = why->code == HD_PLACING_HOST;
        CHECK(does(why->pass, r->id, host) || why->code == HD_PLACING_PERSISTENT, "resource %u", r->id);
        CHECK(!host || decl.pass_type[why->pass] == HD_PASS_HOST, "resource %u", r->id);
        bool shares = false;
        for (uint32_t k = 0; k < view.resource_count && why->pass != HD_NONE; k++)
            shares |= was_tenant(r->id, view.resources[k].id, pass_at[why->pass]);
        CHECK((why->code == HD_PLACING_TAKES_OVER) == shares, "resource %u", r->id);
        if (why->code == HD_PLACING_TAKES_OVER) {
            CHECK(was_tenant(r->id, why->other_resource, pass_at[why->pass]), "resource %u", r->id);
            CHECK(does(why->other_pass, why->other_resource, false), "resource %u", r->id);
        }
        if (why->code == HD_PLACING_FIRST && why->other_resource != HD_NONE) {
            const hd_plan_resource *below = in_plan(why->other_resource);
            CHECK(below && below->heap == r->heap && below->offset + below->bytes <= r->offset, "resource %u", r->id);
        }
    }
}

static void check_culls(void)
{
    for (uint32_t i = 0; i < view.culled_count; i++) {
        const hd_why *why = &reasons->culled[i];
        uint32_t pass = view.culled[i];
        const char *name = hd_cull_name((hd_cull)why->code);
        CHECK(why->pass == pass && why->code != HD_CULL_NONE, "culled pass %u, %s", pass, name);
        if (why->code == HD_CULL_WRITES_NOTHING) {
            for (uint32_t u = decl.pass_use_begin[pass]; u < decl.pass_use_begin[pass + 1]; u++)
                CHECK(!decl.access[decl.use_access[u]].writes, "culled pass %u", pass);
            continue;
        }
        CHECK(does(pass, why->resource, true) & WRITES, "culled pass %u, %s", pass, name);
        if (why->code == HD_CULL_UNREAD) {
            CHECK(why->other_pass == HD_NONE, "culled pass %u, %s", pass, name);
            CHECK(!(decl.res_flags[why->resource] & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY)), "culled pass %u", pass);
            continue;
        }
        CHECK(why->other_pass > pass && why->other_pass < decl.pass_count, "culled pass %u, %s", pass, name);
        int done = does(why->other_pass, why->resource, true);
        bool kept = pass_at[why->other_pass] != HD_NONE;
        CHECK(why->code == HD_CULL_OVERWRITTEN ? kept && done & WRITES : !kept && done & READS, "culled pass %u, %s",
              pass, name);
    }
}

Test(reasons, random_frames)
{
    uint64_t first = 1, count = 1500;
    hdt_seeds(&first, &count);
    for (seed = first; seed < first + count; seed++) {
        hdt_random_graph(graph, seed, 1 + (uint32_t)(seed % 40));
        decl = hdi_graph_decl(graph);
        hd_compile_desc desc = {.queues = queues,
                                .queue_count = 1 + (uint32_t)(seed % 4),
                                .order = (hd_order)(seed / 4 % 3),
                                .merge_rendering = seed / 12 % 2};
        hd_plan_reasons_free(reasons, NULL);
        cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK);
        view = hd_plan_read(plan);
        cr_assert_eq(hd_plan_explain(graph, plan, NULL, &reasons), HD_OK);
        place_passes();
        check_barriers();
        check_waits();
        check_submits();
        check_resources();
        check_culls();
    }
    free(pass_submit);
    free(pass_at);
}

/* ---- plans from elsewhere ---- */

/* Makes fields unknown to the reader, in place. */
static void hide(char *text, const char *key)
{
    for (char *at = strstr(text, key); at; at = strstr(at, key))
        at[1] = '_';
}

/* What a plan without reasons says of itself: the same cuts, placements and culls, waits and image barriers with
 * reasons. */
Test(reasons, a_plan_without_reasons_is_explained)
{
    static const char *const fields[] = {"\"reason\"", "\"reason_pass\"", "\"reason_resource\"",
                                         "\"cut\"",    "\"placing\"",     "\"tenant\""};
    for (seed = 1; seed <= 150; seed++) {
        hdt_random_graph(graph, seed, 25);
        explain(1 + (uint32_t)(seed % 4));
        FILE *stream = tmpfile();
        cr_assert_eq(hd_plan_write_json(graph, plan, stream), HD_OK);
        size_t bytes = (size_t)ftell(stream);
        char *text = calloc(1, bytes + 1), error[256] = "";
        rewind(stream);
        cr_assert_eq(fread(text, 1, bytes, stream), bytes);
        fclose(stream);
        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
            hide(text, fields[i]);
        hd_plan *bare;
        const hd_plan_reasons *found;
        cr_assert_eq(hd_plan_read_json(graph, text, bytes, NULL, &bare, error, sizeof(error)), HD_OK, "%s", error);
        free(text);
        cr_assert_eq(hd_plan_verify(graph, bare, NULL), HD_OK, "reasons are not what a plan rests on");
        cr_assert_eq(hd_plan_explain(graph, bare, NULL, &found), HD_OK);
        for (uint32_t i = 0; i < view.submit_count; i++) {
            CHECK(found->submits[i].code == reasons->submits[i].code, "submit %u", i);
            CHECK(found->submit_ends[i].code == reasons->submit_ends[i].code, "submit %u", i);
        }
        for (uint32_t i = 0; i < view.resource_count; i++)
            CHECK(found->resources[i].code == reasons->resources[i].code, "resource %u", view.resources[i].id);
        for (uint32_t i = 0; i < view.culled_count; i++)
            CHECK(memcmp(&found->culled[i], &reasons->culled[i], sizeof(hd_why)) == 0, "culled pass %u",
                  view.culled[i]);
        for (uint32_t i = 0; i < view.wait_count; i++)
            CHECK(found->waits[i].code != HD_REASON_NONE, "wait %u", i);
        for (uint32_t i = 0; i < view.barrier_count; i++)
            CHECK(view.barriers[i].resource == HD_NONE || found->barriers[i].code != HD_REASON_NONE, "barrier %u", i);
        hd_plan_reasons_free(found, NULL);
        hd_plan_free(bare, NULL);
    }
}

/* ---- arguments and memory ---- */

Test(reasons, wrong_arguments)
{
    const hd_plan_reasons *none;
    explain(1);
    cr_assert_eq(hd_plan_explain(NULL, plan, NULL, &none), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_explain(graph, NULL, NULL, &none), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_explain(graph, plan, NULL, NULL), HD_INVALID_ARGUMENT);
    hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 4}); /* no longer what the plan was compiled from */
    cr_assert_eq(hd_plan_explain(graph, plan, NULL, &none), HD_INVALID_ARGUMENT);
    cr_assert_null(none);
}

Test(reasons, every_allocation_may_fail)
{
    hdt_random_graph(graph, 7, 60);
    explain(3);
    for (uint64_t k = 1;; k++) {
        hdt_limited limited = {.fail_at = k};
        hd_allocator allocator = hdt_limited_allocator(&limited);
        const hd_plan_reasons *found;
        hd_result result = hd_plan_explain(graph, plan, &allocator, &found);
        hd_plan_reasons_free(found, &allocator);
        cr_assert(limited.out == 0 && limited.bytes == 0 && limited.wrong == 0, "allocation %d", (int)k);
        if (result == HD_OK) {
            cr_assert_gt(k, 2u);
            return;
        }
        cr_assert_eq(result, HD_OUT_OF_MEMORY);
    }
}

Test(reasons, names)
{
    for (int i = 0; i < HD_REASON_COUNT; i++)
        cr_assert_gt(strlen(hd_reason_name((hd_reason)i)), 2u);
    for (int i = 0; i < HD_PLACING_COUNT; i++)
        cr_assert_gt(strlen(hd_placing_name((hd_placing)i)), 2u);
    for (int i = 0; i < HD_CUT_COUNT; i++)
        cr_assert_gt(strlen(hd_cut_name((hd_cut)i)), 2u);
    for (int i = 0; i < HD_CULL_COUNT; i++)
        cr_assert_gt(strlen(hd_cull_name((hd_cull)i)), 2u);
    cr_assert_str_eq(hd_reason_name(HD_REASON_COUNT), "?");
    cr_assert_str_eq(hd_placing_name(HD_PLACING_COUNT), "?");
    cr_assert_str_eq(hd_cut_name(HD_CUT_COUNT), "?");
    cr_assert_str_eq(hd_cull_name(HD_CULL_COUNT), "?");
}
