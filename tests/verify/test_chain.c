#include <criterion/criterion.h>

#include <string.h>

#include "checked.h"
#include "random.h"
#include "random_graph.h"
#include "tables.h"

/* What orders two passes. For random graphs, every pair of passes is asked about. Each chain is checked step by step
 * against rules that are written down here once more, from the plan alone; that there is none, against the closure of
 * those rules; and as the plans are verified, uses that conflict always have one. HEDDLE_SEED replays a graph. */

enum { MAX_STEPS = 4096 };

static const uint64_t graphics[] = {0x2,  UINT64_C(1) << 36, UINT64_C(1) << 37, 0x8, 0x10, 0x20, 0x40,
                                    UINT64_C(1) << 24, UINT64_C(1) << 22, 0x100, 0x80, 0x200, 0x400};
enum { GRAPHICS = sizeof(graphics) / sizeof(graphics[0]) };

static int graphics_index(uint64_t stage)
{
    for (int i = 0; i < GRAPHICS; i++) {
        if (graphics[i] == stage)
            return i;
    }
    return -1;
}

/* Whether the scope that names mask holds a stage: first ones hold logically earlier stages too, second ones later. */
static bool holds(uint64_t mask, uint64_t stage, bool first)
{
    if (stage == 0x4000)
        return mask & 0x4000;
    if (mask & 0x10000 || mask & stage || mask & (first ? 0x2000 : 0x1))
        return true;
    if (stage >> 32 & 0xf && mask & 0x1000)
        return true;
    int at = graphics_index(stage);
    for (int i = 0; at >= 0 && i < GRAPHICS; i++) {
        bool named = mask & graphics[i] || mask & 0x8000 || (mask & 0x4 && graphics[i] >> 36 & 3);
        if (named && (first ? i >= at : i <= at))
            return true;
    }
    return first ? stage == 0x2 && mask & 0x800 : stage == 0x800 && mask & 0x2;
}

typedef struct step {
    uint32_t kind, index, queue, submit;
    uint64_t at, src, dst;
    uint32_t resource; /* of a layout transition or an ownership transfer */
    bool host;
} step;

static step steps[MAX_STEPS];
static uint32_t step_count;
static uint64_t reach[MAX_STEPS][MAX_STEPS / 64];
static uint64_t pass_at[256];

static void add_step(step s)
{
    cr_assert(step_count < MAX_STEPS);
    steps[step_count++] = s;
}

static void add_barriers(const hd_plan_view *p, uint32_t s, uint32_t c, bool host)
{
    const hd_plan_batch *batch = &p->batches[p->commands[c].index];
    uint32_t family = p->queues[p->submits[s].queue].family;
    for (uint32_t b = batch->barrier_begin; b < batch->barrier_begin + batch->barrier_count; b++) {
        const hd_plan_barrier *x = &p->barriers[b];
        bool moves = x->src_family != x->dst_family;
        step one = {HD_LINK_BARRIER,
                    b,
                    p->submits[s].queue,
                    s,
                    (uint64_t)s << 32 | (1 + c),
                    x->src_stages,
                    x->dst_stages,
                    x->resource != HD_NONE && (moves || x->old_layout != x->new_layout) ? x->resource : HD_NONE,
                    host};
        if (moves && family == x->src_family)
            one.dst = 0;
        if (moves && family == x->dst_family)
            one.src = 0;
        add_step(one);
    }
}

static void list_steps(const hd_plan_view *p)
{
    step_count = 0;
    for (uint32_t s = 0; s < p->submit_count; s++) {
        const hd_plan_submit *x = &p->submits[s];
        bool host = p->queues[x->queue].kind == HD_QUEUE_HOST;
        for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++)
            add_step((step){HD_LINK_WAIT, w, x->queue, s, (uint64_t)s << 32, 0, host ? 0x4000 : p->waits[w].stages,
                            HD_NONE, host});
        for (uint32_t c = x->command_begin; c < x->command_begin + x->command_count; c++) {
            cr_assert(p->commands[c].kind == HD_COMMAND_PASS || p->commands[c].kind == HD_COMMAND_BARRIER);
            if (p->commands[c].kind == HD_COMMAND_PASS)
                pass_at[p->commands[c].index] = (uint64_t)s << 32 | (1 + c);
            else
                add_barriers(p, s, c, host);
        }
        if (x->signal_value)
            add_step((step){HD_LINK_SIGNAL, s, x->queue, s, (uint64_t)s << 32 | 0xffffffff,
                            host ? 0x4000 : x->signal_stages | 0x4000, 0, HD_NONE, host});
    }
}

