#include "plan_places.h"

#include "attach_uses.h"
#include "vk_numbers.h"

/* The part of a plan that follows the places of the slots, in one walk over them: submits with their waits, commands,
 * batches, barriers, and rendering scopes with how their attachments begin and end. Load ops follow from the access. A
 * store op is kept where a later use reads what the use leaves, which the hazards tell. O(slots + output). Barriers of
 * a batch are a list, from its last one on; the walk copies them where they stay. */

/* What does not change over a range. */
typedef struct writer {
    hdi_plan_tables to;
    const hdi_decl *decl;
    const uint8_t *use_kept;
    const hdi_barriers *barriers;
    const hdi_frozen *frozen;
    const uint8_t *res_flags;
    bool fetch; /* of a long frame */
    bool parts; /* some resources have several segments */
} writer;

/* ---- scopes ---- */

static HDI_INLINE uint32_t store_op(const uint8_t *use_kept, uint32_t use, uint32_t flags)
{
    if (!(flags & HDI_USE_WRITES))
        return HDI_STORE_OP_NONE;
    return use_kept[use] ? HDI_STORE_OP_STORE : HDI_STORE_OP_DONT_CARE;
}

/* The use that an attachment is resolved into, where that is read; `first` is the first use of the pass. */
static HDI_INLINE uint32_t resolve_of(const writer *w, uint32_t use, uint32_t first)
{
    uint32_t resolve = w->decl->use_exec[use].resolve;
    return resolve && w->use_kept[first + resolve - 1] ? resolve - 1 : HD_NONE;
}

/* The scope goes on with another pass: store ops and resolves follow from the last pass of the scope. */
HDI_APART static void join(const writer *w, hd_plan_scope *scope, const hdi_pass_uses *uses)
{
    uint32_t use = uses->first;
    scope->command_count++;
    for (uint32_t i = 0; i < scope->attachment_count; i++, use++) {
        hd_plan_attachment *attachment = &w->to.attachments[scope->attachment_begin + i];
        use = hdi_next_attachment(w->decl, use, uses->end);
        uint32_t store = store_op(w->use_kept, use, w->decl->use_flags[use]);
        if (store != HDI_STORE_OP_NONE) /* a pass that only reads leaves what the ones before it wrote */
            attachment->store = store;
        attachment->resolve = resolve_of(w, use, uses->first);
    }
}

static HDI_INLINE void add_attachment(const writer *w, uint32_t use, uint32_t first, hd_plan_attachment *to)
{
    to->use = use - first;
    to->load = hdi_load_op(w->decl, use);
    to->store = store_op(w->use_kept, use, w->decl->use_flags[use]);
    to->resolve = resolve_of(w, use, first);
}

/* Writes the attachments of a pass from `next` on; returns the place behind the last one. */
static HDI_INLINE uint32_t add_attachments(const writer *w, const hdi_pass_uses *uses, uint32_t next)
{
    hd_plan_attachment *to = w->to.attachments;
    uint64_t left = uses->attachments;
    for (uint32_t from = uses->first;; left = hdi_attachments_of(w->decl->use_flags, from, uses->end - from)) {
        for (; left; left &= left - 1)
            add_attachment(w, from + hdi_first_attachment(left), uses->first, &to[next++]);
        if (HDI_LIKELY(uses->end - from <= 8))
            return next;
        from += 8;
    }
}

/* Returns the pass where the newest scope ends with it, so that the next one may go on. last: the one that the newest
 * scope ends with, or none. */
static HDI_INLINE uint32_t add_to_scope(const writer *w, uint32_t pass, uint32_t last, hdi_plan_place *at)
{
    hdi_pass_uses uses;
    hdi_scope_step step = hdi_step_scope(w->decl, pass, last, &uses);
    if (step == HDI_SCOPE_NONE)
        return HDI_NONE;
    if (step == HDI_SCOPE_GOES_ON) {
        const hdi_pass_uses own = uses; /* what others look at does not stay in registers */
        join(w, &w->to.scopes[at->scope - 1], &own);
        return pass;
    }
    uint32_t end = add_attachments(w, &uses, at->attachment);
    w->to.scopes[at->scope++] = (hd_plan_scope){at->command, 1, at->attachment, end - at->attachment};
    at->attachment = end;
    return pass;
}

/* ---- submits ---- */

