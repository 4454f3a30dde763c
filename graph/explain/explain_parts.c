#include "explain.h"

/* One function for each kind of part of a plan; explain.c says how they search. */

/* ---- barriers ---- */

static bool in_graph(const hdi_explain *x, uint32_t pass)
{
    return pass < x->decl->pass_count && x->pass_at[pass] != HDI_NONE;
}

static bool touches(const hdi_explain *x, const hd_plan_barrier *barrier, uint32_t use)
{
    uint32_t range = x->decl->use_range[use];
    if (barrier->resource == HD_NONE || range == HDI_NONE)
        return true;
    return hdi_explain_ranges_meet(&barrier->range, &x->decl->range[range],
                                   (x->decl->res_flags[barrier->resource] & HDI_RES_BUFFER) != 0);
}

/* The use is what a use by the pass comes behind, for that reason; without a pass each is. */
static bool leads_to(const hdi_explain *x, uint32_t use, uint32_t pass, uint32_t reason)
{
    if (pass == HDI_NONE)
        return true;
    hdi_explain_uses own = hdi_explain_uses_of(x, pass, x->decl->use_res[use]);
    for (uint32_t i = own.begin; i < own.end; i++) {
        uint32_t found = hdi_explain_conflict(x, use, x->plan_use[i]);
        if (found == reason || (found && (reason == HD_REASON_RELEASE || reason == HD_REASON_ACQUIRE)))
            return true;
    }
    return false;
}

/* The last pass before a command that used what the barrier is about. */
static uint32_t last_before(const hdi_explain *x, const hd_plan_barrier *barrier, uint32_t res, uint32_t command,
                            uint32_t pass, uint32_t reason)
{
    for (uint32_t i = hdi_explain_from(x, res, command); i-- > x->plan_begin[res];) {
        uint32_t use = x->plan_use[i], user = x->use_pass[use];
        if (user != pass && touches(x, barrier, use) && leads_to(x, use, pass, reason))
            return user;
    }
    return HDI_NONE;
}

static uint32_t first_behind(const hdi_explain *x, const hd_plan_barrier *barrier, uint32_t res, uint32_t command)
{
    for (uint32_t i = hdi_explain_from(x, res, command + 1); i < x->plan_begin[res + 1]; i++) {
        if (touches(x, barrier, x->plan_use[i]))
            return x->use_pass[x->plan_use[i]];
    }
    return HDI_NONE;
}

/* A barrier of a plan that gives no reasons: what is around it tells. */
static void guess_barrier(const hdi_explain *x, const hd_plan_barrier *barrier, uint32_t command, hd_why *out)
{
    static const uint32_t likely[] = {HD_REASON_READ_AFTER_WRITE, HD_REASON_WRITE_AFTER_WRITE,
                                      HD_REASON_WRITE_AFTER_READ, HD_REASON_LAYOUT, HD_REASON_ACQUIRE};
    uint32_t res = barrier->resource;
    if (res == HD_NONE)
        return;
    out->resource = res;
    out->pass = first_behind(x, barrier, res, command);
    if (out->pass == HDI_NONE) {
        out->code = HD_REASON_FINAL_STATE;
        out->other_pass = last_before(x, barrier, res, command, HDI_NONE, HD_REASON_NONE);
        return;
    }
    out->code = HD_REASON_FIRST_USE;
    for (size_t i = 0; i < sizeof(likely) / sizeof(likely[0]) && out->other_pass == HDI_NONE; i++) {
        out->other_pass = last_before(x, barrier, res, command, out->pass, likely[i]);
        if (out->other_pass != HDI_NONE)
            out->code = likely[i];
    }
}

