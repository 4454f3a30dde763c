#include "phases.h"

#include <string.h>

#include "vk_numbers.h"

/* Attach: the rendering scopes of the plan, and how each begins and ends with its attachments.
 *
 * Load ops follow from the access. A store op is kept where somebody reads what the use leaves, which the hazards tell.
 * A pass joins the scope of the pass before it when nothing stands between their commands and they have the same
 * attachments, which the second one goes on with; the commands are counted here as plan.c will emit them. Attachments
 * stand in the order of the uses, so that the order of colors is the engine's. O(slots + uses).
 *
 * By ranges of places in the order of the submits, which begin where no scope goes on: scopes, attachments and commands
 * are counted, then written behind those of the ranges before. What else the plan has for these places is counted with
 * them. */

enum { GRAIN = 512 };

/* What stands before a place: how many scopes, attachments, and of what the plan has. */
typedef struct sums {
    uint32_t scope, attachment;
    hdi_plan_place plan;
} sums;

typedef struct work {
    const hdi_decl *decl;
    const hdi_hazards *hazards;
    const hdi_barriers *barriers;
    const uint8_t *use_kept;
    hdi_attached *out;
    const hdi_submit *submit;
    const hdi_synced *synced;
    const uint32_t *submit_begin; /* the first place of each + 1 */
    sums sums[HDI_MOST_PARTS];
    bool counts;
} work;

/* ---- attachments ---- */

/* The attachments among the first eight of the uses from `use` up to end, some: HDI_USE_ATTACHMENT in the byte of each,
 * the first in the lowest. Reads a word of flags at a time, also behind the last (HDI_USE_FLAGS_SLACK). */
static inline uint64_t attachments_of(const hdi_decl *decl, uint32_t use, uint32_t end)
{
    const uint64_t all = HDI_USE_ATTACHMENT * (~UINT64_C(0) / 0xff);
    uint64_t flags;
    memcpy(&flags, decl->use_flags + use, sizeof(flags));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    flags = __builtin_bswap64(flags);
#endif
    return flags & (end - use < 8 ? all >> (64 - 8 * (end - use)) : all);
}

static inline uint32_t first_of(uint64_t attachments)
{
    return (uint32_t)__builtin_ctzll(attachments) / 8;
}

static inline uint32_t next_attachment(const hdi_decl *decl, uint32_t use, uint32_t end)
{
    for (; use < end; use += 8) {
        uint64_t attachments = attachments_of(decl, use, end);
        if (attachments)
            return use + first_of(attachments);
    }
    return end;
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
        if (!(decl->use_flags[b] & HDI_USE_READS) || decl->use_res[a] != decl->use_res[b]) /* mostly */
            return false;
        if (decl->use_exec[a].resolve) /* it would be resolved too late for who reads that */
            return false;
        if (decl->access[decl->use_access[a]].attachment != decl->access[decl->use_access[b]].attachment ||
            !same_range(decl, a, b))
            return false;
    }
}

/* ---- scopes ---- */

static inline uint32_t store_op(const work *w, uint32_t use)
{
    if (!(w->decl->use_flags[use] & HDI_USE_WRITES))
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
        uint32_t store = store_op(w, use);
        if (store != HDI_STORE_OP_NONE) /* a pass that only reads leaves what the ones before it wrote */
            attachment->store = store;
        attachment->resolve = resolve_of(w, use, first);
    }
}

/* The attachments of a pass whose uses stand from first to end, to next; returns how many. left: those of the first
 * eight uses. */
static inline uint32_t write_attachments(const work *w, uint32_t first, uint32_t end, uint64_t left,
                                         hd_plan_attachment *next)
{
    const hd_plan_attachment *begin = next;
    const hdi_decl *decl = w->decl;
    for (uint32_t from = first;;) {
        for (; left; left &= left - 1, next++) {
            uint32_t use = from + first_of(left);
            next->use = use - first;
            next->load = hdi_load_op(decl, use);
            next->store = store_op(w, use);
            next->resolve = resolve_of(w, use, first);
        }
        if (end - from <= 8)
            return (uint32_t)(next - begin);
        from += 8;
        left = attachments_of(decl, from, end);
    }
}

static inline uint32_t count_attachments(const hdi_decl *decl, uint32_t first, uint32_t end, uint64_t left)
{
    uint32_t count = 0;
    for (;; left = attachments_of(decl, first, end)) {
        for (; left; left &= left - 1)
            count++;
        if (end - first <= 8)
            return count;
        first += 8;
    }
}

static inline bool renders(const hdi_decl *decl, uint32_t pass)
{
    return decl->pass_type[pass] == HD_PASS_GFX && !(decl->pass_flags[pass] & HDI_PASS_NO_RENDERING);
}

/* A pass of a place: returns it where the newest scope ends with it, so that the next one may go on. last: the one that
 * the newest scope ends with, or none. */
