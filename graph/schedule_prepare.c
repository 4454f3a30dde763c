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

/* What a use adds to what is known of its resource, by access. */
typedef struct look_access {
    uint64_t readers, counts;
} look_access;

typedef struct look_work {
    hdi_sched *s;
    look_access *access;
    const hdi_sizes *sizes;
    const uint8_t *pass_kept;
    hdi_sched_cuts *cuts;
    uint32_t parts;                           /* of the passes, and of the resources */
    stray *stray;                             /* those of a part from its first use on */
    uint32_t (*newest_stray)[HDI_MOST_PARTS]; /* [of the passes][of the resources] */
    look_part *part;
} look_work;

#define WRITE_AND_READ (UINT64_C(1) << 32 | 2) /* counts */
/* Readers have a bit for each layout: its number, or one of those behind, in the order that they come. Where these are
 * all taken they have two, as if they were of several. */
enum { FIRST_LARGE = 48, LAST_READER = 63 };
#define OTHER_READER (UINT64_C(3) << (LAST_READER - 1))

static bool find_accesses(look_work *w)
{
    const hdi_decl *decl = w->s->decl;
    uint32_t large[LAST_READER - FIRST_LARGE], large_count = 0;
    w->access = HDI_ARENA_ARRAY(w->s->arena, look_access, decl->access_count);
    for (uint32_t i = 0; w->access && i < decl->access_count; i++) {
        uint64_t writes = decl->access[i].writes != 0, reader = 1 - writes;
        uint32_t bit = decl->access[i].layout;
        if (bit >= FIRST_LARGE) {
            uint32_t k = 0;
            while (k < large_count && large[k] != bit)
                k++;
            if (k == large_count && k < LAST_READER - FIRST_LARGE)
                large[large_count++] = bit;
            bit = FIRST_LARGE + k;
        }
        uint64_t readers = bit < LAST_READER ? reader << bit : OTHER_READER & -reader;
        w->access[i] = (look_access){readers, writes << 32 | 1};
    }
    return w->access != NULL;
}

/* Without branches, as nobody could predict who does what. */
static HDI_INLINE void look_at_use(hdi_sched_res *res, const look_access *access, uint32_t rank)
{
    uint64_t counts = res->counts;
    res->at[counts != 0] = rank;
    res->counts = counts + access->counts;
    res->readers |= access->readers;
}

/* The same where others were looked at that may have any rank. */
static void look_at_stray(hdi_sched_res *res, const look_access *access, uint32_t rank)
{
    uint32_t first = res->first, last = res->last;
    bool some = res->counts != 0;
    look_at_use(res, access, rank);
    if (!some)
        return;
    last = last > first ? last : first; /* the newest may be the first */
    res->first = first < rank ? first : rank;
    res->last = last > rank ? last : rank;
}

/* Before a use is looked at. */
static inline void look_whether_twice(hdi_sched_res *res, uint32_t rank)
{
    bool again = res->counts && (rank == res->first || rank == res->last);
    res->mixed |= again ? HDI_USED_TWICE : 0;
}

/* What can be told of a resource when all its uses are known. Returns its bytes. Which have none, and which are read in
 * several ways, nobody could predict. */
static HDI_INLINE uint64_t judge(const look_work *w, uint32_t r, look_part *sums)
{
    const hdi_sched *s = w->s;
    hdi_sched_res *res = &s->res[r];
    uint64_t readers = res->readers, counts = res->counts;
    uint32_t uses = (uint32_t)counts, first = res->first, last = res->last, flags = s->decl->res_flags[r];
    uint64_t bytes = flags & HDI_NO_BYTES ? 0 : w->sizes->need[r].bytes; /* of what nobody uses: none */
    res->bytes = bytes;
    res->counts = res->left = uses;
    res->last = last > first ? last : first;
    if (HDI_UNLIKELY(readers & (readers - 1)) && !(flags & HDI_RES_BUFFER)) {
        res->mixed |= HDI_MIXED_LAYOUTS;
        sums->mixed_uses += uses;
    }
    if (HDI_UNLIKELY(bytes == 0)) {
        res->first = res->last = HDI_NONE;
        res->left = s->pass_level ? 0 : uses; /* who has several queues counts them all */
    } else if (HDI_UNLIKELY(counts >> 33)) {
        res->mixed |= HDI_WRITTEN_AGAIN;
        if (!hdi_has_several(s->frozen, r))
            return bytes; /* all that use it later follow who used it first */
        res->mixed |= HDI_MIXED_OPENERS;
        sums->mixed_uses += uses;
    }
    return bytes;
}

