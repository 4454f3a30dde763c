/* Between schedule.c, which prepares and decides, and the two schedulers. */
#ifndef HDI_SCHEDULE_H
#define HDI_SCHEDULE_H

#include "phases.h"

/* What both schedulers read. Ranks are kept passes in the order that they fall back to: as declared, unless the memory
 * order found a leaner one. */
typedef struct hdi_sched {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_depends *depends;
    const hdi_queues *queues;
    hdi_arena *arena;
    uint32_t kept_count, depth; /* depth: passes on the longest chain of dependences */
    uint32_t *rank_pass, *pass_rank;
    uint32_t *pass_level;  /* passes before it on its longest chain */
    uint32_t *pass_float;  /* levels that it can wait without its first consumer waiting */
    uint8_t *pass_mixed;   /* HDI_MIXED_* */
    uint64_t *res_bytes;   /* of transient resources in use; else 0 */
    uint32_t *res_uses;    /* by kept passes */
    uint32_t *res_first, *res_last; /* ranks; only where res_bytes */
    uint64_t *rank_live;   /* bytes alive at each rank when passes run by rank */
    uint64_t peak;         /* most of rank_live */
} hdi_sched;

enum {
    HDI_MIXED_LAYOUTS = 1, /* reads an image that others read in another layout */
    HDI_MIXED_OPENERS = 2, /* overwrites what another pass might have opened before it */
};

typedef struct hdi_group_rules {
    uint64_t cap;        /* bytes alive at once, at least the peak */
    uint32_t window;     /* ranks beyond the oldest pass that was not chosen */
    uint32_t most;       /* give up beyond this many groups */
    bool in_order;       /* by rank, without exception */
    bool wait_in_float;  /* passes that open memory wait until their consumer's other inputs are about due */
} hdi_group_rules;

/* For one GPU queue. Returns false where it gave up or memory ran out (arena->failed). */
bool hdi_schedule_groups(const hdi_sched *s, const hdi_group_rules *rules, hdi_schedule *out);

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
