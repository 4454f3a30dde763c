/* Why a broken plan does no harm: found by comparing it with the whole one, without the rules' walk that the verifier
 * and the plain graph make. */
#ifndef HDT_MUTANT_REASON_H
#define HDT_MUTANT_REASON_H

#include "sketch.h"

typedef enum hdt_harmless {
    HDT_UNEXPLAINED,
    HDT_SAME_ORDER,  /* all accesses are ordered as they were: by the rest of a mask, by other barriers or semaphores */
    HDT_MORE_ORDER,  /* more is ordered than was */
    HDT_NOT_MET,     /* what is not ordered any more shares no memory, only reads it, or has another write in between */
    HDT_UNTOUCHED,   /* no pass uses the subresource in this frame */
    HDT_DEAD,        /* the content at that point is never read */
    HDT_FREE_BYTES,  /* no other use is of the bytes that it lies on now */
    HDT_TAKES_TURNS, /* other uses of those bytes are done before, or begin behind */
    HDT_ONE_FAMILY,  /* only one family uses it, or none takes content from another */
    HDT_NOT_LOOKED,  /* its first use throws content away: it does not matter which family owned it */
    HDT_IN_VAIN,     /* stored, and never read */
    HDT_HARMLESS_COUNT
} hdt_harmless;
extern const char *const hdt_harmless_names[HDT_HARMLESS_COUNT];

/* broken is a changed copy of what plan was read into, and both hold. why gets what could not be explained. O(uses^2 *
 * nodes): for small plans. */
hdt_harmless hdt_mutant_reason(const hd_graph *graph, const hd_plan *plan, hdt_sketch *broken, char *why, size_t bytes);

#endif