static void explain_barrier(const hdi_explain *x, const hd_plan_barrier *barrier, uint32_t command, hd_why *out)
{
    if (barrier->reason == HD_REASON_NONE) {
        guess_barrier(x, barrier, command, out);
        return;
    }
    uint32_t res = barrier->resource != HD_NONE ? barrier->resource : barrier->reason_resource;
    out->code = barrier->reason;
    out->pass = in_graph(x, barrier->reason_pass) ? barrier->reason_pass : HD_NONE;
    if (res >= x->decl->res_count)
        return;
    out->resource = res;
    if (barrier->reason == HD_REASON_ALIAS && x->res_at[res] != HDI_NONE) {
        out->other_resource = hdi_explain_tenant(x, res, command);
        if (out->other_resource != HDI_NONE)
            out->other_pass = hdi_explain_last_user(x, out->other_resource, command);
    } else if (barrier->reason != HD_REASON_FIRST_USE) {
        out->other_pass = last_before(x, barrier, res, command, out->pass, barrier->reason);
    }
}

void hdi_explain_barriers(hdi_explain *x)
{
    const hd_plan_view *view = &x->view;
    for (uint32_t c = 0; c < view->command_count; c++) {
        if (view->commands[c].kind == HD_COMMAND_PASS)
            continue;
        const hd_plan_batch *batch = &view->batches[view->commands[c].index];
        for (uint32_t b = batch->barrier_begin; b < batch->barrier_begin + batch->barrier_count; b++)
            explain_barrier(x, &view->barriers[b], c, &x->barriers[b]);
    }
}

/* ---- waits ---- */

/* A wait that a barrier of the waiting submit needs: the image that it changes was used on the other queue, by `only`
 * or, where `only` is HDI_NONE, by any pass. */
static bool behind_wait(const hdi_explain *x, uint32_t submit, uint32_t queue, uint32_t last_submit, uint32_t only,
                        hd_why *out)
{
    const hd_plan_submit *s = &x->view.submits[submit];
    for (uint32_t c = s->command_begin; c < s->command_begin + s->command_count; c++) {
        if (x->view.commands[c].kind == HD_COMMAND_PASS)
            continue;
        const hd_plan_batch *batch = &x->view.batches[x->view.commands[c].index];
        for (uint32_t b = batch->barrier_begin; b < batch->barrier_begin + batch->barrier_count; b++) {
            const hd_plan_barrier *barrier = &x->view.barriers[b];
            uint32_t res = barrier->resource;
            for (uint32_t i = res == HD_NONE ? 0 : x->plan_begin[res + 1];
                 res != HD_NONE && i-- > x->plan_begin[res];) {
                uint32_t user = x->use_pass[x->plan_use[i]], at = x->pass_submit[user];
                if (at > last_submit || x->view.submits[at].queue != queue || !touches(x, barrier, x->plan_use[i]) ||
                    (only != HDI_NONE && user != only) ||
                    !leads_to(x, x->plan_use[i], x->barriers[b].pass, x->barriers[b].code))
                    continue;
                *out = (hd_why){x->barriers[b].code, x->barriers[b].pass, user, res, HD_NONE};
                return true;
            }
        }
    }
    return false;
}

/* The barrier that was made for one pass serves a use of another as well: both read what it leaves. */
static bool serves(const hdi_explain *x, uint32_t pass, uint32_t use)
{
    if (pass == HD_NONE)
        return false;
    hdi_explain_uses own = hdi_explain_uses_of(x, pass, x->decl->use_res[use]);
    for (uint32_t i = own.begin; i < own.end; i++) {
        if (hdi_explain_meet(x, x->plan_use[i], use))
            return hdi_explain_conflict(x, x->plan_use[i], use) == HD_REASON_NONE;
    }
    return false;
}

/* How well a barrier must fit: made for that very pass, for another that reads the same, or made for something beside
 * it and joined with what the pass needs. */
typedef enum fit { FIT_EXACT, FIT_SHARED, FIT_JOINED } fit;

