#include "phases.h"

/* Size: what each resource that kept passes use needs in memory, by the size callback or the rules of the .fgt format.
 * Before the schedule, which weighs passes by the bytes that they open and close. O(uses of kept passes + resources). */

static hd_result ask(const hdi_decl *decl, const hd_compile_desc *desc, uint32_t res, hd_memory_need *need)
{
    hd_resource_info info;
    hdi_resource_info(decl, res, &info);
    hd_result result = desc->size(&info, need, desc->size_user);
    if (result == HD_OK && (need->heap >= 64 || need->alignment == 0 || (need->alignment & (need->alignment - 1))))
        return HD_INVALID_ARGUMENT;
    return result;
}

static void find_used(const hdi_decl *decl, const hdi_kept *kept, uint8_t *res_used)
{
    const uint32_t *use_res = decl->use_res;
    if (kept->kept_count == decl->pass_count) {
        for (uint32_t u = 0; u < decl->use_count; u++)
            res_used[use_res[u]] = 1;
        return;
    }
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        for (uint32_t u = decl->pass_use_begin[p]; kept->pass_kept[p] && u < decl->pass_use_begin[p + 1]; u++)
            res_used[use_res[u]] = 1;
    }
}

hd_result hdi_size(const hdi_decl *decl, const hdi_kept *kept, const hd_compile_desc *desc, hdi_arena *arena,
                   hdi_sizes *out, uint32_t *bad_res)
{
    hd_memory_need *needs = out->need = HDI_ARENA_ARRAY(arena, hd_memory_need, decl->res_count);
    uint8_t *res_used = out->res_used = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    uint8_t *res_persistent = out->res_persistent = HDI_ARENA_ARRAY(arena, uint8_t, decl->res_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    find_used(decl, kept, res_used);
    for (uint32_t r = 0; r < decl->res_count; r++) {
        uint32_t flags = decl->res_flags[r], used = res_used[r];
        hd_result result = HD_OK;
        res_persistent[r] = (flags & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) != 0;
        if (flags & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) {
            /* They take turns: where one is used, both have memory, and each must do for both. */
            used |= res_used[decl->res_pair[r]];
            flags |= decl->res_flags[decl->res_pair[r]] & HDI_RES_HOST;
        }
        if (flags & HDI_RES_EXTERNAL || !used)
            needs[r] = (hd_memory_need){0};
        else if (!desc->size)
            needs[r] = (hd_memory_need){.bytes = hdi_default_bytes(&decl->res_info[r]),
                                        .alignment = flags & HDI_RES_BUFFER ? HDI_BUFFER_ALIGNMENT : HDI_IMAGE_ALIGNMENT,
                                        .heap = (flags & HDI_RES_HOST) != 0};
        else
            result = ask(decl, desc, r, &needs[r]);
        if (result != HD_OK) {
            *bad_res = r;
            return result;
        }
    }
    return HD_OK;
}
