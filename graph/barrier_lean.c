/* What barrier_steps.c does, for nearly all steps of frames where no scopes are shared and no slots are extra ones: all
 * that stands before the first use of one queue and behind uses of one queue, or behind none, and before reads of
 * several of the GPU's. What else there is goes by barrier_steps.c. There a step is told in structures that fit all of
 * them, and what they hold is stored and loaded again; here each is written as it is, by tables that nobody writes to.
 * O(entries). Compiled twice, as barrier_ask.h says. */
#include "barrier_ask.h"

/* What is looked at for each of them. Nobody else has its address, so that no store makes it be loaded again. */
typedef struct tables {
    const uint32_t *seg_epoch_begin, *seg_epoch_end, *seg_res, *res_seg_begin, *slot_pos, *slot_pass, *tenant;
    const hdi_epoch *epochs;
    const hdi_kind *kinds;
    const hdi_tenants *res_tenants;
    const uint8_t *res_flags;
    const uint16_t *res_queues;
    const hdi_stay *stay;
    size_t queue_count;
} tables;

/* Behind the newest request, and its barrier or what it asks for: two words, which are handed over in registers. */
typedef struct cursor {
    hdi_request *item;
    void *record;
} cursor;

static HDI_INLINE cursor cursor_of(const work *w)
{
    return (cursor){w->item, WHOLE ? (void *)w->barrier : (void *)w->asked};
}

static HDI_INLINE void leave_at(work *w, cursor c)
{
    w->item = c.item;
    if (WHOLE)
        w->barrier = c.record;
    else
        w->asked = c.record;
}

/* Stages of a queue count on the semaphore that first told it of a place on another one. Returns the place where it
 * did, which is `limit` at the latest. */
static HDI_INLINE uint32_t rely_on(const work *w, uint32_t queue, uint32_t other, uint32_t pos, uint32_t limit,
                                   uint64_t stages)
{
    uint32_t known = w->known[queue][w->known_begin[other] + pos];
    known = known < limit ? known : limit;
    hdi_count_on(&w->slot_wait_stages[w->slots[queue][known]], stages, WHOLE || w->alone);
    return known;
}

/* Who comes now. */
typedef struct newcomer {
    uint32_t queue, pos;
    uint64_t stages;
} newcomer;

/* Who had the memory before. */
typedef struct former {
    uint64_t stages, writes; /* of those on the queue of who comes */
    uint32_t low;            /* behind all of them */
    uint32_t others;         /* queues of all of them, but for that one */
} former;

static HDI_INLINE former add_own(const hdi_stay *stay, former f)
{
    uint32_t behind = 2 * stay->last + 1;
    f.low = behind > f.low ? behind : f.low;
    f.stages |= stay->tail_stages;
    f.writes |= stay->tail_writes;
    return f;
}

/* Behind those who were on other queues. */
static HDI_INLINE uint32_t after_others(const work *w, const hdi_stay *stays, uint32_t mask, const newcomer *n,
                                        uint64_t stages, uint32_t low)
{
    for (; mask; mask &= mask - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(mask);
        uint32_t point = 2 * rely_on(w, n->queue, other, stays[other].last, n->pos, stages);
        low = point > low ? point : low;
    }
    return low;
}

/* Of several. What all of them did on the queue of who comes counts on the semaphores, too. */
static HDI_APART void add_formers(const work *w, const tables *k, hdi_tenants of, const newcomer *n, former *f)
{
    const uint32_t *begin = k->tenant + of.begin, *end = k->tenant + of.end, own = 1u << n->queue;
    former all = {0};
    for (const uint32_t *t = begin; t < end; t++) {
        uint32_t mask = k->res_queues[*t];
        all.others |= mask & ~own;
        if (mask & own)
            all = add_own(&k->stay[*t * k->queue_count + n->queue], all);
    }
    for (const uint32_t *t = begin; all.others && t < end; t++)
        all.low = after_others(w, &k->stay[*t * k->queue_count], k->res_queues[*t] & ~own, n, n->stages | all.stages,
                               all.low);
    *f = all;
}