/* A barrier is what passes of a submit on another queue wait for. */
static bool barrier_for(const hdi_explain *x, uint32_t b, uint32_t submit, fit how, hd_why *out)
{
    const hd_plan_barrier *barrier = &x->view.barriers[b];
    const hd_plan_submit *to = &x->view.submits[submit];
    for (uint32_t c = to->command_begin; barrier->resource != HD_NONE && c < to->command_begin + to->command_count;
         c++) {
        uint32_t pass = x->view.commands[c].index;
        if (x->view.commands[c].kind != HD_COMMAND_PASS || (how == FIT_EXACT && x->barriers[b].pass != pass))
            continue;
        hdi_explain_uses own = hdi_explain_uses_of(x, pass, barrier->resource);
        for (uint32_t i = own.begin; i < own.end; i++) {
            uint32_t u = x->plan_use[i];
            if (!touches(x, barrier, u) || (how == FIT_SHARED && !serves(x, x->barriers[b].pass, u)))
                continue;
            *out = (hd_why){x->barriers[b].code, pass, x->barriers[b].other_pass, barrier->resource, HD_NONE};
            if (how == FIT_JOINED)
                out->code = out->other_pass == HD_NONE ? HD_REASON_FIRST_USE : HD_REASON_LAYOUT;
            return true;
        }
    }
    return false;
}

/* A wait for a barrier that had no pass of its own to go with; the latest. It may stand in a batch of an earlier
 * submit. */
static bool before_signal(const hdi_explain *x, uint32_t queue, uint32_t signal, uint32_t submit, fit how, hd_why *out)
{
    for (uint32_t s = signal + 1; s-- > 0;) {
        const hd_plan_submit *from = &x->view.submits[s];
        for (uint32_t c = from->command_begin + from->command_count;
             from->queue == queue && c-- > from->command_begin;) {
            if (x->view.commands[c].kind == HD_COMMAND_PASS)
                continue;
            const hd_plan_batch *batch = &x->view.batches[x->view.commands[c].index];
            for (uint32_t b = batch->barrier_begin; b < batch->barrier_begin + batch->barrier_count; b++) {
                if (barrier_for(x, b, submit, how, out))
                    return true;
            }
        }
    }
    return false;
}

/* Passes from the first of the waiting submit on, until one is ordered behind something that the wait brings. */
static bool in_general(const hdi_explain *x, uint32_t submit, uint32_t queue, uint32_t signal, hd_why *out)
{
    for (uint32_t s = submit; s < x->view.submit_count; s++) {
        const hd_plan_submit *at = &x->view.submits[s];
        if (at->queue != x->view.submits[submit].queue)
            continue;
        for (uint32_t c = at->command_begin; c < at->command_begin + at->command_count; c++) {
            if (x->view.commands[c].kind == HD_COMMAND_PASS &&
                hdi_explain_behind(x, x->view.commands[c].index, queue, signal, c, out))
                return true;
        }
        if (s != submit && at->wait_count)
            break; /* what comes behind has waits of its own */
    }
    return false;
}

/* One resource has bytes that the other one has too, at another time. */
static bool shares_bytes(const hdi_explain *x, uint32_t a, uint32_t b)
{
    if (a == b || x->res_at[a] == HDI_NONE || x->res_at[b] == HDI_NONE)
        return false;
    const hd_plan_resource *p = &x->view.resources[x->res_at[a]], *q = &x->view.resources[x->res_at[b]];
    return p->heap != HD_NONE && p->heap == q->heap && p->offset < q->offset + q->bytes &&
           q->offset < p->offset + p->bytes;
}

/* A pass opens memory that another used through another resource. */
static bool takes_from(const hdi_explain *x, uint32_t other, uint32_t pass, hd_why *out)
{
    const hdi_decl *decl = x->decl;
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        for (uint32_t v = decl->pass_use_begin[other]; v < decl->pass_use_begin[other + 1]; v++) {
            if (!shares_bytes(x, decl->use_res[u], decl->use_res[v]))
                continue;
            *out = (hd_why){HD_REASON_ALIAS, pass, other, decl->use_res[u], decl->use_res[v]};
            return true;
        }
    }
    return false;
}

/* A pass of the waiting submit takes bytes over from one of the other queue, the one that the wait names or, if it
 * names none, the latest. */
