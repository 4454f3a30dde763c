#include "tables.h"

#include <stdio.h>

#include "alloc.h"
#include "csr.h"

/* What an engine may want to read in its log about a new plan: why passes are culled, and which writes of the others
 * are lost. A write is lost where a pass that is kept overwrites all of its range before any that is kept reads any of
 * it, in the order of the content. O(uses of a resource) a write; for tools and views. */

typedef struct lost {
    const hdi_decl *decl;
    const uint8_t *culled;
    const uint64_t *key;          /* of a use: the order of the content */
    const uint32_t *begin, *uses; /* of each resource, in order of declaration */
} lost;

static hd_range whole_of(const hdi_decl *decl, uint32_t use)
{
    const uint32_t range = decl->use_range[use], res = decl->use_res[use];
    const hdi_res_info *info = &decl->res_info[res];
    if (range != HDI_NONE)
        return decl->range[range];
    if (decl->res_flags[res] & HDI_RES_BUFFER)
        return (hd_range){.offset = 0, .bytes = info->bytes};
    return (hd_range){.mip_count = (uint16_t)info->mips, .layer_count = info->layers};
}

static bool apart(uint32_t aspect, uint32_t other)
{
    return aspect && other && !(aspect & other);
}

static bool meets(const hdi_decl *decl, uint32_t a, uint32_t b)
{
    const hd_range x = whole_of(decl, a), y = whole_of(decl, b);
    if (decl->res_flags[decl->use_res[a]] & HDI_RES_BUFFER)
        return x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
    return x.mip_base < y.mip_base + y.mip_count && y.mip_base < x.mip_base + x.mip_count &&
           x.layer_base < y.layer_base + y.layer_count && y.layer_base < x.layer_base + x.layer_count &&
           !apart(x.aspect, y.aspect);
}

/* Whether use a has all of what b has. */
static bool covers(const hdi_decl *decl, uint32_t a, uint32_t b)
{
    const hd_range x = whole_of(decl, a), y = whole_of(decl, b);
    if (decl->res_flags[decl->use_res[a]] & HDI_RES_BUFFER)
        return x.offset <= y.offset && y.offset + y.bytes <= x.offset + x.bytes;
    return x.mip_base <= y.mip_base && y.mip_base + y.mip_count <= x.mip_base + x.mip_count &&
           x.layer_base <= y.layer_base && y.layer_base + y.layer_count <= x.layer_base + x.layer_count &&
           (x.aspect == 0 || (y.aspect && (x.aspect & y.aspect) == y.aspect));
}

/* The use that a write is lost to; HDI_NONE: it is not. */
static uint32_t lost_to(const lost *l, uint32_t write)
{
    const hdi_decl *decl = l->decl;
    const uint32_t res = decl->use_res[write], pass = decl->use_pass[write];
    uint64_t read = UINT64_MAX, over = UINT64_MAX;
    uint32_t found = HDI_NONE;
    if (decl->use_exec[write].resolve) /* its own pass reads it */
        return HDI_NONE;
    for (uint32_t i = l->begin[res]; i < l->begin[res + 1]; i++) {
        const uint32_t u = l->uses[i];
        if (decl->use_pass[u] == pass || l->culled[decl->use_pass[u]] || l->key[u] <= l->key[write] ||
            !meets(decl, u, write))
            continue;
        if (decl->access[decl->use_access[u]].reads) {
            read = l->key[u] < read ? l->key[u] : read;
        } else if (l->key[u] < over && covers(decl, u, write)) {
            over = l->key[u];
            found = u;
        }
    }
    return over < read ? found : HDI_NONE;
}

static const char *or_empty(const char *name)
{
    return name ? name : "";
}

