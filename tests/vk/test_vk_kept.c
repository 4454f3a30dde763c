#include <criterion/criterion.h>

#include <stdlib.h>

#include "checked.h"
#include "limited.h"
#include "measure.h"
#include "random.h"
#include "state.h"
#include "stub_driver.h"
#include "vk_fixture.h"
#include "workloads.h"

/* What is kept of a plan: it is found for the same plan and declaration only, whatever stands at the plan's address; a
 * frame that finds it hands the driver what a frame that does not would; it goes when no frame uses it. */

enum { SIZE = 16 };

typedef struct bench {
    hd_vk *vk;
    hd_graph *graph;
} bench;

/* How frames follow one another. */
typedef struct way {
    uint32_t queues, frames_in_flight, memory_copies;
    uint64_t seed;
} way;

static void open_way(bench *b, const way *w, hd_allocator allocator)
{
    hd_vk_desc desc = hdb_stub_desc(w->queues);
    desc.frames_in_flight = w->frames_in_flight;
    desc.memory_copies = w->memory_copies;
    desc.log = hdt_log();
    desc.allocator = allocator;
    cr_assert_eq(hd_vk_create(&desc, &b->vk), HD_OK);
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.plans = 16}, &b->graph), HD_OK);
}

static void open_bench(bench *b, uint32_t queues, hd_allocator allocator)
{
    open_way(b, &(way){.queues = queues}, allocator);
}

static void close_bench(bench *b)
{
    hd_graph_destroy(b->graph);
    hd_vk_destroy(b->vk);
    hdb_stub_clear();
}

static uint32_t kept_count(const hd_vk *vk)
{
    uint32_t count = 0;
    for (const hdi_vk_kept *kept = vk->kept; kept; kept = kept->next)
        count++;
    return count;
}

/* Two passes that write and read an image. */
static const hd_plan *declare(bench *b, uint32_t format, uint32_t mips)
{
    const hd_plan *plan;
    hd_graph_begin(b->graph);
    hd_resource image =
        hd_graph_image(b->graph, &(hd_image_desc){.width = SIZE, .height = SIZE, .format = format, .mips = mips});
    hd_graph_pass(b->graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = HD_USES({image, HD_TRANSFER_DST})});
    hd_graph_pass(b->graph,
                  &(hd_pass_desc){.type = HD_PASS_COMPUTE, .root = true, .uses = HD_USES({image, HD_SAMPLED_COMPUTE})});
    cr_assert_eq(hd_vk_compile(b->vk, b->graph, NULL, &plan), HD_OK);
    return plan;
}

static void execute(bench *b, const hd_plan *plan)
{
    cr_assert_eq(hd_vk_execute(b->vk, b->graph, plan), HD_OK);
}

Test(vk_kept, found_again)
{
    bench b;
    open_bench(&b, 1, (hd_allocator){0});
    const hd_plan *plan = declare(&b, VK_FORMAT_R8G8B8A8_UNORM, 1);
    execute(&b, plan);
    cr_expect_eq(kept_count(b.vk), 0, "a plan is kept that came once");
    execute(&b, plan);
    cr_expect_eq(kept_count(b.vk), 1);
    const hdi_vk_kept *kept = b.vk->kept;
    execute(&b, plan);
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    void *copy = malloc(bytes);
    cr_assert_not_null(copy);
    memcpy(copy, data, bytes);
    execute(&b, copy); /* at another address */
    execute(&b, plan);
    cr_expect_eq(kept_count(b.vk), 1);
    cr_expect_eq(b.vk->kept, kept);
    free(copy);
    close_bench(&b);
}

/* The same hash and size at the same address, or at another one, with other bytes. */
Test(vk_kept, another_plan_of_the_same_hash)
{
    bench b;
    open_bench(&b, 1, (hd_allocator){0});
    const hd_plan *plan = declare(&b, VK_FORMAT_R8G8B8A8_UNORM, 1);
    for (uint32_t i = 0; i < 3; i++)
        execute(&b, plan);
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    unsigned char *copy = malloc(bytes);
    cr_assert_not_null(copy);
    memcpy(copy, data, bytes);
    hd_plan_view view = hd_plan_read((const hd_plan *)(const void *)copy);
    ((hd_plan_barrier *)(uintptr_t)view.barriers)->dst_access ^= 1;
    execute(&b, (const hd_plan *)(const void *)copy);
    cr_expect_eq(kept_count(b.vk), 2, "another plan was taken for the one that is kept");
    free(copy);
    close_bench(&b);
}

/* Plans know no formats: two declarations may have the same plan, byte for byte. */
Test(vk_kept, another_declaration_of_the_same_plan)
{
    bench b;
    open_bench(&b, 1, (hd_allocator){0});
    const uint32_t formats[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R32_SFLOAT};
    hdb_stub_state.capture = false;
    for (uint32_t i = 0; i < 12; i++) {
        const hd_plan *plan = declare(&b, formats[i % 3], 1);
        execute(&b, plan);
        if (i < 3)
            continue;
        cr_expect_eq(b.vk->kept->keys[0].format, formats[i % 3]);
    }
    cr_expect_eq(kept_count(b.vk), 3);
    close_bench(&b);
}

