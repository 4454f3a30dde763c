/* Mutants that are really executed, each by a frame that writes and checks what it declares, in child processes: what
 * is executed may crash or hang. */
#ifndef HDT_MUTANT_TRIAL_H
#define HDT_MUTANT_TRIAL_H

#include "mutants.h"

typedef enum hdt_outcome {
    HDT_NOT_TRIED,   /* the plan has nothing of the kind, or the device cannot run the graph */
    HDT_NOT_NOTICED, /* executed as often as asked, and every value was right */
    HDT_WRONG,       /* wrong values */
    HDT_LOST,        /* a deadlock, or what a device with these families would not bear */
    HDT_REFUSED,     /* the executor did not take the plan */
    HDT_CRASHED,     /* the process ended, or did not end */
    HDT_REPORTED,    /* by the validation layer */
    HDT_OUTCOMES
} hdt_outcome;
extern const char *const hdt_outcome_names[HDT_OUTCOMES];

typedef struct hdt_trial {
    uint64_t seed; /* of the graph, and of which mutant of the kind */
    uint32_t kind; /* HD_NONE: the whole plan */
    bool spelled;  /* beside each barrier of one resource stands a global one of the same stages, without access */
    /* filled in */
    hdt_outcome outcome;
    bool refused;  /* by the verifier */
    bool captured; /* what was given to Vulkan, as a whole; then: */
    bool stream_refused;
    bool only_across; /* and that only between two frames */
    bool in_part;     /* a tenant of memory that changes hands uses but parts of it */
    char text[240]; /* the first thing that was wrong, or reported */
} hdt_trial;

/* In `orders` orders of submits on the test device with three families, up to the first that shows something; with
 * layer: once, on one queue, under the Khronos validation layer. False: no such device or layer. */
bool hdt_try(hdt_trial *trials, uint32_t count, uint32_t orders, bool layer);

#endif
