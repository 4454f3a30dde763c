/* The cases of bench_gpu. */
#ifndef GPU_CASES_H
#define GPU_CASES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gpu_options {
    uint32_t device;
    uint32_t ms;     /* how long the passes of overlap take, about */
    uint32_t repeat; /* frames of each kind */
    uint32_t groups; /* of the compute pass of overlap; 0: several counts, one after another */
    const char *only;
} gpu_options;

/* False, having said why, when the machine cannot do it or a result is wrong. */
bool gpu_overlap(const gpu_options *options);
bool gpu_tiny(const gpu_options *options);

#endif