static inline uint32_t visit_pass(const work *w, uint32_t pass, uint32_t last, sums *at)
{
    const hdi_decl *decl = w->decl;
    uint32_t first = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1];
    if (!renders(decl, pass) || first == end)
        return HDI_NONE;
    uint64_t some = attachments_of(decl, first, end);
    if (!some && (end - first <= 8 || next_attachment(decl, first + 8, end) == end))
        return HDI_NONE;
    bool loads = !some || decl->use_flags[first + first_of(some)] & HDI_USE_READS; /* what goes on does */
    if (loads && last != HDI_NONE && hdi_goes_on(decl, last, pass)) {
        if (!w->counts)
            join(w, &w->out->scope[at->scope - 1], pass);
        return pass;
    }
    uint32_t count = w->counts ? count_attachments(decl, first, end, some)
                               : write_attachments(w, first, end, some, w->out->attachment + at->attachment);
    if (!w->counts)
        w->out->scope[at->scope] = (hd_plan_scope){at->plan.command, 1, at->attachment, count};
    at->scope++;
    at->attachment += count;
    return pass;
}

/* A batch before or behind a place. */
static inline void visit_batch(const work *w, uint32_t batch, hdi_plan_place *at)
{
    at->command++;
    if (w->counts) {
        at->batch++;
        at->barrier += w->barriers->batch[batch].barrier_count;
    }
}

/* Places of a submit from first up to end. */
static void visit_places(const work *w, const hdi_submit *submit, uint32_t first, uint32_t end, sums *at)
{
    const hdi_hazards *hazards = w->hazards;
    const uint32_t *slots = &hazards->queue_slot[hazards->queue_begin[submit->queue]], *slot_pass = hazards->slot_pass;
    const uint32_t *slot_pre = w->barriers->slot_pre, *slot_post = w->barriers->slot_post;
    sums s = *at;
    uint32_t last = HDI_NONE; /* the pass that ends the newest scope; none: nothing can join it any more */
    for (uint32_t pos = first; pos < end; pos++) {
        uint32_t slot = slots[pos], pass = slot_pass[slot];
        if (slot_pre[slot] != HDI_NONE) {
            visit_batch(w, slot_pre[slot], &s.plan);
            last = HDI_NONE;
        }
        if (pass != HDI_NONE) {
            last = visit_pass(w, pass, last, &s);
            s.plan.command++;
        }
        if (slot_post[slot] != HDI_NONE) {
            visit_batch(w, slot_post[slot], &s.plan);
            last = HDI_NONE;
        }
    }
    *at = s;
}

/* Where a range that is to begin at a place does: where nothing can go on. */
static uint32_t begin_at(const work *w, uint32_t place)
{
    if (place == 0 || place == w->submit_begin[w->synced->submit_count])
        return place;
    uint32_t s = hdi_submit_of(w->synced, place), end = w->submit_begin[s + 1];
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

static void visit_range(uint32_t part, void *user)
{
    work *w = user;
    sums sum = w->sums[part]; /* its own until the end: it stands on a line with those of other ranges */
    uint32_t place = w->out->range_begin[part], end = w->out->range_begin[part + 1];
    for (uint32_t s = hdi_submit_of(w->synced, place); place < end; s++) {
        const hdi_submit *submit = &w->submit[s];
        uint32_t last = w->submit_begin[s + 1] < end ? w->submit_begin[s + 1] : end, base = w->submit_begin[s];
        sum.plan.wait += place == base ? submit->wait_count : 0;
        visit_places(w, submit, submit->first_pos + place - base, submit->first_pos + last - base, &sum);
        place = last;
    }
    w->sums[part] = sum;
}

/* From what each range holds to what stands before it. */
static void add_up(work *w)
{
    sums sum = {0};
    for (uint32_t part = 0; part < w->out->ranges; part++) {
        sums of = w->sums[part];
        w->sums[part] = sum;
        w->out->range_at[part] = sum.plan;
        sum.scope += of.scope;
        sum.attachment += of.attachment;
        sum.plan.command += of.plan.command;
        sum.plan.batch += of.plan.batch;
        sum.plan.barrier += of.plan.barrier;
        sum.plan.wait += of.plan.wait;
    }
}

hd_result hdi_attach(const hdi_decl *decl, const hdi_hazards *hazards, const hdi_synced *synced,
                     const hdi_barriers *barriers, const hdi_crew *crew, hdi_arena *arena, hdi_attached *out)
{
    work w = {.decl = decl, .hazards = hazards, .barriers = barriers, .use_kept = hazards->use_kept, .out = out};
    uint32_t places = hazards->slot_count, ranges = hdi_range_count(crew, places, GRAIN);
    *out = (hdi_attached){.scope = HDI_ARENA_ARRAY(arena, hd_plan_scope, (size_t)places + 1),
                          .attachment = HDI_ARENA_ARRAY(arena, hd_plan_attachment, decl->use_count)};
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    if (places == 0)
        return HD_OK;
    w.submit = synced->submit;
    w.synced = synced;
    w.submit_begin = synced->submit_begin;
    out->ranges = ranges;
    for (uint32_t part = 0; part <= ranges; part++)
        out->range_begin[part] = begin_at(&w, hdi_range_begin(places, ranges, part));
    w.counts = true;
    if (ranges > 1)
        hdi_crew_parts(crew, ranges, visit_range, &w);
    add_up(&w);
    w.counts = false;
    hdi_crew_parts(crew, ranges, visit_range, &w);
    out->scope_count = w.sums[ranges - 1].scope;
    out->attachment_count = w.sums[ranges - 1].attachment;
    return HD_OK;
}
