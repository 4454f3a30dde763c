#include "plan.h"

#include "attach_uses.h"

/* Attach: the rendering scopes of the plan. A pass joins the scope of the pass before it when nothing stands between
 * their commands and they have the same attachments, which the second one goes on with. Attachments stand in the order
 * of the uses, so that the order of colors is the engine's. O(slots + uses).
 *
 * plan_places.c writes scopes together with the commands, which need the same walk. Here the places, in the order of
 * the submits, are cut into ranges that begin where no scope goes on. The rows that each range has in each table of the
 * plan are counted, so that each range knows where its rows begin. With one worker there is one range and nothing to
 * count: the tables only need an upper bound, which follows from the declaration. */

enum { GRAIN = 512 };

typedef struct work {
    const hdi_decl *decl;
    const hdi_hazards *hazards;
    const hdi_barriers *barriers;
    hdi_attached *out;
    const hdi_submit *submit;
    const hdi_synced *synced;
    const uint32_t *submit_begin; /* submit_count + 1: the first place of each submit */
    hdi_plan_place count[HDI_MOST_PARTS]; /* the rows of each range in the plan's tables */
} work;

/* ---- scopes ---- */

static inline uint32_t count_attachments(const hdi_decl *decl, const hdi_pass_uses *uses)
{
    uint32_t first = uses->first, count = 0;
    for (uint64_t left = uses->attachments;; left = hdi_attachments_of(decl->use_flags, first, uses->end - first)) {
        for (; left; left &= left - 1)
            count++;
        if (uses->end - first <= 8)
            return count;
        first += 8;
    }
}

/* ---- counting ---- */

/* A batch before or behind a place. */
static inline void count_batch(hdi_batch batch, hdi_plan_place *at)
{
    at->command++;
    at->batch++;
    at->barrier += batch.barrier_count;
}

/* Places of a submit from first up to end. */
static void count_places(const work *w, const hdi_submit *submit, uint32_t first, uint32_t end, hdi_plan_place *at)
{
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[submit->queue]], *slot_pass = hazards->slot_pass;
    const hdi_batch *place_batch = w->barriers->place_batch + 2 * (size_t)hazards->queue_begin[submit->queue];
    hdi_plan_place s = *at;
    uint32_t last = HDI_NONE; /* the pass that ends the newest scope; none: nothing can join it any more */
    for (uint32_t pos = first; pos < end; pos++) {
        uint32_t pass = slot_pass[slots[pos]];
        hdi_batch before = place_batch[2 * pos], behind = place_batch[2 * pos + 1];
        if (before.newest) {
            count_batch(before, &s);
            last = HDI_NONE;
        }
        if (pass != HDI_NONE) {
            hdi_pass_uses uses;
            hdi_scope_step step = hdi_step_scope(w->decl, pass, last, &uses);
            if (step == HDI_SCOPE_BEGINS) {
                s.scope++;
                s.attachment += count_attachments(w->decl, &uses);
            }
            last = step == HDI_SCOPE_NONE ? HDI_NONE : pass;
            s.command++;
        }
        if (behind.newest) {
            count_batch(behind, &s);
            last = HDI_NONE;
        }
    }
    *at = s;
}

/* The place at or behind `place` where a range can begin: no scope goes on there. */
static uint32_t begin_at(const work *w, uint32_t place)
{
    if (place == 0 || place == w->submit_begin[w->synced->submit_count])
        return place;
    uint32_t s = hdi_submit_of(w->synced, place), end = w->submit_begin[s + 1];
    const hdi_hazards *hazards = w->hazards;
    uint32_t first = hazards->queue_begin[w->submit[s].queue] + w->submit[s].first_pos; /* of the places by queues */
    for (; place > w->submit_begin[s] && place < end; place++) {
        size_t at = (size_t)first + place - w->submit_begin[s];
        const hdi_batch *batch = w->barriers->place_batch + 2 * at;
        uint32_t a = hazards->slot_pass[hazards->queue_slot[at - 1]], b = hazards->slot_pass[hazards->queue_slot[at]];
        if (batch[0].newest || batch[-1].newest ||
            (a != HDI_NONE && b != HDI_NONE &&
             !(hdi_renders(w->decl, a) && hdi_renders(w->decl, b) && hdi_goes_on(w->decl, a, b))))
            break;
    }
    return place;
}

