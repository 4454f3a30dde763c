#include "front.h"

#include <string.h>

#include "bitset.h"

/* Cull: a pass is dead if it is no root and no pass reads what it wrote, but for the dead. First the passes are found
 * of which nothing is read at all. Each of them takes back its reads; a pass that thereby loses its last read does
 * the same at once: a list of passes that is linked through their counts, which they need no more. (No write, dead or
 * not, lies between a write and its reader: so what a pass reads does not depend on which passes are kept, nor does
 * it matter which one is looked at first.) O(passes + visits of the dead). The first look goes by ranges of passes. */

enum { GRAIN = 8 }; /* words of 64 passes */

_Static_assert(HDI_PASS_ROOT == 1 && HDI_USE_READS == 1, "counted");

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_flow *flow;
    uint8_t *pass_kept;
    uint64_t *unread; /* a bit a pass */
} work;

/* Mostly none: eight passes are looked at at a time. */
static uint64_t dead_of(const uint8_t kept[64], uint32_t count)
{
    static const uint8_t all[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    uint64_t dead = 0;
    for (uint32_t first = 0; first < count; first += sizeof(all)) {
        if (memcmp(kept + first, all, sizeof(all)) == 0)
            continue;
        for (uint32_t i = first; i < first + sizeof(all) && i < count; i++)
            dead |= (uint64_t)!kept[i] << i;
    }
    return dead;
}

static void find_unread(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    (void)part;
    for (uint32_t word = begin; word < end; word++) {
        uint32_t first = word * 64, left = w->decl->pass_count - first, count = left < 64 ? left : 64;
        uint32_t *const reads = w->flow->pass_reads + first;
        const uint8_t *const flags = w->decl->pass_flags + first;
        uint8_t kept[64] = {0}; /* of its own: what is written to it is nothing that is read */
        for (uint32_t i = 0; i < count; i++) {
            reads[i] += flags[i] & HDI_PASS_ROOT; /* one read more, which is never taken back */
            kept[i] = reads[i] != 0;
        }
        memcpy(w->pass_kept + first, kept, count);
        w->unread[word] = dead_of(kept, count);
    }
}

/* list: 1 + its first pass, or 0. Returns it with the writer where that is dead now. No branch: it would be
 * mispredicted. */
static inline uint32_t drop_read(const work *w, uint32_t found, uint32_t reads, uint32_t list)
{
    uint32_t writer = found & ~HDI_FOUND_LATE, *own = &w->flow->pass_reads[writer];
    uint32_t left = *own - reads, is_dead = reads & (left == 0);
    *own = is_dead ? list : left;
    w->pass_kept[writer] &= (uint8_t)~is_dead;
    return is_dead ? writer + 1 : list;
}

static uint32_t take_back(const work *w, uint32_t pass, uint32_t list)
{
    const hdi_decl *decl = w->decl;
    for (uint32_t u = decl->pass_use_begin[pass], behind = decl->pass_use_begin[pass + 1]; u < behind; u++) {
        uint32_t found = hdi_visit_found(w->flow->visit[u]), reads = decl->use_flags[u] & HDI_USE_READS;
        if (!(found & HDI_FOUND_SEVERAL)) {
            list = drop_read(w, found, reads, list);
            continue;
        }
        hdi_span span = hdi_use_span(decl, w->frozen, u);
        uint32_t first = found & ~HDI_FOUND_SEVERAL, end = first + span.rows * span.cols;
        for (uint32_t visit = first; visit < end; visit++)
            list = drop_read(w, hdi_visit_found(w->flow->visit[visit]), reads, list);
    }
    return list;
}

/* Returns how many passes are dead. */
static uint32_t drop_unread(const work *w, uint32_t words)
{
    uint32_t count = 0;
    for (uint32_t word = 0; word < words; word++) {
        for (uint64_t left = w->unread[word]; left; left &= left - 1) {
            for (uint32_t list = word * 64 + (uint32_t)__builtin_ctzll(left) + 1; list; count++) {
                uint32_t pass = list - 1;
                list = take_back(w, pass, w->flow->pass_reads[pass]);
            }
        }
    }
    return count;
}

hd_result hdi_cull(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_flow *flow, const hdi_crew *crew,
                   hdi_arena *arena, hdi_kept *out)
{
    uint32_t words = hdi_bit_words(decl->pass_count), none = hdi_flow_end(decl, crew) - decl->pass_count;
    work w = {.decl = decl, .frozen = frozen, .flow = flow};
    w.pass_kept = HDI_ARENA_ARRAY(arena, uint8_t, (size_t)decl->pass_count + none);
    hdi_arena_mark mark = hdi_arena_here(arena);
    w.unread = HDI_ARENA_ARRAY(arena, uint64_t, words);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    /* No passes: they never are without reads. */
    memset(flow->pass_reads + decl->pass_count, 0xff, none * sizeof(*flow->pass_reads));
    memset(w.pass_kept + decl->pass_count, 0, none);
    hdi_crew_ranges(crew, words, GRAIN, find_unread, &w);
    uint32_t dead = drop_unread(&w, words);
    hdi_arena_keep(arena, mark, NULL, 0);
    *out = (hdi_kept){decl->pass_count - dead, w.pass_kept};
    return HD_OK;
}
