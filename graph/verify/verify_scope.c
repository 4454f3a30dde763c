#include "verify.h"

/* Rendering scopes: each gfx pass with attachments stands in exactly one, whose attachments are those that it declares;
 * loads follow from the access, and what is neither stored nor resolved is noted as lost, so that the walk finds the
 * uses that read it. Attachments of one scope are accessed in the order of its passes: the walk asks for no barrier
 * there. O(scopes + uses). */

enum { LOAD, CLEAR, DONT_LOAD };
#define STORE 0u
#define DONT_STORE 1u
#define STORE_NONE 1000301000u

static bool is_attachment(const hdi_verify *v, uint32_t use)
{
    switch (v->d.use_access[use]) {
    case HD_COLOR_WRITE:
    case HD_COLOR_RW:
    case HD_DEPTH_WRITE:
    case HD_DEPTH_RW:
    case HD_DEPTH_READ:
    case HDI_DEPTH_WRITE_RESOLVED:
    case HDI_DEPTH_RW_RESOLVED:
    case HDI_DEPTH_READ_RESOLVED:
        return true;
    default:
        return false;
    }
}

static const hdi_access_info *info_of(const hdi_verify *v, uint32_t use)
{
    return &v->d.access[v->d.use_access[use]];
}

static bool renders(const hdi_verify *v, uint32_t pass)
{
    return v->d.pass_type[pass] == HD_PASS_GFX && !(v->d.pass_flags[pass] & HDI_PASS_NO_RENDERING);
}

/* The n-th attachment of a pass, HDI_NONE: it has fewer. */
static uint32_t attachment_use(const hdi_verify *v, uint32_t pass, uint32_t n)
{
    for (uint32_t u = v->d.pass_use_begin[pass]; u < v->d.pass_use_begin[pass + 1]; u++)
        if (is_attachment(v, u) && n-- == 0)
            return u;
    return HDI_NONE;
}

static bool same_place(const hdi_verify *v, uint32_t a, uint32_t b)
{
    uint32_t x = v->d.use_range[a], y = v->d.use_range[b];
    if (v->d.use_res[a] != v->d.use_res[b] || (x == HDI_NONE) != (y == HDI_NONE))
        return false;
    if (x == HDI_NONE)
        return true;
    const hd_range *r = &v->d.range[x], *s = &v->d.range[y];
    return r->mip_base == s->mip_base && r->mip_count == s->mip_count && r->layer_base == s->layer_base &&
           r->layer_count == s->layer_count && r->aspect == s->aspect;
}

static void fail(hdi_verify *v, uint32_t use, const char *what)
{
    uint32_t pass = v->use_pass[use], res = v->d.use_res[use];
    hdi_verify_about(v, v->found.first, hdi_verify_use_place(v, use), res, res);
    hdi_verify_fail(v, HD_RULE_RENDERING, "rendering: pass %u '%s', resource %u '%s': %s", pass,
                    hdi_verify_pass_name(v, pass), res, hdi_verify_res_name(v, res), what);
}

static void check_ops(hdi_verify *v, const hd_plan_attachment *a, uint32_t first, uint32_t last)
{
    bool clears = !info_of(v, first)->reads && v->d.use_exec[first].load == HD_LOAD_CLEAR;
    uint32_t index = (uint32_t)(a - v->p.attachments);
    if (a->load != (info_of(v, first)->reads ? LOAD : clears ? CLEAR : DONT_LOAD))
        v->found.repair = (hd_repair){.kind = HD_REPAIR_LOAD,
                                      .index = index,
                                      .value = info_of(v, first)->reads ? LOAD
                                               : clears                 ? CLEAR
                                                                        : DONT_LOAD};
    if (info_of(v, first)->reads && a->load != LOAD)
        fail(v, first, "what it reads is not loaded");
    else if (clears && a->load != CLEAR)
        fail(v, first, "it is not cleared");
    else if (a->load > DONT_LOAD)
        fail(v, first, "the load op is none of Vulkan's");
    hdi_verify_forget(v);
    bool writes = info_of(v, first)->writes || info_of(v, last)->writes;
    if (writes ? a->store != STORE && a->store != DONT_STORE : a->store != STORE_NONE) {
        v->found.repair = (hd_repair){.kind = HD_REPAIR_STORE, .index = index, .value = writes ? STORE : STORE_NONE};
        fail(v, first, writes ? "the store op neither stores nor throws away" : "a read-only attachment is stored");
    }
}

