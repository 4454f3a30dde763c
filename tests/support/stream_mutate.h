/* Breaks captured streams in single ways. */
#ifndef HDT_STREAM_MUTATE_H
#define HDT_STREAM_MUTATE_H

#include <heddle/capture.h>

typedef enum hdt_mutation {
    HDT_DROP_BARRIER, /* one element of a barrier command; of a transfer one half */
    HDT_DROP_WAIT,    /* of a GPU submit */
    HDT_DROP_HOST_WAIT,
    HDT_WEAKEN_SRC_STAGES, /* the lowest stage goes, and accesses that no stage does any more */
    HDT_WEAKEN_DST_STAGES,
    HDT_WEAKEN_SRC_ACCESS, /* the lowest write goes */
    HDT_WEAKEN_DST_ACCESS, /* the lowest access goes */
    HDT_WEAKEN_WAIT,       /* the lowest stage goes; of all commands: only copies wait */
    HDT_WRONG_OLD_LAYOUT,
    HDT_WRONG_FAMILY,    /* one half of a transfer names another family */
    HDT_SHIFT_PLACEMENT, /* a resource moves onto its neighbour in memory */
    HDT_SWAP_COMMANDS,   /* two neighbours in a submit */
    HDT_DROP_COMMAND,    /* all elements of a barrier command of several */
    HDT_WRONG_NEW_LAYOUT,
    HDT_SWAP_FAMILIES, /* of one half of a transfer */
    HDT_LOWER_WAIT,    /* for the value before */
    HDT_DROP_SIGNAL,
    HDT_WEAKEN_SIGNAL, /* as HDT_WEAKEN_WAIT */
    HDT_MUTATION_COUNT
} hdt_mutation;

const char *hdt_mutation_name(hdt_mutation mutation);
/* How many places there are where the stream can be broken so. */
uint32_t hdt_mutation_places(const hd_stream *stream, hdt_mutation mutation);
/* Breaks it at the place-th; the stream stays consistent, and can be written to a file. */
void hdt_mutate(hd_stream *stream, hdt_mutation mutation, uint32_t place);

#endif
