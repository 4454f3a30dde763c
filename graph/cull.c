#include "phases.h"

/* Cull: a pass is dead if it is no root and nobody reads what it wrote, but for the dead. One walk from the last pass to
 * the first: by the time that a pass is looked at, all dead passes behind it have taken back their reads. (What lies
 * between a write and its reader never is a write, dead or not: so who reads what does not depend on who is kept.)
 * O(passes + visits of the dead). Serial, and short. */

static void take_back(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_flow *flow, uint32_t pass)
{
    uint32_t *pass_reads = flow->pass_reads;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t found = flow->found[u], reads = decl->use_flags[u] & HDI_USE_READS;
        if (!(found & HDI_FOUND_SEVERAL)) {
            pass_reads[found & ~HDI_FOUND_LATE] -= reads;
            continue;
        }
        hdi_span span = hdi_use_span(decl, frozen, u);
        uint32_t first = found & ~HDI_FOUND_SEVERAL, end = first + span.rows * span.cols;
        for (uint32_t visit = first; visit < end; visit++)
            pass_reads[flow->found[visit] & ~HDI_FOUND_LATE] -= reads;
    }
}

hd_result hdi_cull(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_flow *flow, hdi_arena *arena, hdi_kept *out)
{
    uint8_t *pass_kept = HDI_ARENA_ARRAY(arena, uint8_t, decl->pass_count);
    if (!pass_kept)
        return HD_OUT_OF_MEMORY;
    uint32_t kept_count = 0;
    for (uint32_t p = decl->pass_count; p-- > 0;) {
        bool kept = (flow->pass_reads[p] | (decl->pass_flags[p] & HDI_PASS_ROOT)) != 0;
        pass_kept[p] = kept;
        kept_count += kept;
        if (!kept)
            take_back(decl, frozen, flow, p);
    }
    *out = (hdi_kept){kept_count, pass_kept};
    return HD_OK;
}