/* Mostly there is one, and nothing is to be kept in registers for loops. */
static HDI_INLINE former formers_of(const work *w, const tables *k, hdi_tenants of, newcomer n)
{
    former f = {0};
    if (HDI_LIKELY(of.begin + 1 == of.end)) {
        uint32_t tenant = k->tenant[of.begin], mask = k->res_queues[tenant], own = 1u << n.queue;
        const hdi_stay *stays = &k->stay[tenant * k->queue_count];
        if (mask & own)
            f = add_own(&stays[n.queue], f);
        f.others = mask & ~own;
        f.low = after_others(w, stays, f.others, &n, n.stages | f.stages, f.low);
    } else if (of.begin < of.end) {
        const newcomer copy = n;
        former all;
        add_formers(w, k, of, &copy, &all);
        f = all;
    }
    f.writes &= HDI_WRITE_BITS;
    return f;
}

/* Behind what of their writes is still to be flushed. */
static uint32_t flush_low(const work *w, hdi_tenants of, uint32_t queue)
{
    uint32_t low = 0;
    for (uint32_t t = of.begin; t < of.end; t++) {
        uint32_t tenant = w->tenant[t];
        const hdi_stay *stay = &w->stay[(size_t)tenant * w->queue_count + queue];
        if (w->res_queues[tenant] >> queue & 1 && stay->tail_writes && 2 * stay->last + 1 > low)
            low = 2 * stay->last + 1;
    }
    return low;
}

static HDI_INLINE void write_request(const work *w, hdi_request *r, uint32_t low, uint32_t place, uint32_t kind)
{
    r->low = low;
    r->place = place;
    r->kind = (uint8_t)kind;
    if (WHOLE) {
        hdi_note_low(&w->spot[place], low);
    } else {
        uint32_t region = w->place_region[place];
        r->region = (uint8_t)region;
        w->in_region[region]++;
    }
}

static HDI_INLINE void write_asked(hdi_asked *asked, uint32_t what, uint32_t extent, uint32_t kind, const scopes *does,
                                   cause why, move by)
{
    asked->what = what;
    asked->extent = extent;
    asked->pass = why.pass;
    asked->from = does->from.number;
    asked->to = does->to.number;
    asked->word = kind | why.reason << HDI_ASKED_REASON | by.source << HDI_ASKED_SOURCE | by.target << HDI_ASKED_TARGET;
}

static HDI_INLINE cursor behind_one(cursor c)
{
    return (cursor){c.item + 1, (char *)c.record + (WHOLE ? sizeof(hd_plan_barrier) : sizeof(hdi_asked))};
}

static HDI_INLINE cursor add_global(const work *w, cursor c, uint32_t low, uint32_t place, uint32_t kind, scopes does,
                                    cause why, uint32_t res)
{
    write_request(w, c.item, low, place, kind | HDI_GLOBAL);
    if (WHOLE) {
        hd_plan_barrier *b = c.record;
        write_side(&b->src_stages, &does.from);
        write_side(&b->dst_stages, &does.to);
        hdi_write_cause(b, HD_NONE, 0, 0, why.reason, why.pass, res);
        b->range = (hd_range){.offset = 0};
    } else {
        write_asked(c.record, res, 0, kind | HDI_GLOBAL, &does, why, no_move);
    }
    return behind_one(c);
}

/* Of a segment. odd: what kind of one it is. */
static HDI_INLINE cursor add_part(const work *w, cursor c, uint32_t low, uint32_t place, uint32_t kind, scopes does,
                                  cause why, uint32_t res, uint32_t odd, uint32_t seg, move by)
{
    kind |= odd & HDI_SEVERAL;
    write_request(w, c.item, low, place, kind);
    if (WHOLE) {
        hd_plan_barrier *b = c.record;
        write_side(&b->src_stages, &does.from);
        write_side(&b->dst_stages, &does.to);
        hdi_write_cause(b, res, does.from.layout & does.to.keeps, does.to.layout, why.reason, why.pass, res);
        if (by.source != HD_MAX_QUEUES) {
            b->src_family = w->queues->family[by.source];
            b->dst_family = w->queues->family[by.target];
        }
        b->range = (hd_range){.mip_count = 1, .layer_count = 1};
        if (odd & HDI_SEVERAL)
            b->range = w->frozen->seg_range[seg];
        else if (HDI_UNLIKELY(odd))
            write_range(w, seg, &b->range);
    } else {
        box of = {res, hdi_box(0, 1, 0, 1), 0};
        if (HDI_UNLIKELY(odd)) {
            const resource copy = {.res = res, .several = odd & HDI_SEVERAL};
            of = box_of(w, &copy, seg, !(odd & HDI_RES_BUFFER));
        }
        write_asked(c.record, of.what, of.extent, kind | of.kind, &does, why, by);
    }
    return behind_one(c);
}

