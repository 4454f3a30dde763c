#include "phases.h"

#include <stdatomic.h>

#include "hints.h"

/* Size: what each resource that kept passes use needs in memory, by the size callback or the rules of the .fgt format.
 * Before the schedule, which weighs passes by the bytes that they open and close. O(uses of kept passes + resources).
 * By ranges of uses, then of resources; an engine's callback is asked by the caller alone. */

enum { GRAIN = 512 }; /* so that there are some for each of 16 workers */

typedef struct work {
    const hdi_decl *decl;
    const hdi_kept *kept;
    const hd_compile_desc *desc;
    hdi_sizes *out;
    hd_result result;
    uint32_t bad_res;
} work;

static hd_result ask(const hdi_decl *decl, const hd_compile_desc *desc, uint32_t res, hd_memory_need *need)
{
    hd_resource_info info;
    hdi_resource_info(decl, res, &info);
    hd_result result = desc->size(&info, need, desc->size_user);
    if (result == HD_OK && (need->heap >= 64 || need->alignment == 0 || (need->alignment & (need->alignment - 1))))
        return HD_INVALID_ARGUMENT;
    return result;
}

/* Several ranges may find one resource used: the same byte is written, and by nobody read. */
static void find_used(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const uint32_t *const use_begin = w->decl->pass_use_begin, *const use_res = w->decl->use_res;
    const uint8_t *const pass_kept = w->kept->pass_kept;
    _Atomic(uint8_t) *const res_used = (_Atomic(uint8_t) *)w->out->res_used;
    (void)part;
    for (uint32_t p = begin; p < end;) {
        uint32_t first = p++;
        if (!pass_kept[first])
            continue;
        while (p < end && pass_kept[p]) /* their uses stand together */
            p++;
        for (const uint32_t *res = use_res + use_begin[first], *last = use_res + use_begin[p]; res < last; res++)
            atomic_store_explicit(&res_used[*res], 1, memory_order_relaxed);
    }
}

static void find_needs(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    enum { TAKES_TURNS = HDI_RES_HISTORY | HDI_RES_HAS_HISTORY };
    work *w = user;
    const hdi_decl *decl = w->decl;
    const uint8_t *const res_used = w->out->res_used, *const res_flags = decl->res_flags;
    uint8_t *const res_persistent = w->out->res_persistent;
    hd_memory_need *const needs = w->out->need;
    const bool by_rules = !w->desc->size;
    (void)part;
    for (uint32_t r = begin; r < end; r++) {
        uint32_t flags = res_flags[r], used = res_used[r];
        res_persistent[r] = (flags & TAKES_TURNS) != 0;
        if (HDI_UNLIKELY(flags & TAKES_TURNS)) {
            /* They take turns: where one is used, both have memory, and each must do for both. */
            used |= res_used[decl->res_pair[r]];
            flags |= res_flags[decl->res_pair[r]] & HDI_RES_HOST;
        }
        if (flags & HDI_RES_EXTERNAL || !used) {
            needs[r] = (hd_memory_need){0};
        } else if (by_rules) {
            needs[r].bytes = hdi_default_bytes(&decl->res_info[r]);
            needs[r].alignment = flags & HDI_RES_BUFFER ? HDI_BUFFER_ALIGNMENT : HDI_IMAGE_ALIGNMENT;
            needs[r].heap = (flags & HDI_RES_HOST) != 0;
        } else {
            hd_result result = ask(decl, w->desc, r, &needs[r]);
            if (result == HD_OK)
                continue;
            w->result = result;
            w->bad_res = r;
            return;
        }
    }
}

hd_result hdi_size(const hdi_decl *decl, const hdi_kept *kept, const hd_compile_desc *desc, const hdi_crew *crew,
                   hdi_arena *arena, hdi_sizes *out, uint32_t *bad_res)
{
    work w = {decl, kept, desc, out, HD_OK, HDI_NONE};
    out->need = HDI_ARENA_ARRAY(arena, hd_memory_need, decl->res_count);
    out->res_used = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
    out->res_persistent = HDI_ARENA_ARRAY(arena, uint8_t, decl->res_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    hdi_crew_ranges(crew, decl->pass_count, GRAIN, find_used, &w);
    if (desc->size)
        find_needs(0, decl->res_count, 0, &w);
    else
        hdi_crew_ranges(crew, decl->res_count, GRAIN, find_needs, &w);
    if (w.result != HD_OK)
        *bad_res = w.bad_res;
    return w.result;
}
