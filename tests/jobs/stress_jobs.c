#include "jobs_stress.h"

/* The job pool as it is built for use. */

void hdt_stress_seed(uint64_t seed)
{
    (void)seed;
}

int main(void)
{
    return hdt_jobs_stress(250);
}
