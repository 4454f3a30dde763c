#include "verify.h"
#include "vk_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What findings say: names of rules, where the two commands stand, and a repair as a sentence. */

static const char *const rules[HD_RULE_COUNT] = {"none",      "structure", "versions",     "cull",       "queue",
                                                 "stages",    "event",     "wait",         "deadlock",   "placement",
                                                 "rendering", "execution", "availability", "visibility", "layout",
                                                 "content",   "ownership", "final_state"};

const char *hd_rule_name(hd_rule rule)
{
    return (unsigned)rule < HD_RULE_COUNT ? rules[rule] : "?";
}

/* ---- places ---- */

static hd_verify_place nowhere(void)
{
    return (hd_verify_place){HD_PLACE_NONE, HDI_NONE, HDI_NONE, HDI_NONE, HDI_NONE, HDI_NONE};
}

hd_verify_place hdi_verify_pass_place(const hdi_verify *v, uint32_t pass)
{
    return (hd_verify_place){HD_PLACE_PASS,        pass, HDI_NONE, v->pass_queue[pass], v->pass_submit[pass],
                             v->pass_command[pass]};
}

hd_verify_place hdi_verify_use_place(const hdi_verify *v, uint32_t use)
{
    hd_verify_place place = hdi_verify_pass_place(v, v->use_pass[use]);
    place.use = use - v->d.pass_use_begin[place.index];
    return place;
}

hd_verify_place hdi_verify_wait_place(uint32_t wait, uint32_t submit, uint32_t queue)
{
    return (hd_verify_place){HD_PLACE_WAIT, wait, HDI_NONE, queue, submit, HDI_NONE};
}

hd_verify_place hdi_verify_node_place(const hdi_verify *v, uint32_t n)
{
    const hdi_vnode *x = &v->node[n];
    return (hd_verify_place){HD_PLACE_BARRIER, x->barrier, HDI_NONE, x->queue, x->submit, x->command};
}

void hdi_verify_forget(hdi_verify *v)
{
    v->found = (hd_finding){.first = nowhere(), .second = nowhere(), .resource = HDI_NONE, .other_resource = HDI_NONE};
}

void hdi_verify_about(hdi_verify *v, hd_verify_place first, hd_verify_place second, uint32_t res, uint32_t other_res)
{
    v->found.first = first;
    v->found.second = second;
    v->found.resource = res;
    v->found.other_resource = other_res == res ? HDI_NONE : other_res;
}

/* ---- sentences ---- */

typedef struct line {
    char *text;
    size_t bytes, used;
} line;

static void add(line *l, const char *format, ...) HDI_PRINTF(2, 3);
static void add(line *l, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(l->text + l->used, l->bytes - l->used, format, list);
    va_end(list);
    if (n > 0)
        l->used += (size_t)n < l->bytes - l->used ? (size_t)n : l->bytes - l->used - 1;
}

static void add_side(line *l, const char *name, uint64_t stages, uint64_t access)
{
    if (!stages && !access)
        return;
    add(l, "%s ", name);
    if (stages)
        add(l, "%s", HDI_STAGE_TEXT(stages));
    if (stages && access)
        add(l, "/");
    if (access)
        add(l, "%s", HDI_ACCESS_TEXT(access));
}

static void add_scopes(line *l, const hd_plan_barrier *b)
{
    bool src = b->src_stages || b->src_access, dst = b->dst_stages || b->dst_access;
    add_side(l, "src", b->src_stages, b->src_access);
    add(l, src && dst ? " -> " : "");
    add_side(l, "dst", b->dst_stages, b->dst_access);
}

static void add_resource(const hdi_verify *v, line *l, const hd_plan_barrier *b)
{
    if (b->resource >= v->d.res_count)
        return;
    add(l, " on resource %u '%s'", b->resource, hdi_verify_res_name(v, b->resource));
    if (b->old_layout != b->new_layout)
        add(l, ", layout %s -> %s", HDI_LAYOUT_TEXT(b->old_layout), HDI_LAYOUT_TEXT(b->new_layout));
    if (b->src_family != b->dst_family)
        add(l, ", family %u -> %u", b->src_family, b->dst_family);
}

static void add_position(const hdi_verify *v, line *l, const hd_repair *r)
{
    const hd_plan_submit *s = &v->p.submits[r->submit];
    if (r->command < s->command_begin + s->command_count) {
        const hd_plan_command *c = &v->p.commands[r->command];
        if (c->kind == HD_COMMAND_PASS)
            add(l, "before pass %u '%s' (submit %u)", c->index, hdi_verify_pass_name(v, c->index), r->submit);
        else
            add(l, "before command %u of submit %u", r->command - s->command_begin, r->submit);
    } else {
        add(l, "at the end of submit %u", r->submit);
    }
}

void hdi_verify_repair_text(const hdi_verify *v, const hd_repair *r, char *text, size_t bytes)
{
    line l = {text, bytes, 0};
    switch (r->kind) {
    case HD_REPAIR_WIDEN:
        add(&l, "add to barrier %u: ", r->index);
        add_scopes(&l, &r->barrier);
        break;
    case HD_REPAIR_NARROW:
        add(&l, "take from barrier %u: ", r->index);
        add_scopes(&l, &r->barrier);
        break;
    case HD_REPAIR_CHANGE:
        add(&l, "make barrier %u: ", r->index);
        add_scopes(&l, &r->barrier);
        add_resource(v, &l, &r->barrier);
        break;
    case HD_REPAIR_ADD:
        add(&l, "a barrier ");
        add_position(v, &l, r);
        add(&l, ": ");
        add_scopes(&l, &r->barrier);
        add_resource(v, &l, &r->barrier);
        break;
    case HD_REPAIR_WAIT_STAGES:
        add(&l, "add to wait %u of submit %u: ", r->index, r->submit);
        add(&l, "%s", HDI_STAGE_TEXT(r->barrier.dst_stages));
        break;
    case HD_REPAIR_SIGNAL_STAGES:
        add(&l, "add to the signal of submit %u: ", r->index);
        add(&l, "%s", HDI_STAGE_TEXT(r->barrier.src_stages));
        break;
    case HD_REPAIR_ADD_WAIT:
        add(&l, "submit %u must wait for submit %u at ", r->submit, r->index);
        add(&l, "%s", HDI_STAGE_TEXT(r->barrier.dst_stages));
        break;
    case HD_REPAIR_WAIT_VALUE:
        add(&l, "wait %u of submit %u for value %llu", r->index, r->submit, (unsigned long long)r->value);
        break;
    case HD_REPAIR_DROP_WAIT:
        add(&l, "take wait %u out of submit %u", r->index, r->submit);
        break;
    case HD_REPAIR_LOAD:
        add(&l, "attachment %u: load op %s", r->index, HDI_LOAD_TEXT(r->value));
        break;
    case HD_REPAIR_STORE:
        add(&l, "attachment %u: store op %s", r->index, HDI_STORE_TEXT(r->value));
        break;
    case HD_REPAIR_MOVE:
        add(&l, "resource %u '%s' at offset %llu", v->p.resources[r->index].id,
            hdi_verify_res_name(v, v->p.resources[r->index].id), (unsigned long long)r->value);
        break;
    case HD_REPAIR_FINAL_LAYOUT:
        add(&l, "resource %u: final layout %s", v->p.resources[r->index].id, HDI_LAYOUT_TEXT(r->value));
        break;
    case HD_REPAIR_FINAL_FAMILY:
        add(&l, "resource %u: final family %llu", v->p.resources[r->index].id, (unsigned long long)r->value);
        break;
    default:
        break;
    }
}
