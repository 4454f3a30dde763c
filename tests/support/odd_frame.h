/* Random frames that no sensible program declares, on queue sets that no device has, from a seed: for what is rare.
 * Each frame has a mood, which leans it to one side: passes of one type alone, resources that only passes of one type
 * use or none does, imports wherever one looks, histories that only the host reads, nothing that is kept. */
#ifndef HDT_ODD_FRAME_H
#define HDT_ODD_FRAME_H

#include <heddle/graph.h>

/* Begins a frame in graph and declares pass_count passes. Whether the models of reference.h and brute.h know all that
 * stands in it: not resolves, nor reads of versions that were ended (which may even contradict one another: compile
 * gives HD_OK or HD_VERSION_CYCLE). */
bool hdt_odd_frame(hd_graph *graph, uint64_t seed, uint32_t pass_count);

/* The queues and options of one compile. */
typedef struct hdt_odd_setting {
    hd_queue_desc queues[HD_MAX_QUEUES - 1];
    hd_compile_desc desc;                    /* of these queues; without budget, cache and jobs */
    uint32_t region_passes, parallel_passes; /* for the graph */
} hdt_odd_setting;
void hdt_odd_setting_make(uint64_t seed, hdt_odd_setting *out);
/* Whether a queue of the set runs passes of the type. */
bool hdt_odd_setting_runs(const hdt_odd_setting *setting, uint32_t type);

#endif
