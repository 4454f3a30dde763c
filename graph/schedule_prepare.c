#include "schedule.h"

#include <string.h>

#include "hints.h"
#include "schedule_clock.h"

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

typedef struct look_part {
    uint32_t mixed_uses; /* of its resources */
    int64_t live, peak;  /* of its ranks: opened less closed, and the most of that on the way */
} look_part;

/* A use of a resource that is another part's. */
typedef struct stray {
    uint32_t use, rank, next; /* next: of those of the same two parts; HDI_NONE: none */
} stray;

typedef struct look_work {
    hdi_sched *s;
    const hdi_sizes *sizes;
    const uint8_t *pass_kept;
    hdi_sched_cuts *cuts;
    uint32_t parts; /* of the passes, and of the resources */
    stray *stray;   /* those of a part from its first use on */
    uint32_t (*newest_stray)[HDI_MOST_PARTS]; /* [of the passes][of the resources] */
    look_part part[HDI_MOST_PARTS];
} look_work;

enum { MOST_READERS = 64 };

/* Without branches, as nobody could predict who does what. first: kept upside down, 0 is none. in_order: by rank. */
static HDI_INLINE void look_at_use(const hdi_decl *decl, hdi_sched_res *all, size_t u, uint32_t rank, bool in_order)
{
    uint32_t flags = decl->use_flags[u], access = decl->use_access[u];
    hdi_sched_res *res = &all[decl->use_res[u]];
    uint64_t reads_image = !(flags & (HDI_USE_WRITES | HDI_USE_BUFFER));
    res->readers |= reads_image << (access < MOST_READERS ? access : MOST_READERS - 1);
    uint32_t other, *first = res->first >= (in_order ? 1 : ~rank) ? &other : &res->first;
    *first = ~rank;
    res->last = in_order || rank > res->last ? rank : res->last;
    res->left++;
    res->writes += flags / HDI_USE_WRITES & 1;
}

/* Before a use is looked at; first as there. */
static inline void look_whether_twice(hdi_sched_res *res, uint32_t rank)
{
    bool again = res->left && (rank == res->last || rank == ~res->first);
    res->mixed |= again ? HDI_USED_TWICE : 0;
}

/* Whether readers by several accesses want several layouts; of the last bit nobody knows. */
static HDI_APART bool are_mixed(const hdi_decl *decl, uint64_t readers)
{
    uint32_t layout = decl->access[__builtin_ctzll(readers)].layout;
    for (uint64_t left = readers & (readers - 1); left; left &= left - 1) {
        if (decl->access[__builtin_ctzll(left)].layout != layout)
            return true;
    }
    return readers >> (MOST_READERS - 1);
}

/* What can be told of a resource when all its uses are known. */
static inline void judge(const look_work *w, uint32_t r, look_part *sums)
{
    const hdi_sched *s = w->s;
    const uint32_t no_bytes = HDI_RES_HISTORY | HDI_RES_HAS_HISTORY | HDI_RES_HOST;
    hdi_sched_res *res = &s->res[r];
    uint64_t readers = res->readers;
    bool again = res->writes > 1;
    res->bytes = s->decl->res_flags[r] & no_bytes ? 0 : w->sizes->need[r].bytes; /* none, too, where nobody uses it */
    res->uses = res->left;
    res->close = 0;
    res->first = ~res->first;
    if (HDI_UNLIKELY(readers & (readers - 1) || readers >> (MOST_READERS - 1)) && are_mixed(s->decl, readers)) {
        res->mixed |= HDI_MIXED_LAYOUTS;
        sums->mixed_uses += res->left;
    }
    if (HDI_UNLIKELY(res->bytes == 0)) {
        res->first = res->last = HDI_NONE;
    } else if (HDI_UNLIKELY(again)) {
        res->mixed |= HDI_WRITTEN_AGAIN;
        if (s->frozen->res_seg_begin[r + 1] - s->frozen->res_seg_begin[r] == 1)
            return; /* all that use it later follow who used it first */
        res->mixed |= HDI_MIXED_OPENERS;
        sums->mixed_uses += res->left;
    }
}

/* Ranks; who uses what when; which images are read in several layouts and what is overwritten by several. */
static void look_at_all(look_work *w)
{
    const hdi_sched *s = w->s;
    const hdi_decl decl = *s->decl;
    const uint8_t *pass_kept = w->pass_kept;
    hdi_sched_res *all = s->res;
    uint32_t *rank_pass = s->rank_pass, *pass_rank = s->pass_rank, rank = 0;
    memset(all, 0, decl.res_count * sizeof(*all));
    for (size_t p = 0, u = 0; p < decl.pass_count; p++) {
        size_t end = decl.pass_use_begin[p + 1];
        rank_pass[rank] = (uint32_t)p; /* the next kept one takes the place of one that is not */
        pass_rank[p] = rank;
        if (!pass_kept[p])
            u = end;
        for (; u < end; u++)
            look_at_use(&decl, all, u, rank, true);
        rank += pass_kept[p];
    }
    look_part sums = {0};
    hdi_sched_rank *at = s->rank;
    memset(at, 0, ((size_t)rank + 2) * sizeof(*at)); /* what has no bytes adds none behind the last */
    for (uint32_t r = 0; r < decl.res_count; r++) {
        judge(w, r, &sums);
        uint32_t behind = rank + 1, first = all[r].first, last = all[r].last + 1;
        at[first < behind ? first : behind].opens += all[r].bytes;
        at[first < behind ? last : behind].live -= all[r].bytes; /* unsigned wrap is undone by the running sum */
    }
    w->part[0] = sums;
}

