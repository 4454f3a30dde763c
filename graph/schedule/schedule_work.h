/* What the files of the room share: what the preparation finds, and what both schedulers read. A rank is the place of a
 * kept pass in the order of the declaration. */
#ifndef HDI_SCHEDULE_WORK_H
#define HDI_SCHEDULE_WORK_H

#include "crew.h"
#include "hints.h"
#include "schedule.h"
#include "simd.h"

/* A resource. One without transient memory costs the same in every order: it has no bytes and no ranks. */
typedef struct hdi_sched_res {
    uint64_t bytes;       /* of transient memory */
    uint32_t first, last; /* ranks of its first and its last use; HDI_NONE where bytes is 0 */
    uint32_t uses;
    uint32_t left;       /* uses in the region that closes it, by passes that are not scheduled yet */
    uint32_t last_group; /* one queue: that it is alive in, once it is closed */
    uint16_t writes; /* saturates */
    uint8_t mixed;   /* HDI_MIXED_* */
    bool open;       /* with HDI_MIXED_OPENERS: one of the passes that overwrite it is scheduled */
} hdi_sched_res;
enum {
    HDI_MIXED_LAYOUTS = 1, /* an image that is read in several layouts */
    HDI_MIXED_OPENERS = 2, /* several passes overwrite parts of it: any of them may be its first */
};

/* A pass, by rank. Resources are opened by the pass of their first rank, as all other passes depend on that one, but
 * for those of HDI_MIXED_OPENERS. */
typedef struct hdi_sched_rank {
    int64_t opens;  /* bytes of the resources that this pass opens in every order */
    int64_t shared; /* bytes of the resources that are first used here, and that other passes may open as well */
    int64_t step;   /* bytes alive at this rank less those alive at the rank before, where passes run by rank */
    uint32_t mixed;  /* HDI_MIXED_*: it may open a resource of several openers, it reads one of several layouts */
    uint32_t opener; /* the only resource of several openers that it may open; HDI_NONE: there are several */
} hdi_sched_rank;

/* The frame, or a region of it: a run of ranks. A region starts where all earlier ranks are done, and does nothing
 * about later ones: regions are scheduled independently of each other. Columns by rank begin with the region's first
 * rank; ranks of resources and in pass_rank are of the frame. */
typedef struct hdi_sched {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_depends *depends;
    const hdi_queues *queues;
    hdi_arena *arena;
    uint32_t rank_begin, kept_count;
    uint32_t pass_begin, pass_end; /* its passes are the kept ones of these */
    uint32_t use_count;            /* by its passes */
    uint32_t depth;                /* passes on the longest chain of dependences */
    uint32_t *root, root_count;    /* ranks of the passes that depend on none of the region */
    uint32_t layout_count;         /* segments of all reads of HDI_MIXED_LAYOUTS in the region */
    bool whole;                    /* the region is the frame */
    bool mixed;                    /* some resource of the frame is HDI_MIXED_* */
    bool may_copy_depth;           /* some pass of the frame may copy or clear a depth image */
    int64_t live_before;           /* bytes alive in front of the first rank */
    uint64_t peak;                 /* most bytes alive at a rank of the frame, where passes run by rank */
    uint32_t *rank_pass, *pass_rank;
    hdi_sched_rank *rank;
    hdi_sched_res *res;
    uint32_t *pass_level;     /* by pass: passes of the region on the longest chain of dependences before it */
    uint32_t *pass_left;      /* by pass: predecessors in the region that are not scheduled yet */
    uint32_t *res_last_slots; /* several queues: by resource a clock, the newest slots that use it; else null */
    uint32_t clock_words;
} hdi_sched;

static inline bool hdi_sched_has(const hdi_sched *s, uint32_t rank)
{
    return rank - s->rank_begin < s->kept_count;
}

/* Whether any of several passes of the region may open a resource. */
static inline bool hdi_sched_shares(const hdi_sched *s, const hdi_sched_res *res)
{
    return res->mixed & HDI_MIXED_OPENERS && hdi_sched_has(s, res->first);
}

/* ---- schedule_prepare.c ---- */

/* Where regions begin, and the bytes alive in front of them. */
typedef struct hdi_sched_cuts {
    uint32_t count, begin[HDI_MOST_PARTS + 1];
    int64_t live_before[HDI_MOST_PARTS];
} hdi_sched_cuts;

/* Ranks, resources, live bytes by rank, cuts. *bad_pass: a pass that no queue can run (HD_NO_QUEUE). */
hd_result hdi_sched_prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, const hdi_crew *crew,
                            hdi_sched_cuts *cuts, uint32_t *bad_pass);
