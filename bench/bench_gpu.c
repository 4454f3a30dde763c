#include <stdio.h>
#include <string.h>

#include "gpu_cases.h"
#include "measure.h"
#include "printed.h"

/* What executing costs on the GPU; on a CPU driver the figures mean nothing.
 *
 * overlap: a graphics and a compute pass of like length that know nothing of each other, on one queue and on two, over
 * the longer of them alone. From the begin of the first to the end of the last, by timestamps.
 *
 * tiny: a frame of 200 passes that are over at once (dispatches and fills, each needs what some before it made), by
 * heddle over the same commands recorded by hand with as few barriers as there can be, on one queue. Both write one
 * timestamp before their first command and one behind their last.
 *
 * usage: bench_gpu [--device K] [--ms N] [--repeat N] [--groups N] [overlap | tiny] */

static bool parse(int argc, char **argv, gpu_options *o)
{
    *o = (gpu_options){.ms = 4, .repeat = 60, .groups = 0};
    for (int i = 1; i < argc; i++) {
        uint32_t *to = NULL;
        if (strcmp(argv[i], "--device") == 0)
            to = &o->device;
        else if (strcmp(argv[i], "--ms") == 0)
            to = &o->ms;
        else if (strcmp(argv[i], "--repeat") == 0)
            to = &o->repeat;
        else if (strcmp(argv[i], "--groups") == 0)
            to = &o->groups;
        if (to && i + 1 < argc && hdb_number(argv[i + 1], 0, UINT32_MAX, to))
            i++;
        else if (!to && (strcmp(argv[i], "overlap") == 0 || strcmp(argv[i], "tiny") == 0) && !o->only)
            o->only = argv[i];
        else
            return false;
    }
    return o->ms && o->repeat;
}

int main(int argc, char **argv)
{
    gpu_options options;
    if (!parse(argc, argv, &options))
        return hdb_usage(argc, argv,
                         "usage: bench_gpu [--device K] [--ms N] [--repeat N] [--groups N] [overlap | tiny]\n");
    bool good = true;
    if (!options.only || strcmp(options.only, "overlap") == 0)
        good &= gpu_overlap(&options);
    if (!options.only || strcmp(options.only, "tiny") == 0)
        good &= gpu_tiny(&options);
    return hdb_printed(good ? 0 : 1);
}
