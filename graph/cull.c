#include "phases.h"

#include <string.h>

/* Cull: one walk from the last pass to the first over a set of live segments, at first all of every external and of
 * every resource that has a history. A pass stays if it is a root or writes something live; then what it overwrites
 * leaves the set and what it reads joins. O(uses + segments). Serial: each step needs the one before. */

static void live_at_end(const hdi_decl *decl, const hdi_frozen *frozen, uint8_t *live)
{
    for (uint32_t r = 0; r < decl->res_count; r++) {
        if (decl->res_flags[r] & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY))
            memset(live + frozen->res_seg_begin[r], 1, frozen->res_seg_begin[r + 1] - frozen->res_seg_begin[r]);
    }
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

static bool writes_live(const hdi_decl *decl, const hdi_frozen *frozen, const uint8_t *live, uint32_t pass)
{
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t seg = frozen->use_seg[u];
        if (!decl->access[decl->use_access[u]].writes)
            continue;
        if (seg != HDI_NONE ? live[seg] : is_live(decl, frozen, live, u))
            return true;
    }
    return false;
}

static void set(const hdi_decl *decl, const hdi_frozen *frozen, uint8_t *live, uint32_t use, uint8_t value)
{
    uint32_t seg = frozen->use_seg[use];
    if (seg != HDI_NONE) {
        live[seg] = value;
        return;
    }
    hdi_span span = hdi_use_span(decl, frozen, use);
    for (uint32_t row = 0; row < span.rows; row++)
        memset(live + span.base + row * span.stride, value, span.cols);
}

/* What a kept pass overwrites leaves the set, then what it reads joins: it uses nothing in both ways. */
static void keep(const hdi_decl *decl, const hdi_frozen *frozen, uint8_t *live, uint32_t pass)
{
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        const hdi_access_info *access = &decl->access[decl->use_access[u]];
        if (access->reads | access->writes)
            set(decl, frozen, live, u, access->reads);
    }
}

hd_result hdi_cull(const hdi_decl *decl, const hdi_frozen *frozen, hdi_arena *arena, hdi_kept *out)
{
    uint8_t *live = HDI_ARENA_ZEROED(arena, uint8_t, frozen->seg_count);
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
        keep(decl, frozen, live, p);
    }
    return HD_OK;
}