/* The rule of one step: b waits for a. */
static bool follows(const hd_plan_view *p, const step *a, const step *b)
{
    if (b->kind == HD_LINK_WAIT) {
        const hd_plan_wait *wait = &p->waits[b->index];
        return a->kind == HD_LINK_SIGNAL && wait->queue == a->queue && wait->value == p->submits[a->index].signal_value;
    }
    if (a->kind == HD_LINK_SIGNAL || a->queue != b->queue || a->at >= b->at)
        return false;
    if (a->resource != HD_NONE) { /* a transition: the next one of its image, and signals of everything */
        if (a->resource == b->resource || (b->kind == HD_LINK_SIGNAL && b->src & 0x10000))
            return true;
    }
    if (b->resource != HD_NONE && a->kind == HD_LINK_WAIT && a->dst & 0x10000)
        return true;
    for (int bit = 0; bit < 48; bit++) {
        uint64_t stage = UINT64_C(1) << bit;
        if (stage & UINT64_C(0x1b005)) /* names of several stages */
            continue;
        if (holds(b->src, stage, true) && holds(a->dst, stage, false))
            return true;
    }
    return false;
}

static void close_steps(const hd_plan_view *p)
{
    memset(reach, 0, sizeof(reach[0]) * step_count);
    for (uint32_t b = 0; b < step_count; b++) /* in the order of the submits: what a step waits for stands before it */
        for (uint32_t a = 0; a < b; a++)
            if (follows(p, &steps[a], &steps[b])) {
                reach[b][a / 64] |= UINT64_C(1) << a % 64;
                for (uint32_t w = 0; w < MAX_STEPS / 64; w++)
                    reach[b][w] |= reach[a][w];
            }
}

static bool all_held(uint64_t mask, uint64_t wanted, bool first)
{
    for (; wanted; wanted &= wanted - 1)
        if (!holds(mask, wanted & -wanted, first))
            return false;
    return true;
}

static bool leaves(const step *s, uint32_t queue, uint64_t at, uint64_t stages)
{
    return s->queue == queue && s->at > at && s->kind != HD_LINK_WAIT && all_held(s->src, stages, true);
}

static bool arrives(const step *s, uint32_t queue, uint64_t at, uint64_t stages)
{
    return s->queue == queue && s->at < at && s->kind != HD_LINK_SIGNAL && all_held(s->dst, stages, false);
}

static const step *step_of(const hd_link *link)
{
    for (uint32_t s = 0; s < step_count; s++)
        if (steps[s].kind == link->kind && steps[s].index == link->index)
            return &steps[s];
    return NULL;
}

static void check_links(const hd_plan_view *p, const hd_chains *all, const hd_chain *chain, uint64_t seed)
{
    const hd_link *links = all->links + chain->link_begin;
    uint32_t n = chain->link_count;
    cr_assert_geq(n, 3, "seed %llu", (unsigned long long)seed);
    cr_assert(links[0].kind == HD_LINK_PASS && links[0].index == all->pass);
    cr_assert(links[n - 1].kind == HD_LINK_PASS && links[n - 1].index == all->other_pass);
    for (uint32_t l = 1; l + 1 < n; l++) {
        const step *s = step_of(&links[l]), *next = l + 2 < n ? step_of(&links[l + 1]) : NULL;
        cr_assert(s && s->queue == links[l].queue && s->submit == links[l].submit);
        if (l == 1 && chain->stages)
            cr_assert(leaves(s, links[0].queue, pass_at[all->pass], chain->stages), "seed %llu passes %u %u",
                      (unsigned long long)seed, all->pass, all->other_pass);
        if (next)
            cr_assert(follows(p, s, next), "seed %llu passes %u %u link %u", (unsigned long long)seed, all->pass,
                      all->other_pass, l);
        else if (chain->other_stages)
            cr_assert(arrives(s, links[n - 1].queue, pass_at[all->other_pass], chain->other_stages),
                      "seed %llu passes %u %u", (unsigned long long)seed, all->pass, all->other_pass);
    }
}

