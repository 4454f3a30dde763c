/* Between schedule_queues.c, which prepares and decides, and the list scheduler, which may run more than once. */
#ifndef HDI_SCHEDULE_LIST_H
#define HDI_SCHEDULE_LIST_H

#include "schedule.h"
#include "schedule_clock.h"

/* A pass, of those from the region's first to its last. On one line: whoever looks at one looks at most of it. */
typedef struct hdi_list_node {
    uint64_t pred[2]; /* short clocks: the newest slots that it depends on, and what has finished when they have */
    uint64_t key;     /* microseconds to the end, as bits of a float, inverted; its place: the lowest comes first */
    int64_t bytes;    /* that it opens */
    union {
        uint32_t left; /* of what it depends on, how much was not taken */
        /* Then when that is done: where clocks are short, seen from each queue; else [1] from queue `home`, [0] from
         * all others. */
        float ready[HDI_SHORT_QUEUES];
    };
    float cost;    /* microseconds */
    float bias;    /* what a queue of another kind than its own costs it */
    uint32_t rank; /* in the region */
    /* No bytes: these might be written to whatever else is in registers. */
    uint32_t home : 8; /* HDI_LIST_NOWHERE: all queues that it may run on see the same, and so does [1] */
    uint32_t lane : 8;
    uint32_t flags : 8; /* HDI_NODE_* */
    uint32_t at : 8;    /* where in its lane, while it could be taken */
} hdi_list_node;
enum { HDI_LIST_NOWHERE = 0xff };
enum {
    HDI_NODE_PATIENT = 1, /* its consumers wait for others anyway */
    HDI_NODE_SHARED = 2,  /* others may open what it opens: once ready, bytes are those that nobody has opened yet */
    HDI_NODE_OPENS = 4,   /* and there are such, of those that others may open */
};
_Static_assert(sizeof(hdi_list_node) == 64, "a line");

/* Passes that may run on the same queues. */
typedef struct hdi_list_lane {
    uint16_t queues;  /* a bit each */
    uint16_t foreign; /* those of another kind than the passes are of; none, where there is no choice */
} hdi_list_lane;
enum { HDI_MOST_LANES = 16 }; /* for each type of passes, the kinds that it may run on, or one of them */
enum { HDI_MOST_LIST_WINDOW = 80 };

/* A resource that was closed, and of its bytes those that nobody took over. */
typedef struct hdi_list_closing {
    int64_t left;
    uint64_t slots; /* the newest that used it, where clocks are short; else the resource */
} hdi_list_closing;

/* Of a pass that shares resources: what it opens and nobody else may, and the one that others may open, with how many
 * uses it has of it; HDI_NONE: several. */
typedef struct hdi_list_alone {
    int64_t bytes;
    uint32_t res, uses;
} hdi_list_alone;

/* A pass that is ready and may open what it shares. */
typedef struct hdi_list_opener {
    uint32_t place;
    uint32_t res; /* that it opens; HDI_NONE: several */
} hdi_list_opener;

enum { HDI_RANK_LEFT, HDI_RANK_WAITS, HDI_RANK_TAKEN }; /* waits: is ready, and in no lane yet */

/* What is prepared once, and the columns of a run. */
typedef struct hdi_list {
    hdi_list_node *node;
    uint32_t *root;      /* passes that depend on nobody */
    hdi_list_alone *alone; /* by pass that shares */
    hdi_list_lane lane[HDI_MOST_LANES];
    uint32_t lane_count, root_count;
    uint64_t *pred;      /* by pass, where clocks are long */
    uint8_t *state;      /* by rank, with as many behind the last as a window has */
    hdi_list_opener *opener;
    uint64_t *clock;     /* where they are long, by slot + 1: what has finished when it has; of 0: nothing */
    double *finish;      /* by slot + 1: when; of 0: before everything */
    int64_t *alive_step; /* by rank: how much more bytes are alive there than at the one before, going on by rank */
    hdi_list_closing *closing[HD_MAX_QUEUES];
} hdi_list;

/* Whether several passes may open a resource. */
static inline bool hdi_list_shares(const hdi_sched *s, const hdi_sched_res *res)
{
    return res->mixed & HDI_MIXED_OPENERS && hdi_sched_has(s, res->first);
}

typedef struct hdi_list_rules {
    double handoff_us;
    uint64_t cap;
    uint32_t window;
    double least_rate; /* gives up early where passes do less work in a microsecond; 0: never */
} hdi_list_rules;
/* False: gave up, having taken as many passes as out has slots, or memory ran out (arena->failed). */
bool hdi_schedule_list(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_schedule *out);

/* What a barrier costs a queue, as it drains and fills again. */
#define HDI_DRAIN_US 2.0

#endif
