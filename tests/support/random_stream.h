/* Random captured streams: commands, barriers and semaphores on three queues, one of them the host's; buffers and an
 * image, two resources that share bytes, memory that is mapped; state, objects, pairs, and accesses that were seen. */
#ifndef HDT_RANDOM_STREAM_H
#define HDT_RANDOM_STREAM_H

#include <heddle/stream.h>

/* To be freed with hd_stream_free. With HEDDLE_SEED, and no HEDDLE_SEEDS, it is printed. */
hd_stream *hdt_random_stream(uint64_t seed, uint32_t submits);

#endif
