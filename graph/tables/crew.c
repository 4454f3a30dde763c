#include "crew.h"

/* Each part is a chunk of one parallel_for: its helpers are woken once, and a worker that has run out takes half of
 * what another one has left. Ranges are cut finer than there are workers, so that unequal ranges even out. */

uint32_t hdi_range_count(const hdi_crew *crew, uint32_t count, uint32_t grain)
{
    uint32_t ranges = crew->workers > 1 ? count / grain : 1;
    return ranges == 0 ? 1 : ranges < HDI_MOST_PARTS ? ranges : HDI_MOST_PARTS;
}

typedef struct parts {
    hdi_part_fn fn;
    void *user;
} parts;

static void run_parts(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    const parts *p = user;
    (void)worker;
    for (uint32_t part = begin; part < end; part++)
        p->fn(part, p->user);
}

void hdi_crew_share_parts(const hdi_crew *crew, uint32_t count, hdi_part_fn fn, void *user)
{
    parts p = {fn, user};
    hd_jobs_warm(crew->jobs); /* through the serial work until the next call */
    hd_jobs_parallel_for(crew->jobs, count, 1, run_parts, &p);
}

typedef struct ranges {
    uint32_t count, ranges;
    hdi_range_fn fn;
    void *user;
} ranges;

static void run_range(uint32_t part, void *user)
{
    const ranges *r = user;
    r->fn(hdi_range_begin(r->count, r->ranges, part), hdi_range_begin(r->count, r->ranges, part + 1), part, r->user);
}

void hdi_crew_share_ranges(const hdi_crew *crew, uint32_t count, uint32_t grain, hdi_range_fn fn, void *user)
{
    ranges r = {count, hdi_range_count(crew, count, grain), fn, user};
    hdi_crew_parts(crew, r.ranges, run_range, &r);
}