/* What a scheduler needs of its region: levels, pass_left, roots, the uses that are left of older resources, mixed
 * passes. False: memory ran out. */
bool hdi_sched_begin_region(hdi_sched *s);
/* Undoes what a run has changed in resources and pass_left. */
void hdi_sched_undo(hdi_sched *s, const uint32_t *slot_pass, uint32_t slot_count);
/* Bytes of the resources of several openers that a pass would open now. */
int64_t hdi_sched_shared_bytes(const hdi_sched *s, uint32_t rank);
/* Bytes that a pass would open now. */
static inline int64_t hdi_sched_bytes(const hdi_sched *s, uint32_t rank)
{
    const hdi_sched_rank *at = &s->rank[rank];
    if (HDI_LIKELY(!(at->mixed & HDI_MIXED_OPENERS)))
        return at->opens;
    if (at->opener == HDI_NONE)
        return at->opens + hdi_sched_shared_bytes(s, rank);
    return at->opens + (s->res[at->opener].open ? 0 : (int64_t)s->res[at->opener].bytes);
}
/* Kinds of queues of the set that a pass may run on, a bit for each hd_queue_kind. */
uint32_t hdi_sched_kinds(const hdi_sched *s, uint32_t pass);

/* ---- schedule_room.c: live bytes at the ranks to come, where all passes that are left run by rank ---- */

typedef struct hdi_room {
    int64_t *step; /* by rank, and one behind the last: bytes alive there less those alive at the rank before */
    int64_t cap;
    uint32_t oldest; /* the lowest rank that is not scheduled */
    int64_t alive;   /* bytes alive at the oldest rank */
    /* The last look: no more than `most` is alive from the oldest rank up to `end`, exclusive; alive_end at `end`. */
    uint32_t end;
    int64_t most, alive_end;
    uint32_t full; /* a rank where a candidate found no room, or HDI_NONE; alive_full bytes are alive there */
    int64_t alive_full;
} hdi_room;
/* False: memory ran out. `step` is allocated at the first call. */
bool hdi_room_begin(hdi_room *room, const hdi_sched *s, uint64_t cap);
void hdi_room_look_anew(hdi_room *room);
/* Goes on with the look up to a rank, or up to a rank where more than `most` is alive. Whether there is none. */
bool hdi_room_look(hdi_room *room, uint32_t rank, int64_t most);
/* Whether the cap leaves room for bytes at each rank from the oldest up to `rank`, exclusive. */
static inline bool hdi_room_fits(hdi_room *room, uint32_t rank, int64_t bytes)
{
    int64_t most = room->cap - bytes;
    if (room->most <= most && rank <= room->end)
        return true;
    return !(room->full < rank && room->alive_full > most) && hdi_room_look(room, rank, most);
}
/* At each rank from the oldest up to `end`, exclusive, so many more bytes are alive (fewer, where negative). */
static inline void hdi_room_add(hdi_room *room, uint32_t end, int64_t bytes)
{
    room->alive += bytes;
    room->step[end] -= bytes;
    room->most += bytes > 0 || end >= room->end ? bytes : 0;
    room->alive_end += end > room->end ? bytes : 0;
    room->alive_full += end > room->full ? bytes : 0;
}
/* The oldest rank moves on to the next one. */
static inline void hdi_room_move(hdi_room *room)
{
    room->alive += room->step[++room->oldest];
    if (room->oldest > room->full)
        room->full = HDI_NONE;
    if (room->oldest >= room->end)
        hdi_room_look_anew(room);
}
/* Opens the resources of several openers that no pass has opened and that a scheduled pass uses. Returns the bytes. */
int64_t hdi_room_open_shared(hdi_room *room, const hdi_sched *s, uint32_t rank);
/* A pass is scheduled, in its turn or before. Returns the bytes that it opens. */
static inline int64_t hdi_room_take(hdi_room *room, const hdi_sched *s, uint32_t rank)
{
    const hdi_sched_rank *at = &s->rank[rank];
    if (at->opens && rank != room->oldest)
        hdi_room_add(room, rank, at->opens);
    return at->opens + (at->mixed & HDI_MIXED_OPENERS ? hdi_room_open_shared(room, s, rank) : 0);
}

/* ---- one GPU queue ---- */

