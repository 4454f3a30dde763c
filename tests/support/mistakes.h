/* Mistakes in a frame, one a cause, with what the error must say. */
#ifndef HDT_MISTAKES_H
#define HDT_MISTAKES_H

#include <heddle/graph.h>

typedef struct hdt_mistake {
    hd_result result;
    hd_result (*make)(void);
    uint32_t pass, resource, use;
    const char *says[4]; /* the sentence names them */
} hdt_mistake;

enum { HDT_MISTAKES = 58 };
extern const hdt_mistake hdt_mistakes[HDT_MISTAKES];

/* The graph in which they are made. */
void hdt_mistakes_in(hd_graph *graph);
/* A pass that is in order, so that indices are not all 0. */
void hdt_good_pass(void);

#endif
