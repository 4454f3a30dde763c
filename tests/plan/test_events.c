/* Barriers split in two by events: in compiled plans some barriers become an event that is set earlier and waited for
 * where the barrier stood, or later. The verifier and the plain graph must agree on each. HEDDLE_SEED=n replays one
 * frame, HEDDLE_SEEDS=n tries n of them. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "brute.h"
#include "plan_block.h"
#include "random.h"
#include "random_graph.h"

static const hd_queue_desc queues[3] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}};

static void copy_rest(const hd_plan_view *to, const hd_plan_view *from)
{
#define COPY(table, count)                                                                                             \
    if (from->count)                                                                                                   \
    memcpy((void *)to->table, from->table, from->count * sizeof(*from->table))
    COPY(queues, queue_count);
    COPY(culled, culled_count);
    COPY(heaps, heap_count);
    COPY(resources, resource_count);
    COPY(submits, submit_count);
    COPY(waits, wait_count);
    COPY(batches, batch_count);
    COPY(barriers, barrier_count);
    COPY(scopes, scope_count);
    COPY(attachments, attachment_count);
#undef COPY
}

static bool inside_scope(const hd_plan_view *p, uint32_t at)
{
    for (uint32_t s = 0; s < p->scope_count; s++)
        if (at > p->scopes[s].command_begin && at < p->scopes[s].command_begin + p->scopes[s].command_count)
            return true;
    return false;
}

/* The barrier command c of submit s is set before command `set` and waited for before command `wait` (set <= c < wait).
 */
static hd_plan *split(const hd_plan *plan, uint32_t s, uint32_t c, uint32_t set, uint32_t wait, uint32_t event)
{
    hd_plan_view p = hd_plan_read(plan);
    hdi_plan_counts counts = {p.pass_count,      p.declared_resource_count,
                              p.queue_count,     p.culled_count,
                              p.heap_count,      p.resource_count,
                              p.submit_count,    p.wait_count,
                              p.command_count,   p.batch_count,
                              p.barrier_count,   p.scope_count,
                              p.attachment_count};
    counts.command_count++;
    void *block = malloc(hdi_plan_size(&counts));
    cr_assert_not_null(block);
    hd_plan *out = hdi_plan_begin(block, &counts);
    hd_plan_view v = hd_plan_read(out);
    copy_rest(&v, &p);
    hd_plan_command *to = (hd_plan_command *)v.commands;
    uint32_t n = 0;
    for (uint32_t i = 0; i <= p.command_count; i++) {
        if (i == set)
            to[n++] = (hd_plan_command){HD_COMMAND_SET, p.commands[c].index, event};
        if (i == wait)
            to[n++] = (hd_plan_command){HD_COMMAND_WAIT, p.commands[c].index, event};
        if (i < p.command_count && i != c)
            to[n++] = p.commands[i];
    }
    cr_assert_eq(n, counts.command_count);
    for (uint32_t t = s; t < p.submit_count; t++) {
        hd_plan_submit *x = (hd_plan_submit *)&v.submits[t];
        if (t == s)
            x->command_count++;
        else
            x->command_begin++;
    }
    for (uint32_t i = 0; i < p.scope_count; i++) {
        hd_plan_scope *x = (hd_plan_scope *)&v.scopes[i];
        uint32_t begin = x->command_begin;
        x->command_begin += (begin >= set) + (begin >= wait) - (begin > c);
    }
    hdi_plan_finish(out);
    return out;
}

typedef struct tally {
    uint64_t tried, refused, differ;
} tally;

static void keep_first(const char *text, void *user)
{
    char *to = user;
    if (!*to)
        snprintf(to, 512, "%s", text);
}

static void compare(const hd_graph *graph, const hd_plan *plan, uint64_t seed, tally *t)
{
    char by_verifier[512] = "", by_plain[512] = "";
    hd_verify_desc desc = {.message = keep_first, .user = by_verifier};
    bool a = hd_plan_verify(graph, plan, &desc) == HD_OK, b = hdt_brute(graph, plan, by_plain, sizeof(by_plain));
    cr_assert_null(strstr(by_verifier, "event:"), "%s", by_verifier);
    t->tried++;
    t->refused += !b;
    if (a != b && t->differ++ < 5)
        cr_log_error("HEDDLE_SEED=%llu: only the %s refuses: %s%s", (unsigned long long)seed,
                     a ? "plain graph" : "verifier", by_verifier, by_plain);
}

/* Splits up to two barriers, at random. */
static void try_plan(const hd_graph *graph, const hd_plan *plan, uint64_t seed, uint64_t *rng, tally *t)
{
    hd_plan *now = NULL;
    for (uint32_t event = 0; event < 2; event++) {
        const hd_plan *from = now ? now : plan;
        hd_plan_view p = hd_plan_read(from);
        uint32_t s = hdt_below(rng, p.submit_count ? p.submit_count : 1);
        if (!p.submit_count || !p.submits[s].command_count || p.queues[p.submits[s].queue].kind == HD_QUEUE_TRANSFER)
            continue;
        uint32_t begin = p.submits[s].command_begin, end = begin + p.submits[s].command_count;
        uint32_t c = begin + hdt_below(rng, end - begin);
        if (p.commands[c].kind != HD_COMMAND_BARRIER)
            continue;
        uint32_t set = c - hdt_below(rng, c - begin + 1),
                 wait = c + 1 + (hdt_below(rng, 3) ? 0 : hdt_below(rng, end - c));
        if (inside_scope(&p, set) || inside_scope(&p, wait))
            continue;
        hd_plan *next = split(from, s, c, set, wait, event);
        free(now);
        now = next;
        compare(graph, now, seed, t);
    }
    free(now);
}

Test(events, split_barriers_by_the_verifier_and_the_plain_graph)
{
    uint64_t first = 1, count = 400;
    tally t = {0};
    hd_graph *graph;
#if defined(__SANITIZE_ADDRESS__)
    count /= 5;
#endif
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t rng = seed;
        hdt_random_frame(graph, seed, 2 + (uint32_t)(seed % 11));
        for (uint32_t q = 1; q <= 3; q += 2) {
            const hd_plan *plan;
            hd_compile_desc desc = {.queues = queues, .queue_count = q, .merge_rendering = seed % 2};
            cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK);
            for (int i = 0; i < 4; i++)
                try_plan(graph, plan, seed, &rng, &t);
        }
    }
    printf("%llu plans with split barriers, %llu refused\n", (unsigned long long)t.tried,
           (unsigned long long)t.refused);
    cr_expect_eq(t.differ, 0, "%llu differ", (unsigned long long)t.differ);
    cr_expect(getenv("HEDDLE_SEED") || (t.refused && t.refused < t.tried));
    hd_graph_destroy(graph);
}