static bool for_memory(const hdi_explain *x, uint32_t submit, uint32_t queue, uint32_t signal, uint32_t named,
                       hd_why *out)
{
    const hd_plan_submit *s = &x->view.submits[submit];
    for (uint32_t c = s->command_begin; c < s->command_begin + s->command_count; c++) {
        uint32_t pass = x->view.commands[c].index;
        if (x->view.commands[c].kind != HD_COMMAND_PASS)
            continue;
        if (named != HDI_NONE && takes_from(x, named, pass, out))
            return true;
        for (uint32_t t = named == HDI_NONE ? signal + 1 : 0; t-- > 0;) {
            const hd_plan_submit *from = &x->view.submits[t];
            for (uint32_t k = from->command_begin + from->command_count; k-- > from->command_begin;) {
                if (from->queue == queue && x->view.commands[k].kind == HD_COMMAND_PASS &&
                    takes_from(x, x->view.commands[k].index, pass, out))
                    return true;
            }
        }
    }
    return false;
}

static bool explain_wait(const hdi_explain *x, const hd_plan_wait *wait, uint32_t submit, uint32_t signal, hd_why *out)
{
    const hd_plan_submit *s = &x->view.submits[submit];
    bool named = in_graph(x, wait->reason_pass);
    for (uint32_t c = s->command_begin; named && c < s->command_begin + s->command_count; c++) {
        if (x->view.commands[c].kind == HD_COMMAND_PASS &&
            hdi_explain_pair(x, wait->reason_pass, x->view.commands[c].index, out))
            return true;
    }
    if (named && for_memory(x, submit, wait->queue, signal, wait->reason_pass, out))
        return true;
    if (!named && before_signal(x, wait->queue, signal, submit, FIT_EXACT, out))
        return true;
    /* A plan that gives reasons names the pass of each wait, unless it is for a barrier. */
    if (!named && s->cut != HD_CUT_NONE && before_signal(x, wait->queue, signal, submit, FIT_SHARED, out))
        return true;
    if (named && behind_wait(x, submit, wait->queue, signal, wait->reason_pass, out))
        return true;
    return behind_wait(x, submit, wait->queue, signal, HDI_NONE, out) ||
           in_general(x, submit, wait->queue, signal, out) ||
           before_signal(x, wait->queue, signal, submit, FIT_JOINED, out) ||
           for_memory(x, submit, wait->queue, signal, HDI_NONE, out);
}

void hdi_explain_waits(hdi_explain *x)
{
    for (uint32_t s = 0; s < x->view.submit_count; s++) {
        const hd_plan_submit *submit = &x->view.submits[s];
        for (uint32_t w = submit->wait_begin; w < submit->wait_begin + submit->wait_count; w++) {
            const hd_plan_wait *wait = &x->view.waits[w];
            uint32_t signal = hdi_signals_find(&x->signals, &x->view, wait->queue, wait->value);
            if (signal == HDI_NONE)
                continue;
            if (x->signal_wait[signal] == HDI_NONE)
                x->signal_wait[signal] = w;
            if (!explain_wait(x, wait, s, signal, &x->waits[w]))
                x->waits[w] = (hd_why){HD_REASON_NONE, HD_NONE, HD_NONE, HD_NONE, HD_NONE};
        }
    }
}

/* ---- submits ---- */

static uint32_t first_pass(const hdi_explain *x, const hd_plan_submit *submit)
{
    for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
        if (x->view.commands[c].kind == HD_COMMAND_PASS)
            return x->view.commands[c].index;
    }
    return HDI_NONE;
}

static uint32_t last_pass(const hdi_explain *x, const hd_plan_submit *submit)
{
    for (uint32_t c = submit->command_begin + submit->command_count; c-- > submit->command_begin;) {
        if (x->view.commands[c].kind == HD_COMMAND_PASS)
            return x->view.commands[c].index;
    }
    return HDI_NONE;
}

