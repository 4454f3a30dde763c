#include "schedule_look.h"

#include <string.h>

/* Ranks, who uses what when, and how much each rank keeps alive, as in schedule_prepare.c, by several workers: each has
 * a part of the passes, and one of the resources. As resources are declared about where they are used, most uses of a
 * part's passes are of its own resources, which say what they open and close to ranks of its own. So that is done at
 * once, and the rest is listed by whose it is. What is alive is then summed by parts of the ranks, each from 0.
 * O(uses).
 *
 * Ranks that asked their uses who opens and closes there took a third more instructions in all. */

typedef struct part_sums {
    uint32_t mixed_uses; /* of its resources */
    int64_t live, peak;  /* of its ranks: opened less closed, and the most of that on the way */
} part_sums;

/* A use of a resource that is another part's. */
typedef struct stray {
    uint32_t use, rank, next; /* next: of those of the same two parts; HDI_NONE: none */
} stray;

/* What a resource says of a rank that is another part's, by what it says; next: as above. */
enum { OPENS, CLOSES, BEHIND, WORDS };
typedef struct word {
    uint32_t rank, next;
} word;

typedef struct work {
    hdi_look look;
    uint32_t parts;                           /* of the passes, and of the resources */
    stray *stray;                             /* those of a part from its first use on */
    uint32_t (*newest_stray)[HDI_MOST_PARTS]; /* [of the passes][of the resources] */
    uint32_t *rank_begin;                     /* of each part of the passes, and behind the last */
    word *word;                               /* [WORDS * res + what] */
    uint32_t (*newest_word)[HDI_MOST_PARTS];  /* [of the resources][of the ranks, as they are summed] */
    part_sums part[HDI_MOST_PARTS];
} work;

/* As hdi_look_at_use where others were looked at that may have any rank. */
static void look_at_stray(hdi_sched_res *res, uint32_t flags, uint32_t rank)
{
    uint32_t first = res->first, last = res->last;
    bool some = res->counts != 0;
    hdi_look_at_use(res, flags, rank);
    if (!some)
        return;
    last = last > first ? last : first; /* the newest may be the first */
    res->first = first < rank ? first : rank;
    res->last = last > rank ? last : rank;
}

/* Resources of a part, and the newest strays among its uses, by whose they are. */
typedef struct owned {
    uint32_t begin, count, *newest;
} owned;

/* Uses of passes in a row, which are so much more than their ranks. Returns where the next stray stands. */
static HDI_INLINE uint32_t look_at_row(const work *w, owned own, size_t u, size_t end, uint32_t more, uint32_t strays)
{
    const hdi_decl *decl = w->look.s->decl;
    const uint32_t *use_res = decl->use_res, *use_pass = decl->use_pass;
    const uint8_t *use_flags = decl->use_flags;
    hdi_sched_res *res = w->look.s->res;
    for (; u < end; u++) {
        uint32_t r = use_res[u], rank = use_pass[u] - more;
        if (HDI_LIKELY(r - own.begin < own.count)) {
            hdi_look_at_use(&res[r], use_flags[u], rank);
            continue;
        }
        uint32_t owner = (uint32_t)((((uint64_t)r + 1) * w->parts - 1) / decl->res_count);
        w->stray[strays] = (stray){(uint32_t)u, rank, own.newest[owner]};
        own.newest[owner] = strays++;
    }
    return strays;
}

