/* The verifier against compiled plans: random graphs must verify, and plans with one thing broken must be refused with
 * the message of the rule that broke. HEDDLE_SEED=n replays one graph. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <heddle/graph.h>

#include "checked.h"
#include "random_graph.h"

static const hd_queue_desc queue_sets[3][4] = {
    {{HD_QUEUE_GFX, 0}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}, {HD_QUEUE_GFX, 0}},
};
static const uint32_t queue_counts[3] = {1, 2, 4};

typedef struct sink {
    char text[4][512];
    uint32_t count;
} sink;

static void keep(const char *text, void *user)
{
    sink *s = user;
    if (s->count < 4)
        strncpy(s->text[s->count], text, sizeof(s->text[0]) - 1);
    s->count++;
}

static hd_result verify(const hd_graph *graph, const hd_plan *plan, sink *s)
{
    *s = (sink){0};
    return hd_plan_verify(graph, plan, &(hd_verify_desc){.message = keep, .user = s});
}

Test(verify, compiled_random_graphs_are_accepted)
{
    uint64_t first = 1, count = 60, refused = 0;
    hdt_seeds(&first, &count);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++)
        for (int set = 0; set < 3; set++)
            for (int order = 0; order < 3; order++) {
                hdt_random_graph(graph, seed, 10 + (uint32_t)(seed % 7) * 10);
                const hd_plan *plan;
                hd_compile_desc desc = {
                    .queues = queue_sets[set], .queue_count = queue_counts[set], .order = (hd_order)order};
                cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK, "seed %llu", (unsigned long long)seed);
                sink s;
                if (verify(graph, plan, &s) == HD_OK)
                    continue;
                if (refused++ < 6)
                    cr_log_error("HEDDLE_SEED=%llu set %d order %d: %s", (unsigned long long)seed, set, order,
                                 s.text[0]);
            }
    cr_assert_eq(refused, 0, "%llu plans refused", (unsigned long long)refused);
    hd_graph_destroy(graph);
}

/* One broken thing a plan. Each gets the tables of a copy and a place to break; false: nothing to break there. rule: a
 * word that some message of a refused mutant must hold. least: per cent that must be refused (a redundant barrier or
 * stage may go without harm). */
typedef bool (*break_fn)(const hd_plan_view *p, uint32_t i);

static hd_plan_barrier *barrier_at(const hd_plan_view *p, uint32_t i)
{
    return i < p->barrier_count ? (hd_plan_barrier *)&p->barriers[i] : NULL;
}

static bool drop_barrier(const hd_plan_view *p, uint32_t i)
{
    hd_plan_barrier *b = barrier_at(p, i);
    if (b)
        *b = (hd_plan_barrier){.resource = HD_NONE, .src_family = HD_NONE, .dst_family = HD_NONE};
    return b;
}

static bool weaken_stages(const hd_plan_view *p, uint32_t i)
{
    hd_plan_barrier *b = barrier_at(p, i);
    if (!b || !b->dst_stages || !b->src_stages || b->src_family != b->dst_family)
        return false;
    b->src_stages = b->src_access = 0;
    return true;
}

static bool weaken_access(const hd_plan_view *p, uint32_t i)
{
    hd_plan_barrier *b = barrier_at(p, i);
    if (!b || !b->dst_access || b->src_family != b->dst_family)
        return false;
    b->src_access = b->dst_access = 0;
    return true;
}

static bool wrong_old_layout(const hd_plan_view *p, uint32_t i)
{
    hd_plan_barrier *b = barrier_at(p, i);
    if (!b || b->resource == HD_NONE || b->old_layout == b->new_layout)
        return false;
    b->old_layout = b->old_layout == 7 ? 6 : 7;
    return b->old_layout != b->new_layout && b->src_family == b->dst_family;
}

static bool no_transfer(const hd_plan_view *p, uint32_t i)
{
    hd_plan_barrier *b = barrier_at(p, i);
    if (!b || b->src_family == b->dst_family)
        return false;
    b->src_family = b->dst_family = HD_NONE;
    return true;
}

static bool drop_wait(const hd_plan_view *p, uint32_t i)
{
    for (uint32_t s = 0; s < p->submit_count; s++) {
        hd_plan_submit *x = (hd_plan_submit *)&p->submits[s];
        if (x->wait_count && i >= x->wait_begin && i < x->wait_begin + x->wait_count) {
            ((hd_plan_wait *)p->waits)[i] = p->waits[x->wait_begin + x->wait_count - 1];
            x->wait_count--;
            return true;
        }
    }
    return false;
}

