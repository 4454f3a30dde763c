/* Between schedule.c, which prepares and decides, and the two schedulers. */
#ifndef HDI_SCHEDULE_H
#define HDI_SCHEDULE_H

#include "crew.h"
#include "phases.h"

/* What a look at all uses by rank finds out of a resource. What shares memory with nobody costs the same in every
 * order: it has no bytes, and no ranks, which then lie in no region. */
typedef struct hdi_sched_res {
    uint64_t bytes; /* of a transient resource in use; else 0 */
    union {
        struct {
            uint32_t first, last; /* ranks; HDI_NONE where bytes is 0 */
        };
        uint32_t at[2]; /* until all is judged, of hdi_look_at_use: first, and the newest of the later ones */
    };
    uint32_t left;        /* uses; then those not taken yet, of several workers' in the region that closes it alone;
                           * 0: nobody counts them */
    uint16_t mixed;       /* HDI_MIXED_*, HDI_WRITTEN_AGAIN, HDI_CLOSES_LAST */
    uint8_t closed;       /* of schedule_special.c */
    bool open : 1;        /* of several that overwrite it, one was taken */
    bool apart : 1;       /* its bytes are not among those that its first rank opens */
    bool read : 1;        /* of schedule_special.c: the pass at hand reads it */
    union {
        struct {
            uint32_t uses;  /* all */
            uint32_t close; /* 0, then the last group that it is alive in, for schedule_level.c */
        };
        uint64_t counts; /* until all is judged: uses, in the upper half those that write */
    };
} hdi_sched_res;

/* Flags of resources that have no bytes of the frame's. */
enum { HDI_NO_BYTES = HDI_RES_HISTORY | HDI_RES_HAS_HISTORY | HDI_RES_HOST };

/* By rank, for several queues. */
typedef struct hdi_sched_rank {
    uint64_t live;  /* bytes alive at this rank when passes run by rank */
    uint64_t opens; /* of resources whose first rank it is */
} hdi_sched_rank;

/* By rank, for one queue. */
typedef struct hdi_ask {
    int64_t opens;  /* bytes of resources whose first rank it is, but for those that others may open as well */
    int64_t closes; /* bytes that are closed with it in every order: what HDI_CLOSES_LAST says */
    int64_t step;   /* room at the rank before it less room there; of the first in a region: anything */
    uint32_t due;   /* group from which it should be taken, if it opens memory; HDI_TAKEN */
    uint32_t more;  /* HDI_COUNTED: it has uses that somebody has to count; the rest: the last in the list of its uses
                     * that must be looked at, or of the only one, HDI_OPENER and the resource, an overwrite, or
                     * HDI_READER and its place in a list, a read of one piece; 0: none */
} hdi_ask;
#define HDI_TAKEN HDI_NONE
#define HDI_COUNTED (UINT32_C(1) << 31)
#define HDI_OPENER (UINT32_C(1) << 30)
#define HDI_READER (UINT32_C(1) << 29)

/* What both schedulers read: of the whole frame, or of a region of it, which is a run of ranks. Ranks are kept passes
 * in the order that they fall back to: as declared. A region starts where all of earlier ranks is done, and leaves what
 * is of later ones alone; so regions have nothing to do with one another. Its columns by rank begin with its own first
 * rank. */
typedef struct hdi_sched {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_depends *depends;
    const hdi_queues *queues;
    hdi_arena *arena;
    uint32_t kept_count;
    uint32_t rank_begin; /* of its first; ranks in pass_rank and of resources are of the frame */
    uint32_t pass_begin, pass_end; /* its passes are the kept ones of these */
    bool whole;          /* it is all of the frame */
    bool alone;          /* one worker schedules all regions, one after another */
    uint32_t mixed_uses; /* uses of mixed resources: of the frame */
    uint32_t use_count;  /* by its passes */
    int64_t live_bytes;  /* that earlier ranks have opened and not closed */
    uint32_t *rank_pass, *pass_rank;
    hdi_sched_res *res;
    uint64_t peak;         /* most bytes alive at a rank, in all of the frame */
    /* Columns of the schedulers by pass and by resource: regions share them, as each writes what is its own. */
    uint32_t *pass_need;  /* how many of the region it depends on; with one queue what schedule_groups.c makes of it */
    /* Of the one for one queue; else null. */
    uint32_t *pass_level;
    hdi_ask *ask;   /* by rank, and one behind the last */
    uint64_t *live; /* by rank: as in hdi_sched_rank */
    bool known;     /* whether it is told of any resource that it closes last */
    struct hdi_note *note; /* of who works alone, where there are mixed resources: of all segments, for each region */
    /* Of the one for several queues. */
    hdi_sched_rank *rank;
    bool may_copy_depth;      /* some pass of the frame may */
    uint32_t *res_last_slots; /* by resource a clock (schedule_list.h): the newest slots that used it */
} hdi_sched;

/* Whether a rank of the frame lies in it. */
static inline bool hdi_sched_has(const hdi_sched *s, uint32_t rank)
{
    return rank - s->rank_begin < s->kept_count;
}
/* How the ranks are cut. With several workers live bytes are summed by parts, each from 0. A part begins where the
 * search for its region's first rank does; so a region reaches into the next part. */
