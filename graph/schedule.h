/* Between schedule.c, which prepares and decides, and the two schedulers. */
#ifndef HDI_SCHEDULE_H
#define HDI_SCHEDULE_H

#include "crew.h"
#include "phases.h"

/* What both schedulers read: of the whole frame, or of a region of it, which is a run of ranks. Ranks are kept passes in
 * the order that they fall back to: as declared. A region starts where all of earlier ranks is done, and leaves what is of
 * later ones alone; so regions have nothing to do with one another. Its columns by rank begin with its own first rank. */
typedef struct hdi_sched {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_depends *depends;
    const hdi_queues *queues;
    hdi_arena *arena;
    uint32_t kept_count, depth; /* depth: passes on the longest chain of dependences */
    uint32_t rank_begin; /* of its first; ranks in pass_rank, res_first and res_last are of the frame */
    bool whole;          /* it is all of the frame */
    uint32_t use_count;  /* by its passes */
    int64_t live_bytes;  /* that earlier ranks have opened and not closed */
    uint32_t *rank_pass, *pass_rank;
    uint32_t *pass_level;  /* passes before it on its longest chain */
    uint32_t *pass_float;  /* levels that it can wait without its first consumer waiting */
    uint8_t *pass_mixed;   /* HDI_MIXED_* */
    uint64_t *res_bytes;   /* of transient resources in use; else 0 */
    uint32_t *res_uses;    /* by kept passes */
    uint32_t *res_first, *res_last; /* ranks; only where res_bytes */
    uint64_t *rank_live;   /* bytes alive at each rank when passes run by rank */
    uint64_t peak;         /* most of rank_live, in all of the frame */
    /* Columns of the schedulers by pass and by resource: regions share them, as each writes what is its own. */
    uint32_t *pass_left, *pass_due, *res_left, *pass_queue_group, *pass_queue_clock, *res_queue_last;
    int64_t *pass_net;
    float *pass_ready_at, *pass_path, *pass_queue_start;
    uint16_t *pass_may_run;
} hdi_sched;

/* Whether a rank of the frame lies in it or, of what follows passes of its own, in a later one. */
static inline bool hdi_sched_has(const hdi_sched *s, uint32_t rank)
{
    return rank - s->rank_begin < s->kept_count;
}
/* Of the passes that a pass of it depends on, how many are in it. */
static inline uint32_t hdi_sched_preds(const hdi_sched *s, uint32_t pass)
{
    uint32_t begin = s->depends->pred_begin[pass], end = s->depends->pred_begin[pass + 1], count = 0;
    if (s->whole)
        return end - begin;
    for (uint32_t e = begin; e < end; e++)
        count += s->pass_rank[s->depends->pred[e]] >= s->rank_begin;
    return count;
}
/* In schedule_prepare.c: all but the levels; *bad_pass: one that no queue can run. *flagged: null where no pass is to be
 * flagged. */
typedef struct hdi_res_look hdi_res_look;
hd_result hdi_sched_prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, uint32_t *bad_pass,
                            const hdi_crew *crew, const hdi_res_look **flagged);
/* Of a region, or of all. */
void hdi_sched_find_levels(hdi_sched *s);
void hdi_sched_flag(hdi_sched *s, const hdi_res_look *look);
/* Counts of uses to come, of resources whose last one is in it, and who is open from the start. */
void hdi_sched_begin(const hdi_sched *s, uint32_t *res_left, uint8_t *res_open);

enum {
    HDI_MIXED_LAYOUTS = 1, /* reads an image that others read in another layout */
    HDI_MIXED_OPENERS = 2, /* overwrites what another pass might have opened before it */
};

typedef struct hdi_group_rules {
    uint64_t cap;        /* bytes alive at once, at least the peak */
    uint32_t window;     /* ranks beyond the oldest pass that was not chosen */
    uint32_t most;       /* give up beyond this many groups */
    bool in_order;       /* by rank, without exception */
    bool level;          /* full groups are relieved (schedule_level.c) */
    bool wait_in_float;  /* passes that open memory wait until their consumer's other inputs are about due */
} hdi_group_rules;

/* For one GPU queue. Returns false where it gave up or memory ran out (arena->failed). */
bool hdi_schedule_groups(const hdi_sched *s, const hdi_group_rules *rules, hdi_schedule *out);

/* Moves passes of such a schedule to later groups, where the cap leaves no room; group_live: what is alive in each group. */
bool hdi_sched_level(const hdi_sched *s, uint64_t cap, int64_t *group_live, hdi_schedule *out);

/* For several: by time. What a barrier costs a queue, as it drains and fills again. */
#define HDI_DRAIN_US 2.0

typedef struct hdi_list_rules {
    hd_order order;
    double handoff_us;
    uint64_t cap;
    uint32_t window;
    double least_rate; /* gives up after a quarter of the passes that did less work in a microsecond; 0: never */
} hdi_list_rules;
/* False: gave up, or memory ran out (arena->failed). */
bool hdi_schedule_list(const hdi_sched *s, const hdi_list_rules *rules, hdi_schedule *out);

/* Queue kinds that can run a pass: a bit for each hd_queue_kind. 0: none of the set. */
uint32_t hdi_allowed_kinds(const hdi_decl *decl, const hdi_queues *queues, uint32_t pass);

#endif
