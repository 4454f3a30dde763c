#include <criterion/criterion.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pool.h"
#include "random.h"

/* Which workers are awake: warm and rest, and that idle workers use no CPU time. What depends on time is waited for,
 * not asserted. */

static uint32_t asleep(hd_jobs *jobs)
{
    uint32_t count = 0;

    for (uint32_t word = 0; word < HDI_SLEEPER_WORDS; word++)
        count += (uint32_t)__builtin_popcountll(atomic_load(&jobs->sleepers[word]));
    return count;
}

static void wait_until_asleep(hd_jobs *jobs, uint32_t count)
{
    while (asleep(jobs) != count)
        usleep(100);
}

static hd_jobs *make_pool(uint32_t workers)
{
    hd_jobs *jobs = NULL;

    alarm(60);
    cr_assert(hd_jobs_create(&(hd_jobs_desc){.worker_count = workers, .name = "idle"}, &jobs) == HD_OK);
    return jobs;
}

static void nothing(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    (void)begin;
    (void)end;
    (void)worker;
    (void)user;
}

/* What the threads named idle-N have used so far. */
typedef struct usage {
    uint64_t switches, nanoseconds;
    uint32_t threads;
} usage;

static usage look(void)
{
    usage sum = {0};
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;

    cr_assert(tasks);
    while ((entry = readdir(tasks)) != NULL) {
        char path[320], line[256];
        bool named = false;
        uint64_t number;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file)) {
            named |= strncmp(line, "Name:\tidle-", 11) == 0;
            if (named && (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &number) == 1 ||
                          sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &number) == 1))
                sum.switches += number;
        }
        if (file)
            fclose(file);
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", entry->d_name);
        file = named ? fopen(path, "r") : NULL; /* not in every kernel */
        if (file && fscanf(file, "%" SCNu64, &number) == 1)
            sum.nanoseconds += number;
        if (file)
            fclose(file);
        sum.threads += named;
    }
    closedir(tasks);
    return sum;
}

static void check_idle(hd_jobs *jobs, uint32_t threads)
{
    wait_until_asleep(jobs, threads);
    usleep(20000); /* from the bit to the sleep itself */
    usage before = look();
    usleep(1500000);
    usage after = look();
    cr_assert(before.threads == threads && after.threads == threads);
    cr_assert(after.switches == before.switches, "%" PRIu64 " switches", after.switches - before.switches);
    cr_assert(after.nanoseconds == before.nanoseconds);
}

Test(warm, idle_workers_use_nothing)
{
    hd_jobs *jobs = make_pool(5);

    check_idle(jobs, 4); /* new ones */
    for (int frame = 0; frame < 20; frame++) {
        hd_jobs_warm(jobs);
        hd_jobs_parallel_for(jobs, 1000, 1, nothing, NULL);
        hd_jobs_rest(jobs);
    }
    check_idle(jobs, 4);
    hd_jobs_destroy(jobs);
}

/* No more than there are processors wake up (a few of them at once are seen awake: all of many may not be in time), and
 * all of them sleep again, with rest and without. */
Test(warm, wakes_and_lets_sleep)
{
    for (uint32_t workers = 1; workers <= 130; workers = workers * 2 + 1) {
        hd_jobs *jobs = make_pool(workers);
        cr_assert(jobs->warm_count >= 1 && jobs->warm_count <= workers);
        uint32_t few = jobs->warm_count < 4 ? jobs->warm_count : 4;
        for (int round = 0; round < 6; round++) {
            wait_until_asleep(jobs, workers - 1);
            uint32_t least = workers;
            do { /* it may be over before this thread looks: then again */
                hd_jobs_warm(jobs);
                for (int i = 0; i < 1000; i++) {
                    uint32_t now = asleep(jobs);
                    cr_assert(now >= workers - jobs->warm_count);
                    least = now < least ? now : least;
                }
            } while (least > workers - few);
            if (round % 2)
                hd_jobs_rest(jobs);
        }
        wait_until_asleep(jobs, workers - 1);
        cr_assert(atomic_load(&jobs->searchers) == 0);
        hd_jobs_destroy(jobs);
    }
    hd_jobs_warm(NULL);
    hd_jobs_rest(NULL);
}

/* How often any sleeper was woken since the pool was made. */
static uint32_t wakes(hd_jobs *jobs)
{
    uint32_t count = ck_ec32_value(&jobs->foreign);

    for (uint32_t i = 0; i < jobs->worker_count; i++)
        count += ck_ec32_value(&jobs->workers[i].event);
    return count;
}

static void nothing_job(void *user, uint32_t worker)
{
    (void)user;
    (void)worker;
}

/* No thundering herd. A submit wakes one worker; a searcher that finds a job wakes one; a counter's end wakes its
 * waiters: that is a bound for any schedule. In fact few wake-ups feed a long batch, as woken workers stay awake for
 * it. */
Test(warm, a_ceiling_on_wakes)
{
    enum { WORKERS = 8, JOBS = 1000, ROUNDS = 20 };
    static hd_job job[JOBS];
    hd_jobs *jobs = make_pool(WORKERS);
    uint32_t least = JOBS;

    for (int round = 0; round < ROUNDS; round++) {
        wait_until_asleep(jobs, WORKERS - 1);
        uint32_t before = wakes(jobs);
        hd_jobs_parallel_for(jobs, 640, 10, nothing, NULL);
        cr_assert(wakes(jobs) - before <= 1 + (WORKERS - 1) + 1);
    }
    for (int round = 0; round < ROUNDS; round++) {
        hd_counter counter = {0};
        for (int i = 0; i < JOBS; i++)
            job[i] = (hd_job){.fn = nothing_job};
        wait_until_asleep(jobs, WORKERS - 1);
        uint32_t before = wakes(jobs);
        hd_jobs_submit(jobs, job, JOBS, &counter);
        hd_jobs_wait(jobs, &counter);
        uint32_t now = wakes(jobs) - before;
        least = now < least ? now : least;
    }
    cr_assert(least <= 2 * WORKERS, "%u", least);
    hd_jobs_destroy(jobs);
}

/* Calls at any moment, around and amid work. */
Test(warm, changes_no_result)
{
    for (uint64_t seed = hdt_seed(), last = seed + 20; seed < last; seed++) {
        uint64_t random = seed;
        hd_jobs *jobs = make_pool(1 + hdt_below(&random, 9));
        for (int i = 0; i < 200; i++) {
            switch (hdt_below(&random, 4)) {
            case 0:
                hd_jobs_warm(jobs);
                break;
            case 1:
                hd_jobs_rest(jobs);
                break;
            case 2:
                hd_jobs_parallel_for(jobs, hdt_below(&random, 100), 1, nothing, NULL);
                break;
            default:
                usleep(hdt_below(&random, 60));
                break;
            }
        }
        hd_jobs_destroy(jobs);
    }
}
