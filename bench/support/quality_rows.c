#include "quality_rows.h"

#include "workloads.h"

/* Every figure is exact: plans are pure functions, and times of frames come from costs, never from a clock. A figure
 * that depends on the machine or the build type is an error of the compiler, and the comparison finds it. */

const hdb_queue_set hdb_queue_sets[HDB_QUEUE_SET_COUNT] = {
    {"gfx", 1, {{HD_QUEUE_GFX, 0}}},
    {"gfx+compute+transfer", 3, {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}}},
};
const char *const hdb_order_names[3] = {
    [HD_ORDER_OVERLAP] = "overlap", [HD_ORDER_MEMORY] = "memory", [HD_ORDER_DECLARED] = "declared"};

static const uint32_t sizes[] = {50, 200, 1000};
static const uint64_t budgets[] = {400ull << 20, 1ull << 30, 4509715660 /* 4.2 GiB */};

typedef struct run {
    hd_graph *graph;
    uint32_t family, pass_count, index;
    bool cost, verify;
    hdb_quality_fn row;
    void *user;
} run;

void hdb_quality_head(FILE *stream)
{
    fputs(
        "# Exact figures of compiled plans: a change of quality shows in the diff of this file.\n"
        "# tests/compile/test_quality.c compares them with what the compiler makes.\n"
        "# Made anew by: cmake --build build/release --target quality_baseline\n"
        "# Workloads: bench/support/workload_families.c, seed 1. passes: as asked for; sizes in bytes, times in "
        "microseconds;\n"
        "# order, merged: passes may share rendering scopes.\n"
        "family,passes,cost,queues,order,budget,result,kept,barriers,batches,submits,waits,heap_bytes,peak_live_bytes,"
        "makespan_us,critical_path_us\n",
        stream);
}

hd_result hdb_compile(hd_graph *graph, const hdb_queue_set *set, hdb_goal goal, const hd_plan **plan,
                      hd_plan_stats *stats)
{
    hd_compile_desc desc = {.queues = set->queues,
                            .queue_count = set->count,
                            .order = goal.order,
                            .memory_budget = goal.budget,
                            .merge_rendering = goal.merge_rendering,
                            .cache = HD_CACHE_OFF};
    const hd_plan *made;
    hd_result result = hd_graph_compile(graph, &desc, &made);

    if (result == HD_OK)
        result = hd_plan_stats_get(graph, made, 0, stats);
    if (plan)
        *plan = result == HD_OK ? made : NULL;
    return result;
}

/* One compile and its row. */
static bool compile_row(run *r, const hdb_queue_set *set, hdb_goal goal)
{
    hdb_quality_row out = {.index = r->index++, .verified = HD_OK};
    hd_plan_stats stats = {0};
    const hd_plan *plan;
    hd_result result = hdb_compile(r->graph, set, goal, &plan, &stats);

    if (result == HD_OK && r->verify)
        out.verified = hd_plan_verify(r->graph, plan, NULL);
    int length =
        snprintf(out.text, sizeof(out.text), "%s,%u,%s,%s,%s%s,%llu,%s", hdb_family_names[r->family], r->pass_count,
                 r->cost ? "yes" : "no", set->name, hdb_order_names[goal.order], goal.merge_rendering ? " merged" : "",
                 (unsigned long long)goal.budget, hd_result_name(result));
    snprintf(out.text + length, sizeof(out.text) - (size_t)length, ",%u,%u,%u,%u,%u,%llu,%llu,%.3f,%.3f", stats.kept,
             stats.barriers, stats.barrier_batches, stats.submits, stats.semaphore_waits,
             (unsigned long long)stats.heap_bytes, (unsigned long long)stats.peak_live_bytes, stats.makespan_us,
             stats.critical_path_us);
    return r->row(&out, r->user);
}

static bool workload_rows(run *r)
{
    for (uint32_t q = 0; q < HDB_QUEUE_SET_COUNT; q++) {
        for (int order = HD_ORDER_OVERLAP; order <= HD_ORDER_DECLARED; order++) {
            if (!compile_row(r, &hdb_queue_sets[q], (hdb_goal){.order = (hd_order)order}))
                return false;
        }
    }
    bool has_budgets = r->family == hdb_family_index("deferred") && r->pass_count == 1000;
    const size_t count = sizeof(budgets) / sizeof(budgets[0]);
    for (size_t b = 0; has_budgets && b < 2 * count; b++) {
        hdb_goal goal = {HD_ORDER_OVERLAP, budgets[b % count], b >= count};
        if (!compile_row(r, &hdb_queue_sets[0], goal))
            return false;
    }
    return true;
}

/* Declares one workload and hands out its rows. False: stop, for which *result has the reason. */
static bool one_workload(run *r, hd_result *result)
{
    hdb_workload *workload = hdb_workload_make(r->family, r->pass_count, HDB_SEED, r->cost);
    if (!workload) {
        *result = HD_OUT_OF_MEMORY;
        return false;
    }
    hdb_workload_declare(workload, r->graph);
    bool more = workload_rows(r);
    hdb_workload_free(workload);
    return more;
}

hd_result hdb_quality_rows(bool verify, hdb_quality_fn row, void *user)
{
    run r = {.verify = verify, .row = row, .user = user};
    hd_result result = hd_graph_create(NULL, &r.graph);
    bool more = result == HD_OK;

    for (r.family = 0; more && r.family < HDB_FAMILY_COUNT; r.family++) {
        for (size_t s = 0; more && s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            r.pass_count = sizes[s];
            for (int cost = 1; more && cost >= 0; cost--) {
                r.cost = cost;
                more = one_workload(&r, &result);
            }
        }
    }
    hd_graph_destroy(r.graph);
    return result;
}
