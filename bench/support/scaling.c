#include "scaling.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "measure.h"

static const uint32_t worker_counts[] = {1, 2, 4, 8, 16};
enum { POOLS = sizeof(worker_counts) / sizeof(worker_counts[0]), LEAST_REPEATS = 7 };

typedef struct table {
    const hdb_scaling_options *options;
    hd_jobs *pools[POOLS];
    uint32_t pool_count;
    hdb_times compile[POOLS], phase[2][HD_PHASE_COUNT]; /* phases: with one worker, and with most */
} table;

static hd_result frame(table *t, hdb_workload *workload, hd_graph *graph, hd_compile_desc *desc, uint32_t pool)
{
    uint64_t phase_ns[HD_PHASE_COUNT];
    const hd_plan *plan;
    desc->jobs = t->pools[pool];
    hd_jobs_warm(desc->jobs); /* as an engine does where its frame begins */
    hdb_workload_declare(workload, graph);
    desc->phase_ns = phase_ns;
    uint64_t began = hdi_clock_ns();
    hd_result result = hd_graph_compile(graph, desc, &plan);
    uint64_t ended = hdi_clock_ns();
    hd_jobs_rest(desc->jobs); /* else they look for work while the next pool has its turn */
    if (result != HD_OK)
        return result;
    bool kept = hdb_times_add(&t->compile[pool], ended - began);
    for (int p = 0; (pool == 0 || pool + 1 == t->pool_count) && p < HD_PHASE_COUNT; p++)
        kept = kept && hdb_times_add(&t->phase[pool != 0][p], phase_ns[p]);
    return kept ? HD_OK : HD_OUT_OF_MEMORY;
}

/* Noise only adds. */
static double least(hdb_times *times)
{
    hdb_times_median(times); /* sorts them */
    return times->count ? (double)times->ns[0] / 1000 : 0;
}

static void print_row(table *t, const char *family, uint32_t passes, const hdb_queue_set *set)
{
    double us[POOLS];
    printf("%-9s%7u%3u |", family, passes, set->count);
    for (uint32_t p = 0; p < t->pool_count; p++) {
        us[p] = least(&t->compile[p]);
        printf("%10.1f", us[p]);
    }
    printf(" |");
    for (uint32_t p = 1; p < t->pool_count; p++)
        printf("%7.2f", us[0] / us[p]);
    printf(" |%8u\n", t->compile[0].count);
    for (int most = 0; passes >= 2000 && most < 2; most++) {
        printf("%20s ", most ? "phases, most" : "phases, 1");
        for (int p = 0; p < HD_PHASE_COUNT; p++)
            printf("%9.1f", least(&t->phase[most][p]));
        printf("\n");
    }
    fflush(stdout);
}

static hd_result run_row(table *t, hdb_workload *workload, const char *family, const hdb_queue_set *set)
{
    hd_compile_desc desc = {
        .queues = set->queues, .queue_count = set->count, .order = t->options->order, .cache = HD_CACHE_OFF};
    hd_graph *graph;
    hd_result result = hd_graph_create(NULL, &graph);
    for (int warm = 1; result == HD_OK && warm >= 0; warm--) {
        uint64_t until = hdi_clock_ns() + (warm ? 0 : (uint64_t)(t->options->seconds * 1e9));
        for (uint32_t p = 0; p < t->pool_count; p++)
            hdb_times_clear(&t->compile[p]);
        for (int p = 0; p < HD_PHASE_COUNT; p++) {
            hdb_times_clear(&t->phase[0][p]);
            hdb_times_clear(&t->phase[1][p]);
        }
        for (uint32_t i = 0; result == HD_OK && (i < (warm ? 2 : LEAST_REPEATS) || hdi_clock_ns() < until); i++) {
            for (uint32_t p = 0; result == HD_OK && p < t->pool_count; p++)
                result = frame(t, workload, graph, &desc, p);
        }
    }
    hd_graph_destroy(graph);
    if (result == HD_OK)
        print_row(t, family, hdb_workload_pass_count(workload), set);
    return result;
}

static hd_result run_rows(table *t)
{
    const hdb_scaling_options *o = t->options;
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        for (uint32_t size = 0; o->family[family] && size < o->size_count; size++) {
            hdb_workload *workload = hdb_workload_make(family, o->passes[size], o->seed, o->cost);
            hd_result result = workload ? HD_OK : HD_OUT_OF_MEMORY;
            for (uint32_t q = 0; result == HD_OK && q < HDB_QUEUE_SET_COUNT; q++) {
                if (o->queue_set[q])
                    result = run_row(t, workload, hdb_family_names[family], &hdb_queue_sets[q]);
            }
            hdb_workload_free(workload);
            if (result != HD_OK)
                return result;
        }
    }
    return HD_OK;
}

hd_result hdb_scaling(const hdb_scaling_options *options)
{
    table t = {.options = options};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    hd_result result = HD_OK;
    printf("order %s, seed %llu, %ld processors; least us of a compile with so many workers, and how many times as "
           "fast as one\n\nfamily    passes  q |",
           hdb_order_names[options->order], (unsigned long long)options->seed, processors);
    for (uint32_t p = 0; p < POOLS && result == HD_OK && (p < 2 || worker_counts[p] <= 2 * processors); p++) {
        result = hd_jobs_create(&(hd_jobs_desc){.worker_count = worker_counts[p]}, &t.pools[p]);
        t.pool_count += result == HD_OK;
        printf("%10u", worker_counts[p]);
    }
    printf(" |");
    for (uint32_t p = 1; p < t.pool_count; p++)
        printf("%6ux", worker_counts[p]);
    printf(" | repeats\n%20s ", "");
    for (int p = 0; p < HD_PHASE_COUNT; p++)
        printf("%9s", hd_phase_name(p));
    printf("\n");
    if (result == HD_OK)
        result = run_rows(&t);
    for (uint32_t p = 0; p < t.pool_count; p++)
        hd_jobs_destroy(t.pools[p]);
    for (uint32_t p = 0; p < POOLS; p++)
        hdb_times_free(&t.compile[p]);
    for (int p = 0; p < HD_PHASE_COUNT; p++) {
        hdb_times_free(&t.phase[0][p]);
        hdb_times_free(&t.phase[1][p]);
    }
    return result;
}
