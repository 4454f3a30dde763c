/* Between schedule_queues.c, which prepares and decides, and the list scheduler, which may run more than once. */
#ifndef HDI_SCHEDULE_LIST_H
#define HDI_SCHEDULE_LIST_H

#include "schedule.h"

typedef struct hdi_list_node { /* a pass, by its rank in the region */
    int64_t bytes;             /* that it opens */
    int64_t alone;             /* those of them that nobody else may open: where it is shared */
    double bias;               /* what a queue of another kind than its own costs it */
    float ready, far;          /* when what it depends on is done: seen from queue `home`, and from all others */
    float path, cost;          /* microseconds to the end, and its own */
    uint32_t preds;            /* passes of the region that it depends on, */
    uint32_t left;             /* and those of them that were not taken; HDI_LIST_TAKEN: itself is */
    uint16_t pred_queues;      /* on which they were taken */
    uint8_t home;              /* HDI_LIST_NOWHERE: all queues that it may run on see the same */
    uint8_t lane;
    bool patient; /* its consumers wait for others anyway */
    bool shared;  /* others may open what it opens: bytes are those that nobody has opened yet, once it is ready */
} hdi_list_node;
enum { HDI_LIST_TAKEN = HDI_NONE, HDI_LIST_NOWHERE = 0xff };

/* Passes that could be taken, all on the same queues: a ring, as its indices wrap. */
typedef struct hdi_list_lane {
    uint64_t *key; /* path, then rank backwards: the best is first */
    uint16_t queues;
    uint16_t native; /* those of the kind that the passes are of; all, where there is no choice */
    uint8_t first, end;
} hdi_list_lane;
enum { HDI_MOST_LANES = 16 }; /* for each type of passes, the kinds that it may run on, or one of them */
enum { HDI_LANE_KEYS = 256, HDI_MOST_LIST_WINDOW = 80 };

/* A resource that was closed, and of its bytes those that nobody took over. */
typedef struct hdi_list_closing {
    int64_t left;
    uint32_t res;
} hdi_list_closing;

/* What is prepared once, and the columns of a run. */
typedef struct hdi_list {
    hdi_list_node *node;
    hdi_list_lane lane[HDI_MOST_LANES];
    uint32_t lane_count;
    uint32_t *newest_pred; /* [rank * queues + q]: newest slot on q that it depends on, + 1 */
    uint64_t *waiting;     /* ranks of passes that are ready and in no lane yet */
    uint32_t *shared;      /* ranks of passes that are ready and share what they open */
    uint32_t *clock;       /* [slot * queues + q]: newest slot of q that has finished when it has, + 1 */
    double *finish;        /* per slot */
    int64_t *early_step;   /* per rank: what is added to the bytes that are alive early */
    hdi_list_closing *closing[HD_MAX_QUEUES];
} hdi_list;

typedef struct hdi_list_rules {
    double handoff_us;
    uint64_t cap;
    uint32_t window;
    double least_rate; /* gives up after a quarter of the passes that did less work in a microsecond; 0: never */
} hdi_list_rules;
/* Before each run. */
void hdi_list_reset(const hdi_sched *s, const hdi_list *list);
/* False: gave up, or memory ran out (arena->failed). */
bool hdi_schedule_list(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_schedule *out);

/* What a barrier costs a queue, as it drains and fills again. */
#define HDI_DRAIN_US 2.0

#endif
