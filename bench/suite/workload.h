/* The suite's workloads: frames as flat arrays (adapter.h), with a few variants of each that take turns. */
#ifndef HBS_WORKLOAD_H
#define HBS_WORKLOAD_H

#include <heddle/graph.h>

#include "adapter.h"

enum { HBS_MOST_VARIANTS = 8 };

/* Where the frame comes from: a family of support/workloads.h, an adversarial one, or a file. */
typedef struct hbs_source {
    char family[32];
    char file[256]; /* .fgt; empty: made */
    uint32_t passes;
    uint64_t seed;
    bool cost;
    uint32_t queues; /* 1: graphics; 3: graphics, compute, transfer */
} hbs_source;

/* Names of all families that can be made: the six of support/workloads.h, then adversarial ones; null behind them. */
extern const char *const hbs_families[];
bool hbs_is_family(const char *name);

/* Declares the variant of the source into graph, by the public calls. Variants are other seeds of a family; of a frame
 * without seeds other costs. Says on standard error what is wrong. */
bool hbs_declare(const hbs_source *source, uint32_t variant, hd_graph *graph);

/* A frame as flat arrays; freed by hbs_free. Null: no memory, or it has what adapter.h has no word for. */
hb_workload *hbs_flatten(const hd_graph *graph, const hbs_source *source);
void hbs_free(hb_workload *workload);
/* A copy in which one pass of a hundred has another cost and one buffer of a hundred another size. */
hb_workload *hbs_changed(const hb_workload *from, uint32_t round);

/* Reads the declaration once, as compact as it can be, and writes 24 bytes a use: the least that any compiler has to
 * do. out has 3 words a use. */
uint64_t hbs_floor(const hb_workload *workload, uint64_t *out);

#endif
