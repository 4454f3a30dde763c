#include "phases.h"

/* Size: what each resource that kept passes use needs in memory, by the size callback or the rules of the .fgt format.
 * Before the schedule, which weighs passes by the bytes that they open and close. O(uses of kept passes + resources). */

static hd_result find_need(const hdi_decl *decl, const hd_compile_desc *desc, uint32_t res, hd_memory_need *need)
{
    hd_resource_info info;
    hdi_resource_info(decl, res, &info);
    if (!desc->size) {
        hdi_default_need(&info, need);
        return HD_OK;
    }
    hd_result result = desc->size(&info, need, desc->size_user);
    if (result == HD_OK && (need->heap >= 64 || need->alignment == 0 || (need->alignment & (need->alignment - 1))))
        return HD_INVALID_ARGUMENT;
    return result;
}

hd_result hdi_size(const hdi_decl *decl, const hdi_kept *kept, const hd_compile_desc *desc, hdi_arena *arena,
                   hdi_sizes *out, uint32_t *bad_res)
{
    out->need = HDI_ARENA_ZEROED(arena, hd_memory_need, decl->res_count);
    out->res_used = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    out->res_persistent = HDI_ARENA_ARRAY(arena, uint8_t, decl->res_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        for (uint32_t u = decl->pass_use_begin[p]; kept->pass_kept[p] && u < decl->pass_use_begin[p + 1]; u++)
            out->res_used[decl->use_res[u]] = 1;
    }
    for (uint32_t r = 0; r < decl->res_count; r++) {
        uint32_t flags = decl->res_flags[r], pair = decl->res_pair[r];
        out->res_persistent[r] = (flags & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) != 0;
        /* A history and what it is of take turns: where one is used, both have memory. */
        if (flags & HDI_RES_EXTERNAL || !(out->res_used[r] || (pair != HDI_NONE && out->res_used[pair])))
            continue;
        hd_result result = find_need(decl, desc, r, &out->need[r]);
        if (result != HD_OK) {
            *bad_res = r;
            return result;
        }
    }
    return HD_OK;
}
