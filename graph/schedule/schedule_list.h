/* Several GPU queues: schedule_queues.c prepares and decides, schedule_list.c takes one pass after another, and
 * schedule_bytes.c finds them memory. */
#ifndef HDI_SCHEDULE_LIST_H
#define HDI_SCHEDULE_LIST_H

#include "schedule.h"

/* Clocks: what is known of each queue, its newest slot that has finished, + 1; 0: none. As many words as there are
 * queues. */

/* A pass, by its place among those from the region's first to its last. */
typedef struct hdi_list_node {
    uint64_t key;   /* microseconds to the end, as bits of a float, inverted; its place: the lowest comes first */
    int64_t bytes;  /* that it opens */
    double ready;   /* when the passes that it depends on have finished, of those that were taken */
    float cost;     /* microseconds */
    float bias;     /* what a queue of another kind than its own costs it */
    uint32_t left;  /* passes that it depends on and that were not taken */
    uint32_t rank;  /* in the region */
    uint16_t waits, drains; /* while it could be taken, a bit for each queue on which it waits for another one, or needs a barrier */
    uint8_t lane;
    uint8_t flags;  /* HDI_NODE_* */
} hdi_list_node;
enum {
    HDI_NODE_PATIENT = 1, /* its consumers wait for others anyway */
    HDI_NODE_SHARED = 2,  /* others may open what it opens: once ready, bytes are those that nobody has opened yet */
    HDI_NODE_OPENS = 4,   /* and there are such, of those that others may open */
};

/* Passes that may run on the same queues. */
typedef struct hdi_list_lane {
    uint16_t queues;  /* a bit each */
    uint16_t foreign; /* those of another kind than the passes are of; none, where there is no choice */
    uint32_t count;   /* passes */
    double work_us;   /* that they cost together */
} hdi_list_lane;
enum { HDI_MOST_LANES = 16 }; /* for each type of passes, the kinds that it may run on, or one of them */
enum { HDI_MOST_LIST_WINDOW = 1024 };

/* A resource that was closed, and of its bytes those that nobody took over. */
typedef struct hdi_list_closing {
    int64_t left;
    uint32_t res;
} hdi_list_closing;

/* A pass that is ready and may open what it shares. */
typedef struct hdi_list_opener {
    uint32_t place;
    uint32_t res; /* that it opens; HDI_NONE: several */
} hdi_list_opener;

enum { HDI_RANK_LEFT, HDI_RANK_WAITS, HDI_RANK_TAKEN }; /* waits: is ready, and in no lane yet */

/* What is prepared once, and the columns of a run. */
typedef struct hdi_list {
    hdi_list_node *node;
    uint32_t *pred;        /* by place a clock: the newest slots that the pass depends on */
    uint32_t *root;        /* places of passes that depend on none */
    int64_t *alone;        /* by place of a pass that shares: bytes that it opens and that no other pass may */
    hdi_list_lane lane[HDI_MOST_LANES];
    uint32_t lane_count, root_count;
    uint8_t *state;        /* by rank, with as many behind the last as a window has */
    hdi_list_opener *opener;
    uint32_t *clock;       /* by slot + 1: what has finished when it has; of 0: nothing */
    double *finish;        /* by slot + 1: when; of 0: before everything */
    int64_t *alive_step;   /* by rank: how much more bytes are alive there than at the one before, going on by rank */
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
    uint32_t window;   /* ranks from the oldest pass that was not taken on; at most HDI_MOST_LIST_WINDOW */
    uint32_t patience; /* less; that many ranks ahead of the oldest, passes open memory whose consumers wait anyway */
    uint32_t queues;   /* a bit for each queue that passes run on which have the choice */
    double least_rate; /* gives up early where passes do less work in a microsecond; 0: never */
} hdi_list_rules;
/* False: gave up, having taken as many passes as out has slots, or memory ran out (arena->failed). */
bool hdi_schedule_list(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_schedule *out);

/* What a barrier costs a queue, as it drains and fills again. */
#define HDI_DRAIN_US 2.0

/* ---- while it runs ---- */

#define HDI_NEVER 1e300

