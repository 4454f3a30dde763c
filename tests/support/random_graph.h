/* Random frames with everything in them, from a seed: mips, layers and byte ranges, externals, histories, host passes,
 * pins, roots, costs, several uses of one resource by one pass. Every read is of something written before, so each one
 * compiles. */
#ifndef HDT_RANDOM_GRAPH_H
#define HDT_RANDOM_GRAPH_H

#include <heddle/graph.h>

/* The pin where queues of its kind can run passes of the type, else none. */
static inline hd_pin hdt_pin_for(uint32_t type, uint32_t pin)
{
    bool fits = type == HD_PASS_TRANSFER ? pin <= HD_PIN_TRANSFER
                : type == HD_PASS_HOST   ? pin == HD_PIN_NONE
                                         : pin <= (type == HD_PASS_GFX ? HD_PIN_GFX : HD_PIN_COMPUTE);
    return fits ? (hd_pin)pin : HD_PIN_NONE;
}

/* Seeds of a property test: [*first, *first + *count). HEDDLE_SEED=n in the environment replays one, HEDDLE_SEEDS=n
 * runs n of them; both: n of them from that one on. */
void hdt_seeds(uint64_t *first, uint64_t *count);
/* Comes to a seed: a crash names it from then on. */
void hdt_try_seed(uint64_t seed);

/* Begins a frame in graph and declares pass_count passes. */
void hdt_random_graph(hd_graph *graph, uint64_t seed, uint32_t pass_count);
/* The same with only what devices can do with images, and with all formats of .fgt. The second
 * has no host passes. */
void hdt_random_executable_graph(hd_graph *graph, uint64_t seed, uint32_t pass_count);
void hdt_random_hostless_graph(hd_graph *graph, uint64_t seed, uint32_t pass_count);

/* The same with shapes among them: diamonds, and now and then one resource that hundreds of passes read. A few passes
 * more. */
void hdt_random_frame(hd_graph *graph, uint64_t seed, uint32_t pass_count);

#endif