Test(vk_kept, dropped_by_age)
{
    hdt_limited limited = {0};
    bench b;
    open_bench(&b, 1, hdt_limited_allocator(&limited));
    for (uint32_t i = 0; i < 3; i++)
        execute(&b, declare(&b, VK_FORMAT_R8G8B8A8_UNORM, 1));
    for (uint32_t i = 0; i < HDI_VK_KEEP_FRAMES + 2; i++)
        execute(&b, declare(&b, VK_FORMAT_R8G8B8A8_UNORM, 2));
    cr_expect_eq(kept_count(b.vk), 1);
    for (uint32_t i = 0; i < HDI_VK_KEEP_FRAMES + 2; i++) { /* never the same twice: nothing is kept */
        hd_graph_begin(b.graph);
        hd_resource buffer = hd_graph_buffer(b.graph, &(hd_buffer_desc){.bytes = 64 + 1024 * i});
        hd_graph_pass(b.graph, &(hd_pass_desc){
                                   .type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({buffer, HD_TRANSFER_DST})});
        cr_assert_eq(hd_vk_frame(b.vk, b.graph), HD_OK);
    }
    cr_expect_eq(kept_count(b.vk), 0);
    close_bench(&b);
    cr_expect_eq(limited.out, 0);
    cr_expect_eq(limited.wrong, 0);
}

/* ---- streams ---- */

static void nothing(hd_recorder *recorder, void *user)
{
    (void)recorder;
    (void)user;
}

/* Plans of several kinds that hand on the same two histories, in the same places. */
static void declare_histories(hd_graph *g, uint32_t kind)
{
    hd_graph_begin(g);
    for (uint32_t i = 0; i < 2; i++) {
        hd_resource of = hd_graph_buffer(g, &(hd_buffer_desc){.name = "of", .bytes = 4096 << i});
        hd_resource history = hd_graph_history(g, of);
        hd_graph_pass(
            g, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                               .uses = HD_USES({history, HD_STORAGE_READ_COMPUTE}, {of, HD_STORAGE_WRITE_COMPUTE})});
        if (i) /* the writer and the reader of what is handed on are on two queues */
            hd_graph_pass(
                g, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({of, HD_TRANSFER_SRC})});
    }
    hd_resource last = hd_graph_buffer(g, &(hd_buffer_desc){.bytes = 256});
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({last, HD_TRANSFER_DST})});
    for (uint32_t i = 0; i < kind; i++)
        hd_graph_pass(g, &(hd_pass_desc){
                             .type = HD_PASS_COMPUTE, .root = true, .uses = HD_USES({last, HD_STORAGE_READ_COMPUTE})});
}

/* What the driver got of the frames of a schedule: digits name the workload of each frame, letters from h on plans with
 * histories. Without keep
 * nothing is kept, and each frame begins from the plan alone. */
static void run(const char *schedule, const way *w, bool keep, hdb_event **events, uint32_t *count)
{
    bench b;
    open_way(&b, w, (hd_allocator){0});
    hdb_workload *workloads[HDB_FAMILY_COUNT];
    for (uint32_t i = 0; i < HDB_FAMILY_COUNT; i++) {
        workloads[i] = hdb_workload_make(i, 60, 7, true);
        cr_assert_not_null(workloads[i]);
        hdb_workload_record(workloads[i], nothing);
    }
    hdb_stub_state.capture = true;
    for (uint32_t f = 0; schedule[f]; f++) {
        const hd_plan *plan;
        if (!keep) {
            hdi_vk_sweep_kept(b.vk, 0);
            memset(b.vk->seen, 0, sizeof(b.vk->seen));
        }
        hdb_stub_state.frame = f;
        if (schedule[f] >= 'h')
            declare_histories(b.graph, (uint32_t)(schedule[f] - 'h'));
        else
            hdb_workload_declare(workloads[schedule[f] - '0'], b.graph);
        cr_assert_eq(hd_vk_compile(b.vk, b.graph, NULL, &plan), HD_OK);
        execute(&b, plan);
    }
    cr_assert_eq(hd_vk_wait(b.vk), HD_OK); /* the host thread is done */
    *events = malloc((hdb_stub_state.event_count + 1) * sizeof(**events));
    cr_assert_not_null(*events);
    *count = 0;
    for (uint32_t i = 0; i < hdb_stub_state.event_count; i++) { /* without the CPU's waits, which come when they come */
        if (hdb_stub_state.events[i].kind <= HDB_MARK)
            (*events)[(*count)++] = hdb_stub_state.events[i];
    }
    for (uint32_t i = 0; i < HDB_FAMILY_COUNT; i++)
        hdb_workload_free(workloads[i]);
    close_bench(&b);
}

enum { IMPORTS = 1 << 30 }; /* handles of the workloads' imports, from here on */

