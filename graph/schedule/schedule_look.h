/* Between schedule_prepare.c, where one worker looks at who uses what, and schedule_parts.c, where several do. */
#ifndef HDI_SCHEDULE_LOOK_H
#define HDI_SCHEDULE_LOOK_H

#include "hints.h"
#include "schedule.h"

#define HDI_WRITE_AND_READ (UINT64_C(1) << 32 | 2) /* counts, as of hdi_look_counts */

typedef struct hdi_look {
    hdi_sched *s;
    const hdi_sizes *sizes;
    const uint8_t *pass_kept;
    hdi_sched_cuts *cuts;
} hdi_look;

/* What a use adds to the counts of its resource, by its flags. A load takes less than to make it. */
enum { HDI_USE_KINDS = 16 };
extern const uint64_t hdi_look_counts[HDI_USE_KINDS];

/* at: a rank or a use, from the first one on. Without branches, as nobody could predict who does what. */
static HDI_INLINE void hdi_look_at_use(hdi_sched_res *res, uint32_t flags, uint32_t at)
{
    uint64_t counts = res->counts;
    res->at[counts != 0] = at;
    res->counts = counts + hdi_look_counts[flags];
}

/* In schedule_parts.c. Ranks, resources, what is alive, and where regions begin, by several workers. False: memory ran
 * out. */
bool hdi_look_in_parts(const hdi_look *look, const hdi_crew *crew);

/* Whether a resource that is read more than once may be read in several layouts. word: as in hdi_res_state, of culled
 * passes, too. (Of what is read once this must not be said: most of that is judged without a look at its word.) */
static HDI_INLINE bool hdi_look_mixes(uint64_t word)
{
    uint64_t readers = word & HDI_RES_READERS;
    return (readers & (readers - 1)) != 0;
}

/* What can be told of a resource when all its uses are known. word: as above; bytes: that it has; last: rank of its
 * last use. Which have none, and which are read in several ways, nobody could predict. */
static HDI_INLINE void hdi_look_judge(const hdi_sched *s, hdi_sched_res *res, uint32_t r, uint64_t word, uint64_t bytes,
                                      uint32_t last, uint32_t *mixed_uses)
{
    uint64_t counts = res->counts;
    uint32_t uses = (uint32_t)counts;
    res->bytes = bytes;
    res->counts = res->left = uses;
    res->last = last;
    if (HDI_UNLIKELY(hdi_look_mixes(word)) && uses - (uint32_t)(counts >> 32) > 1) { /* so many reads */
        res->mixed |= HDI_MIXED_LAYOUTS;
        *mixed_uses += uses;
    }
    if (HDI_UNLIKELY(bytes == 0)) {
        res->first = res->last = HDI_NONE;
        res->left = s->pass_level ? 0 : uses; /* who has several queues counts them all */
    } else if (HDI_UNLIKELY(counts >> 33)) {
        res->mixed |= HDI_WRITTEN_AGAIN;
        if (!hdi_has_several(s->frozen, r))
            return; /* all that use it later follow who used it first */
        res->mixed |= HDI_MIXED_OPENERS;
        *mixed_uses += uses;
    }
}

/* Bytes of a resource that are the frame's; of what nobody uses: none. */
static HDI_INLINE uint64_t hdi_look_bytes(const hd_memory_need *need, uint32_t res_flags)
{
    return res_flags & HDI_NO_BYTES ? 0 : need->bytes;
}

/* Those of two uses are told from those that somebody has to count. As all reads stand behind a write of the whole, the
 * only write is that, and comes first. counts, first, last: before it was judged. */
static HDI_INLINE uint32_t hdi_look_known(hdi_sched_res *res, uint64_t counts, size_t first, size_t last)
{
    uint32_t known = (counts == HDI_WRITE_AND_READ) & (first != last);
    res->left &= known - 1;
    res->mixed |= (uint16_t)(known * HDI_CLOSES_LAST);
    return known;
}

/* Regions are about as long as one another; how far from there one may begin, to either side. */
static inline uint32_t hdi_look_reach(uint32_t kept, uint32_t count)
{
    return kept / count / 8;
}

/* Bytes alive at a rank, but for what was before its part. */
static inline uint64_t hdi_look_live(const hdi_sched *s, uint32_t rank)
{
    return s->rank ? s->rank[rank].live : s->live[rank];
}

/* The first rank of a region: where the least is alive. */
static inline uint32_t hdi_look_cut(const hdi_sched *s, uint32_t count, uint32_t region)
{
    uint32_t middle = hdi_range_begin(s->kept_count, count, region), best = middle;
    uint32_t reach = hdi_look_reach(s->kept_count, count);
    for (uint32_t rank = middle - reach; rank < middle + reach; rank++)
        best = (int64_t)(hdi_look_live(s, rank) - hdi_look_live(s, best)) < 0 ? rank : best;
    return best;
}

#endif