static hd_why as_cut(uint32_t cut, const hd_why *wait)
{
    hd_why out = *wait;
    out.code = cut;
    return out;
}

/* A cut between two submits of a queue has one reason or two; where a submit ends its signal comes first, where the
 * next begins its wait does. */
void hdi_explain_submits(hdi_explain *x)
{
    uint32_t before[HD_MAX_QUEUES];
    for (uint32_t q = 0; q < HD_MAX_QUEUES; q++)
        before[q] = HDI_NONE;
    for (uint32_t s = 0; s < x->view.submit_count; s++) {
        const hd_plan_submit *submit = &x->view.submits[s];
        uint32_t last = before[submit->queue];
        before[submit->queue] = s;
        x->submit_ends[s] = (hd_why){HD_CUT_END, last_pass(x, submit), HD_NONE, HD_NONE, HD_NONE};
        if (last == HDI_NONE) {
            x->submits[s] = (hd_why){HD_CUT_FIRST, first_pass(x, submit), HD_NONE, HD_NONE, HD_NONE};
            continue;
        }
        const hd_why *wait = submit->wait_count ? &x->waits[submit->wait_begin] : NULL;
        const hd_why *signal = x->signal_wait[last] != HDI_NONE ? &x->waits[x->signal_wait[last]] : NULL;
        const hd_why none = {HD_CUT_NONE, HD_NONE, HD_NONE, HD_NONE, HD_NONE};
        x->submits[s] = wait ? as_cut(HD_CUT_WAIT, wait) : signal ? as_cut(HD_CUT_SIGNAL, signal) : none;
        x->submit_ends[last] = signal ? as_cut(HD_CUT_SIGNAL, signal) : wait ? as_cut(HD_CUT_WAIT, wait) : none;
    }
}

/* ---- placement ---- */

/* A kept one, or else a culled one: what heap a resource needs is known from the declaration alone. */
static uint32_t first_host_pass(const hdi_explain *x, uint32_t res)
{
    uint32_t found = HDI_NONE;
    for (uint32_t i = x->declared_begin[res]; i < x->declared_begin[res + 1]; i++) {
        uint32_t pass = x->use_pass[x->declared_use[i]];
        if (x->decl->pass_type[pass] != HD_PASS_HOST)
            continue;
        if (x->pass_at[pass] != HDI_NONE)
            return pass;
        found = found == HDI_NONE ? pass : found;
    }
    return found;
}

/* The neighbour that keeps a resource from lying lower: the highest resource below it that is in use meanwhile. */
static uint32_t neighbour_below(const hdi_explain *x, const hd_plan_resource *own)
{
    uint32_t first = hdi_explain_first_user(x, own->id), last = hdi_explain_last_user(x, own->id, HDI_NONE);
    if (own->heap >= x->view.heap_count || !own->offset || first == HDI_NONE)
        return HDI_NONE;
    uint32_t begin = x->heap_begin[own->heap], end = x->heap_begin[own->heap + 1];
    for (uint32_t low = begin; low < end;) { /* end: the first that ends above its offset */
        uint32_t middle = low + (end - low) / 2;
        const hd_plan_resource *other = &x->view.resources[x->by_end[middle]];
        if (other->offset + other->bytes <= own->offset)
            low = middle + 1;
        else
            end = middle;
    }
    while (end-- > begin) {
        const hd_plan_resource *other = &x->view.resources[x->by_end[end]];
        uint32_t a = hdi_explain_first_user(x, other->id), b = hdi_explain_last_user(x, other->id, HDI_NONE);
        if (other->offset + other->bytes && a != HDI_NONE && x->pass_at[a] <= x->pass_at[last] &&
            x->pass_at[b] >= x->pass_at[first])
            return other->id;
    }
    return HDI_NONE;
}