static void log_culled(const hdi_decl *decl, const hd_why *why, const hd_log *log)
{
    char other[80] = "", of[80] = "";
    const char *name = or_empty(decl->pass_exec[why->pass].name);
    if (why->other_pass < decl->pass_count)
        snprintf(other, sizeof(other), "pass %u '%.40s'", why->other_pass,
                 or_empty(decl->pass_exec[why->other_pass].name));
    if (why->resource < decl->res_count)
        snprintf(of, sizeof(of), "resource %u '%.40s'", why->resource, or_empty(decl->res_info[why->resource].name));
    switch (why->code) {
    case HD_CULL_WRITES_NOTHING:
        hdi_log(log, HD_LOG_INFO, "pass %u '%s' is culled: it writes nothing and is no root", why->pass, name);
        break;
    case HD_CULL_UNREAD:
        hdi_log(log, HD_LOG_INFO, "pass %u '%s' is culled: no pass reads what it writes to %s", why->pass, name, of);
        break;
    case HD_CULL_OVERWRITTEN:
        hdi_log(log, HD_LOG_INFO, "pass %u '%s' is culled: %s overwrites what it writes to %s before any pass reads it",
                why->pass, name, other, of);
        break;
    case HD_CULL_READER_CULLED:
        hdi_log(log, HD_LOG_INFO, "pass %u '%s' is culled: %s, which reads what it writes to %s, is culled, too",
                why->pass, name, other, of);
        break;
    default:
        hdi_log(log, HD_LOG_WARNING, "pass %u '%s' is not in the plan, which should have kept it", why->pass, name);
    }
}

static void log_lost(const hdi_decl *decl, uint32_t use, uint32_t over, const hd_log *log)
{
    const uint32_t pass = decl->use_pass[use], other = decl->use_pass[over], res = decl->use_res[use];
    hdi_log(log, HD_LOG_WARNING,
            "pass %u '%.40s', use %u: what it writes to resource %u '%.40s' is never read: pass %u '%.40s' overwrites "
            "it",
            pass, or_empty(decl->pass_exec[pass].name), use - decl->pass_use_begin[pass], res,
            or_empty(decl->res_info[res].name), other, or_empty(decl->pass_exec[other].name));
}

static hd_result log_all_lost(const hdi_decl *decl, const hd_plan_view *plan, hdi_arena *arena, const hd_log *log)
{
    uint8_t *culled = HDI_ARENA_ZEROED(arena, uint8_t, decl->pass_count);
    uint64_t *key = HDI_ARENA_ARRAY(arena, uint64_t, decl->use_count);
    uint32_t *begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)decl->res_count + 1);
    uint32_t *uses = HDI_ARENA_ARRAY(arena, uint32_t, decl->use_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < plan->culled_count; i++)
        culled[plan->culled[i]] = 1;
    for (uint32_t u = 0; u < decl->use_count; u++)
        key[u] = 2 * (uint64_t)decl->use_pass[u] + 1;
    for (uint32_t i = 0; i < decl->late_count; i++)
        key[decl->late_use[i]] = 2 * (uint64_t)decl->late_end[i];
    hdi_csr_build(decl->use_res, decl->use_count, decl->res_count, begin, uses);
    const lost l = {decl, culled, key, begin, uses};
    for (uint32_t u = 0; u < decl->use_count; u++) {
        const bool kept_write = decl->access[decl->use_access[u]].writes && !culled[decl->use_pass[u]];
        const uint32_t over = kept_write ? lost_to(&l, u) : HDI_NONE;
        if (over != HDI_NONE)
            log_lost(decl, u, over, log);
    }
    return HD_OK;
}

hd_result hd_plan_log(const hd_graph *graph, const hd_plan *plan, const hd_log *log)
{
    const hd_plan_reasons *reasons;
    if (!graph || !plan || !log)
        return HD_INVALID_ARGUMENT;
    const hd_allocator *allocator = hdi_graph_allocator(graph);
    hd_result result = hd_plan_explain(graph, plan, allocator, &reasons);
    if (result != HD_OK)
        return result;
    const hdi_decl decl = hdi_graph_decl(graph);
    const hd_plan_view view = hd_plan_read(plan);
    for (uint32_t i = 0; i < view.culled_count; i++)
        log_culled(&decl, &reasons->culled[i], log);
    hd_plan_reasons_free(reasons, allocator);
    hdi_arena arena;
    hdi_arena_init(&arena, allocator);
    result = log_all_lost(&decl, &view, &arena, log);
    hdi_arena_free(&arena);
    return result;
}