static bool reachable(const hd_chains *all, const hd_chain *chain, const uint32_t *queue_of)
{
    for (uint32_t a = 0; a < step_count; a++) {
        if (!leaves(&steps[a], queue_of[all->pass], pass_at[all->pass], chain->stages))
            continue;
        for (uint32_t b = a; b < step_count; b++)
            if ((a == b || reach[b][a / 64] >> a % 64 & 1) &&
                arrives(&steps[b], queue_of[all->other_pass], pass_at[all->other_pass], chain->other_stages))
                return true;
    }
    return false;
}

static void check_pair(const hd_graph *graph, const hd_plan *plan, uint32_t a, uint32_t b, const uint32_t *queue_of,
                       uint64_t seed, uint32_t *counts)
{
    const hd_chains *all;
    hd_plan_view p = hd_plan_read(plan);
    cr_assert_eq(hd_plan_chains(graph, plan, a, b, NULL, &all), HD_OK);
    bool culled = queue_of[a] == HD_NONE || queue_of[b] == HD_NONE;
    cr_assert_eq(all->culled, culled);
    for (uint32_t c = 0; c < all->chain_count; c++) {
        const hd_chain *chain = &all->chains[c];
        counts[chain->how]++;
        if (chain->how == HD_CHAINED_LINKS) {
            check_links(&p, all, chain, seed);
        } else if (chain->how == HD_CHAINED_HOST) {
            cr_assert(queue_of[a] == queue_of[b] && p.queues[queue_of[a]].kind == HD_QUEUE_HOST);
        } else if (chain->how == HD_CHAINED_NONE) {
            cr_assert(!all->conflict || !chain->stages || !chain->other_stages,
                      "HEDDLE_SEED=%llu passes %u and %u conflict on %u and are not ordered", (unsigned long long)seed,
                      all->pass, all->other_pass, chain->resource);
            cr_assert(!chain->stages || !chain->other_stages || !reachable(all, chain, queue_of),
                      "HEDDLE_SEED=%llu passes %u and %u: there is a chain", (unsigned long long)seed, all->pass,
                      all->other_pass);
        }
    }
    hd_chains_free(all, NULL);
}

Test(chain, every_pair_of_random_graphs, .timeout = 100)
{
    uint64_t seed = 1, count = 60;
    uint32_t counts[HD_CHAINED_HOST + 1] = {0};
    hdt_seeds(&seed, &count);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t s = seed; s < seed + count; s++) {
        static const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}};
        hd_compile_desc desc = {.queues = queues, .queue_count = s % 3 == 0 ? 1 : 3, .merge_rendering = s % 2 == 0};
        const hd_plan *plan;
        hdt_random_graph(graph, s, 24);
        cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK, "seed %llu", (unsigned long long)s);
        hd_plan_view p = hd_plan_read(plan);
        uint32_t queue_of[256];
        memset(queue_of, 0xff, sizeof(queue_of));
        for (uint32_t i = 0; i < p.submit_count; i++)
            for (uint32_t c = 0; c < p.submits[i].command_count; c++) {
                const hd_plan_command *command = &p.commands[p.submits[i].command_begin + c];
                if (command->kind == HD_COMMAND_PASS)
                    queue_of[command->index] = p.submits[i].queue;
            }
        list_steps(&p);
        close_steps(&p);
        for (uint32_t a = 0; a < p.pass_count; a++)
            for (uint32_t b = a + 1; b < p.pass_count; b++)
                check_pair(graph, plan, s % 2 ? a : b, s % 2 ? b : a, queue_of, s, counts);
    }
    hd_graph_destroy(graph);
    printf("chains: %u of links, %u in a scope, %u on the host, %u times none\n", counts[HD_CHAINED_LINKS],
           counts[HD_CHAINED_SCOPE], counts[HD_CHAINED_HOST], counts[HD_CHAINED_NONE]);
    if (count >= 60) /* each kind was there */
        cr_assert(counts[HD_CHAINED_LINKS] && counts[HD_CHAINED_NONE] && counts[HD_CHAINED_HOST]);
}

Test(chain, arguments)
{
    hd_graph *graph;
    const hd_plan *plan;
    const hd_chains *all;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdt_random_graph(graph, 3, 6);
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK);
    cr_assert_eq(hd_plan_chains(graph, plan, 0, 0, NULL, &all), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_chains(graph, plan, 0, 6, NULL, &all), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_chains(graph, NULL, 0, 1, NULL, &all), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_chains(graph, plan, 0, 1, NULL, NULL), HD_INVALID_ARGUMENT);
    hd_chains_free(NULL, NULL);
    hd_graph_destroy(graph);
}
