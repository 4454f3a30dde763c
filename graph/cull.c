#include "phases.h"

#include <string.h>

#include "hints.h"

/* Cull: one walk from the last pass to the first over a set of live segments, at first all of every external and of
 * every resource that has a history. A pass stays if it is a root or writes something live; then what it overwrites
 * leaves the set and what it reads joins. O(uses + segments). Serial: each step needs the one before. */

static void live_at_end(const hdi_decl *decl, const hdi_frozen *frozen, uint8_t *live)
{
    for (uint32_t s = 0; s < frozen->seg_count; s++)
        live[s] = (decl->res_flags[frozen->seg_res[s]] & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY)) != 0;
}

static bool is_live(const hdi_decl *decl, const hdi_frozen *frozen, const uint8_t *live, uint32_t use)
{
    hdi_span span = hdi_use_span(decl, frozen, use);
    for (uint32_t row = 0; row < span.rows; row++) {
        if (memchr(live + span.base + row * span.stride, 1, span.cols))
            return true;
    }
    return false;
}

static inline bool writes_live(const hdi_decl *decl, const hdi_frozen *frozen, const uint8_t *live, uint32_t begin,
                               uint32_t end)
{
    for (uint32_t u = begin; u < end; u++) {
        uint32_t seg = frozen->use_seg[u];
        if (!(decl->use_flags[u] & HDI_USE_WRITES))
            continue;
        if (HDI_LIKELY(seg != HDI_NONE) ? live[seg] : is_live(decl, frozen, live, u))
            return true;
    }
    return false;
}

static void set(const hdi_decl *decl, const hdi_frozen *frozen, uint8_t *live, uint32_t use, uint8_t value)
{
    hdi_span span = hdi_use_span(decl, frozen, use);
    for (uint32_t row = 0; row < span.rows; row++)
        memset(live + span.base + row * span.stride, value, span.cols);
}

/* What a kept pass overwrites leaves the set, then what it reads joins: it uses nothing in both ways. Each use does one
 * or both. */
static inline void keep(const hdi_decl *decl, const hdi_frozen *frozen, uint8_t *live, uint32_t begin, uint32_t end)
{
    for (uint32_t u = begin; u < end; u++) {
        uint32_t seg = frozen->use_seg[u];
        uint8_t value = decl->use_flags[u] & HDI_USE_READS;
        if (HDI_LIKELY(seg != HDI_NONE))
            live[seg] = value;
        else
            set(decl, frozen, live, u, value);
    }
}

hd_result hdi_cull(const hdi_decl *decl, const hdi_frozen *frozen, hdi_arena *arena, hdi_kept *out)
{
    uint8_t *live = HDI_ARENA_ARRAY(arena, uint8_t, frozen->seg_count);
    out->pass_kept = HDI_ARENA_ARRAY(arena, uint8_t, decl->pass_count);
    out->kept_count = 0;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    live_at_end(decl, frozen, live);
    uint32_t kept_count = 0, end = decl->use_count;
    uint8_t *pass_kept = out->pass_kept;
    for (uint32_t p = decl->pass_count; p-- > 0;) {
        uint32_t begin = decl->pass_use_begin[p];
        bool kept = decl->pass_flags[p] & HDI_PASS_ROOT || writes_live(decl, frozen, live, begin, end);
        pass_kept[p] = kept;
        if (kept) {
            kept_count++;
            keep(decl, frozen, live, begin, end);
        }
        end = begin;
    }
    out->kept_count = kept_count;
    return HD_OK;
}
