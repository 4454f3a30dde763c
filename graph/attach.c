#include "phases.h"

#include "vk_numbers.h"

/* Attach: the rendering scopes of the plan, and how each begins and ends with its attachments.
 *
 * Load ops follow from the access. A store op is kept where the next use in the order of the schedule reads a piece of
 * what the pass wrote, or where nothing comes next and the content outlives the frame: one look at each written epoch
 * and the one behind it. A pass joins the scope of the pass before it when nothing stands between their commands and
 * they have the same attachments, which the second one goes on with; the commands are counted here as plan.c will emit
 * them. Attachments stand in the order of the uses, so that the order of colors is the engine's. O(epochs + slots +
 * uses). */

typedef struct work {
    const hdi_decl *decl;
    const hdi_frozen *frozen;
    const hdi_hazards *hazards;
    const hdi_synced *synced;
    const hdi_barriers *barriers;
    uint8_t *use_kept; /* somebody reads what the use leaves */
    hdi_attached *out;
    uint32_t command; /* the next in the plan */
    uint32_t last;    /* the pass that ends the newest scope, HDI_NONE: nothing can join it any more */
} work;

/* ---- what is read later ---- */

/* Without branches on what an epoch does, which is hard to foresee. A written epoch has one use; where an epoch only
 * reads, nothing is changed. */
static void find_kept(work *w)
{
    const hdi_hazards *hazards = w->hazards;
    for (uint32_t r = 0; r < w->decl->res_count; r++) {
        uint32_t flags = w->decl->res_flags[r];
        if (flags & HDI_RES_BUFFER || !hazards->res_used[r])
            continue;
        bool outlives = (flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY)) != 0;
        for (uint32_t seg = w->frozen->res_seg_begin[r]; seg < w->frozen->res_seg_begin[r + 1]; seg++) {
            uint32_t next = outlives ? HDI_EPOCH_READS : HDI_EPOCH_WRITES;
            for (uint32_t e = hazards->seg_epoch_begin[seg + 1]; e-- > hazards->seg_epoch_begin[seg];) {
                const hdi_epoch *epoch = &hazards->epoch[e];
                w->use_kept[hazards->entry_use[epoch->entry_begin]] |=
                    (epoch->flags & HDI_EPOCH_WRITES) != 0 && next != HDI_EPOCH_WRITES; /* a read, or a final state */
                next = epoch->flags;
            }
        }
    }
}

/* ---- scopes ---- */

static bool renders(const hdi_decl *decl, uint32_t pass)
{
    return decl->pass_type[pass] == HD_PASS_GFX && !(decl->pass_flags[pass] & HDI_PASS_NO_RENDERING);
}

static uint32_t store_op(const work *w, uint32_t use)
{
    if (!w->decl->access[w->decl->use_access[use]].writes)
        return HDI_STORE_OP_NONE;
    return w->use_kept[use] ? HDI_STORE_OP_STORE : HDI_STORE_OP_DONT_CARE;
}

/* What an attachment of a pass whose uses begin at first is resolved into, where somebody reads that. */
static uint32_t resolve_of(const work *w, uint32_t use, uint32_t first)
{
    uint32_t resolve = w->decl->use_exec[use].resolve;
    return resolve && w->use_kept[first + resolve - 1] ? resolve - 1 : HD_NONE;
}

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

/* The scope goes on: what its last pass leaves counts. */
static void join(work *w, uint32_t pass)
{
    hd_plan_scope *scope = &w->out->scope[w->out->scope_count - 1];
    uint32_t first = w->decl->pass_use_begin[pass], end = w->decl->pass_use_begin[pass + 1], use = first;
    scope->command_count++;
    for (uint32_t i = 0; i < scope->attachment_count; i++, use++) {
        hd_plan_attachment *attachment = &w->out->attachment[scope->attachment_begin + i];
        use = next_attachment(w->decl, use, end);
        uint32_t store = store_op(w, use);
        if (store != HDI_STORE_OP_NONE) /* a pass that only reads leaves what the ones before it wrote */
            attachment->store = store;
        attachment->resolve = resolve_of(w, use, first);
    }
}

static void begin(work *w, uint32_t pass)
{
    uint32_t first = w->decl->pass_use_begin[pass], end = w->decl->pass_use_begin[pass + 1];
    hd_plan_scope *scope = &w->out->scope[w->out->scope_count];
    *scope = (hd_plan_scope){w->command, 1, w->out->attachment_count, 0};
    for (uint32_t use = next_attachment(w->decl, first, end); use < end; use = next_attachment(w->decl, use + 1, end)) {
        w->out->attachment[w->out->attachment_count++] =
            (hd_plan_attachment){use - first, hdi_load_op(w->decl, use), store_op(w, use), resolve_of(w, use, first)};
        scope->attachment_count++;
    }
    w->out->scope_count += scope->attachment_count != 0;
    w->last = scope->attachment_count ? pass : HDI_NONE;
}

static void visit_pass(work *w, uint32_t pass)
{
    if (!renders(w->decl, pass))
        w->last = HDI_NONE;
    else if (w->last != HDI_NONE && hdi_goes_on(w->decl, w->last, pass)) {
        join(w, pass);
        w->last = pass;
    } else
        begin(w, pass);
    w->command++;
}

static void visit_submit(work *w, const hdi_submit *submit)
{
    const hdi_hazards *hazards = w->hazards;
    w->last = HDI_NONE;
    for (uint32_t pos = submit->first_pos; pos < submit->end_pos; pos++) {
        uint32_t slot = hazards->queue_slot[hazards->queue_begin[submit->queue] + pos];
        if (w->barriers->slot_pre[slot] != HDI_NONE) {
            w->command++;
            w->last = HDI_NONE;
        }
        if (hazards->slot_pass[slot] != HDI_NONE)
            visit_pass(w, hazards->slot_pass[slot]);
        if (w->barriers->slot_post[slot] != HDI_NONE) {
            w->command++;
            w->last = HDI_NONE;
        }
    }
}

static uint32_t count_attachments(const work *w)
{
    uint32_t count = 0;
    for (uint32_t use = 0; use < w->decl->use_count; use++)
        count += hdi_is_attachment(w->decl->use_access[use]);
    return count;
}

hd_result hdi_attach(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_hazards *hazards,
                     const hdi_synced *synced, const hdi_barriers *barriers, hdi_arena *arena, hdi_attached *out)
{
    work w = {.decl = decl,
              .frozen = frozen,
              .hazards = hazards,
              .synced = synced,
              .barriers = barriers,
              .out = out,
              .last = HDI_NONE};
    *out = (hdi_attached){0};
    uint32_t most = count_attachments(&w);
    if (most == 0)
        return HD_OK;
    w.use_kept = HDI_ARENA_ZEROED(arena, uint8_t, decl->use_count);
    out->scope = HDI_ARENA_ARRAY(arena, hd_plan_scope, (size_t)hazards->slot_count + 1);
    out->attachment = HDI_ARENA_ARRAY(arena, hd_plan_attachment, most);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    find_kept(&w);
    for (uint32_t s = 0; s < synced->submit_count; s++)
        visit_submit(&w, &synced->submit[s]);
    return HD_OK;
}
