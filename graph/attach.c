#include "phases.h"

#include "vk_numbers.h"

/* Attach: the rendering scopes of the plan, and how each begins and ends with its attachments.
 *
 * Load ops follow from the access. A store op is kept where somebody reads what the use leaves, which the hazards tell.
 * A pass joins the scope of the pass before it when nothing stands between their commands and they have the same
 * attachments, which the second one goes on with; the commands are counted here as plan.c will emit them. Attachments
 * stand in the order of the uses, so that the order of colors is the engine's. O(slots + uses). */

typedef struct work {
    const hdi_decl *decl;
    const hdi_hazards *hazards;
    const hdi_barriers *barriers;
    const uint8_t *use_kept;
    hdi_attached *out;
    uint32_t command; /* the next in the plan */
} work;

/* ---- attachments ---- */

static uint32_t next_attachment(const hdi_decl *decl, uint32_t use, uint32_t end)
{
    while (use < end && !hdi_is_attachment(decl->use_access[use]))
        use++;
    return use;
}

static bool same_range(const hdi_decl *decl, uint32_t a, uint32_t b)
{
    uint32_t x = decl->use_range[a], y = decl->use_range[b];
    if (x == HDI_NONE || y == HDI_NONE)
        return x == y;
    return decl->range[x].offset == decl->range[y].offset && decl->range[x].bytes == decl->range[y].bytes;
}

/* Whether a pass goes on with the attachments of the pass before it. Layouts agree where no barrier stands between. */
bool hdi_goes_on(const hdi_decl *decl, uint32_t before, uint32_t pass)
{
    uint32_t a = decl->pass_use_begin[before], a_end = decl->pass_use_begin[before + 1];
    uint32_t b = decl->pass_use_begin[pass], b_end = decl->pass_use_begin[pass + 1];
    for (bool some = false;; a++, b++, some = true) {
        a = next_attachment(decl, a, a_end);
        b = next_attachment(decl, b, b_end);
        if (a == a_end || b == b_end)
            return some && a == a_end && b == b_end;
        if (decl->use_exec[a].resolve) /* it would be resolved too late for who reads that */
            return false;
        if (decl->use_res[a] != decl->use_res[b] ||
            decl->access[decl->use_access[a]].attachment != decl->access[decl->use_access[b]].attachment ||
            !same_range(decl, a, b) || hdi_load_op(decl, b) != HDI_LOAD_OP_LOAD)
            return false;
    }
}

/* ---- scopes ---- */

static inline uint32_t store_op(const work *w, const hdi_access_info *access, uint32_t use)
{
    if (!access->writes)
        return HDI_STORE_OP_NONE;
    return w->use_kept[use] ? HDI_STORE_OP_STORE : HDI_STORE_OP_DONT_CARE;
}

/* What an attachment of a pass whose uses begin at first is resolved into, where somebody reads that. */
static inline uint32_t resolve_of(const work *w, uint32_t use, uint32_t first)
{
    uint32_t resolve = w->decl->use_exec[use].resolve;
    return resolve && w->use_kept[first + resolve - 1] ? resolve - 1 : HD_NONE;
}

/* The scope goes on: what its last pass leaves counts. */
static void join(const work *w, hd_plan_scope *scope, uint32_t pass)
{
    const hdi_decl *decl = w->decl;
    uint32_t first = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1], use = first;
    scope->command_count++;
    for (uint32_t i = 0; i < scope->attachment_count; i++, use++) {
        hd_plan_attachment *attachment = &w->out->attachment[scope->attachment_begin + i];
        use = next_attachment(decl, use, end);
        uint32_t store = store_op(w, &decl->access[decl->use_access[use]], use);
        if (store != HDI_STORE_OP_NONE) /* a pass that only reads leaves what the ones before it wrote */
            attachment->store = store;
        attachment->resolve = resolve_of(w, use, first);
    }
}

/* Attachments of a pass, to next; returns their end. */
static inline hd_plan_attachment *write_attachments(const work *w, uint32_t pass, hd_plan_attachment *next)
{
    const hdi_decl *decl = w->decl;
    const uint16_t *use_access = decl->use_access;
    const hdi_use_exec *use_exec = decl->use_exec;
    uint32_t first = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1];
    for (uint32_t use = first; use < end; use++) {
        if (!hdi_is_attachment(use_access[use]))
            continue;
        const hdi_access_info *access = &decl->access[use_access[use]];
        uint32_t load = use_exec[use].load == HD_LOAD_CLEAR ? HDI_LOAD_OP_CLEAR : HDI_LOAD_OP_DONT_CARE;
        next->use = use - first;
        next->load = access->reads ? HDI_LOAD_OP_LOAD : load;
        next->store = store_op(w, access, use);
        next->resolve = resolve_of(w, use, first);
        next++;
    }
    return next;
}

static void visit_submit(work *w, const hdi_submit *submit)
{
    const hdi_decl *decl = w->decl;
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[submit->queue]], *slot_pass = hazards->slot_pass;
    const uint32_t *slot_pre = w->barriers->slot_pre, *slot_post = w->barriers->slot_post;
    const uint8_t *pass_type = decl->pass_type, *pass_flags = decl->pass_flags;
    hdi_attached *out = w->out;
    hd_plan_scope *scope = out->scope + out->scope_count;
    hd_plan_attachment *attachment = out->attachment + out->attachment_count;
    uint32_t end = submit->end_pos, command = w->command;
    uint32_t last = HDI_NONE; /* the pass that ends the newest scope; none: nothing can join it any more */
    for (uint32_t pos = submit->first_pos; pos < end; pos++) {
        uint32_t slot = slots[pos], pass = slot_pass[slot];
        if (slot_pre[slot] != HDI_NONE) {
            command++;
            last = HDI_NONE;
        }
        if (pass != HDI_NONE) {
            if (pass_type[pass] != HD_PASS_GFX || pass_flags[pass] & HDI_PASS_NO_RENDERING) {
                last = HDI_NONE;
            } else if (last != HDI_NONE && hdi_goes_on(decl, last, pass)) {
                join(w, scope - 1, pass);
                last = pass;
            } else {
                hd_plan_attachment *next = write_attachments(w, pass, attachment);
                *scope = (hd_plan_scope){command, 1, (uint32_t)(attachment - out->attachment),
                                         (uint32_t)(next - attachment)};
                scope += next != attachment;
                last = next != attachment ? pass : HDI_NONE;
                attachment = next;
            }
            command++;
        }
        if (slot_post[slot] != HDI_NONE) {
            command++;
            last = HDI_NONE;
        }
    }
    out->scope_count = (uint32_t)(scope - out->scope);
    out->attachment_count = (uint32_t)(attachment - out->attachment);
    w->command = command;
}

hd_result hdi_attach(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_synced *synced,
                     const hdi_barriers *barriers, hdi_arena *arena, hdi_attached *out)
{
    work w = {.decl = decl, .hazards = hazards, .barriers = barriers, .use_kept = hazards->use_kept, .out = out};
    *out = (hdi_attached){.scope = HDI_ARENA_ARRAY(arena, hd_plan_scope, (size_t)hazards->slot_count + 1),
                          .attachment = HDI_ARENA_ARRAY(arena, hd_plan_attachment, decl->use_count)};
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < synced->submit_count; s++)
        visit_submit(&w, &synced->submit[s]);
    return HD_OK;
}
