#include "schedule_look.h"

#include <string.h>

/* What both schedulers need: ranks, who uses what when, how much each rank keeps alive, and where a long frame is cut.
 * O(uses). */

static hd_result check_queues(const hdi_sched *s, const hdi_kept *kept, uint32_t *bad_pass)
{
    const hdi_decl *decl = s->decl;
    uint32_t bad_types = 0;
    for (uint32_t type = HD_PASS_GFX; type < HD_PASS_HOST; type++) /* whose queue is there where it has passes */
        bad_types |= hdi_type_kinds(type) & s->queues->kinds ? 0 : 1u << type;
    for (uint32_t p = 0; bad_types && p < decl->pass_count; p++) {
        if (kept->pass_kept[p] && bad_types >> decl->pass_type[p] & 1) {
            *bad_pass = p;
            return HD_NO_QUEUE;
        }
    }
    return HD_OK;
}

#define COUNTS(flags) (1 | (uint64_t)(((flags)&HDI_USE_WRITES) != 0) << 32)
#define FOUR_COUNTS(flags) COUNTS(flags), COUNTS(flags + 1), COUNTS(flags + 2), COUNTS(flags + 3)
const uint64_t hdi_look_counts[HDI_USE_KINDS] = {FOUR_COUNTS(0), FOUR_COUNTS(4), FOUR_COUNTS(8), FOUR_COUNTS(12)};

/* Ranks, and who uses what first and last, and how often; first and last as uses. Uses of kept passes that stand
 * together are walked as one: how many a pass has nobody could predict. */
static void look_at_passes(const hdi_look *w)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    const uint32_t passes = decl->pass_count, *use_begin = decl->pass_use_begin, *use_res = decl->use_res;
    const uint8_t *pass_kept = w->pass_kept, *use_flags = decl->use_flags;
    hdi_sched_res *all = s->res;
    uint32_t *rank_pass = s->rank_pass, *pass_rank = s->pass_rank, rank = 0;
    memset(all, 0, decl->res_count * sizeof(*all));
    pass_rank[0] = 0; /* also without passes: resources that nothing uses are looked up there */
    for (uint32_t p = 0; p < passes; p++) {
        uint32_t first = p;
        for (; p < passes && pass_kept[p]; p++) {
            rank_pass[rank] = p;
            pass_rank[p] = rank++;
        }
        for (size_t u = use_begin[first], end = use_begin[p]; u < end; u++)
            hdi_look_at_use(&all[use_res[u]], use_flags[u], (uint32_t)u);
        pass_rank[p] = rank;
    }
}

/* The columns by which resources are judged: at hand, as what is written might be theirs. */
typedef struct columns {
    const hdi_res_state *state;
    const hd_memory_need *need;
    const uint8_t *flags;
    const uint32_t *use_pass, *pass_rank;
} columns;

static HDI_INLINE columns columns_of(const hdi_look *w)
{
    static const uint32_t first_pass = 0; /* in place of uses that are none, as there may be no passes either */
    const hdi_decl *decl = w->s->decl;
    const bool any = decl->use_count != 0;
    return (columns){.state = decl->res_state,
                     .need = w->sizes->need,
                     .flags = decl->res_flags,
                     .use_pass = any ? decl->use_pass : &first_pass,
                     .pass_rank = w->s->pass_rank};
}

/* The last rank of a resource; of one without uses any. */
static HDI_INLINE uint32_t last_of(const columns *c, const hdi_sched_res *res)
{
    return c->pass_rank[c->use_pass[res->last > res->first ? res->last : res->first]];
}

/* Its first one, in place of its first use. */
static HDI_INLINE uint32_t first_of(const columns *c, hdi_sched_res *res)
{
    return res->first = c->pass_rank[c->use_pass[res->first]];
}

/* Then what is alive, as steps from rank to rank. */
static void look_at_resources(hdi_look *w)
{
    const hdi_sched *s = w->s;
    const columns c = columns_of(w);
    uint32_t mixed_uses = 0;
    hdi_sched_rank *at = s->rank;
    size_t count = s->decl->res_count;
    memset(at, 0, ((size_t)s->kept_count + 2) * sizeof(*at));
    for (size_t r = 0; r < count; r++) {
        hdi_sched_res *res = &s->res[r];
        size_t last = last_of(&c, res), first = first_of(&c, res);
        uint64_t bytes = hdi_look_bytes(&c.need[r], c.flags[r]);
        hdi_look_judge(s, res, (uint32_t)r, c.state[r].word, bytes, (uint32_t)last, &mixed_uses);
        at[first].opens += bytes;
        at[last + 1].live -= bytes; /* unsigned wrap is undone by the running sum */
    }
    w->s->mixed_uses = mixed_uses;
}

/* For one queue. more: how many uses of a rank nobody has to count.  */
static HDI_INLINE void look_for_one(hdi_look *w, bool known)
{
    const hdi_sched *s = w->s;
    const columns c = columns_of(w);
    hdi_sched_res *all = s->res;
    uint32_t mixed_uses = 0;
    hdi_ask *ask = s->ask;
    size_t count = s->decl->res_count;
    memset(ask, 0, ((size_t)s->kept_count + 2) * sizeof(*ask)); /* without passes what nobody uses ends at the first */
    for (size_t r = 0; r < count; r++) {
        hdi_sched_res *res = &all[r];
        size_t last = last_of(&c, res), first = first_of(&c, res);
        uint64_t counts = res->counts, bytes = hdi_look_bytes(&c.need[r], c.flags[r]);
        ask[first].opens += (int64_t)bytes;
        ask[last + 1].step -= (int64_t)bytes;
        if (known && HDI_LIKELY(counts == HDI_WRITE_AND_READ && first != last && bytes)) {
            res->bytes = bytes;
            res->last = (uint32_t)last;
            res->left = 0;
            res->mixed = HDI_CLOSES_LAST;
            res->counts = 2;
            ask[first].more++;
            ask[last].closes += (int64_t)bytes;
            ask[last].more++;
            continue;
        }
        hdi_look_judge(s, res, (uint32_t)r, c.state[r].word, bytes, (uint32_t)last, &mixed_uses);
        if (!known)
            continue;
        uint32_t closes_last = hdi_look_known(res, counts, first, last);
        ask[first].more += closes_last;
        ask[last].more += closes_last;
    }
    w->s->mixed_uses = mixed_uses;
}

