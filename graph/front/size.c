#include "front.h"

#include <stdatomic.h>

#include "hints.h"

/* Size: what each resource that kept passes use needs in memory, by the size callback or the rules of the .fgt format.
 * Before the schedule, which weighs passes by the bytes that they open and close. O(uses of kept passes + resources).
 * By ranges of passes, then of resources; an engine's callback is asked by the caller alone. */

enum { GRAIN = 512 }; /* so that there are some for each of 16 workers */
/* Of a callback, and alignments too: more than any device has, and so few that sums cannot overflow. */
#define MOST_BYTES (UINT64_C(1) << 45)

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
    if (result == HD_OK && (need->bytes - 1 >= MOST_BYTES || need->alignment - 1 >= MOST_BYTES ||
                            (need->alignment & (need->alignment - 1)) || need->heap >= 64))
        return HD_INVALID_ARGUMENT;
    return result;
}

/* Several ranges of passes may find one resource used: all write the same byte, and none reads it. */
static void find_used(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    const work *w = user;
    const uint32_t *const use_begin = w->decl->pass_use_begin, *const use_res = w->decl->use_res;
    const uint8_t *const pass_kept = w->kept->pass_kept;
    _Atomic(uint8_t) *const used = (_Atomic(uint8_t) *)w->out->res_used;
    (void)part;
    for (uint32_t p = begin; p < end; p++) { /* uses of kept passes in a row are one loop */
        uint32_t first = p;
        while (p < end && pass_kept[p])
            p++;
        for (size_t u = use_begin[first], last = use_begin[p]; u < last; u++)
            atomic_store_explicit(&used[use_res[u]], 1, memory_order_relaxed);
    }
}

static inline uint64_t align_up(uint64_t bytes, uint64_t alignment)
{
    return (bytes + alignment - 1) & ~(alignment - 1);
}

static inline uint64_t bytes_of_image(const hdi_res_info *info, uint32_t flags)
{
    if (HDI_UNLIKELY(flags & HDI_RES_LEVELS || info->format >= HDI_FIRST_COMPRESSED))
        return hdi_default_bytes(info);
    return align_up((uint64_t)info->width * info->height * hdi_texel_bytes[info->format], HDI_IMAGE_ALIGNMENT);
}

/* By the rules. */
static inline hd_memory_need need_of(const hdi_res_info *info, uint32_t flags)
{
    const uint32_t heap = (flags & HDI_RES_HOST) != 0;
    if (flags & HDI_RES_BUFFER)
        return (hd_memory_need){align_up(info->bytes, HDI_BUFFER_ALIGNMENT), HDI_BUFFER_ALIGNMENT, heap};
    return (hd_memory_need){bytes_of_image(info, flags), HDI_IMAGE_ALIGNMENT, heap};
}

enum {
    TAKES_TURNS = HDI_RES_HISTORY | HDI_RES_HAS_HISTORY,
    ASKED = 1 << 8, /* beside the flags of a resource: an engine tells its need */
    ODD = TAKES_TURNS | HDI_RES_EXTERNAL | ASKED
};

/* Of a resource that has little to do with the frame's memory, or whose need an engine tells. */
static HDI_APART hd_result find_odd_need(const work *w, uint32_t res)
{
    const hdi_decl *decl = w->decl;
    uint32_t flags = decl->res_flags[res];
    bool used = w->out->res_used[res];
    if (flags & TAKES_TURNS) {
        /* They take turns: where one is used, both have memory, and each must do for both. */
        uint32_t pair = decl->res_pair[res];
        used |= w->out->res_used[pair];
        flags |= decl->res_flags[pair] & HDI_RES_HOST;
        w->out->res_persistent[res] = 1;
    }
    if (!used || flags & HDI_RES_EXTERNAL || hdi_is_token(decl, res))
        w->out->need[res] = (hd_memory_need){0};
    else if (w->desc->size)
        return ask(decl, w->desc, res, &w->out->need[res]);
    else
        w->out->need[res] = need_of(&decl->res_info[res], flags);
    return HD_OK;
}

static void find_needs(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    const uint8_t *const res_flags = w->decl->res_flags, *const res_used = w->out->res_used;
    const hdi_res_info *const infos = w->decl->res_info;
    hd_memory_need *const needs = w->out->need;
    const uint32_t asked = w->desc->size ? ASKED : 0;
    (void)part;
    for (uint32_t r = begin; r < end; r++) {
        uint32_t flags = res_flags[r] | asked;
        if (HDI_LIKELY(!(flags & ODD) && res_used[r])) {
            needs[r] = need_of(&infos[r], flags);
            continue;
        }
        hd_result result = find_odd_need(w, r);
        if (result != HD_OK) {
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
    out->res_persistent = HDI_ARENA_ZEROED(arena, uint8_t, decl->res_count);
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