typedef struct hdi_group_rules {
    uint64_t cap;       /* live bytes, at least the peak */
    uint32_t window;    /* ranks from the oldest pass that is not scheduled */
    bool gives_up;      /* at clearly more groups than the longest chain of dependences has passes */
    bool level;         /* full groups are relieved (schedule_level.c) */
    bool in_order;      /* inside a group too: window 1 */
    hdi_gather gather;
} hdi_group_rules;

/* schedule_groups.c: by the first rules that do not give up, into slot_pass and slot_group. False: memory ran out. */
bool hdi_schedule_groups(hdi_sched *s, const hdi_group_rules *rules, uint32_t rules_count, hdi_schedule *out);

/* schedule_scopes.c: levels by which passes wait for their consumers where scopes gather. */
void hdi_sched_scope_levels(const hdi_sched *s);
/* Moves passes of such a schedule next to those that go on with their attachments. slot_net: bytes that the pass of a
 * slot opens less those that it closes; group_live: bytes alive in each group; both are kept up to date. False: memory
 * ran out. */
bool hdi_sched_gather(const hdi_sched *s, const hdi_group_rules *rules, int64_t *slot_net, int64_t *group_live,
                      hdi_schedule *out);
/* schedule_level.c: moves passes of such a schedule out of full groups to later ones. moved: last_group of resources is
 * not up to date. False: memory ran out. */
bool hdi_sched_level(const hdi_sched *s, uint64_t cap, bool moved, const int64_t *slot_net, int64_t *group_live,
                     hdi_schedule *out);
/* Puts passes into slots by their groups, those of a group in the order of `pass`; empty groups are left out. False:
 * memory ran out. */
bool hdi_sched_put_in_groups(const hdi_sched *s, const uint32_t *pass_group, const uint32_t *pass, hdi_schedule *out);

/* ---- several GPU queues ---- */

/* schedule_queues.c: runs the list scheduler by the rules of a goal. slot_pass and slot_queue have room for the region;
 * edges are allocated. */
hd_result hdi_schedule_queues(hdi_sched *s, const hdi_goal *goal, hdi_schedule *out);

/* A pass, by rank. */
typedef struct hdi_list_node {
    uint64_t key;  /* bits of a float, inverted: microseconds to the end; then the rank: the lowest key comes first */
    double ready;  /* when the scheduled passes that it depends on have finished */
    float cost;    /* microseconds */
    float bias;    /* what a queue of another kind than its own costs it */
    uint16_t lane;
    bool patient;  /* its consumers wait for longer chains anyway */
} hdi_list_node;

/* Passes that may run on the same queues. */
typedef struct hdi_list_lane {
    uint16_t queues;  /* a bit each */
    uint16_t foreign; /* those of another kind than the passes are of; none, where there is no choice */
    uint32_t count;   /* passes */
    double work_us;   /* their costs together */
} hdi_list_lane;
enum { HDI_MOST_LANES = 16, HDI_MOST_LIST_WINDOW = 1024 };

/* What is prepared once for all runs of a region, and the columns that they share. A clock has a word for each queue:
 * 1 + the newest slot on that queue that is known to have finished; 0: none. Words behind the last queue, up to a
 * multiple of four, are 0. */
typedef struct hdi_list {
    hdi_list_node *node;
    hdi_list_lane lane[HDI_MOST_LANES];
    uint32_t lane_count;
    uint32_t *pred;  /* by rank a clock: the newest slots that the pass depends on */
    uint32_t *clock; /* by slot + 1 a clock: what has finished when the slot has; of 0: nothing */
    double *finish;  /* by slot + 1: microseconds; of 0: before everything */
} hdi_list;

typedef struct hdi_list_rules {
    double handoff_us;
    uint64_t cap;
    uint32_t window;   /* ranks from the oldest pass that is not scheduled; at most HDI_MOST_LIST_WINDOW */
    uint32_t patience; /* less: so many ranks ahead of the oldest, patient passes may open memory */
    uint32_t queues;   /* a bit for each queue that passes run on which have the choice */
    double least_rate; /* gives up where the first passes do less work in a microsecond; 0: never */
} hdi_list_rules;

/* What a barrier costs a queue, as it drains and fills again. */
#define HDI_DRAIN_US 2.0

/* schedule_list.c. False: it gave up, having scheduled slot_count passes, or memory ran out (arena->failed). */
bool hdi_schedule_list(const hdi_sched *s, const hdi_list *list, const hdi_list_rules *rules, hdi_schedule *out);

static HDI_INLINE void hdi_clock_raise(uint32_t *clock, const uint32_t *other, uint32_t words)
{
    for (uint32_t q = 0; q < words; q += 4)
        hdi_u31x4_raise(clock + q, other + q);
}

#endif