static void look_at_own(uint32_t part, void *user)
{
    work *w = user;
    const hdi_sched *s = w->look.s;
    const hdi_decl *decl = s->decl;
    const uint8_t *pass_kept = w->look.pass_kept;
    uint32_t p = hdi_range_begin(decl->pass_count, w->parts, part), rank = 0, strays = decl->pass_use_begin[p];
    uint32_t end = hdi_range_begin(decl->pass_count, w->parts, part + 1);
    uint32_t res = hdi_range_begin(decl->res_count, w->parts, part);
    const owned own = {res, hdi_range_begin(decl->res_count, w->parts, part + 1) - res, w->newest_stray[part]};
    memset(s->res + res, 0, own.count * sizeof(*s->res));
    memset(own.newest, 0xff, w->parts * sizeof(*own.newest));
    memset(w->newest_word[part], 0xff, sizeof(*w->newest_word));
    for (uint32_t before = 0; before < p; before++)
        rank += pass_kept[before];
    uint32_t begin = rank;
    for (; p < end; p++) {
        uint32_t first = p;
        for (; p < end && pass_kept[p]; p++) {
            s->rank_pass[rank] = p;
            s->pass_rank[p] = rank++;
        }
        strays = look_at_row(w, own, decl->pass_use_begin[first], decl->pass_use_begin[p], p - rank, strays);
        if (p < end)
            s->pass_rank[p] = rank;
    }
    w->rank_begin[part] = begin;
    uint32_t behind = part + 1 == w->parts; /* one more, which the last part has */
    if (s->rank)
        memset(s->rank + begin, 0, (rank + behind - begin) * sizeof(*s->rank));
    else
        memset(s->ask + begin, 0, (rank + behind - begin) * sizeof(*s->ask));
}

/* What a resource says of a rank: who opens it, who closes it, and who comes behind that. Mostly it is known to nobody
 * who closes it, and then no more is said of that rank. */
static HDI_INLINE void say(const hdi_sched *s, uint32_t rank, int what, uint64_t bytes, uint32_t known)
{
    if (s->rank) {
        s->rank[rank].opens += what == OPENS ? bytes : 0;
        s->rank[rank].live -= what == BEHIND ? bytes : 0; /* unsigned wrap is undone by the running sum */
        return;
    }
    hdi_ask *ask = &s->ask[rank];
    if (what == OPENS)
        ask->opens += (int64_t)bytes;
    if (what == CLOSES)
        ask->closes += (int64_t)(bytes & -(uint64_t)known);
    if (what == BEHIND)
        ask->step -= (int64_t)bytes;
    else
        ask->more += known;
}

/* The part of the ranks, as they are summed, that one is in; of the one behind all ranks, the last. */
static uint32_t find_sum(const hdi_sched_cuts *cuts, uint32_t kept, uint32_t rank)
{
    uint32_t k = (uint32_t)((uint64_t)rank * cuts->count / kept);
    k = k < cuts->count ? k : cuts->count - 1;
    while (cuts->part[k] > rank)
        k--;
    while (k + 1 < cuts->count && cuts->part[k + 1] <= rank)
        k++;
    return k;
}

/* At once where the rank is one of the part's own passes. */
static HDI_INLINE void say_or_leave(const work *w, uint32_t part, uint32_t r, uint32_t rank, int what,
                                    uint64_t bytes, uint32_t known)
{
    uint32_t begin = w->rank_begin[part];
    if (HDI_LIKELY(rank - begin < w->rank_begin[part + 1] - begin)) {
        say(w->look.s, rank, what, bytes, known);
        return;
    }
    uint32_t at = WORDS * r + (uint32_t)what, *newest = w->newest_word[part];
    newest += find_sum(w->look.cuts, w->look.s->kept_count, rank);
    w->word[at] = (word){rank, *newest};
    *newest = at;
}

static void look_at_strays(uint32_t part, void *user)
{
    work *w = user;
    const hdi_sched *s = w->look.s;
    part_sums sums = {0};
    for (uint32_t k = 0; k < w->parts; k++) {
        for (uint32_t at = w->newest_stray[k][part]; at != HDI_NONE; at = w->stray[at].next) {
            uint32_t u = w->stray[at].use;
            look_at_stray(&s->res[s->decl->use_res[u]], s->decl->use_flags[u], w->stray[at].rank);
        }
    }
    uint32_t end = hdi_range_begin(s->decl->res_count, w->parts, part + 1);
    for (uint32_t r = hdi_range_begin(s->decl->res_count, w->parts, part); r < end; r++) {
        hdi_sched_res *res = &s->res[r];
        uint64_t counts = res->counts, bytes = hdi_look_bytes(&w->look.sizes->need[r], s->decl->res_flags[r]);
        uint32_t first = res->first, last = res->last > first ? res->last : first;
        hdi_look_judge(s, res, r, s->decl->res_state[r].word, bytes, last, &sums.mixed_uses);
        uint32_t known = s->known ? hdi_look_known(res, counts, first, last) : 0;
        if (!bytes && !known)
            continue;
        say_or_leave(w, part, r, first, OPENS, bytes, known);
        if (known)
            say_or_leave(w, part, r, last, CLOSES, bytes, known);
        say_or_leave(w, part, r, last + 1, BEHIND, bytes, known);
    }
    w->part[part] = sums;
}