/* The same in two steps, by parts of the passes and of the resources: as resources are declared about where they are
 * used, most uses of a part's passes are of its own resources. So these are looked at in the first step, the others in
 * the second by whose they are. */
static void look_at_own(uint32_t part, void *user)
{
    look_work *w = user;
    const hdi_sched *s = w->s;
    const hdi_decl decl = *s->decl;
    const uint8_t *pass_kept = w->pass_kept;
    uint32_t begin = hdi_range_begin(decl.pass_count, w->parts, part), rank = 0, *newest = w->newest_stray[part];
    uint32_t end = hdi_range_begin(decl.pass_count, w->parts, part + 1), strays = decl.pass_use_begin[begin];
    uint32_t own_begin = hdi_range_begin(decl.res_count, w->parts, part);
    uint32_t own = hdi_range_begin(decl.res_count, w->parts, part + 1) - own_begin;
    memset(s->res + own_begin, 0, own * sizeof(*s->res));
    memset(newest, 0xff, w->parts * sizeof(*newest));
    for (uint32_t p = 0; p < begin; p++)
        rank += pass_kept[p];
    for (uint32_t p = begin; p < end; p++) {
        s->pass_rank[p] = rank;
        if (!pass_kept[p])
            continue;
        s->rank_pass[rank] = p;
        for (uint32_t u = decl.pass_use_begin[p]; u < decl.pass_use_begin[p + 1]; u++) {
            uint32_t r = decl.use_res[u];
            if (HDI_LIKELY(r - own_begin < own)) {
                look_whether_twice(&s->res[r], rank);
                look_at_use(&decl, s->res, u, rank, true);
                continue;
            }
            uint32_t owner = (uint32_t)((((uint64_t)r + 1) * w->parts - 1) / decl.res_count);
            w->stray[strays] = (stray){u, rank, newest[owner]};
            newest[owner] = strays++;
        }
        rank++;
    }
}

static void look_at_strays(uint32_t part, void *user)
{
    look_work *w = user;
    const hdi_sched *s = w->s;
    look_part sums = {0};
    for (uint32_t k = 0; k < w->parts; k++) {
        for (uint32_t at = w->newest_stray[k][part]; at != HDI_NONE; at = w->stray[at].next) {
            look_whether_twice(&s->res[s->decl->use_res[w->stray[at].use]], w->stray[at].rank);
            look_at_use(s->decl, s->res, w->stray[at].use, w->stray[at].rank, false);
        }
    }
    uint32_t end = hdi_range_begin(s->decl->res_count, w->parts, part + 1);
    for (uint32_t r = hdi_range_begin(s->decl->res_count, w->parts, part); r < end; r++)
        judge(w, r, &sums);
    w->part[part] = sums;
}

