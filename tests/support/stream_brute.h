/* The reference of the verifier of captured streams, as far as races go: every two operations that meet in memory, one
 * of them a write, must be ordered by some path of barriers and semaphores, and see each other. Plain graph, all pairs;
 * no code of the verifier. Layouts, owners and undefined content are not its business. */
#ifndef HDT_STREAM_BRUTE_H
#define HDT_STREAM_BRUTE_H

#include <heddle/capture.h>

typedef enum hdt_stream_verdict {
    HDT_STREAM_HOLDS,
    HDT_STREAM_RACES,   /* why says which */
    HDT_STREAM_UNKNOWN, /* split barriers, or a wait that nothing signals */
} hdt_stream_verdict;

/* order: null, or gets what is before what, for hdt_stream_compare; freed by free. */
hdt_stream_verdict hdt_stream_brute(const hd_stream *stream, unsigned char **order, char *why, size_t bytes);

/* Accesses that were ordered before and are not, and the other way round. Both streams have the same accesses. */
void hdt_stream_compare(const hd_stream *stream, const unsigned char *whole, const unsigned char *broken, bool *lost,
                        bool *gained);

#endif