/* By a global barrier in a command before that of an image's first use. */
static HDI_APART cursor flush(work *w, cursor c, const former *f, hdi_tenants of, uint32_t queue, uint32_t place,
                              cause why, uint32_t res)
{
    scopes does = {made(w, f->stages, f->writes, 0, 0), made(w, f->stages, 0, 0, 0)};
    uint32_t low = flush_low(w, of, queue);
    if (WHOLE)
        hdi_note_followed(&w->spot[place], low);
    return add_global(w, c, low, place - 1, HDI_EARLY, does, why, res);
}

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources,
 * and elements of one command do not chain: pending writes are flushed before. */
static HDI_INLINE cursor begin(work *w, const tables *k, cursor c, uint32_t res, uint32_t odd, uint32_t seg,
                               const hdi_epoch *epoch)
{
    const hdi_tenants tenants = k->res_tenants[res];
    uint32_t queue = (uint32_t)__builtin_ctz(epoch->queue_mask);
    uint32_t pos = k->slot_pos[epoch->first];
    const scope to = hdi_wanted(k->kinds, epoch->kind);
    former f = formers_of(w, k, tenants, (newcomer){queue, pos, to.stages});
    uint32_t place = w->place_begin[queue] + 2 * pos, kind = 0;
    cause why = {HD_REASON_ALIAS, k->slot_pass[epoch->first]};
    if (odd & HDI_RES_BUFFER) {
        if (!f.stages)
            return c;
        return add_global(w, c, f.low, place, 0, (scopes){made(w, f.stages, f.writes, 0, 0), to}, why, res);
    }
    if (HDI_UNLIKELY(f.writes)) {
        const former copy = f;
        c = flush(w, c, &copy, tenants, queue, place, why, res);
        kind = HDI_FOLLOWS;
    }
    if (!f.stages) {
        why.reason = f.others ? HD_REASON_ALIAS : HD_REASON_FIRST_USE;
        f.stages = f.others ? to.stages : 0; /* chains with the semaphore wait */
    }
    return add_part(w, c, f.low, place, kind, (scopes){made(w, f.stages, 0, 0, 0), to}, why, res, odd, seg, no_move);
}

/* Behind a use of the same queue alone. */
static HDI_INLINE cursor go_on(const work *w, const tables *k, cursor c, uint32_t res, uint32_t odd, uint32_t seg,
                               const hdi_epoch *epoch)
{
    const hdi_kind *from = &k->kinds[epoch[-1].kind], *to = &k->kinds[epoch->kind];
    uint32_t slot = epoch->first, low = 2 * k->slot_pos[epoch[-1].last] + 1;
    uint32_t place = w->place_begin[__builtin_ctz(epoch->queue_mask)] + 2 * k->slot_pos[slot];
    cause why = {hdi_step_reason(from->flags, to->flags), k->slot_pass[slot]};
    scopes does = {hdi_left(k->kinds, epoch[-1].kind), hdi_wanted(k->kinds, epoch->kind)};
    if (from->layout == to->layout)
        return add_global(w, c, low, place, 0, does, why, res);
    return add_part(w, c, low, place, 0, does, why, res, odd, seg, no_move);
}

/* Reads of one queue behind a use of another one alone: the semaphore has done it, but for the layout, whose change
 * chains with the wait. */
