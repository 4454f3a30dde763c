/* Executes a graph as real frames: every pass writes what it declares, and checks what it reads. */
#ifndef RUN_H
#define RUN_H

#include <heddle/vk.h>

typedef struct run_desc {
    const hd_graph *graph; /* read from .fgt */
    uint32_t frames;
    uint32_t scale;        /* images and buffers are divided by it, as far as their ranges allow */
    bool check;
    hd_log log;
    hd_vk_desc vk;         /* device, queues, jobs; features and log are set by run */
    hd_order order;
    /* null, or what is executed in place of the plan of graph, made with the sizes of verify; null: nothing is. */
    const hd_plan *(*replace)(const hd_graph *graph, const hd_plan *plan, const hd_verify_desc *verify, void *user);
    void *user;
    void (*wrong)(const char *text, void *user); /* each wrong subresource, at most 16; may be null */
    void *wrong_user;
} run_desc;

typedef struct run_report {
    uint64_t checks;    /* subresources and ranges that were compared */
    uint64_t unchecked; /* reads of content that no pass is known to have written, or that no check can read: not a
                         * whole word of a buffer, say */
    uint64_t wrong;     /* of checks */
    uint32_t pass_count, queue_count;
    double *pass_us;   /* mean a frame; negative: not known */
    uint32_t *pass_queue; /* of the plan; HD_NONE: culled */
    uint32_t queue_kind[HD_MAX_QUEUES];
    double queue_us[HD_MAX_QUEUES];
    char device[256];
} run_report;

/* HD_OK also where checks found wrong values. error gets a sentence on any other result. */
hd_result run_graph(const run_desc *desc, run_report *report, char *error, size_t error_bytes);
void run_report_free(run_report *report);

#endif