/* Slots of a submit in the order of its places. */
static const uint32_t *slots_of(const hdi_tables *t, const hdi_submit *submit)
{
    return &t->hazards.queue_slot[t->hazards.queue_begin[submit->queue] + submit->first_pos];
}

/* What a semaphore operation covers: everything of its queue, and the host's own accesses on the host queue. */
static uint64_t stages_of(const hdi_tables *t, uint32_t queue)
{
    return HDI_STAGE_ALL_COMMANDS | (queue == t->queues.host ? HDI_STAGE_HOST : 0);
}

/* What stands behind a wait and counts on it; all of it where nothing says more. */
static uint64_t wait_stages(const hdi_tables *t, const hdi_submit *submit)
{
    uint32_t slot = *slots_of(t, submit);
    uint64_t stages =
        submit->queue == t->queues.host || !t->barriers.slot_wait_stages ? 0 : t->barriers.slot_wait_stages[slot];
    return stages & ~HDI_STAGE_HOST ? stages & ~HDI_STAGE_HOST : stages_of(t, submit->queue);
}

/* The submit of the slot at a place of a queue. */
static const hdi_submit *submit_at(const hdi_tables *t, uint32_t queue, uint32_t pos)
{
    return &t->synced.submit[t->synced.place_submit[t->hazards.queue_begin[queue] + pos]];
}

/* Why a submit is not one with that before it on its queue. */
static uint32_t cut_of(const hdi_tables *t, const hdi_submit *submit)
{
    if (submit->first_pos == 0)
        return HD_CUT_FIRST;
    if (submit->wait_count)
        return HD_CUT_WAIT;
    return submit_at(t, submit->queue, submit->first_pos - 1)->signal ? HD_CUT_SIGNAL : HD_CUT_NONE;
}

/* A submit with its waits, but for how many commands it has. */
static HDI_INLINE void begin_submit(const hdi_tables *t, const hdi_plan_tables *to, uint32_t s, uint32_t command,
                                    uint32_t *next_wait)
{
    const hdi_submit *from = &t->synced.submit[s];
    to->submits[s] = (hd_plan_submit){.queue = t->queues.number[from->queue],
                                      .wait_begin = *next_wait,
                                      .wait_count = from->wait_count,
                                      .command_begin = command,
                                      .cut = cut_of(t, from),
                                      .signal_value = from->signal,
                                      .signal_stages = from->signal ? stages_of(t, from->queue) : 0};
    uint64_t stages = from->wait_count ? wait_stages(t, from) : 0;
    for (uint32_t i = 0; i < from->wait_count; i++) {
        const hdi_wait *wait = &t->synced.wait[from->wait_begin + i];
        to->waits[(*next_wait)++] = (hd_plan_wait){.queue = t->queues.number[wait->queue],
                                                   .reason_pass = hdi_declared_pass(&t->versions, wait->reason_pass),
                                                   .value = submit_at(t, wait->queue, wait->pos)->signal,
                                                   .stages = stages};
    }
}

/* ---- places ---- */

/* For a barrier of anything but a whole image of one mip and layer. */
static HDI_APART void write_range(const writer *w, uint32_t res, uint32_t number, hd_range *range)
{
    if (hdi_has_several(w->frozen, res))
        *range = hdi_corners_range(w->frozen, hdi_corners_at(w->barriers, number));
    else
        *range = hdi_seg_range(w->decl, w->frozen, w->frozen->res_seg_begin[res]);
}

/* Returns 1 + the number of the one before it in its batch, or 0. */
static HDI_INLINE uint32_t write_barrier(const writer *w, uint32_t number, hd_plan_barrier *to)
{
    const hdi_record_chunk *chunk = w->barriers->chunk[number / HDI_CHUNK_RECORDS];
    const hdi_record *from = &chunk->record[number % HDI_CHUNK_RECORDS];
    uint32_t res = from->resource, older = chunk->older[number % HDI_CHUNK_RECORDS];
    memcpy(to, from, sizeof(*from));
    if (res == HD_NONE)
        to->range = (hd_range){.offset = 0};
    else if (HDI_LIKELY(!(w->res_flags[res] & (HDI_RES_LEVELS | HDI_RES_BUFFER)) &&
                        !(w->parts && hdi_has_several(w->frozen, res))))
        to->range = (hd_range){.mip_count = 1, .layer_count = 1};
    else
        write_range(w, res, number, &to->range);
    return older;
}