/* Those of two uses are told from those that somebody has to count. As all reads stand behind a write of the whole, the
 * only write is that, and comes first. counts, first, last: before it was judged. */
static HDI_INLINE uint32_t find_known(hdi_sched_res *res, uint64_t counts, size_t first, size_t last)
{
    uint32_t known = (counts == WRITE_AND_READ) & (first != last);
    res->left &= known - 1;
    res->mixed |= (uint8_t)(known * HDI_CLOSES_LAST);
    return known;
}

/* Ranks, and who uses what when. Uses of kept passes that stand together are walked as one: how many a pass has nobody
 * could predict. */
static void look_at_kept(const look_work *w)
{
    const hdi_sched *s = w->s;
    const uint32_t *use_begin = s->decl->pass_use_begin, *use_res = s->decl->use_res, *use_pass = s->decl->use_pass;
    const uint16_t *use_access = s->decl->use_access;
    const uint8_t *pass_kept = w->pass_kept;
    const look_access *access = w->access;
    hdi_sched_res *all = s->res;
    uint32_t *rank_pass = s->rank_pass, *pass_rank = s->pass_rank;
    uint32_t passes = s->decl->pass_count, rank = 0;
    for (uint32_t p = 0; p < passes; p++) {
        uint32_t first = p;
        for (; p < passes && pass_kept[p]; p++) {
            rank_pass[rank] = p;
            pass_rank[p] = rank++;
        }
        for (size_t u = use_begin[first], end = use_begin[p]; u < end; u++)
            look_at_use(&all[use_res[u]], &access[use_access[u]], use_pass[u] - (p - rank));
        if (p < passes)
            pass_rank[p] = rank;
    }
}

/* The same where all are kept: ranks are passes. */
static void look_at_passes(const look_work *w)
{
    const hdi_sched *s = w->s;
    const hdi_decl *decl = s->decl;
    const uint32_t *use_res = decl->use_res, *use_pass = decl->use_pass;
    const uint16_t *use_access = decl->use_access;
    const look_access *access = w->access;
    hdi_sched_res *all = s->res;
    memset(all, 0, decl->res_count * sizeof(*all));
    if (s->kept_count < decl->pass_count) {
        look_at_kept(w);
        return;
    }
    for (uint32_t p = 0, passes = decl->pass_count; p < passes; p++)
        s->rank_pass[p] = s->pass_rank[p] = p;
    for (size_t u = 0, uses = decl->use_count; u < uses; u++)
        look_at_use(&all[use_res[u]], &access[use_access[u]], use_pass[u]);
}

/* Then what is alive, as steps from rank to rank. */
static void look_at_resources(look_work *w)
{
    const hdi_sched *s = w->s;
    look_part sums = {0};
    hdi_sched_rank *at = s->rank;
    size_t count = s->decl->res_count;
    memset(at, 0, ((size_t)s->kept_count + 2) * sizeof(*at));
    for (size_t r = 0; r < count; r++) {
        hdi_sched_res *res = &s->res[r];
        size_t first = res->first, last = res->last > res->first ? res->last : res->first;
        uint64_t bytes = judge(w, (uint32_t)r, &sums);
        at[first].opens += bytes;
        at[last + 1].live -= bytes; /* unsigned wrap is undone by the running sum */
    }
    w->part[0] = sums;
}