/* How much is alive when passes run by rank. Returns the most. */
static uint64_t find_live(const hdi_sched *s)
{
    hdi_sched_rank *at = s->rank;
    uint64_t live = 0, peak = 0;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        live += at[rank].live + at[rank].opens;
        at[rank].live = live;
        peak = live > peak ? live : peak;
    }
    return peak;
}

/* The same for one queue, and who has uses to count: all, unless something is known. */
static HDI_INLINE uint64_t find_live_for_one(const hdi_sched *s, bool known)
{
    const uint32_t *use_begin = s->decl->pass_use_begin, *rank_pass = s->rank_pass;
    hdi_ask *ask = s->ask;
    uint64_t *at = s->live, live = 0, peak = 0;
    size_t kept = s->kept_count;
    for (size_t rank = 0; rank < kept; rank++) {
        size_t p = known ? rank_pass[rank] : 0;
        ask[rank].step += ask[rank].opens;
        ask[rank].more = known && use_begin[p + 1] - use_begin[p] == ask[rank].more ? 0 : HDI_COUNTED;
        live += (uint64_t)ask[rank].step;
        at[rank] = live;
        peak = live > peak ? live : peak;
    }
    return peak;
}

static void look_at_all(hdi_look *w)
{
    look_at_passes(w);
    if (w->s->rank) {
        look_at_resources(w);
        w->s->peak = find_live(w->s);
    } else if (w->s->known) {
        look_for_one(w, true);
        w->s->peak = find_live_for_one(w->s, true);
    } else {
        look_for_one(w, false);
        w->s->peak = find_live_for_one(w->s, false);
    }
}

/* Many are so many that 16 workers have as much to do, each; none is empty. */
static uint32_t count_regions(uint32_t kept, uint32_t region_passes)
{
    enum { WORKERS = 16 };
    uint32_t count = kept / region_passes;
    count = count < 4 ? 1 : count < HDI_MOST_PARTS ? count : HDI_MOST_PARTS;
    if (count <= WORKERS)
        return count;
    uint32_t even = (count + WORKERS / 4) / WORKERS * WORKERS;
    return even <= kept ? even : even - WORKERS;
}

static void start_cuts(hdi_sched_cuts *cuts, uint32_t kept, const hdi_crew *crew)
{
    cuts->count = count_regions(kept, crew->region_passes);
    cuts->in_parts = crew->workers > 1;
    for (uint32_t k = 0; k < cuts->count; k++) {
        cuts->begin[k] = cuts->part[k] = 0;
        cuts->base[k] = 0;
    }
    cuts->begin[cuts->count] = cuts->part[cuts->count] = kept;
}

static void find_cuts(const hdi_sched *s, hdi_sched_cuts *cuts)
{
    for (uint32_t k = 1; k < cuts->count; k++)
        cuts->begin[k] = hdi_look_cut(s, cuts->count, k);
}

/* Columns that the schedulers need while they run. */
static void make_columns(hdi_sched *s)
{
    const hdi_decl *decl = s->decl;
    size_t passes = decl->pass_count;
    s->pass_need = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    if (s->queues->gpu_count > 1) {
        s->rank = HDI_ARENA_ARRAY(s->arena, hdi_sched_rank, (size_t)s->kept_count + 2);
        s->res_last_slots = HDI_ARENA_ZEROED(s->arena, uint32_t, (size_t)decl->res_count * s->queues->count);
        return;
    }
    s->pass_level = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    s->ask = HDI_ARENA_ARRAY(s->arena, hdi_ask, (size_t)s->kept_count + 2);
    s->live = HDI_ARENA_ARRAY(s->arena, uint64_t, (size_t)s->kept_count + 1);
    bool few = 2 * (uint64_t)decl->use_count <= 5 * (uint64_t)decl->res_count; /* else hardly anybody has no others */
    s->known = few && !decl->may_read_unwritten;
}

hd_result hdi_sched_prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, const hdi_crew *crew,
                            hdi_sched_cuts *cuts, uint32_t *bad_pass)
{
    const hdi_decl *decl = s->decl;
    hdi_arena *arena = s->arena;
    s->rank_pass = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept->kept_count + 1);
    s->pass_rank = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->pass_count + 1);
    s->kept_count = kept->kept_count;
    s->res = HDI_ARENA_ARRAY(arena, hdi_sched_res, decl->res_count);
    make_columns(s);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = check_queues(s, kept, bad_pass);
    if (result != HD_OK)
        return result;
    s->pass_end = decl->pass_count;
    start_cuts(cuts, s->kept_count, crew);
    hdi_look look = {.s = s, .sizes = sizes, .pass_kept = kept->pass_kept, .cuts = cuts};
    if (cuts->in_parts)
        return hdi_look_in_parts(&look, crew) ? HD_OK : HD_OUT_OF_MEMORY;
    look_at_all(&look);
    find_cuts(s, cuts);
    return HD_OK;
}
