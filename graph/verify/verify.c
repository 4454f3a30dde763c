#include "verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Entry of the verifier. Replays a plan, without any code of the compiler, in steps: structure (verify_structure.c),
 * the order that versions ask for (verify_versions.c), culling and what each read must see (verify_model.c), placement
 * (verify_place.c), owners of bytes (verify_tenant.c), rendering scopes (verify_scope.c), the relation "finished
 * before" (verify_order.c), and a walk in submission order that keeps layout, content and owner of each segment
 * (verify_state.c). Every wait names an earlier submit, so submission order is a topological order of the relation.
 * Cost: O(nodes * queues * (stages + kinds of access) * stages) for the relation, O(stages^2) for each hazard. */

const char *hdi_verify_pass_name(const hdi_verify *v, uint32_t pass)
{
    return v->d.pass_exec[pass].name ? v->d.pass_exec[pass].name : "";
}

const char *hdi_verify_res_name(const hdi_verify *v, uint32_t res)
{
    return v->d.res_info[res].name ? v->d.res_info[res].name : "";
}

void hdi_verify_fail(hdi_verify *v, uint32_t rule, const char *format, ...)
{
    v->bad = true;
    if (v->stop)
        return;
    if (v->desc->message || v->desc->finding) {
        char text[1024], repair[384] = "";
        va_list list;
        va_start(list, format);
        vsnprintf(text, sizeof(text) / 2, format, list);
        va_end(list);
        hdi_verify_repair_text(v, &v->found.repair, repair, sizeof(repair));
        v->found.rule = rule;
        v->found.text = text;
        v->found.repair_text = repair;
        if (v->desc->finding)
            v->desc->finding(&v->found, v->desc->user);
        if (v->desc->message) {
            size_t length = strlen(text);
            if (*repair)
                snprintf(text + length, sizeof(text) - length, "; repair: %s", repair);
            v->desc->message(text, v->desc->user);
        }
    }
    hdi_verify_forget(v);
    v->messages++;
    v->stop = v->messages >= v->limit;
}

static hd_result run(hdi_verify *v)
{
    hdi_verify_structure(v);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    if (v->bad) /* what follows relies on indices in range */
        return HD_PLAN_INVALID;
    hd_result (*const steps[])(hdi_verify *) = {hdi_verify_model,     hdi_verify_versions, hdi_verify_cull,
                                                hdi_verify_placement, hdi_verify_units,    hdi_verify_scopes,
                                                hdi_verify_nodes,     hdi_verify_walk};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !v->stop; i++) {
        hd_result result = steps[i](v);
        if (result != HD_OK)
            return result;
        if (v->arena.failed)
            return HD_OUT_OF_MEMORY;
    }
    return v->bad ? HD_PLAN_INVALID : HD_OK;
}

hd_result hd_plan_verify(const hd_graph *graph, const hd_plan *plan, const hd_verify_desc *desc)
{
    static const hd_verify_desc none;
    if (!graph || !plan)
        return HD_INVALID_ARGUMENT;
    hdi_verify v = {.desc = desc ? desc : &none};
    v.d = hdi_graph_decl(graph);
    v.p = hd_plan_read(plan);
    v.limit = !v.desc->message && !v.desc->finding ? 1 : v.desc->max_messages ? v.desc->max_messages : 16;
    hdi_verify_forget(&v);
    hdi_arena_init(&v.arena, &v.desc->allocator);
    hd_result result = run(&v);
    hdi_arena_free(&v.arena);
    return result;
}