static HDI_INLINE cursor take_over(work *w, const tables *k, cursor c, uint32_t res, uint32_t odd, uint32_t seg,
                                   const hdi_epoch *epoch)
{
    const hdi_kind *from = &k->kinds[epoch[-1].kind], *to = &k->kinds[epoch->kind];
    uint32_t queue = (uint32_t)__builtin_ctz(epoch->queue_mask), other = (uint32_t)__builtin_ctz(epoch[-1].queue_mask);
    uint32_t slot = epoch->first, pos = k->slot_pos[slot];
    uint32_t known = rely_on(w, queue, other, k->slot_pos[epoch[-1].last], pos, to->dst_stages);
    if (from->layout == to->layout)
        return c;
    cause why = {hdi_step_reason(from->flags, to->flags), k->slot_pass[slot]};
    scopes does = {made(w, to->dst_stages, 0, from->layout, 0), hdi_wanted(k->kinds, epoch->kind)};
    return add_part(w, c, 2 * known, w->place_begin[queue] + 2 * pos, 0, does, why, res, odd, seg, no_move);
}

/* The last point of the submit that a place of a queue is in. */
static HDI_INLINE uint32_t submit_end(const work *w, uint32_t queue, uint32_t pos)
{
    const hdi_synced *synced = w->synced;
    return 2 * synced->submit[synced->place_submit[w->hazards->queue_begin[queue] + pos]].end_pos - 1;
}

/* Release and acquire, behind a use of one queue. */
static HDI_APART cursor hand_over(work *w, cursor c, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *epoch)
{
    const uint64_t all = HDI_STAGE_ALL_COMMANDS;
    const hdi_kind *from = kind_of(w, epoch - 1), *to = kind_of(w, epoch);
    uint32_t source = (uint32_t)__builtin_ctz(epoch[-1].queue_mask);
    uint32_t target = (uint32_t)__builtin_ctz(epoch->queue_mask);
    uint32_t pos = w->slot_pos[epoch->first], before = w->slot_pos[epoch[-1].last], pass = w->slot_pass[epoch->first];
    move by = {source, target};
    scopes gives = {left_by(w, epoch - 1), made(w, all, 0, to->layout, UINT32_MAX)},
           takes = {made(w, to->dst_stages, 0, from->layout, 0), wanted_by(w, epoch)};
    c = add_part(w, c, 2 * before + 1, w->place_begin[source] + submit_end(w, source, before), HDI_MOVES, gives,
                 (cause){HD_REASON_RELEASE, pass}, res, odd, seg, by);
    uint32_t known = rely_on(w, target, source, before, pos, all);
    return add_part(w, c, 2 * known, w->place_begin[target] + 2 * pos, HDI_MOVES, takes,
                    (cause){HD_REASON_ACQUIRE, pass}, res, odd, seg, by);
}

/* Behind a use of one queue, reads of several, none of which is the host's: theirs count on semaphores, but for those
 * of the same queue. A layout is changed for all of them, of which the others stand behind the semaphore, which
 * ALL_COMMANDS reaches. */
static HDI_APART cursor produce(work *w, cursor c, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *epoch)
{
    const hdi_kind *from = kind_of(w, epoch - 1), *to = kind_of(w, epoch);
    uint32_t queue = (uint32_t)__builtin_ctz(epoch[-1].queue_mask), others = epoch->queue_mask & ~(1u << queue);
    uint32_t pos = w->slot_pos[epoch[-1].last], low = 2 * pos + 1, begin = w->place_begin[queue];
    hdi_side behind[HD_MAX_QUEUES];
    const hdi_side *own = &behind[queue];
    hdi_find_sides(w, epoch, behind);
    for (uint32_t mask = others; mask; mask &= mask - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(mask);
        rely_on(w, k, queue, pos, behind[k].first, behind[k].stages);
    }
    cause why = {hdi_step_reason(from->flags, to->flags), w->slot_pass[epoch->first]};
    uint64_t high = 2 * (uint64_t)own->first, end; /* of none, behind all points */
    if (from->layout == to->layout) {
        if (own->first == HDI_NONE)
            return c;
        why.pass = w->slot_pass[w->slots[queue][own->first]];
        scopes does = {left_by(w, epoch - 1), made(w, own->stages, own->access, 0, 0)};
        return add_global(w, c, low, begin + (uint32_t)high, 0, does, why, res);
    }
    end = submit_end(w, queue, pos);
    high = high < end ? high : end;
    uint64_t stages = own->stages | (others ? HDI_STAGE_ALL_COMMANDS : 0);
    scopes does = {left_by(w, epoch - 1), made(w, stages, own->access, to->layout, UINT32_MAX)};
    return add_part(w, c, low, begin + (uint32_t)high, 0, does, why, res, odd, seg, no_move);
}