static bool look_in_parts(look_work *w, const hdi_crew *crew)
{
    hdi_arena *arena = w->s->arena;
    hdi_arena_mark mark = hdi_arena_here(arena);
    w->stray = HDI_ARENA_ARRAY(arena, stray, w->s->decl->use_count);
    w->newest_stray = hdi_arena_array(arena, w->parts, sizeof(*w->newest_stray));
    if (arena->failed)
        return false;
    hdi_crew_parts(crew, w->parts, look_at_own, w);
    hdi_crew_parts(crew, w->parts, look_at_strays, w);
    hdi_arena_keep(arena, mark, NULL, 0);
    return true;
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

/* Regions are about as long as one another; how far from there one may begin, to either side. */
static uint32_t find_reach(uint32_t kept, uint32_t count)
{
    return kept / count / 8;
}

/* The first rank of a region: where the least is alive. */
static uint32_t find_cut(const hdi_sched *s, uint32_t count, uint32_t region)
{
    uint32_t middle = hdi_range_begin(s->kept_count, count, region), best = middle;
    uint32_t reach = find_reach(s->kept_count, count);
    for (uint32_t rank = middle - reach; rank < middle + reach; rank++)
        best = (int64_t)(s->rank[rank].live - s->rank[best].live) < 0 ? rank : best;
    return best;
}

/* How much is alive when passes run by rank. */
static void find_live(hdi_sched *s, hdi_sched_cuts *cuts)
{
    hdi_sched_rank *at = s->rank;
    uint64_t live = 0, peak = 0;
    for (uint32_t rank = 0; rank < s->kept_count; rank++) {
        live += at[rank].live + at[rank].opens;
        at[rank].live = live;
        peak = live > peak ? live : peak;
    }
    s->peak = peak;
    for (uint32_t k = 1; k < cuts->count; k++)
        cuts->begin[k] = find_cut(s, cuts->count, k);
}

/* Whether bytes that a rank opens or closes are not summed yet: only its part asks. Most are asked for once. */
static inline bool counts(const hdi_sched_res *res, uint8_t *summed)
{
    if (!(res->mixed & HDI_USED_TWICE))
        return true;
    bool first = !*summed;
    *summed = true;
    return first;
}

/* What find_live does for the ranks of a part, which ask their uses who opens and closes there; then the cut in it. */
static void sum_part(uint32_t part, void *user)
{
    look_work *w = user;
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    int64_t live = 0, peak = INT64_MIN;
    for (uint32_t rank = w->cuts->part[part]; rank < w->cuts->part[part + 1]; rank++) {
        uint32_t p = s->rank_pass[rank], first = decl->pass_use_begin[p], last = decl->pass_use_begin[p + 1];
        uint64_t opens = 0, closes = 0;
        for (uint32_t u = first; u < last; u++) {
            hdi_sched_res *res = &s->res[decl->use_res[u]];
            if (res->first == rank && counts(res, &res->opened))
                opens += res->bytes;
            if (res->last == rank && counts(res, &res->closed))
                closes += res->bytes;
        }
        live += (int64_t)opens;
        peak = live > peak ? live : peak;
        s->rank[rank] = (hdi_sched_rank){.live = (uint64_t)live, .opens = opens};
        live -= (int64_t)closes;
    }
    w->part[part].live = live;
    w->part[part].peak = peak;
    if (part)
        w->cuts->begin[part] = find_cut(s, w->cuts->count, part);
}

/* Resources were looked at by those who have them in their caches, so ranks do not ask for them one after another. A
 * part is what its worker will most likely schedule. */
static void find_live_in_parts(hdi_sched *s, const hdi_crew *crew, look_work *w)
{
    hdi_sched_cuts *cuts = w->cuts;
    int64_t live = 0, peak = 0;
    for (uint32_t k = 1; k < cuts->count; k++)
        cuts->part[k] = hdi_range_begin(s->kept_count, cuts->count, k) - find_reach(s->kept_count, cuts->count);
    hdi_crew_parts(crew, cuts->count, sum_part, w);
    for (uint32_t k = 0; k < cuts->count; k++) {
        cuts->base[k] = (uint64_t)live;
        if (w->part[k].peak > peak - live)
            peak = live + w->part[k].peak;
        live += w->part[k].live;
    }
    s->peak = (uint64_t)peak;
}

void hdi_sched_settle(const hdi_sched *of, const hdi_sched_cuts *cuts, uint32_t region)
{
    uint32_t end = cuts->in_parts ? of->kept_count : 0, mine = cuts->part[region + 1] - of->rank_begin;
    mine = mine < end ? mine : end;
    for (uint32_t i = 0; i < mine; i++)
        of->rank[i].live += cuts->base[region];
    for (uint32_t i = mine; i < end; i++)
        of->rank[i].live += cuts->base[region + 1];
}

/* Columns that the schedulers need while they run. */
static void make_columns(hdi_sched *s)
{
    size_t passes = s->decl->pass_count, clocks = hdi_clock_words(s->queues->count, s->kept_count);
    s->pass_need = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    if (s->queues->gpu_count == 1)
        s->pass_level = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    else
        s->res_last_slots = HDI_ARENA_ARRAY(s->arena, uint64_t, s->decl->res_count * clocks);
}

hd_result hdi_sched_prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, const hdi_crew *crew,
                            hdi_sched_cuts *cuts, uint32_t *bad_pass)
{
    const hdi_decl *decl = s->decl;
    hdi_arena *arena = s->arena;
    s->rank_pass = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept->kept_count + 1);
    s->pass_rank = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
    s->rank = HDI_ARENA_ARRAY(arena, hdi_sched_rank, (size_t)kept->kept_count + 2);
    s->kept_count = kept->kept_count;
    s->res = HDI_ARENA_ARRAY(arena, hdi_sched_res, decl->res_count);
    make_columns(s);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hd_result result = check_queues(s, kept, bad_pass);
    if (result != HD_OK)
        return result;
    s->pass_end = decl->pass_count;
    *cuts = (hdi_sched_cuts){.count = count_regions(s->kept_count, crew->region_passes), .in_parts = crew->workers > 1};
    cuts->begin[cuts->count] = cuts->part[cuts->count] = s->kept_count;
    look_work w = {.s = s, .sizes = sizes, .pass_kept = kept->pass_kept, .cuts = cuts, .parts = 1};
    if (cuts->in_parts)
        w.parts = crew->workers < HDI_MOST_PARTS ? crew->workers : HDI_MOST_PARTS;
    if (w.parts == 1)
        look_at_all(&w);
    else if (!look_in_parts(&w, crew))
        return HD_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < w.parts; k++)
        s->mixed_uses += w.part[k].mixed_uses;
    if (w.parts > 1)
        find_live_in_parts(s, crew, &w);
    else
        find_live(s, cuts);
    return HD_OK;
}