static HDI_INLINE void add_batch(const writer *w, hdi_batch batch, hdi_plan_place *at)
{
    w->to.commands[at->command++] = (hd_plan_command){HD_COMMAND_BARRIER, at->batch, 0};
    w->to.batches[at->batch++] = (hd_plan_batch){at->barrier, batch.barrier_count};
    at->barrier += batch.barrier_count;
    hd_plan_barrier *to = w->to.barriers + at->barrier;
    for (uint32_t b = batch.newest; b;)
        b = write_barrier(w, b - 1, --to);
}

/* What comes soon, of a long frame: passes are declared in another order. */
enum { AHEAD = 6 };
static HDI_INLINE void fetch_uses(const writer *w, uint32_t pass)
{
    uint32_t use = w->decl->pass_use_begin[pass != HDI_NONE ? pass : 0];
    HDI_FETCH(&w->decl->use_exec[use]);
    HDI_FETCH(&w->decl->use_flags[use]);
    HDI_FETCH(&w->use_kept[use]);
}

/* Submits from that of `place` on up to `end`. *over: as in hdi_plan_fill_places. */
static void add_submits(const hdi_tables *t, const writer *w, uint32_t place, uint32_t end,
                        hdi_plan_place *end_at, uint32_t *over)
{
    const uint32_t *slot_pass = t->hazards.slot_pass, *submit_begin = t->synced.submit_begin;
    const uint32_t *slots_end = t->hazards.queue_slot + t->hazards.slot_count; /* of all queues */
    const hdi_plan_tables to = w->to;
    hdi_plan_place at = *end_at;
    uint32_t s = hdi_submit_of(&t->synced, place);
    uint32_t begun = place - submit_begin[s]; /* places of the first submit that are of the range before */
    for (; place < end; s++, begun = 0) {
        const hdi_submit *submit = &t->synced.submit[s];
        uint32_t first = submit->first_pos + begun, count = submit->end_pos - first;
        bool ends = count <= end - place;
        count = ends ? count : end - place;
        place += count;
        size_t by_queue = (size_t)t->hazards.queue_begin[submit->queue] + first;
        const uint32_t *slots = t->hazards.queue_slot + by_queue;
        const hdi_batch *batches = t->barriers.place_batch + 2 * by_queue;
        /* last: the pass that ends the newest scope; none: no other one can join it any more */
        uint32_t command = at.command, last = HDI_NONE;
        if (HDI_LIKELY(!begun))
            begin_submit(t, &to, s, command, &at.wait);
        for (const uint32_t *until = slots + count; slots < until; slots++, batches += 2) {
            if (w->fetch && slots_end - slots > AHEAD)
                fetch_uses(w, slot_pass[slots[AHEAD]]);
            uint32_t pass = slot_pass[*slots];
            if (batches[0].newest) {
                add_batch(w, batches[0], &at);
                last = HDI_NONE;
            }
            if (pass != HDI_NONE) {
                last = add_to_scope(w, pass, last, &at);
                to.commands[at.command++] =
                    (hd_plan_command){HD_COMMAND_PASS, hdi_declared_pass(&t->versions, pass), 0};
            }
            if (batches[1].newest) {
                add_batch(w, batches[1], &at);
                last = HDI_NONE;
            }
        }
        if (HDI_LIKELY(!begun && ends))
            to.submits[s].command_count = at.command - command;
        else if (ends)
            *over = at.command;
    }
    *end_at = at;
}

/* ---- all of it ---- */

/* Reasons of barriers name passes as they were declared. */
static void name_reasons(const hdi_tables *t, hd_plan_barrier *barrier, uint32_t begin, uint32_t end)
{
    for (uint32_t b = begin; t->versions.pass_declared && b < end; b++)
        barrier[b].reason_pass = hdi_declared_pass(&t->versions, barrier[b].reason_pass);
}

void hdi_plan_fill_places(const hdi_tables *t, const hdi_plan_tables *to, uint32_t part, hdi_plan_place *at,
                          uint32_t *over)
{
    const writer w = {*to,        t->decl,      t->hazards.use_kept, &t->barriers,
                      &t->frozen, t->decl->res_flags, t->crew.cuts,        t->frozen.seg_count > t->decl->res_count};
    *at = t->attached.range_at[part];
    *over = HDI_NONE;
    uint32_t first_barrier = at->barrier;
    add_submits(t, &w, t->attached.range_begin[part], t->attached.range_begin[part + 1], at, over);
    name_reasons(t, to->barriers, first_barrier, at->barrier);
}