/* Other handles are numbers that count on from run to run; they agree in the order of their making. */
static bool same_event(const hdb_event *a, const hdb_event *b, uint64_t apart)
{
    hdb_event moved = *b;
    moved.object -= moved.object && moved.object < IMPORTS ? apart : 0;
    return a->kind == moved.kind && a->queue == moved.queue && a->frame == moved.frame &&
           a->src_stages == moved.src_stages && a->dst_stages == moved.dst_stages &&
           a->src_access == moved.src_access && a->dst_access == moved.dst_access && a->object == moved.object &&
           a->value == moved.value && a->old_layout == moved.old_layout && a->new_layout == moved.new_layout &&
           a->src_family == moved.src_family && a->dst_family == moved.dst_family && a->mip_base == moved.mip_base &&
           a->mip_count == moved.mip_count;
}

static void compare(const char *schedule, const way *w)
{
    hdb_event *a, *b;
    uint32_t a_count, b_count;
    run(schedule, w, true, &a, &a_count);
    run(schedule, w, false, &b, &b_count);
    cr_expect_eq(a_count, b_count, "%s, %u queues: %u and %u events", schedule, w->queues, a_count, b_count);
    uint64_t apart = 0;
    for (uint32_t i = 0; i < a_count && i < b_count && !apart; i++)
        apart = a[i].object ? b[i].object - a[i].object : 0; /* of imports 0 */
    for (uint32_t i = 0; i < a_count && i < b_count; i++)
        cr_assert(same_event(&a[i], &b[i], apart),
                  "HEDDLE_SEED=%llu: %s, %u queues, %u frames in flight, %u copies: event %u of frame %u differs",
                  (unsigned long long)w->seed, schedule, w->queues, w->frames_in_flight, w->memory_copies, i,
                  a[i].frame);
    free(a);
    free(b);
}

Test(vk_kept, same_stream, .timeout = 60)
{
    static const char *const schedules[] = {"000000000000",
                                            "111111111111",
                                            "222222222222",
                                            "333333333333",
                                            "444444444444",
                                            "555555555555",
                                            "010101010101",
                                            "0000000000111111111100000",
                                            "000000000050000000000",
                                            "55555555550555555555555",
                                            "012345012345012345",
                                            "5555555555444444444455555555555",
                                            "hhhhhhhhhhhhh",
                                            "hhhhhhhhhihhh",
                                            "hhhhhhhhhhiiiiiiiiiiiihjhihhhhhhhhhhhh"};
    for (uint32_t i = 0; i < sizeof(schedules) / sizeof(schedules[0]); i++) {
        compare(schedules[i], &(way){.queues = 1});
        compare(schedules[i], &(way){.queues = 3});
    }
}

/* Plans that come in runs of any length, so that frames repeat and stop repeating. HEDDLE_SEED replays one. */
Test(vk_kept, same_stream_of_random_schedules, .timeout = 60)
{
    uint64_t seed = hdt_seed();
    for (uint32_t round = 0; round < (getenv("HEDDLE_SEED") ? 1 : 40); round++) {
        uint64_t random = seed + round;
        char schedule[64];
        uint32_t length = 0;
        while (length < sizeof(schedule) - 16) {
            uint32_t kind = hdt_below(&random, HDB_FAMILY_COUNT + 4), frames = 1 + hdt_below(&random, 14);
            for (uint32_t f = 0; f < frames; f++)
                schedule[length++] = (char)(kind < HDB_FAMILY_COUNT ? '0' + kind : 'h' + kind % 3);
        }
        schedule[length] = 0;
        uint32_t in_flight = 1 + hdt_below(&random, 4);
        way w = {hdt_below(&random, 2) ? 3 : 1, in_flight, 1 + hdt_below(&random, in_flight), seed + round};
        compare(schedule, &w);
    }
}

/* Each allocation of the hd_vk fails once, while plans are kept, repeated and brought up to date: the frame fails or
 * does without, the next one works, nothing leaks. */
Test(vk_kept, allocation_failures, .timeout = 60)
{
    static const char schedule[] = "hhhhhhhhhiihhhhh";
    for (uint64_t k = 1;; k++) {
        hdt_limited limited = {.fail_at = k, .fail_count = 1};
        hd_vk_desc desc = hdb_stub_desc(3);
        desc.allocator = hdt_limited_allocator(&limited);
        desc.log = hdt_log();
        bench b = {0};
        cr_assert_eq(hd_graph_create(NULL, &b.graph), HD_OK);
        hd_result created = hd_vk_create(&desc, &b.vk);
        cr_assert(created == HD_OK || created == HD_OUT_OF_MEMORY);
        bool failed = false;
        for (uint32_t f = 0; created == HD_OK && schedule[f]; f++) {
            declare_histories(b.graph, (uint32_t)(schedule[f] - 'h'));
            hd_result result = hd_vk_frame(b.vk, b.graph);
            cr_assert(result == HD_OK || (result == HD_OUT_OF_MEMORY && !failed), "allocation %u, frame %u: %s",
                      (unsigned)k, f, hd_result_name(result));
            failed |= result != HD_OK;
        }
        close_bench(&b);
        cr_assert(limited.out == 0 && limited.wrong == 0, "allocation %u: leak", (unsigned)k);
        if (limited.made < k)
            break;
    }
}