typedef struct hdi_list_queue {
    double free_at;
    uint32_t index;
    uint32_t group;                /* first slot of its newest group */
    hdi_list_closing *begin, *end; /* closed there, in the order of the schedule; before begin all bytes are taken */
    uint32_t knows[HD_MAX_QUEUES]; /* clock: what has finished before its next pass */
} hdi_list_queue;

/* Passes that could be taken: their keys, ascending. */
typedef struct hdi_list_ready {
    uint32_t queue_count, count;
    uint32_t home; /* a bit for each queue that these passes are there for */
    hdi_list_queue *queue[HD_MAX_QUEUES]; /* ascending */
    float foreign[HD_MAX_QUEUES];         /* 1: of another kind than the passes are of; else 0 */
    uint64_t *key;
} hdi_list_ready;

/* A pass that is not looked at for as long as a choice is made. */
typedef struct hdi_list_late {
    hdi_list_node *node;
    double ready;
} hdi_list_late;

typedef struct hdi_list_work {
    const hdi_sched *s;
    hdi_list l;
    hdi_schedule *out;
    uint32_t slots; /* of out, which is told how many there are in the end */
    double handoff_us;
    double drain_us[2], wait_us[2]; /* what [1] a barrier and a wait cost; drain_us: 0 while a queue has nothing to do */
    int64_t cap, small_bytes; /* small: not worth waiting for consumers */
    uint32_t window, patience, queue_count;
    hdi_list_queue queue[HD_MAX_QUEUES];
    hdi_list_ready *lane;
    hdi_list_late *late; /* as many as a window has ranks */
    int64_t fresh; /* bytes under the cap that nobody has taken yet */
    int64_t alive; /* at the oldest rank, when all goes on by rank from here */
    /* A look at the ranks from the oldest up to room_end, exclusive: no more than `most` is alive there, and room_alive
     * at room_end. And a rank where there was no room for somebody, or HDI_NONE, and what is alive there. */
    uint32_t room_end, full_rank;
    int64_t most, room_alive, full_alive;
    uint32_t oldest, waiting_count, opener_count, edge_capacity;
    uint32_t open_lanes; /* a bit for each that is not empty */
    uint32_t homes;      /* of all lanes */
} hdi_list_work;

/* Whether a clock knows all that another one does. */
static HDI_INLINE bool hdi_list_covers(const uint32_t *clock, const uint32_t *other, uint32_t count)
{
    for (uint32_t q = 0; q < count; q++) {
        if (other[q] > clock[q])
            return false;
    }
    return true;
}
static HDI_INLINE void hdi_list_raise(uint32_t *clock, const uint32_t *other, uint32_t count)
{
    for (uint32_t q = 0; q < count; q++)
        clock[q] = other[q] > clock[q] ? other[q] : clock[q];
}
/* What a clock learns of slots that are waited for: all that was known when they had finished. */
static inline void hdi_list_learn(const hdi_list_work *w, uint32_t *clock, const uint32_t *slots)
{
    for (uint32_t q = 0; q < w->queue_count; q++) {
        if (slots[q] > clock[q])
            hdi_list_raise(clock, &w->l.clock[(size_t)slots[q] * w->queue_count], w->queue_count);
    }
}

/* In schedule_bytes.c. When a pass that could start at `start` has the bytes that it opens, beyond those that are
 * fresh; or HDI_NEVER. pred: the slots that it depends on. */
double hdi_list_claim(const hdi_list_work *w, const uint32_t *pred, hdi_list_queue *q, int64_t bytes, double start);
/* Takes them for a slot. Waits for memory become edges; the queue learns what they cover. Whether there are any. */
bool hdi_list_take_bytes(hdi_list_work *w, hdi_list_queue *q, int64_t bytes, uint32_t slot);
/* Whether there is room for bytes at the ranks from the oldest up to one, exclusive, when all goes on by rank from
 * here. */
bool hdi_list_has_room(hdi_list_work *w, uint32_t rank, int64_t bytes);
/* What is alive grows, by that much, at all ranks from the oldest up to one, exclusive. closes: it does not. */
void hdi_list_add_alive(hdi_list_work *w, uint32_t end, int64_t bytes, bool closes);
/* The oldest was taken; alive: what is alive at the one that is the oldest now. */
void hdi_list_move_room(hdi_list_work *w, uint32_t oldest, int64_t alive);

#endif
