#include "phases.h"

#include "bitset.h"

/* Cull: one walk from the last pass to the first over a set of live segments, at first all of every external and of
 * every resource that has a history. A pass stays if it is a root or writes something live; then what it overwrites
 * leaves the set and what it reads joins. O(uses + segments / 64). Serial: each step needs the one before. */

static void live_at_end(const hdi_decl *decl, const hdi_frozen *frozen, uint64_t *live)
{
    for (uint32_t r = 0; r < decl->res_count; r++) {
        if (decl->res_flags[r] & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY))
            hdi_bit_set_range(live, frozen->res_seg_begin[r], frozen->res_seg_begin[r + 1]);
    }
}

static bool writes_live(const hdi_decl *decl, const hdi_frozen *frozen, const uint64_t *live, uint32_t pass)
{
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        if (!decl->access[decl->use_access[u]].writes)
            continue;
        hdi_span span = hdi_use_span(decl, frozen, u);
        for (uint32_t row = 0; row < span.rows; row++) {
            uint32_t first = span.base + row * span.stride;
            if (hdi_bit_any_range(live, first, first + span.cols))
                return true;
        }
    }
    return false;
}

static void change(const hdi_decl *decl, const hdi_frozen *frozen, uint64_t *live, uint32_t pass, bool joins)
{
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        const hdi_access_info *access = &decl->access[decl->use_access[u]];
        if (joins ? !access->reads : access->reads)
            continue;
        hdi_span span = hdi_use_span(decl, frozen, u);
        for (uint32_t row = 0; row < span.rows; row++) {
            uint32_t first = span.base + row * span.stride;
            if (joins)
                hdi_bit_set_range(live, first, first + span.cols);
            else
                hdi_bit_clear_range(live, first, first + span.cols);
        }
    }
}

hd_result hdi_cull(const hdi_decl *decl, const hdi_frozen *frozen, hdi_arena *arena, hdi_kept *out)
{
    uint64_t *live = HDI_ARENA_ZEROED(arena, uint64_t, hdi_bit_words(frozen->seg_count));
    out->pass_kept = HDI_ARENA_ZEROED(arena, uint8_t, decl->pass_count);
    out->kept_count = 0;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    live_at_end(decl, frozen, live);
    for (uint32_t p = decl->pass_count; p-- > 0;) {
        if (!(decl->pass_flags[p] & HDI_PASS_ROOT) && !writes_live(decl, frozen, live, p))
            continue;
        out->pass_kept[p] = 1;
        out->kept_count++;
        change(decl, frozen, live, p, false);
        change(decl, frozen, live, p, true);
    }
    return HD_OK;
}
