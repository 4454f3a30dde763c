/* What barrier_steps.c does, for nearly all steps of frames that are not long, where no scopes are shared and no slots
 * are extra ones: all that stands before the first use of one queue and behind uses of one queue, or behind none. What
 * else there is goes by barrier_steps.c. There a step is told in structures that fit all of them, and what they hold is
 * stored and loaded again; here each is written as it is, by tables that nobody writes to. O(entries). */
#define HDI_STEPS_WHOLE
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

/* Behind the newest request and its barrier. */
typedef struct cursor {
    hdi_request *item;
    hd_plan_barrier *barrier;
} cursor;

/* Stages of a queue count on the semaphore that first told it of a place on another one. Returns the place where it
 * did, which is `limit` at the latest. */
static HDI_INLINE uint32_t rely_on(const work *w, uint32_t queue, uint32_t other, uint32_t pos, uint32_t limit,
                                   uint64_t stages)
{
    uint32_t known = w->known[queue][w->known_begin[other] + pos];
    known = known < limit ? known : limit;
    w->slot_wait_stages[w->slots[queue][known]] |= stages;
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

static HDI_INLINE void ask_at(hdi_request *r, uint32_t low, uint32_t place, uint32_t kind)
{
    r->low = low;
    r->place = place;
    r->kind = (uint8_t)kind;
}

static HDI_INLINE cursor behind_one(cursor c)
{
    return (cursor){c.item + 1, c.barrier + 1};
}

static HDI_INLINE void write_global(hd_plan_barrier *b, uint32_t reason, uint32_t pass, uint32_t res)
{
    hdi_write_cause(b, HD_NONE, 0, 0, reason, pass, res);
    b->range = (hd_range){.offset = 0};
}

/* What an image's barrier is of. */
static HDI_INLINE void write_part(const work *w, uint32_t odd, uint32_t seg, hd_range *range)
{
    *range = (hd_range){.mip_count = 1, .layer_count = 1};
    if (odd & HDI_SEVERAL)
        *range = w->frozen->seg_range[seg];
    else if (HDI_UNLIKELY(odd))
        write_range(w, seg, range);
}

/* By a global barrier in a command before that of an image's first use. */
static HDI_APART void flush(const work *w, cursor c, const former *f, hdi_tenants of, uint32_t queue, uint32_t place,
                            uint32_t pass, uint32_t res)
{
    hd_plan_barrier *b = c.barrier;
    b->src_stages = b->dst_stages = f->stages;
    b->src_access = f->writes;
    b->dst_access = 0;
    write_global(b, HD_REASON_ALIAS, pass, res);
    ask_at(c.item, flush_low(w, of, queue), place - 1, HDI_EARLY | HDI_GLOBAL);
}

/* The first use, maybe of memory that others had before. An image's barrier covers no writes through other resources,
 * and elements of one command do not chain: pending writes are flushed before. */
static HDI_INLINE cursor begin(const work *w, const tables *k, cursor c, uint32_t res, uint32_t odd, uint32_t seg,
                               const hdi_epoch *epoch)
{
    const hdi_tenants tenants = k->res_tenants[res];
    uint32_t queue = (uint32_t)__builtin_ctz(epoch->queue_mask);
    uint32_t pos = k->slot_pos[epoch->first];
    const hdi_kind *to = &k->kinds[epoch->kind];
    former f = formers_of(w, k, tenants, (newcomer){queue, pos, to->dst_stages});
    uint32_t place = w->place_begin[queue] + 2 * pos, kind = odd & HDI_SEVERAL;
    uint32_t pass = k->slot_pass[epoch->first], reason = HD_REASON_ALIAS;
    if (odd & HDI_RES_BUFFER) {
        if (!f.stages)
            return c;
        ask_at(c.item, f.low, place, HDI_GLOBAL);
        hd_plan_barrier *b = c.barrier;
        b->src_stages = f.stages;
        b->src_access = f.writes;
        memcpy(&b->dst_stages, &to->dst_stages, 2 * sizeof(b->dst_stages));
        write_global(b, reason, pass, res);
        return behind_one(c);
    }
    if (HDI_UNLIKELY(f.writes)) {
        const former copy = f;
        flush(w, c, &copy, tenants, queue, place, pass, res);
        c = behind_one(c);
        kind |= HDI_FOLLOWS;
    }
    if (!f.stages) {
        reason = f.others ? reason : HD_REASON_FIRST_USE;
        f.stages = f.others ? to->dst_stages : 0; /* chains with the semaphore wait */
    }
    ask_at(c.item, f.low, place, kind);
    hd_plan_barrier *b = c.barrier;
    b->src_stages = f.stages;
    b->src_access = 0;
    memcpy(&b->dst_stages, &to->dst_stages, 2 * sizeof(b->dst_stages));
    hdi_write_cause(b, res, 0, to->layout, reason, pass, res);
    write_part(w, odd, seg, &b->range);
    return behind_one(c);
}

/* Behind a use of the same queue alone. */
static HDI_INLINE cursor go_on(const work *w, const tables *k, cursor c, uint32_t res, uint32_t odd, uint32_t seg,
                               const hdi_epoch *epoch)
{
    const hdi_kind *from = &k->kinds[epoch[-1].kind], *to = &k->kinds[epoch->kind];
    uint32_t slot = epoch->first, pass = k->slot_pass[slot], reason = hdi_step_reason(from->flags, to->flags);
    uint32_t low = 2 * k->slot_pos[epoch[-1].last] + 1, old = from->layout, new = to->layout;
    uint32_t place = w->place_begin[__builtin_ctz(epoch->queue_mask)] + 2 * k->slot_pos[slot];
    hd_plan_barrier *b = c.barrier;
    memcpy(&b->src_stages, &from->src_stages, 2 * sizeof(b->src_stages));
    memcpy(&b->dst_stages, &to->dst_stages, 2 * sizeof(b->dst_stages));
    if (old == new) {
        ask_at(c.item, low, place, HDI_GLOBAL);
        write_global(b, reason, pass, res);
        return behind_one(c);
    }
    ask_at(c.item, low, place, odd & HDI_SEVERAL);
    hdi_write_cause(b, res, old & to->keeps, new, reason, pass, res);
    write_part(w, odd, seg, &b->range);
    return behind_one(c);
}

/* Reads of one queue behind a use of another one alone: the semaphore has done it, but for the layout, whose change
 * chains with the wait. */
static HDI_INLINE cursor take_over(const work *w, const tables *k, cursor c, uint32_t res, uint32_t odd, uint32_t seg,
                                   const hdi_epoch *epoch)
{
    const hdi_kind *from = &k->kinds[epoch[-1].kind], *to = &k->kinds[epoch->kind];
    uint32_t queue = (uint32_t)__builtin_ctz(epoch->queue_mask), other = (uint32_t)__builtin_ctz(epoch[-1].queue_mask);
    uint32_t slot = epoch->first, pos = k->slot_pos[slot];
    uint32_t known = rely_on(w, queue, other, k->slot_pos[epoch[-1].last], pos, to->dst_stages);
    if (from->layout == to->layout)
        return c;
    ask_at(c.item, 2 * known, w->place_begin[queue] + 2 * pos, odd & HDI_SEVERAL);
    hd_plan_barrier *b = c.barrier;
    b->src_stages = to->dst_stages;
    b->src_access = 0;
    memcpy(&b->dst_stages, &to->dst_stages, 2 * sizeof(b->dst_stages));
    hdi_write_cause(b, res, from->layout & to->keeps, to->layout, hdi_step_reason(from->flags, to->flags),
                    k->slot_pass[slot], res);
    write_part(w, odd, seg, &b->range);
    return behind_one(c);
}

/* Release and acquire, behind a use of one queue. */
static HDI_APART cursor hand_over(const work *w, cursor c, uint32_t res, uint32_t odd, uint32_t seg,
                                  const hdi_epoch *epoch)
{
    const hdi_kind *from = kind_of(w, epoch - 1), *to = kind_of(w, epoch);
    uint32_t source = (uint32_t)__builtin_ctz(epoch[-1].queue_mask),
             target = (uint32_t)__builtin_ctz(epoch->queue_mask);
    uint32_t slot = epoch->first, pos = w->slot_pos[slot], before = w->slot_pos[epoch[-1].last];
    uint32_t pass = w->slot_pass[slot], kind = (odd & HDI_SEVERAL) | HDI_MOVES;
    const uint32_t *place_submit = w->synced->place_submit + w->hazards->queue_begin[source];
    hd_plan_barrier *b = c.barrier;
    ask_at(c.item, 2 * before + 1, w->place_begin[source] + 2 * w->synced->submit[place_submit[before]].end_pos - 1,
           kind);
    memcpy(&b->src_stages, &from->src_stages, 2 * sizeof(b->src_stages));
    b->dst_stages = HDI_STAGE_ALL_COMMANDS;
    b->dst_access = 0;
    hdi_write_cause(b, res, from->layout, to->layout, HD_REASON_RELEASE, pass, res);
    b->src_family = w->queues->family[source];
    b->dst_family = w->queues->family[target];
    write_part(w, odd, seg, &b->range);
    c = behind_one(c);
    uint32_t known = rely_on(w, target, source, before, pos, HDI_STAGE_ALL_COMMANDS);
    ask_at(c.item, 2 * known, w->place_begin[target] + 2 * pos, kind);
    b = c.barrier;
    b->src_stages = to->dst_stages;
    b->src_access = 0;
    memcpy(&b->dst_stages, &to->dst_stages, 2 * sizeof(b->dst_stages));
    hdi_write_cause(b, res, from->layout & to->keeps, to->layout, HD_REASON_ACQUIRE, pass, res);
    b->src_family = b[-1].src_family;
    b->dst_family = b[-1].dst_family;
    b->range = b[-1].range;
    return behind_one(c);
}

/* What is rare, or of several queues. */
static HDI_APART cursor other_step(work *w, cursor c, uint32_t res, uint32_t odd, uint32_t seg, const hdi_epoch *epoch)
{
    w->item = c.item;
    w->barrier = c.barrier;
    hdi_visit_odd_step(w, res, odd, seg, epoch);
    return (cursor){w->item, w->barrier};
}

HDI_SCALAR void hdi_visit_lean(hdi_step_work *w, uint32_t seg, uint32_t end)
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
    cursor c = {w->item, w->barrier};
    _Static_assert(!(HDI_SEVERAL & (HDI_RES_BUFFER | HDI_RES_LEVELS)), "side by side in one word");
    for (; seg < end; seg++) {
        size_t first = k.seg_epoch_begin[seg], count = k.seg_epoch_end[seg] - first;
        if ((ptrdiff_t)count <= 0)
            continue;
        const hdi_epoch *epoch = k.epochs + first;
        size_t res = k.seg_res[seg];
        uint32_t flags = k.res_flags[res];
        if (HDI_UNLIKELY(flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY) || epoch->place != HDI_PLACE_CONSUMER)) {
            w->item = c.item;
            w->barrier = c.barrier;
            hdi_visit_segment(w, seg);
            c = (cursor){w->item, w->barrier};
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
            else
                c = other_step(w, c, (uint32_t)res, odd, seg, epoch);
        }
    }
    w->item = c.item;
    w->barrier = c.barrier;
}
