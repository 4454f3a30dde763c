/* What the compiler emits for nothing: each wait and each barrier record of a plan is taken out, alone, and the
 * verifier asked. HEDDLE_MINIMAL=1 prints each record that may go. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include "quality_rows.h"
#include "random_graph.h"
#include "spare.h"
#include "workloads.h"

/* Records to spare in a hundred thousand, over all families: what is reached, so that it cannot get worse. */
enum { ALLOWED_OVERLAP = 300, ALLOWED_MEMORY = 200, ALLOWED_DECLARED = 300 };

/* Spare barriers by what tells them apart. */
typedef struct spare_kind {
    hd_plan_barrier first; /* as an example */
    uint32_t family, index, count;
} spare_kind;
typedef struct listing {
    spare_kind kinds[256];
    uint32_t count, family;
} listing;

static bool same_kind(const hd_plan_barrier *a, const hd_plan_barrier *b)
{
    return a->reason == b->reason && a->src_stages == b->src_stages && a->src_access == b->src_access &&
           a->dst_stages == b->dst_stages && a->dst_access == b->dst_access && a->old_layout == b->old_layout &&
           a->new_layout == b->new_layout && (a->resource == HD_NONE) == (b->resource == HD_NONE);
}

static void note(const hd_plan_view *view, bool is_wait, uint32_t index, void *user)
{
    listing *l = user;
    if (is_wait) {
        const hd_plan_wait *w = &view->waits[index];
        printf("%s: wait %u on queue %u for %llu, stages 0x%llx, pass %d\n", hdb_family_names[l->family], index,
               w->queue, (unsigned long long)w->value, (unsigned long long)w->stages, (int)w->reason_pass);
        return;
    }
    const hd_plan_barrier *b = &view->barriers[index];
    uint32_t k = 0;
    while (k < l->count && (l->kinds[k].family != l->family || !same_kind(&l->kinds[k].first, b)))
        k++;
    if (k == 256)
        return;
    if (k == l->count)
        l->kinds[l->count++] = (spare_kind){.first = *b, .family = l->family, .index = index};
    l->kinds[k].count++;
}

static void print_kinds(const listing *l)
{
    for (uint32_t k = 0; k < l->count; k++) {
        const hd_plan_barrier *b = &l->kinds[k].first;
        printf("%-9s %4u x %s %s layout %u to %u, stages 0x%llx access 0x%llx to stages 0x%llx access 0x%llx; first: "
               "barrier %u, pass %d, resource %d\n",
               hdb_family_names[l->kinds[k].family], l->kinds[k].count, hd_reason_name((hd_reason)b->reason),
               b->resource == HD_NONE ? "global" : "own", b->old_layout, b->new_layout,
               (unsigned long long)b->src_stages, (unsigned long long)b->src_access, (unsigned long long)b->dst_stages,
               (unsigned long long)b->dst_access, l->kinds[k].index, (int)b->reason_pass, (int)b->reason_resource);
    }
}

static void check_order(hd_order order, uint32_t allowed)
{
    const hdb_queue_set *set = &hdb_queue_sets[1];
    bool each = getenv("HEDDLE_MINIMAL");
    listing *list = calloc(1, sizeof(*list));
    hdb_spare all = {0};
    hd_graph *graph;
    cr_assert_not_null(list);
    cr_assert_eq(set->count, 3u);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (list->family = 0; list->family < HDB_FAMILY_COUNT; list->family++) {
        hdb_workload *workload = hdb_workload_make(list->family, 200, HDB_SEED, false);
        const hd_plan *plan;
        hd_plan_stats stats;
        hdb_spare one = {0};
        cr_assert_not_null(workload);
        hdb_workload_declare(workload, graph);
        cr_assert_eq(hdb_compile(graph, set, (hdb_goal){.order = order}, &plan, &stats), HD_OK);
        cr_assert_eq(hdb_count_spare(graph, plan, each ? note : NULL, list, &one), HD_OK);
        printf("%s %s: %u of %u barriers, %u of %u waits\n", hdb_order_names[order], hdb_family_names[list->family],
               one.spare_barriers, one.barriers, one.spare_waits, one.waits);
        all.barriers += one.barriers;
        all.waits += one.waits;
        all.spare_barriers += one.spare_barriers;
        all.spare_waits += one.spare_waits;
        hdb_workload_free(workload);
    }
    print_kinds(list);
    uint64_t spare = all.spare_barriers + all.spare_waits, records = all.barriers + all.waits;
    printf("%s: %.3f %% of %u records\n", hdb_order_names[order], 100.0 * (double)spare / (double)records,
           (unsigned)records);
    cr_expect_leq(spare * 100000, allowed * records, "%u of %u records can be spared", (unsigned)spare,
                  (unsigned)records);
    hd_graph_destroy(graph);
    free(list);
}

Test(minimal, overlap)
{
    check_order(HD_ORDER_OVERLAP, ALLOWED_OVERLAP);
}

Test(minimal, memory)
{
    check_order(HD_ORDER_MEMORY, ALLOWED_MEMORY);
}

Test(minimal, declared)
{
    check_order(HD_ORDER_DECLARED, ALLOWED_DECLARED);
}

/* Of small random frames, on one queue and on three. In hundredths of a percent of the global barriers. */
enum { ALLOWED_GLOBAL = 220 };

static void note_global(const hd_plan_view *view, bool is_wait, uint32_t index, void *user)
{
    uint32_t *count = user;
    *count += !is_wait && view->barriers[index].resource == HD_NONE;
}

Test(minimal, global_barriers_of_random_frames)
{
    enum { FRAMES = 800, MOST_PASSES = 16 };
    hd_graph *graph;
    hdb_spare all = {0};
    uint32_t globals = 0, spare = 0;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint32_t i = 0; i < 2 * FRAMES; i++) {
        const hdb_queue_set *set = &hdb_queue_sets[i % 2];
        const hd_plan *plan;
        hdt_random_frame(graph, 1 + i / 2, 2 + i / 2 % (MOST_PASSES - 2));
        const hd_compile_desc desc = {.queues = set->queues, .queue_count = set->count};
        cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK);
        hd_plan_view view = hd_plan_read(plan);
        for (uint32_t b = 0; b < view.barrier_count; b++)
            globals += view.barriers[b].resource == HD_NONE;
        cr_assert_eq(hdb_count_spare(graph, plan, note_global, &spare, &all), HD_OK);
    }
    printf("%u of %u global barriers, %u of %u records\n", spare, globals, all.spare_barriers + all.spare_waits,
           all.barriers + all.waits);
    cr_expect_leq(10000 * spare, ALLOWED_GLOBAL * globals, "%u of %u", spare, globals);
    hd_graph_destroy(graph);
}