static uint32_t placing_of(const hdi_explain *x, const hd_plan_resource *r)
{
    if (r->placing != HD_PLACING_NONE)
        return r->placing;
    if (x->decl->res_flags[r->id] & HDI_RES_EXTERNAL)
        return HD_PLACING_EXTERNAL;
    if (x->decl->res_flags[r->id] & (HDI_RES_HISTORY | HDI_RES_HAS_HISTORY))
        return HD_PLACING_PERSISTENT;
    if (hdi_explain_tenant(x, r->id, HDI_NONE) != HDI_NONE)
        return HD_PLACING_TAKES_OVER;
    if (hdi_is_token(x->decl, r->id))
        return HD_PLACING_NONE;
    return r->heap != HD_NONE && x->view.heaps[r->heap].flags & HD_HEAP_HOST ? HD_PLACING_HOST : HD_PLACING_FIRST;
}

void hdi_explain_resources(hdi_explain *x)
{
    for (uint32_t i = 0; i < x->view.resource_count; i++) {
        const hd_plan_resource *r = &x->view.resources[i];
        hd_why *out = &x->resources[i];
        *out = (hd_why){placing_of(x, r), hdi_explain_first_user(x, r->id), HD_NONE, r->id, HD_NONE};
        switch (out->code) {
        case HD_PLACING_PERSISTENT:
            out->other_resource = x->decl->res_pair[r->id];
            break;
        case HD_PLACING_HOST:
            out->pass = first_host_pass(x, r->id);
            break;
        case HD_PLACING_FIRST:
            out->other_resource = neighbour_below(x, r);
            break;
        case HD_PLACING_TAKES_OVER:
            out->other_resource = hdi_explain_tenant(x, r->id, HDI_NONE);
            if (out->other_resource != HDI_NONE)
                out->other_pass = hdi_explain_last_user(x, out->other_resource, HDI_NONE);
            break;
        default:
            break;
        }
    }
}

/* ---- culls ---- */

/* What becomes of one write of a culled pass: the next pass that overwrites it, if it is kept, or would read it, if it
 * is culled too. Next in the order of the content: a read of an ended version stands before the pass that ended it. */
static hd_why fate_of(const hdi_explain *x, uint32_t use)
{
    const hdi_decl *decl = x->decl;
    uint32_t res = decl->use_res[use], pass = x->use_pass[use];
    bool kept_after = (decl->res_flags[res] & (HDI_RES_EXTERNAL | HDI_RES_HAS_HISTORY)) != 0;
    hd_why out = {kept_after ? HD_CULL_NONE : HD_CULL_UNREAD, pass, HD_NONE, res, HD_NONE};
    uint64_t next = UINT64_MAX;
    for (uint32_t i = x->declared_begin[res]; i < x->declared_begin[res + 1]; i++) {
        uint32_t v = x->declared_use[i], other = x->use_pass[v];
        const hdi_access_info *access = &decl->access[decl->use_access[v]];
        if (other == pass || x->use_key[v] <= x->use_key[use] || x->use_key[v] >= next ||
            !hdi_explain_meet(x, use, v) || (x->culled[other] && !access->reads))
            continue;
        next = x->use_key[v];
        out.other_pass = other;
        out.code = x->culled[other] ? HD_CULL_READER_CULLED : access->reads ? HD_CULL_NONE : HD_CULL_OVERWRITTEN;
    }
    return out;
}

/* Of several writes the one that tells most. */
void hdi_explain_culls(hdi_explain *x)
{
    const hdi_decl *decl = x->decl;
    for (uint32_t i = 0; i < x->view.culled_count; i++) {
        uint32_t pass = x->view.culled[i];
        hd_why *out = &x->culls[i];
        *out = (hd_why){HD_CULL_WRITES_NOTHING, pass, HD_NONE, HD_NONE, HD_NONE};
        if (decl->pass_flags[pass] & HDI_PASS_ROOT) {
            out->code = HD_CULL_NONE;
            continue;
        }
        for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
            if (!decl->access[decl->use_access[u]].writes)
                continue;
            hd_why fate = fate_of(x, u);
            if (out->resource == HD_NONE || fate.code > out->code)
                *out = fate;
        }
    }
}
