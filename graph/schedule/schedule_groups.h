/* Between the group scheduler and schedule_special.c, which prepares what few passes need. */
#ifndef HDI_SCHEDULE_GROUPS_H
#define HDI_SCHEDULE_GROUPS_H

#include "schedule.h"

/* The newest group that reads a segment of an image in one of several layouts, and which. Those of an image stand
 * together. Groups of all attempts at all regions have numbers of their own: nothing is to be cleared between them. */
typedef struct hdi_note {
    uint32_t group, layout;
} hdi_note;

/* A use that is looked at when its pass is. */
typedef struct hdi_special {
    uint32_t at;           /* an overwrite: the resource; a read: first of its notes */
    uint32_t count;        /* of notes; 0: an overwrite */
    uint32_t cols, stride; /* as in hdi_span */
    uint32_t layout;
    uint32_t next; /* of its pass; of the last one, by which the pass finds them, the first */
} hdi_special;

typedef struct hdi_specials {
    hdi_special *list;
    hdi_note *note; /* of no group; of all segments where hdi_sched has such */
    uint32_t count, note_count;
} hdi_specials;

/* Lists of special uses, for who has any, in ask; there, opens loses what others may open. Where regions run side by
 * side, each counts the uses that are left of what earlier ones have opened and it closes. False: memory ran out. */
bool hdi_find_specials(const hdi_sched *s, hdi_ask *ask, hdi_specials *out);

static inline hdi_note *hdi_note_of(const hdi_specials *specials, const hdi_special *x, uint32_t i)
{
    return &specials->note[x->at + (i < x->cols ? i : i / x->cols * x->stride + i % x->cols)];
}

#endif
