#include "schedule_look.h"

#include <string.h>

/* What schedule_prepare.c finds, for one queue and a simple frame, as hdi_depends says of it: each resource is written
 * once, by who uses it first, and all passes are kept, so that ranks are passes. Who uses it last the declaration
 * knows. So one walk over the uses tells all; one over passes and their uses would have more to keep in registers than
 * there are. Most resources have one reader: of these nobody has to count the uses. O(uses). */

/* What is read without being written in the frame has no bytes; its readers find it as nobody saw it. */
static void clear_content(const hdi_sched *s)
{
    const uint8_t content = HDI_RES_CONTENT | HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY;
    for (uint32_t r = 0, end = s->decl->res_count; (r = hdi_next_flagged(s->decl, r, end, content)) < end; r++)
        s->res[r] = (hdi_sched_res){.first = HDI_NONE, .last = HDI_NONE};
}

/* What is not read, or has no bytes. */
static HDI_APART void write_odd(const hdi_sched *s, hdi_sched_res *res, size_t rank)
{
    if (res->bytes == 0) {
        res->first = res->last = HDI_NONE;
        return;
    }
    res->left = 1;
    s->ask[rank].more = HDI_COUNTED;
    s->ask[rank + 1].step -= (int64_t)res->bytes;
}

/* One of several readers, or one of what nobody wrote. word: of its resource. While there may be others, left says
 * whether there was one. */
static HDI_APART void read_again(hdi_sched *s, hdi_sched_res *res, uint64_t word, size_t rank, bool last)
{
    res->uses++;
    s->ask[rank].more = HDI_COUNTED;
    if (res->left == 0)
        res->left = 1;
    else if (hdi_look_mixes(word))
        res->mixed = HDI_MIXED_LAYOUTS;
    if (!last)
        return;
    s->mixed_uses += res->mixed ? res->uses : 0;
    res->left = res->bytes ? res->uses : 0;
    if (res->bytes == 0)
        return;
    res->last = (uint32_t)rank;
    s->ask[res->first].more = HDI_COUNTED;
    s->ask[rank + 1].step -= (int64_t)res->bytes;
}

/* What is alive, and the peak. step: until now less what was closed, but for what is known to close there. */
static void sum_up(hdi_sched *s)
{
    hdi_ask *ask = s->ask;
    uint32_t *rank_pass = s->rank_pass, *pass_rank = s->pass_rank;
    uint64_t *lives = s->live, peak = 0;
    int64_t live = 0, closes = 0;
    size_t count = s->kept_count;
    for (size_t p = 0; p < count; p++)
        rank_pass[p] = pass_rank[p] = (uint32_t)p;
    for (size_t p = 0; p < count; p++) {
        int64_t step = ask[p].step + ask[p].opens - closes;
        closes = ask[p].closes;
        ask[p].step = step;
        live += step;
        lives[p] = (uint64_t)live;
        peak = (uint64_t)live > peak ? (uint64_t)live : peak;
    }
    ask[count].step -= closes;
    s->peak = peak;
}

void hdi_sched_look_simple(hdi_sched *s, const hdi_sizes *sizes)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *use_pass = decl->use_pass, *use_res = decl->use_res;
    const uint8_t *use_flags = decl->use_flags, *res_flags = decl->res_flags;
    const hdi_res_state *state = decl->res_state;
    const hd_memory_need *need = sizes->need;
    hdi_sched_res *all = s->res;
    hdi_ask *ask = s->ask;
    clear_content(s);
    memset(ask, 0, ((size_t)decl->pass_count + 1) * sizeof(*ask));
    for (size_t u = 0, uses = decl->use_count; u < uses; u++) {
        size_t r = use_res[u], p = use_pass[u];
        hdi_sched_res *res = &all[r];
        bool last = state[r].newest == (uint32_t)u + 1;
        if (use_flags[u] & HDI_USE_WRITES) {
            uint64_t bytes = res_flags[r] & HDI_NO_BYTES ? 0 : need[r].bytes;
            *res = (hdi_sched_res){.bytes = bytes, .first = (uint32_t)p, .last = (uint32_t)p, .uses = 1};
            ask[p].opens += (int64_t)bytes;
            if (HDI_UNLIKELY(last || bytes == 0))
                write_odd(s, res, p);
            continue;
        }
        if (HDI_LIKELY(last && res->uses == 1 && res->first < p)) {
            res->uses = 2;
            res->last = (uint32_t)p;
            res->mixed = HDI_CLOSES_LAST;
            ask[p].closes += (int64_t)res->bytes;
            continue;
        }
        read_again(s, res, state[r].word, p, last);
    }
    sum_up(s);
}
