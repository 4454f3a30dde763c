#include "schedule.h"

#include "hints.h"

/* What schedule_prepare.c finds, for one queue and a simple frame, as hdi_depends says of it: each resource is written
 * once, by who uses it first, and all passes are kept, so that ranks are passes. Who uses it last the declaration
 * knows. So one walk over the uses tells all, and what a rank opens and closes is written once. Most resources have one
 * reader: of these nobody has to count the uses. O(uses). */

/* What is read without being written in the frame has no bytes; its readers find it as nobody saw it. */
static void clear_content(const hdi_sched *s)
{
    const uint8_t content = HDI_RES_CONTENT | HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY;
    for (uint32_t r = 0, end = s->decl->res_count; (r = hdi_next_flagged(s->decl, r, end, content)) < end; r++)
        s->res[r] = (hdi_sched_res){.first = HDI_NONE, .last = HDI_NONE};
}

/* One of several readers, or one of what nobody wrote. While there may be others, left is the use of the first one, and
 * one more. Returns the bytes that are alive up to the last one. */
static HDI_APART uint64_t read_again(hdi_sched *s, hdi_sched_res *res, size_t use, uint32_t rank, bool last)
{
    const hdi_decl *decl = s->decl;
    if (res->left == 0)
        res->left = (uint32_t)use + 1;
    else if (decl->access[decl->use_access[res->left - 1]].layout != decl->access[decl->use_access[use]].layout &&
             !(decl->use_flags[use] & HDI_USE_BUFFER))
        res->mixed = HDI_MIXED_LAYOUTS;
    if (!last)
        return 0;
    s->mixed_uses += res->mixed ? res->uses : 0;
    res->left = res->bytes ? res->uses : 0;
    if (res->bytes == 0)
        return 0;
    res->last = rank;
    s->ask[res->first].more = HDI_COUNTED; /* of this very rank, too: it is not written yet, and says so itself */
    return res->bytes;
}

void hdi_sched_look_simple(hdi_sched *s, const hdi_sizes *sizes)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *use_begin = decl->pass_use_begin, *use_res = decl->use_res;
    const uint8_t *use_flags = decl->use_flags, *res_flags = decl->res_flags;
    const hdi_res_state *state = decl->res_state;
    const hd_memory_need *need = sizes->need;
    hdi_sched_res *all = s->res;
    hdi_ask *ask = s->ask;
    uint32_t *rank_pass = s->rank_pass, *pass_rank = s->pass_rank, passes = decl->pass_count;
    uint64_t *lives = s->live, live = 0, peak = 0;
    size_t u = 0;
    clear_content(s);
    for (uint32_t p = 0; p < passes; p++) {
        uint64_t opens = 0, closes = 0, more = 0, before = live, others = 0;
        for (size_t end = use_begin[p + 1]; u < end; u++) {
            size_t r = use_res[u];
            hdi_sched_res *res = &all[r];
            bool last = state[r].newest == (uint32_t)u + 1;
            if (use_flags[u] & HDI_USE_WRITES) {
                uint64_t bytes = res_flags[r] & HDI_NO_BYTES ? 0 : need[r].bytes;
                uint32_t own = HDI_LIKELY(bytes) ? p : HDI_NONE, unread = last & (bytes != 0);
                *res = (hdi_sched_res){.bytes = bytes, .first = own, .last = own, .left = unread, .uses = 1};
                opens += bytes;
                others += bytes & -(uint64_t)unread;
                more |= unread;
                continue;
            }
            uint32_t uses = ++res->uses;
            if (HDI_LIKELY(uses == 2 && last && res->first < p)) {
                res->last = p;
                res->mixed = HDI_CLOSES_LAST;
                closes += res->bytes;
                continue;
            }
            others += read_again(s, res, u, p, last);
            more = 1;
        }
        live = before + opens;
        peak = live > peak ? live : peak;
        ask[p].opens = (int64_t)opens;
        ask[p].closes = (int64_t)closes;
        ask[p].step = (int64_t)(live - (p ? lives[p - 1] : 0));
        ask[p].due = 0;
        ask[p].more = more ? HDI_COUNTED : 0;
        lives[p] = live;
        rank_pass[p] = pass_rank[p] = p;
        live -= closes + others;
    }
    ask[passes] = (hdi_ask){.step = passes ? (int64_t)(live - lives[passes - 1]) : 0};
    s->peak = peak;
}