/* For one queue. more: how many uses of a rank nobody has to count. */
static HDI_INLINE void look_for_one(look_work *w, bool known)
{
    const hdi_sched *s = w->s;
    const hd_memory_need *need = w->sizes->need;
    const uint8_t *flags = s->decl->res_flags;
    hdi_sched_res *all = s->res;
    look_part sums = {0};
    hdi_ask *ask = s->ask;
    size_t count = s->decl->res_count;
    memset(ask, 0, ((size_t)s->kept_count + 1) * sizeof(*ask));
    for (size_t r = 0; r < count; r++) {
        hdi_sched_res *res = &all[r];
        uint64_t counts = res->counts, bytes;
        size_t first = res->first, last = res->last;
        if (known && HDI_LIKELY(counts == WRITE_AND_READ && first != last && !(flags[r] & HDI_NO_BYTES))) {
            bytes = need[r].bytes;
            if (HDI_LIKELY(bytes)) {
                res->bytes = bytes;
                res->left = 0;
                res->mixed = HDI_CLOSES_LAST;
                res->counts = 2;
                ask[first].opens += (int64_t)bytes;
                ask[first].more++;
                ask[last].closes += (int64_t)bytes;
                ask[last].more++;
                ask[last + 1].step -= (int64_t)bytes;
                continue;
            }
        }
        last = last > first ? last : first;
        bytes = judge(w, (uint32_t)r, &sums);
        ask[first].opens += (int64_t)bytes;
        ask[last + 1].step -= (int64_t)bytes;
        if (!known)
            continue;
        uint32_t closes_last = find_known(res, counts, first, last);
        ask[last].closes += (int64_t)(bytes & -(uint64_t)closes_last);
        ask[first].more += closes_last;
        ask[last].more += closes_last;
    }
    w->part[0] = sums;
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

/* False, as of the next: memory ran out. */
static bool look_at_all(look_work *w)
{
    if (w->s->known && w->s->depends->simple) {
        hdi_sched_look_simple(w->s, w->sizes);
        return true;
    }
    if (!find_accesses(w))
        return false;
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
    return true;
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
                look_at_use(&s->res[r], &w->access[decl.use_access[u]], rank);
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
            uint32_t u = w->stray[at].use, rank = w->stray[at].rank;
            hdi_sched_res *res = &s->res[s->decl->use_res[u]];
            look_whether_twice(res, rank);
            look_at_stray(res, &w->access[s->decl->use_access[u]], rank);
        }
    }
    uint32_t end = hdi_range_begin(s->decl->res_count, w->parts, part + 1);
    for (uint32_t r = hdi_range_begin(s->decl->res_count, w->parts, part); r < end; r++) {
        hdi_sched_res *res = &s->res[r];
        uint64_t counts = res->counts;
        uint32_t first = res->first, last = res->last > first ? res->last : first;
        judge(w, r, &sums);
        if (s->known)
            find_known(res, counts, first, last);
    }
    w->part[part] = sums;
}