typedef struct hdi_sched_cuts {
    uint32_t count;                     /* of regions, and of parts */
    uint32_t begin[HDI_MOST_PARTS + 1]; /* their first ranks */
    uint32_t part[HDI_MOST_PARTS + 1];  /* those of the parts */
    uint64_t base[HDI_MOST_PARTS];      /* bytes alive before a part */
    bool in_parts;                      /* else live bytes are what they are */
} hdi_sched_cuts;
/* In schedule_prepare.c: all but what is below; *bad_pass: one that no queue can run. */
hd_result hdi_sched_prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, const hdi_crew *crew,
                            hdi_sched_cuts *cuts, uint32_t *bad_pass);
/* In schedule_parts.c: what is alive at the ranks of a region, from the sums of the parts. */
void hdi_sched_settle(const hdi_sched *of, const hdi_sched_cuts *cuts, uint32_t region);

/* The first two by the flags of the uses that may have to be looked at for it, so that a shift by these tells which;
 * bits of flags that no use has are the others. */
enum {
    HDI_BY_FLAGS = 1 | 1 << 4 | 1 << 8 | 1 << 12,       /* whatever they say beside whether it reads and writes */
    HDI_MIXED_LAYOUTS = HDI_BY_FLAGS << HDI_USE_READS,  /* an image that is read in several layouts */
    HDI_MIXED_OPENERS = HDI_BY_FLAGS << HDI_USE_WRITES, /* several overwrite parts of it: any might be the first */
    HDI_WRITTEN_AGAIN = 1 << 0,                         /* it has bytes, and several writes */
    HDI_CLOSES_LAST = 1 << 4, /* with one queue: it has two uses, one of which must follow the other */
};

typedef struct hdi_group_rules {
    uint64_t cap;        /* bytes alive at once, at least the peak */
    uint32_t window;     /* ranks beyond the oldest pass that was not chosen */
    bool gives_up;       /* where it makes clearly more groups than the longest chain of dependences has passes */
    bool level;          /* full groups are relieved (schedule_level.c) */
    bool in_order;       /* inside a group too: window 1 */
    bool wait_in_float;  /* passes that open memory wait until their consumer's other inputs are about due */
    hdi_gather gather;
} hdi_group_rules;

/* For one GPU queue: by the first rules that do not give up, into the arrays of slots that out has. False: memory ran
 * out (arena->failed). */
bool hdi_schedule_groups(const hdi_sched *s, const hdi_group_rules *rules, uint32_t rules_count, hdi_schedule *out);

/* Levels of passes whose scopes gather, in place of those that they have. */
void hdi_sched_scope_levels(const hdi_sched *s);

/* In such a schedule, puts passes side by side that go on with one another's attachments; as below, which it keeps up
 * to date. */
bool hdi_sched_gather(const hdi_sched *s, const hdi_group_rules *rules, int64_t *slot_net, int64_t *group_live,
                      hdi_schedule *out);

/* Passes have moved between its groups: numbers these without those that are empty now, as slots have them. begin: by
 * the old numbers, how many passes each has; then its first slot. */
void hdi_sched_begin_groups(uint32_t *begin, hdi_schedule *out);

/* Moves passes of such a schedule to later groups, where the cap leaves no room; slot_net: bytes that it opens less
 * those that it closes, group_live: what is alive in each group. Resources that the region closes, but for those
 * that are known to close last, say with which group: that of their last use, or the one behind it, if that writes.
 * moved: passes have moved since that was said. */
bool hdi_sched_level(const hdi_sched *s, uint64_t cap, bool moved, const int64_t *slot_net, int64_t *group_live,
                     hdi_schedule *out);

/* For several: by time. */
hd_result hdi_schedule_queues(const hdi_sched *s, const hdi_goal *goal, hdi_schedule *out);

/* Queue kinds that can run passes of a type, a bit for each hd_queue_kind; then those of the set that a pass may run
 * on. */
uint32_t hdi_type_kinds(uint32_t type);
uint32_t hdi_pin_kinds(uint32_t pin);
bool hdi_copies(const hdi_access_info *access);
bool hdi_copies_depth(const hdi_decl *decl, uint32_t pass);
uint32_t hdi_allowed_kinds(const hdi_decl *decl, const hdi_queues *queues, uint32_t pass, bool may_copy_depth);

/* ---- the door: what compile calls ---- */

/* The queues that can run passes of the frame's types. */
void hdi_queues_in_use(const hdi_decl *decl, const hdi_queues *all, hdi_queues *out);
/* *bad_pass: one that no queue of the set can run (HD_NO_QUEUE). */
hd_result hdi_schedule_passes(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept,
                              const hdi_depends *depends, const hdi_sizes *sizes, const hdi_queues *queues,
                              const hdi_goal *goal, const hdi_crew *crew, hdi_arena *arena, hdi_schedule *out,
                              uint32_t *bad_pass);

#endif