/* The n-th attachment of a scope. */
static void check_attachment(hdi_verify *v, uint32_t scope, uint32_t n)
{
    const hd_plan_scope *x = &v->p.scopes[scope];
    const hd_plan_attachment *a = &v->p.attachments[x->attachment_begin + n];
    uint32_t c = x->command_begin, count = x->command_count;
    uint32_t pass = v->p.commands[c].index, first = attachment_use(v, pass, n), last = first;
    if (first == HDI_NONE || first != v->d.pass_use_begin[pass] + a->use) {
        hdi_verify_fail(v, HD_RULE_RENDERING,
                        "rendering: attachment %u of the scope of pass %u '%s' is not the one that it declares", n,
                        pass, hdi_verify_pass_name(v, pass));
        return;
    }
    uint32_t end = first; /* use of the last pass */
    v->use_scope[first] = scope;
    for (uint32_t i = 1; i < count; i++) {
        if (v->d.use_exec[end].resolve)
            fail(v, end, "it is resolved only at the end of its scope, behind later passes");
        uint32_t use = attachment_use(v, v->p.commands[c + i].index, n);
        if (use == HDI_NONE || !same_place(v, first, use)) {
            fail(v, first, "another pass of its scope has another attachment there");
            return;
        }
        if (!info_of(v, use)->reads)
            fail(v, use, "it begins anew, but a pass before it is in the same scope");
        if (info_of(v, use)->layout != info_of(v, first)->layout)
            fail(v, use, "another pass of its scope wants another layout");
        end = use;
        v->use_scope[use] = scope;
        last = info_of(v, use)->writes || !info_of(v, last)->writes ? use : last;
    }
    check_ops(v, a, first, last);
    uint32_t resolve = v->d.use_exec[end].resolve;
    if (resolve && a->resolve == HDI_NONE)
        v->use_lost[v->d.pass_use_begin[v->use_pass[end]] + resolve - 1] = 1;
    else if (a->resolve != (resolve ? resolve - 1 : HDI_NONE))
        fail(v, end, resolve ? "it is not resolved into what its pass declares" : "it is resolved without reason");
    if (a->store == DONT_STORE)
        v->use_lost[last] = 1;
}

static void check_scope(hdi_verify *v, uint32_t s, uint32_t end_of_submit, uint8_t *in_scope)
{
    const hd_plan_scope *x = &v->p.scopes[s];
    bool fits = x->command_count && x->command_count <= end_of_submit - x->command_begin &&
                x->attachment_begin <= v->p.attachment_count &&
                x->attachment_count <= v->p.attachment_count - x->attachment_begin;
    for (uint32_t i = 0; fits && i < x->command_count; i++) {
        const hd_plan_command *command = &v->p.commands[x->command_begin + i];
        fits = command->kind == HD_COMMAND_PASS && renders(v, command->index) && !in_scope[command->index] &&
               attachment_use(v, command->index, x->attachment_count) == HDI_NONE;
        if (fits)
            in_scope[command->index] = 1;
    }
    if (!fits) {
        hdi_verify_fail(v, HD_RULE_RENDERING,
                        "rendering: scope %u does not hold passes of one submit that have its attachments", s);
        return;
    }
    for (uint32_t n = 0; n < x->attachment_count; n++)
        check_attachment(v, s, n);
}

hd_result hdi_verify_scopes(hdi_verify *v)
{
    uint8_t *in_scope = HDI_ARENA_ZEROED(&v->arena, uint8_t, v->d.pass_count);
    v->use_lost = HDI_ARENA_ZEROED(&v->arena, uint8_t, v->d.use_count);
    v->use_scope = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->d.use_count);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t u = 0; u < v->d.use_count; u++)
        v->use_scope[u] = HDI_NONE;
    uint32_t scope = 0;
    for (uint32_t s = 0; s < v->p.submit_count; s++) {
        uint32_t begin = v->p.submits[s].command_begin, end = begin + v->p.submits[s].command_count;
        for (; scope < v->p.scope_count; scope++) {
            uint32_t at = v->p.scopes[scope].command_begin;
            if (at < begin || at >= end)
                break;
            check_scope(v, scope, end, in_scope);
        }
    }
    if (scope < v->p.scope_count)
        hdi_verify_fail(v, HD_RULE_RENDERING, "rendering: scope %u stands in no submit, or out of order", scope);
    for (uint32_t p = 0; p < v->d.pass_count && !v->stop; p++)
        if (v->pass_queue[p] != HDI_NONE && !in_scope[p] && renders(v, p) && attachment_use(v, p, 0) != HDI_NONE)
            hdi_verify_fail(v, HD_RULE_RENDERING, "rendering: pass %u '%s' has attachments, but stands in no scope", p,
                            hdi_verify_pass_name(v, p));
    return HD_OK;
}