static bool wait_for_itself(const hd_plan_view *p, uint32_t i)
{
    if (i >= p->submit_count || !p->submits[i].wait_count || !p->submits[i].signal_value)
        return false;
    hd_plan_wait *w = (hd_plan_wait *)&p->waits[p->submits[i].wait_begin];
    w->queue = p->submits[i].queue;
    w->value = p->submits[i].signal_value;
    return true;
}

static bool swap_commands(const hd_plan_view *p, uint32_t i)
{
    if (i + 1 >= p->command_count || p->commands[i].kind != HD_COMMAND_BARRIER ||
        p->commands[i + 1].kind != HD_COMMAND_PASS)
        return false;
    hd_plan_command *c = (hd_plan_command *)p->commands, swap = c[i];
    c[i] = c[i + 1];
    c[i + 1] = swap;
    return true;
}

static bool double_pass(const hd_plan_view *p, uint32_t i)
{
    if (i + 1 >= p->command_count || p->commands[i].kind != HD_COMMAND_PASS ||
        p->commands[i + 1].kind != HD_COMMAND_PASS)
        return false;
    ((hd_plan_command *)p->commands)[i] = p->commands[i + 1];
    return true;
}

static bool wrong_cull(const hd_plan_view *p, uint32_t i)
{
    if (i >= p->culled_count)
        return false;
    uint32_t *c = (uint32_t *)&p->culled[i];
    if (i + 1 < p->culled_count && p->culled[i + 1] == *c + 1)
        return false;
    ++*c;
    return true;
}

static bool bad_alignment(const hd_plan_view *p, uint32_t i)
{
    if (i >= p->resource_count || p->resources[i].heap == HD_NONE)
        return false;
    ((hd_plan_resource *)p->resources)[i].offset += 8;
    return true;
}

static bool overlap_persistent(const hd_plan_view *p, uint32_t i)
{
    if (i + 1 >= p->resource_count)
        return false;
    hd_plan_resource *r = (hd_plan_resource *)p->resources;
    for (uint32_t j = 0; j < i; j++)
        if (r[j].heap == r[i].heap && r[i].heap != HD_NONE && (r[i].flags & HD_PLAN_PERSISTENT) &&
            r[j].bytes <= r[i].bytes) {
            r[j].offset = r[i].offset;
            return true;
        }
    return false;
}

static bool wrong_final_layout(const hd_plan_view *p, uint32_t i)
{
    if (i >= p->resource_count || !p->resources[i].final_layout)
        return false;
    ((hd_plan_resource *)p->resources)[i].final_layout ^= 1024;
    return true;
}

static bool no_host_barrier(const hd_plan_view *p, uint32_t i)
{
    hd_plan_barrier *b = barrier_at(p, i);
    if (!b || !(b->dst_stages & 0x4000))
        return false;
    b->dst_stages &= ~UINT64_C(0x4000);
    b->dst_access &= ~UINT64_C(0x6000);
    return true;
}

static hd_plan_attachment *attachment_at(const hd_plan_view *p, uint32_t i)
{
    return i < p->attachment_count ? (hd_plan_attachment *)&p->attachments[i] : NULL;
}

static bool throw_away(const hd_plan_view *p, uint32_t i)
{
    hd_plan_attachment *a = attachment_at(p, i);
    if (!a || a->store != 0)
        return false;
    a->store = 1; /* DONT_CARE */
    return true;
}

static bool store_read_only(const hd_plan_view *p, uint32_t i)
{
    hd_plan_attachment *a = attachment_at(p, i);
    if (!a || a->store < 2)
        return false;
    a->store = 0;
    return true;
}

static bool load_nothing(const hd_plan_view *p, uint32_t i)
{
    hd_plan_attachment *a = attachment_at(p, i);
    if (!a || a->load != 0)
        return false;
    a->load = 2; /* DONT_CARE */
    return true;
}

static bool other_attachment(const hd_plan_view *p, uint32_t i)
{
    hd_plan_attachment *a = attachment_at(p, i);
    if (a)
        a->use++;
    return a;
}