/* What is alive at the ranks of a part, once it is told what others say of them; then the cut in it. */
static void sum_part(uint32_t part, void *user)
{
    work *w = user;
    const hdi_sched *s = w->look.s;
    const uint32_t *use_begin = s->decl->pass_use_begin;
    int64_t live = 0, peak = INT64_MIN;
    for (uint32_t k = 0; k < w->parts; k++) {
        for (uint32_t at = w->newest_word[k][part]; at != HDI_NONE; at = w->word[at].next) {
            const hdi_sched_res *res = &s->res[at / WORDS];
            say(s, w->word[at].rank, (int)(at % WORDS), res->bytes, (res->mixed & HDI_CLOSES_LAST) != 0);
        }
    }
    for (uint32_t rank = w->look.cuts->part[part]; rank < w->look.cuts->part[part + 1]; rank++) {
        if (s->rank) {
            live += (int64_t)(s->rank[rank].live + s->rank[rank].opens);
            s->rank[rank].live = (uint64_t)live;
        } else {
            uint32_t p = s->rank_pass[rank];
            hdi_ask *ask = &s->ask[rank];
            ask->step += ask->opens;
            ask->more = s->known && use_begin[p + 1] - use_begin[p] == ask->more ? 0 : HDI_COUNTED;
            live += ask->step;
            s->live[rank] = (uint64_t)live;
        }
        peak = live > peak ? live : peak;
    }
    w->part[part].live = live;
    w->part[part].peak = peak;
    if (part)
        w->look.cuts->begin[part] = hdi_look_cut(s, w->look.cuts->count, part);
}

bool hdi_look_in_parts(const hdi_look *look, const hdi_crew *crew)
{
    hdi_sched *s = look->s;
    hdi_sched_cuts *cuts = look->cuts;
    hdi_arena *arena = s->arena;
    hdi_arena_mark mark = hdi_arena_here(arena);
    work w = {.look = *look, .parts = crew->workers < HDI_MOST_PARTS ? crew->workers : HDI_MOST_PARTS};
    w.stray = HDI_ARENA_ARRAY(arena, stray, s->decl->use_count);
    w.word = HDI_ARENA_ARRAY(arena, word, (size_t)WORDS * s->decl->res_count);
    w.newest_stray = hdi_arena_array(arena, w.parts, sizeof(*w.newest_stray));
    w.newest_word = hdi_arena_array(arena, w.parts, sizeof(*w.newest_word));
    w.rank_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)w.parts + 1);
    if (arena->failed)
        return false;
    w.rank_begin[w.parts] = s->kept_count + 1;
    for (uint32_t k = 1; k < cuts->count; k++)
        cuts->part[k] = hdi_range_begin(s->kept_count, cuts->count, k) - hdi_look_reach(s->kept_count, cuts->count);
    hdi_crew_parts(crew, w.parts, look_at_own, &w);
    hdi_crew_parts(crew, w.parts, look_at_strays, &w);
    for (uint32_t k = 0; k < w.parts; k++)
        s->mixed_uses += w.part[k].mixed_uses;
    hdi_crew_parts(crew, cuts->count, sum_part, &w);
    int64_t live = 0, peak = 0;
    for (uint32_t k = 0; k < cuts->count; k++) {
        cuts->base[k] = (uint64_t)live;
        if (w.part[k].peak > peak - live)
            peak = live + w.part[k].peak;
        live += w.part[k].live;
    }
    s->peak = (uint64_t)peak;
    hdi_arena_keep(arena, mark, NULL, 0);
    return true;
}

void hdi_sched_settle(const hdi_sched *of, const hdi_sched_cuts *cuts, uint32_t region)
{
    uint32_t end = cuts->in_parts ? of->kept_count : 0, mine = cuts->part[region + 1] - of->rank_begin;
    for (uint32_t i = 0; i < end; i++)
        *(of->rank ? &of->rank[i].live : &of->live[i]) += cuts->base[i < mine ? region : region + 1];
}