/* What is rare. */
static HDI_APART cursor other_step(work *w, cursor c, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *epoch)
{
    leave_at(w, c);
    VISIT_ODD_STEP(w, res, odd, seg, epoch);
    return cursor_of(w);
}

HDI_SCALAR void VISIT_LEAN(hdi_step_work *w, uint32_t seg, uint32_t end)
{
    const tables k = {.seg_epoch_begin = w->hazards->seg_epoch_begin,
                      .seg_epoch_end = w->hazards->seg_epoch_end,
                      .seg_res = w->frozen->seg_res,
                      .res_seg_begin = w->frozen->res_seg_begin,
                      .slot_pos = w->slot_pos,
                      .slot_pass = w->slot_pass,
                      .tenant = w->tenant,
                      .epochs = w->epochs,
                      .kinds = w->kinds,
                      .res_tenants = w->res_tenants,
                      .res_flags = w->res_flags,
                      .res_queues = w->res_queues,
                      .stay = w->stay,
                      .queue_count = w->queue_count};
    cursor c = cursor_of(w);
    _Static_assert(!(HDI_SEVERAL & (HDI_RES_BUFFER | HDI_RES_LEVELS)), "side by side in one word");
    const bool fetches = !WHOLE && w->fetches;
    for (; seg < end; seg++) {
        if (fetches)
            fetch_tenants(w, seg + AHEAD < end ? seg + AHEAD : seg);
        size_t first = k.seg_epoch_begin[seg], count = k.seg_epoch_end[seg] - first;
        if ((ptrdiff_t)count <= 0)
            continue;
        const hdi_epoch *epoch = k.epochs + first;
        size_t res = k.seg_res[seg];
        uint32_t flags = k.res_flags[res];
        if (HDI_UNLIKELY(flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY) || epoch->place != HDI_PLACE_CONSUMER)) {
            leave_at(w, c);
            VISIT_SEGMENT(w, seg);
            c = cursor_of(w);
            continue;
        }
        bool several = k.res_seg_begin[res + 1] - k.res_seg_begin[res] > 1;
        uint32_t odd = (flags & (HDI_RES_BUFFER | HDI_RES_LEVELS)) | (several ? HDI_SEVERAL : 0);
        c = begin(w, &k, c, (uint32_t)res, odd, seg, epoch);
        while (--count) {
            epoch++;
            uint32_t before = epoch[-1].queue_mask;
            bool consumer = epoch->place == HDI_PLACE_CONSUMER;
            if (consumer && before == epoch->queue_mask)
                c = go_on(w, &k, c, (uint32_t)res, odd, seg, epoch);
            else if (HDI_UNLIKELY(before & (before - 1)))
                c = other_step(w, c, (uint32_t)res, odd, seg, epoch);
            else if (consumer && epoch->flags != HDI_EPOCH_WRITES)
                c = take_over(w, &k, c, (uint32_t)res, odd, seg, epoch);
            else if (epoch->place == HDI_PLACE_TRANSFER)
                c = hand_over(w, c, (uint32_t)res, odd, seg, epoch);
            else if (epoch->place == HDI_PLACE_PRODUCER && epoch->flags == HDI_EPOCH_READS &&
                     !((before | epoch->queue_mask) & ~w->gpu_mask))
                c = produce(w, c, (uint32_t)res, odd, seg, epoch);
            else
                c = other_step(w, c, (uint32_t)res, odd, seg, epoch);
        }
    }
    leave_at(w, c);
}
