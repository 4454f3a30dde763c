#include "phases.h"

#include "vk_numbers.h"

/* Attach: the rendering scopes of the plan, and how each begins and ends with its attachments.
 *
 * Load ops follow from the access. A store op is kept where somebody reads what the use leaves, which the hazards tell.
 * A pass joins the scope of the pass before it when nothing stands between their commands and they have the same
 * attachments, which the second one goes on with; the commands are counted here as plan.c will emit them. Attachments
 * stand in the order of the uses, so that the order of colors is the engine's. O(slots + uses).
 *
 * By ranges of places in the order of the submits, which begin where no scope goes on: scopes, attachments and commands are
 * counted, then written behind those of the ranges before. */

enum { GRAIN = 1024 };

/* What stands before a place: how many scopes, attachments and commands. */
typedef struct sums {
    uint32_t scope, attachment, command;
} sums;

typedef struct work {
    const hdi_decl *decl;
    const hdi_hazards *hazards;
    const hdi_barriers *barriers;
    const uint8_t *use_kept;
    hdi_attached *out;
    const hdi_submit *submit;
    uint32_t submit_count;
    const uint32_t *submit_begin; /* the first place of each + 1 */
    sums sums[HDI_MOST_PARTS];
    bool counts;
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

static uint32_t count_attachments(const hdi_decl *decl, uint32_t pass)
{
    uint32_t count = 0;
    for (uint32_t use = decl->pass_use_begin[pass]; use < decl->pass_use_begin[pass + 1]; use++)
        count += hdi_is_attachment(decl->use_access[use]);
    return count;
}

/* Attachments of a pass, to next; returns how many. */
static inline uint32_t write_attachments(const work *w, uint32_t pass, hd_plan_attachment *next)
{
    const hd_plan_attachment *begin = next;
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
    return (uint32_t)(next - begin);
}

static bool renders(const hdi_decl *decl, uint32_t pass)
{
    return decl->pass_type[pass] == HD_PASS_GFX && !(decl->pass_flags[pass] & HDI_PASS_NO_RENDERING);
}

/* Places of a submit from first up to end. */
static void visit_places(const work *w, const hdi_submit *submit, uint32_t first, uint32_t end, sums *at)
{
    const hdi_decl *decl = w->decl;
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[submit->queue]], *slot_pass = hazards->slot_pass;
    const uint32_t *slot_pre = w->barriers->slot_pre, *slot_post = w->barriers->slot_post;
    hd_plan_scope *scopes = w->out->scope;
    sums s = *at;
    uint32_t last = HDI_NONE; /* the pass that ends the newest scope; none: nothing can join it any more */
    for (uint32_t pos = first; pos < end; pos++) {
        uint32_t slot = slots[pos], pass = slot_pass[slot];
        if (slot_pre[slot] != HDI_NONE) {
            s.command++;
            last = HDI_NONE;
        }
        if (pass != HDI_NONE) {
            if (!renders(decl, pass)) {
                last = HDI_NONE;
            } else if (last != HDI_NONE && hdi_goes_on(decl, last, pass)) {
                if (!w->counts)
                    join(w, &scopes[s.scope - 1], pass);
                last = pass;
            } else {
                uint32_t count = w->counts ? count_attachments(decl, pass)
                                           : write_attachments(w, pass, w->out->attachment + s.attachment);
                if (count && !w->counts)
                    scopes[s.scope] = (hd_plan_scope){s.command, 1, s.attachment, count};
                s.scope += count != 0;
                s.attachment += count;
                last = count ? pass : HDI_NONE;
            }
            s.command++;
        }
        if (slot_post[slot] != HDI_NONE) {
            s.command++;
            last = HDI_NONE;
        }
    }
    *at = s;
}

static uint32_t submit_of(const work *w, uint32_t place)
{
    uint32_t low = 0, high = w->submit_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(w->submit_begin[middle] <= place ? &low : &high) = middle;
    }
    return low;
}

/* Where a range that is to begin at a place does: where nothing can go on. */
static uint32_t begin_at(const work *w, uint32_t place)
{
    if (place == 0 || place == w->submit_begin[w->submit_count])
        return place;
    uint32_t s = submit_of(w, place), end = w->submit_begin[s + 1];
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[w->submit[s].queue] + w->submit[s].first_pos];
    for (; place > w->submit_begin[s] && place < end; place++) {
        uint32_t slot = slots[place - w->submit_begin[s]], before = slots[place - w->submit_begin[s] - 1];
        uint32_t a = hazards->slot_pass[before], b = hazards->slot_pass[slot];
        if (w->barriers->slot_pre[slot] != HDI_NONE || w->barriers->slot_post[before] != HDI_NONE ||
            (a != HDI_NONE && b != HDI_NONE &&
             !(renders(w->decl, a) && renders(w->decl, b) && hdi_goes_on(w->decl, a, b))))
            break;
    }
    return place;
}

static void visit_range(uint32_t begin, uint32_t end, uint32_t part, void *user)
{
    work *w = user;
    begin = begin_at(w, begin);
    end = begin_at(w, end);
    for (uint32_t s = submit_of(w, begin), place = begin; place < end; s++) {
        const hdi_submit *submit = &w->submit[s];
        uint32_t last = w->submit_begin[s + 1] < end ? w->submit_begin[s + 1] : end, base = w->submit_begin[s];
        visit_places(w, submit, submit->first_pos + place - base, submit->first_pos + last - base, &w->sums[part]);
        place = last;
    }
}

hd_result hdi_attach(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_synced *synced,
                     const hdi_barriers *barriers, const hdi_crew *crew, hdi_arena *arena, hdi_attached *out)
{
    work w = {.decl = decl, .hazards = hazards, .barriers = barriers, .use_kept = hazards->use_kept, .out = out};
    *out = (hdi_attached){.scope = HDI_ARENA_ARRAY(arena, hd_plan_scope, (size_t)hazards->slot_count + 1),
                          .attachment = HDI_ARENA_ARRAY(arena, hd_plan_attachment, decl->use_count)};
    uint32_t *submit_begin = HDI_ARENA_ARRAY(arena, uint32_t, (size_t)synced->submit_count + 1), places = 0;
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < synced->submit_count; s++) {
        submit_begin[s] = places;
        places += synced->submit[s].end_pos - synced->submit[s].first_pos;
    }
    submit_begin[synced->submit_count] = places;
    w.submit = synced->submit;
    w.submit_count = synced->submit_count;
    w.submit_begin = submit_begin;
    if (places == 0)
        return HD_OK;
    uint32_t ranges = hdi_range_count(crew, places, GRAIN);
    sums sum = {0, 0, 0};
    w.counts = true;
    if (ranges > 1)
        hdi_crew_ranges(crew, places, GRAIN, visit_range, &w);
    for (uint32_t part = 0; part < ranges; part++) {
        sums of = w.sums[part];
        w.sums[part] = sum;
        sum = (sums){sum.scope + of.scope, sum.attachment + of.attachment, sum.command + of.command};
    }
    w.counts = false;
    hdi_crew_ranges(crew, places, GRAIN, visit_range, &w);
    out->scope_count = w.sums[ranges - 1].scope;
    out->attachment_count = w.sums[ranges - 1].attachment;
    return HD_OK;
}
