#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"
#include "jobs/jobs_bars.h"
#include "jobs/jobs_measure.h"
#include "support/printed.h"

/* What the job pool costs and gains. Each figure is the median of many runs, with the serial loop and the round trip of
 * a cache line between two threads measured in the same run: both drift on shared machines, and a figure without them
 * says little.
 *
 * usage: heddle-bench jobs [workers]    tables for so many; default: one a processor
 *        heddle-bench jobs --bars       for 1 to 16 workers, and what is to be reached */

static void report_batches(void)
{
    printf("\nbatch of %d jobs, ns a job\n%12s %10s %10s %10s %9s\n", JOBS_BATCH, "work", "serial", "pool",
           "from sleep", "speed-up");
    const uint32_t works[] = {0, 100, 500, 2500, 10000};
    for (int i = 0; i < 5; i++) {
        jobs_work = works[i];
        double serial = jobs_median(jobs_batch_serial), pool = jobs_median(jobs_batch);
        double cold = jobs_median(jobs_batch_cold);
        printf("%12u %10.1f %10.1f %10.1f %8.2fx\n", jobs_work, serial / JOBS_BATCH, pool / JOBS_BATCH,
               cold / JOBS_BATCH, serial / pool);
    }
}

static void report_ranges(void)
{
    jobs_items = 10000;
    printf("\nparallel_for over %u items, us\n%12s %10s %10s %10s %9s\n", jobs_items, "work", "grain", "serial", "pool",
           "speed-up");
    const uint32_t works[] = {0, 10, 100}, grains[] = {16, 64, 256, 1024};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            jobs_work = works[i];
            jobs_grain = grains[k];
            double serial = jobs_median(jobs_range_serial), pool = jobs_median(jobs_range);
            printf("%12u %10u %10.1f %10.1f %8.2fx\n", jobs_work, jobs_grain, serial / 1000, pool / 1000,
                   serial / pool);
        }
    }
}

static void report_graphs(hd_jobs *one, hd_jobs *many)
{
    jobs_work = 0;
    for (jobs_nodes = 1000; jobs_nodes <= JOBS_MOST_NODES; jobs_nodes *= 10) {
        jobs_pool = one;
        double single = jobs_median(jobs_graph);
        jobs_pool = many;
        printf("empty graph of %u nodes, build and run: one worker %.1f ns a node, all %.1f\n", jobs_nodes,
               single / jobs_nodes, jobs_median(jobs_graph) / jobs_nodes);
    }
    jobs_nodes = 1000;
    jobs_work = jobs_steps_of(2500);
    double serial = jobs_median(jobs_graph_serial), pool = jobs_median(jobs_graph);
    printf("graph of 1000 nodes of %.2f us: %.2fx over a serial loop\n", serial / 1e6, serial / pool);
}

int hbs_jobs(int argc, char **argv)
{
    hd_jobs *one, *many;

    if (argc == 2 && strcmp(argv[1], "--bars") == 0) {
        if (jobs_print_bars() >= 0)
            return hdb_printed(0);
        fprintf(stderr, "heddle-bench jobs: no pool\n");
        return 1;
    }
    char *end = "";
    unsigned long workers = argc > 1 ? strtoul(argv[1], &end, 10) : 0;
    if (argc > 2 || *end || workers > HD_MAX_WORKERS)
        return hdb_usage(argc, argv, "usage: heddle-bench jobs [WORKERS | --bars]\n"
                                     "what the job pool costs and gains; default: a worker a processor\n");
    if (hd_jobs_create(&(hd_jobs_desc){.worker_count = (uint32_t)workers}, &many) != HD_OK ||
        hd_jobs_create(&(hd_jobs_desc){.worker_count = 1}, &one) != HD_OK) {
        fprintf(stderr, "heddle-bench jobs: no pool\n");
        return 1;
    }
    printf("workers %u, round trip of a cache line %.0f ns\n", hd_jobs_worker_count(many), jobs_round_trip());
    jobs_pool = one;
    printf("one worker: spawn and wait %.0f ns", jobs_median(jobs_one_job));
    printf(", batch of %d %.1f ns a job\n", JOBS_BATCH, jobs_median(jobs_batch) / JOBS_BATCH);
    jobs_pool = many;
    printf("all workers: spawn and wait %.0f ns\n", jobs_median(jobs_one_job));
    if (hd_jobs_worker_count(many) > 1)
        printf("submit to start on a spinning worker %.0f ns\n", jobs_median(jobs_start));
    report_graphs(one, many);
    report_batches();
    report_ranges();
    printf("\nround trip of a cache line %.0f ns\n", jobs_round_trip());
    hd_jobs_destroy(many);
    hd_jobs_destroy(one);
    return hdb_printed(0);
}

#ifdef HBS_ALONE
int main(int argc, char **argv)
{
    return hbs_jobs(argc, argv);
}
#endif