static bool look_in_parts(look_work *w, const hdi_crew *crew)
{
    hdi_arena *arena = w->s->arena;
    hdi_arena_mark mark = hdi_arena_here(arena);
    w->stray = HDI_ARENA_ARRAY(arena, stray, w->s->decl->use_count);
    w->newest_stray = hdi_arena_array(arena, w->parts, sizeof(*w->newest_stray));
    if (arena->failed || !find_accesses(w))
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

/* Regions are about as long as one another; how far from there one may begin, to either side. */
static uint32_t find_reach(uint32_t kept, uint32_t count)
{
    return kept / count / 8;
}

/* Bytes alive at a rank, but for what was before its part. */
static inline uint64_t live_at(const hdi_sched *s, uint32_t rank)
{
    return s->rank ? s->rank[rank].live : s->live[rank];
}

/* The first rank of a region: where the least is alive. */
static uint32_t find_cut(const hdi_sched *s, uint32_t count, uint32_t region)
{
    uint32_t middle = hdi_range_begin(s->kept_count, count, region), best = middle;
    uint32_t reach = find_reach(s->kept_count, count);
    for (uint32_t rank = middle - reach; rank < middle + reach; rank++)
        best = (int64_t)(live_at(s, rank) - live_at(s, best)) < 0 ? rank : best;
    return best;
}

static void find_cuts(const hdi_sched *s, hdi_sched_cuts *cuts)
{
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
    int64_t live = 0, before = 0, peak = INT64_MIN;
    for (uint32_t rank = w->cuts->part[part]; rank < w->cuts->part[part + 1]; rank++) {
        uint32_t p = s->rank_pass[rank], first = decl->pass_use_begin[p], last = decl->pass_use_begin[p + 1];
        uint64_t opens = 0, closes = 0;
        hdi_ask ask = {0};
        for (uint32_t u = first; u < last; u++) {
            hdi_sched_res *res = &s->res[decl->use_res[u]];
            bool is_known = res->mixed & HDI_CLOSES_LAST;
            ask.more += is_known;
            ask.closes += is_known && res->last == rank ? (int64_t)res->bytes : 0;
            if (res->first == rank && counts(res, &res->opened))
                opens += res->bytes;
            if (res->last == rank && counts(res, &res->closed))
                closes += res->bytes;
        }
        live += (int64_t)opens;
        peak = live > peak ? live : peak;
        if (s->rank) {
            s->rank[rank] = (hdi_sched_rank){.live = (uint64_t)live, .opens = opens};
        } else {
            ask.opens = (int64_t)opens;
            ask.step = live - before;
            ask.more = ask.more == last - first ? 0 : HDI_COUNTED;
            s->ask[rank] = ask;
            s->live[rank] = (uint64_t)live;
        }
        before = live;
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
    for (uint32_t i = 0; i < end; i++)
        *(of->rank ? &of->rank[i].live : &of->live[i]) += cuts->base[i < mine ? region : region + 1];
}

/* Columns that the schedulers need while they run. */
static void make_columns(hdi_sched *s)
{
    const hdi_decl *decl = s->decl;
    size_t passes = decl->pass_count, clocks = hdi_clock_words(s->queues->count, s->kept_count);
    s->pass_need = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    if (s->queues->gpu_count > 1) {
        s->rank = HDI_ARENA_ARRAY(s->arena, hdi_sched_rank, (size_t)s->kept_count + 2);
        s->res_last_slots = HDI_ARENA_ARRAY(s->arena, uint64_t, decl->res_count * clocks);
        return;
    }
    s->pass_level = HDI_ARENA_ARRAY(s->arena, uint32_t, passes);
    s->ask = HDI_ARENA_ARRAY(s->arena, hdi_ask, (size_t)s->kept_count + 1);
    s->live = HDI_ARENA_ARRAY(s->arena, uint64_t, s->kept_count);
    bool few = 2 * (uint64_t)decl->use_count <= 5 * (uint64_t)decl->res_count; /* else hardly anybody has no others */
    s->known = few && !decl->may_read_unwritten;
}

hd_result hdi_sched_prepare(hdi_sched *s, const hdi_kept *kept, const hdi_sizes *sizes, const hdi_crew *crew,
                            hdi_sched_cuts *cuts, uint32_t *bad_pass)
{
    const hdi_decl *decl = s->decl;
    hdi_arena *arena = s->arena;
    s->rank_pass = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)kept->kept_count + 1);
    s->pass_rank = HDI_ARENA_ARRAY(arena, uint32_t, decl->pass_count);
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
    look_part parts[HDI_MOST_PARTS];
    look_work w = {.s = s, .sizes = sizes, .pass_kept = kept->pass_kept, .cuts = cuts, .parts = 1, .part = parts};
    parts[0] = (look_part){0};
    if (cuts->in_parts)
        w.parts = crew->workers < HDI_MOST_PARTS ? crew->workers : HDI_MOST_PARTS;
    if (w.parts > 1 ? !look_in_parts(&w, crew) : !look_at_all(&w))
        return HD_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < w.parts; k++)
        s->mixed_uses += w.part[k].mixed_uses;
    if (w.parts > 1)
        find_live_in_parts(s, crew, &w);
    else
        find_cuts(s, cuts);
    return HD_OK;
}