static void count_range(uint32_t part, void *user)
{
    work *w = user;
    hdi_plan_place count = {0}; /* its own until the end: it stands on a line with those of other ranges */
    uint32_t place = w->out->range_begin[part], end = w->out->range_begin[part + 1];
    for (uint32_t s = hdi_submit_of(w->synced, place); place < end; s++) {
        const hdi_submit *submit = &w->submit[s];
        uint32_t last = w->submit_begin[s + 1] < end ? w->submit_begin[s + 1] : end, base = w->submit_begin[s];
        count.wait += place == base ? submit->wait_count : 0;
        count_places(w, submit, submit->first_pos + place - base, submit->first_pos + last - base, &count);
        place = last;
    }
    w->count[part] = count;
}

/* Turns the counts of the ranges into the numbers of rows before each range. */
static void add_up(const work *w)
{
    hdi_plan_place sum = {0};
    for (uint32_t part = 0; part < w->out->ranges; part++) {
        hdi_plan_place of = w->count[part];
        w->out->range_at[part] = sum;
        sum.scope += of.scope;
        sum.attachment += of.attachment;
        sum.command += of.command;
        sum.batch += of.batch;
        sum.barrier += of.barrier;
        sum.wait += of.wait;
    }
    w->out->scope_count = sum.scope;
    w->out->attachment_count = sum.attachment;
}

/* At most one scope for each kept gfx pass that may render, and one attachment for each attachment use. */
void hdi_attach_most(const hdi_decl *decl, const hdi_kept *kept, hdi_attached *out)
{
    const uint8_t *pass_type = decl->pass_type, *pass_kept = kept->pass_kept, *use_flags = decl->use_flags;
    uint32_t scopes = 0, attachments = 0;
    for (uint32_t p = 0; p < decl->pass_count; p++)
        scopes += (uint32_t)(pass_type[p] == HD_PASS_GFX) & (uint32_t)(pass_kept[p] != 0);
    for (uint32_t u = 0; u < decl->use_count; u++)
        attachments += (uint32_t)(use_flags[u] & HDI_USE_ATTACHMENT);
    attachments /= HDI_USE_ATTACHMENT;
    out->scope_count = scopes < attachments ? scopes : attachments;
    out->attachment_count = attachments;
}

void hdi_attach(const hdi_decl *decl, const hdi_kept *kept, const hdi_hazards *hazards, const hdi_synced *synced,
                const hdi_barriers *barriers, const hdi_crew *crew, hdi_attached *out)
{
    work w; /* not cleared: it is long */
    uint32_t places = hazards->slot_count, ranges = hdi_range_count(crew, places, GRAIN);
    out->ranges = places ? ranges : 0;
    out->range_at[0] = (hdi_plan_place){0};
    if (crew->workers > 1)
        out->scope_count = out->attachment_count = 0;
    if (places == 0)
        return;
    w.decl = decl;
    w.hazards = hazards;
    w.barriers = barriers;
    w.out = out;
    w.submit = synced->submit;
    w.synced = synced;
    w.submit_begin = synced->submit_begin;
    for (uint32_t part = 0; part <= ranges; part++)
        out->range_begin[part] = begin_at(&w, hdi_range_begin(places, ranges, part));
    if (ranges == 1 && crew->workers > 1)
        hdi_attach_most(decl, kept, out);
    if (ranges == 1)
        return;
    hdi_crew_parts(crew, ranges, count_range, &w);
    add_up(&w);
}
