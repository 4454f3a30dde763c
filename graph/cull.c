#include "phases.h"

#include <string.h>

#include "bitset.h"

/* Cull: a pass is dead if it is no root and nobody reads what it wrote, but for the dead. Those whom nobody reads at
 * all are found by ranges of passes; then one walk from the last dead pass to the first, each of which takes back its
 * reads, whereupon passes before it may be dead, too. (What lies between a write and its reader never is a write, dead
 * or not: so who reads what does not depend on who is kept.) O(passes + visits of the dead). */

enum { GRAIN = 8 }; /* words of 64 passes */

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_flow *flow;
    uint8_t *pass_kept;
    uint64_t *dead; /* a bit a pass */
} work;

static bool is_alive(const work *w, uint32_t pass)
{
    return (w->flow->pass_reads[pass] | (w->decl->pass_flags[pass] & HDI_PASS_ROOT)) != 0;
}

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
        const uint32_t *const reads = w->flow->pass_reads + first;
        const uint8_t *const flags = w->decl->pass_flags + first;
        uint8_t kept[64]; /* of its own: what is written to it is nothing that is read */
        for (uint32_t i = 0; i < count; i++)
            kept[i] = (reads[i] | (flags[i] & HDI_PASS_ROOT)) != 0;
        memcpy(w->pass_kept + first, kept, count);
        w->dead[word] = dead_of(kept, count);
    }
}

static void drop_reads(const work *w, uint32_t found, uint32_t reads)
{
    uint32_t writer = found & ~HDI_FOUND_LATE;
    w->flow->pass_reads[writer] -= reads;
    if (reads && writer < w->decl->pass_count && !is_alive(w, writer)) {
        w->pass_kept[writer] = false;
        hdi_bit_set(w->dead, writer);
    }
}

static void take_back(const work *w, uint32_t pass)
{
    const hdi_decl *decl = w->decl;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t found = hdi_visit_found(w->flow->visit[u]), reads = decl->use_flags[u] & HDI_USE_READS;
        if (!(found & HDI_FOUND_SEVERAL)) {
            drop_reads(w, found, reads);
            continue;
        }
        hdi_span span = hdi_use_span(decl, w->frozen, u);
        uint32_t first = found & ~HDI_FOUND_SEVERAL, end = first + span.rows * span.cols;
        for (uint32_t visit = first; visit < end; visit++)
            drop_reads(w, hdi_visit_found(w->flow->visit[visit]), reads);
    }
}

hd_result hdi_cull(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_flow *flow, const hdi_crew *crew,
                   hdi_arena *arena, hdi_kept *out)
{
    uint32_t words = hdi_bit_words(decl->pass_count), dead_count = 0;
    work w = {.decl = decl, .frozen = frozen, .flow = flow};
    w.pass_kept = HDI_ARENA_ARRAY(arena, uint8_t, decl->pass_count);
    hdi_arena_mark mark = hdi_arena_here(arena);
    w.dead = HDI_ARENA_ARRAY(arena, uint64_t, words);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, words, GRAIN, find_unread, &w);
    for (uint32_t word = words; word-- > 0;) {
        uint64_t left; /* writers stand before their readers: the word changes while it is walked, below the bit */
        for (uint64_t below = UINT64_MAX; (left = w.dead[word] & below) != 0; dead_count++) {
            uint32_t bit = 63 - (uint32_t)__builtin_clzll(left);
            below = (UINT64_C(1) << bit) - 1;
            take_back(&w, word * 64 + bit);
        }
    }
    hdi_arena_keep(arena, mark, NULL, 0);
    *out = (hdi_kept){decl->pass_count - dead_count, w.pass_kept};
    return HD_OK;
}