static bool resolve_nothing(const hd_plan_view *p, uint32_t i)
{
    hd_plan_attachment *a = attachment_at(p, i);
    if (a)
        a->resolve = 0;
    return a;
}

static bool longer_scope(const hd_plan_view *p, uint32_t i)
{
    if (i >= p->scope_count)
        return false;
    ((hd_plan_scope *)p->scopes)[i].command_count++;
    return true;
}

static bool later_scope(const hd_plan_view *p, uint32_t i)
{
    if (i >= p->scope_count)
        return false;
    ((hd_plan_scope *)p->scopes)[i].command_begin++;
    return true;
}

static const struct {
    const char *name, *rule;
    break_fn run;
    uint32_t least;
} mutants[] = {
    {"dropped barrier", "race", drop_barrier, 80},
    {"no source scope", "race", weaken_stages, 30},
    {"no access scope", "race", weaken_access, 40},
    {"wrong old layout", "layout:", wrong_old_layout, 90},
    {"no ownership transfer", "ownership:", no_transfer, 99},
    {"dropped wait", "race", drop_wait, 50},
    {"wait for itself", "deadlock:", wait_for_itself, 100},
    {"barrier after its pass", "race", swap_commands, 60},
    {"pass twice", "twice", double_pass, 100},
    {"wrong cull", "cull:", wrong_cull, 100},
    {"bad alignment", "alignment:", bad_alignment, 100},
    {"persistent overlap", "persistent", overlap_persistent, 100},
    {"wrong final layout", "final state:", wrong_final_layout, 90},
    {"no host barrier", "race", no_host_barrier, 100},
    {"not stored", "content", throw_away, 100},
    {"read-only stored", "rendering:", store_read_only, 100},
    {"not loaded", "rendering:", load_nothing, 100},
    {"other attachment", "rendering:", other_attachment, 100},
    {"resolved without reason", "rendering:", resolve_nothing, 100},
    {"longer scope", "rendering:", longer_scope, 100},
    {"later scope", "rendering:", later_scope, 100},
};

static bool holds(const sink *s, const char *word)
{
    for (uint32_t i = 0; i < s->count && i < 4; i++)
        if (strstr(s->text[i], word))
            return true;
    return false;
}

static void try_mutants(const hd_graph *graph, const hd_plan *plan, uint32_t (*tally)[3])
{
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    void *copy = malloc(bytes);
    hd_plan_view view = hd_plan_read(plan);
    for (size_t m = 0; m < sizeof(mutants) / sizeof(mutants[0]); m++)
        for (uint32_t i = 0; i < view.barrier_count + view.command_count + view.resource_count; i++) {
            memcpy(copy, data, bytes);
            hd_plan_view broken = hd_plan_read(copy);
            if (!mutants[m].run(&broken, i))
                continue;
            sink s;
            hd_result result = verify(graph, copy, &s);
            cr_assert(result == HD_OK || result == HD_PLAN_INVALID);
            cr_assert_eq(result == HD_PLAN_INVALID, s.count > 0);
            tally[m][0]++;
            tally[m][1] += result == HD_PLAN_INVALID;
            tally[m][2] += holds(&s, mutants[m].rule);
        }
    free(copy);
}

Test(verify, broken_plans_are_refused)
{
    uint32_t tally[sizeof(mutants) / sizeof(mutants[0])][3] = {0};
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = 1; seed <= 12; seed++)
        for (int set = 0; set < 3; set++) {
            hdt_random_graph(graph, seed, 25);
            const hd_plan *plan;
            hd_compile_desc desc = {.queues = queue_sets[set], .queue_count = queue_counts[set]};
            cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK);
            sink s;
            if (verify(graph, plan, &s) == HD_OK) /* else the other test speaks */
                try_mutants(graph, plan, tally);
        }
    for (size_t m = 0; m < sizeof(mutants) / sizeof(mutants[0]); m++) {
        printf("%-24s %6u tried %6u refused %6u with \"%s\"\n", mutants[m].name, tally[m][0], tally[m][1], tally[m][2],
               mutants[m].rule);
        cr_expect(tally[m][0] && tally[m][2] && tally[m][1] * 100 >= mutants[m].least * tally[m][0],
                  "%s: %u of %u refused", mutants[m].name, tally[m][1], tally[m][0]);
    }
    hd_graph_destroy(graph);
}
