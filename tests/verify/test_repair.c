/* What the verifier proposes for broken plans: made, one after another, the repairs lead to a plan that the verifier
 * and the plain graph accept; where masks were made weaker, by no more bits than were taken. HEDDLE_SEED=n replays one
 * frame, HEDDLE_SEEDS=n tries n of them. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "brute.h"
#include "cells.h"
#include "limited.h"
#include "random.h"
#include "random_graph.h"

static const hd_queue_desc queue_sets[3][4] = {
    {{HD_QUEUE_GFX, 0}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}},
    {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}},
};
static const uint32_t queue_counts[3] = {1, 3, 4};

enum { MOST_STEPS = 12, MUTANTS = 10 };

/* ---- mutants: true where something was broken; *bits: how many bits of masks it took, or 0 ---- */

typedef bool (*mutant_fn)(uint64_t *rng, hd_plan_view *p, uint32_t *bits);

static hd_plan_barrier *any_barrier(uint64_t *rng, const hd_plan_view *p)
{
    return p->barrier_count ? (hd_plan_barrier *)&p->barriers[hdt_below(rng, p->barrier_count)] : NULL;
}

static bool drop_barrier(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_barrier *b = any_barrier(rng, p);
    (void)bits;
    if (b)
        *b = (hd_plan_barrier){.resource = HD_NONE, .src_family = HD_NONE, .dst_family = HD_NONE};
    return b;
}

static uint64_t drop_one_bit(uint64_t *rng, uint64_t mask)
{
    uint32_t skip = hdt_below(rng, (uint32_t)__builtin_popcountll(mask));
    uint64_t left = mask;
    while (skip--)
        left &= left - 1;
    return mask & ~(left & -left);
}

static uint64_t supported(uint64_t access, uint64_t stages)
{
    uint64_t can = stages >> 16 & 1 ? access & ~UINT64_C(0x6000) : 0;
    for (int a = 1; a < HD_ACCESS_COUNT; a++)
        if (hdt_access_rows[a].stages & stages)
            can |= hdt_access_rows[a].access;
    return access & can;
}

static bool weaken_barrier(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_barrier *b = any_barrier(rng, p);
    if (!b)
        return false;
    uint64_t *const masks[] = {&b->src_stages, &b->dst_stages, &b->src_access, &b->dst_access};
    uint32_t m = hdt_below(rng, 4);
    if (!*masks[m])
        return false;
    uint64_t access = m < 2 ? *masks[m + 2] : 0;
    *masks[m] = drop_one_bit(rng, *masks[m]);
    *bits = 1;
    if (m < 2) {
        *masks[m + 2] = supported(access, *masks[m]);
        *bits += (uint32_t)__builtin_popcountll(access & ~*masks[m + 2]);
    }
    return true;
}

static bool drop_wait(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    (void)bits;
    for (uint32_t tries = 0; tries < 8 && p->submit_count; tries++) {
        hd_plan_submit *x = (hd_plan_submit *)&p->submits[hdt_below(rng, p->submit_count)];
        if (!x->wait_count)
            continue;
        hd_plan_wait *waits = (hd_plan_wait *)p->waits + x->wait_begin;
        waits[hdt_below(rng, x->wait_count)] = waits[x->wait_count - 1];
        x->wait_count--;
        return true;
    }
    return false;
}

static bool wait_too_far(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    (void)bits;
    if (!p->wait_count)
        return false;
    ((hd_plan_wait *)p->waits)[hdt_below(rng, p->wait_count)].value += 1 + hdt_below(rng, 3);
    return true;
}

static bool narrow_wait(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_wait *w = p->wait_count ? (hd_plan_wait *)&p->waits[hdt_below(rng, p->wait_count)] : NULL;
    if (!w || !w->stages || w->stages & 1 << 14)
        return false;
    *bits = 1;
    w->stages = drop_one_bit(rng, w->stages);
    return true;
}

static bool narrow_signal(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_submit *x = p->submit_count ? (hd_plan_submit *)&p->submits[hdt_below(rng, p->submit_count)] : NULL;
    (void)bits;
    if (!x || !x->signal_value || p->queues[x->queue].kind == HD_QUEUE_HOST)
        return false;
    x->signal_stages = UINT64_C(1) << 32; /* COPY */
    return true;
}

static bool narrow_range(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_barrier *b = any_barrier(rng, p);
    (void)bits;
    if (!b || b->resource == HD_NONE || !(b->old_layout || b->new_layout))
        return false;
    if (b->range.mip_count > 1)
        b->range.mip_count--;
    else if (b->range.layer_count > 1)
        b->range.layer_count--;
    else
        return false;
    return true;
}

static bool other_layout(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_barrier *b = any_barrier(rng, p);
    (void)bits;
    if (!b || b->old_layout == b->new_layout)
        return false;
    uint32_t *layout = hdt_below(rng, 2) ? &b->old_layout : &b->new_layout, to = hdt_below(rng, 2) ? 7 : 1;
    if (*layout == to || !*layout)
        return false;
    *layout = to;
    return b->old_layout != b->new_layout;
}

static bool throw_away(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_barrier *b = any_barrier(rng, p);
    (void)bits;
    if (!b || !b->old_layout || b->old_layout == b->new_layout || b->src_family != b->dst_family)
        return false;
    b->old_layout = 0;
    return true;
}

static bool no_transfer(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_barrier *b = any_barrier(rng, p);
    (void)bits;
    if (!b || b->src_family == b->dst_family)
        return false;
    b->src_family = b->dst_family = HD_NONE;
    return true;
}

static bool do_not_store(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_attachment *a =
        p->attachment_count ? (hd_plan_attachment *)&p->attachments[hdt_below(rng, p->attachment_count)] : NULL;
    (void)bits;
    if (!a || a->store != 0)
        return false;
    a->store = 1;
    return true;
}

static bool do_not_load(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_attachment *a =
        p->attachment_count ? (hd_plan_attachment *)&p->attachments[hdt_below(rng, p->attachment_count)] : NULL;
    (void)bits;
    if (!a || a->load != 0)
        return false;
    a->load = 2;
    return true;
}

static bool misplace(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_resource *r =
        p->resource_count ? (hd_plan_resource *)&p->resources[hdt_below(rng, p->resource_count)] : NULL;
    (void)bits;
    if (!r || r->heap == HD_NONE)
        return false;
    r->offset += hdt_below(rng, 2) ? 65536 : 8;
    return true;
}

static bool put_over(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    (void)bits;
    for (uint32_t tries = 0; tries < 8 && p->resource_count; tries++) {
        hd_plan_resource *r = (hd_plan_resource *)&p->resources[hdt_below(rng, p->resource_count)];
        const hd_plan_resource *to = &p->resources[hdt_below(rng, p->resource_count)];
        if (r->heap == HD_NONE || r->heap != to->heap || r->offset == to->offset ||
            to->offset + r->bytes > p->heaps[r->heap].bytes)
            continue;
        r->offset = to->offset;
        return true;
    }
    return false;
}

static bool end_elsewhere(uint64_t *rng, hd_plan_view *p, uint32_t *bits)
{
    hd_plan_resource *r =
        p->resource_count ? (hd_plan_resource *)&p->resources[hdt_below(rng, p->resource_count)] : NULL;
    (void)bits;
    if (!r || !r->final_layout)
        return false;
    r->final_layout = r->final_layout == 7 ? 1 : 7;
    return true;
}

/* least: per cent of the refused ones that must be accepted after the repairs. */
static const struct {
    const char *name;
    mutant_fn run;
    uint32_t least;
} kinds[] = {
    {"barrier dropped", drop_barrier, 99},
    {"barrier weakened", weaken_barrier, 100},
    {"wait dropped", drop_wait, 99},
    {"wait too far", wait_too_far, 99},
    {"wait narrowed", narrow_wait, 100},
    {"signal narrowed", narrow_signal, 100},
    {"range narrowed", narrow_range, 99},
    {"other layout", other_layout, 99},
    {"content thrown away", throw_away, 99},
    {"no transfer", no_transfer, 99},
    {"not stored", do_not_store, 100},
    {"not loaded", do_not_load, 100},
    {"misplaced", misplace, 99},
    {"placed over another", put_over, 99},
    {"other final layout", end_elsewhere, 99},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- repairs ---- */

typedef struct first_found {
    uint32_t count, rule;
    hd_repair repair;
    char text[1024], repair_text[512];
} first_found;

static void keep_first(const hd_finding *finding, void *user)
{
    first_found *f = user;
    if (f->count++)
        return;
    f->rule = finding->rule;
    f->repair = finding->repair;
    snprintf(f->text, sizeof(f->text), "%s", finding->text);
    snprintf(f->repair_text, sizeof(f->repair_text), "%s", finding->repair_text);
}

static first_found verify(const hd_graph *graph, const hd_plan *plan)
{
    first_found f = {0};
    hd_verify_desc desc = {.finding = keep_first, .user = &f};
    hd_result result = hd_plan_verify(graph, plan, &desc);
    cr_assert_eq(result == HD_OK, f.count == 0);
    cr_assert_eq((f.repair.kind == HD_REPAIR_NONE), (f.repair_text[0] == 0), "%s", f.text);
    return f;
}

static uint32_t bits_in(const hd_repair *r)
{
    const hd_plan_barrier *b = &r->barrier;
    return (uint32_t)(__builtin_popcountll(b->src_stages) + __builtin_popcountll(b->src_access) +
                      __builtin_popcountll(b->dst_stages) + __builtin_popcountll(b->dst_access));
}

/* ---- is there a shorter one? ---- */

static bool sound(const hd_graph *graph, const hd_plan *plan)
{
    return hd_plan_verify(graph, plan, NULL) == HD_OK;
}

/* Whether one bit more in some mask makes the whole plan sound. */
static bool one_bit_does(const hd_graph *graph, const hd_plan *plan, char *text, size_t text_bytes)
{
    static const uint8_t stages[] = {1, 3, 7, 8, 9, 10, 11, 14, 16, 32, 33, 34, 35, 36, 37};
    static const uint8_t accesses[] = {0, 1, 2, 3, 7, 8, 9, 10, 11, 12, 13, 14, 32, 33, 34};
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    hd_plan *copy = malloc(bytes);
    cr_assert_not_null(copy);
    memcpy(copy, data, bytes);
    hd_plan_view v = hd_plan_read(copy);
    bool found = false;
    for (uint32_t i = 0; i < v.barrier_count * 4 + v.wait_count + v.submit_count && !found; i++) {
        hd_plan_barrier *b = i < v.barrier_count * 4 ? (hd_plan_barrier *)&v.barriers[i / 4] : NULL;
        uint64_t *const masks[] = {b ? &b->src_stages : NULL, b ? &b->dst_stages : NULL, b ? &b->src_access : NULL,
                                   b ? &b->dst_access : NULL};
        uint32_t rest = i - v.barrier_count * 4;
        uint64_t *mask = b                     ? masks[i % 4]
                         : rest < v.wait_count ? &((hd_plan_wait *)v.waits)[rest].stages
                                               : &((hd_plan_submit *)v.submits)[rest - v.wait_count].signal_stages;
        const uint8_t *bits = b && i % 4 > 1 ? accesses : stages;
        for (uint32_t n = 0; n < sizeof(stages) && !found; n++) {
            uint64_t before = *mask, bit = UINT64_C(1) << bits[n];
            if ((before & bit) || (bits == stages && bits[n] == 16)) /* ALL_COMMANDS is many at once */
                continue;
            *mask |= bit;
            found = sound(graph, copy);
            *mask = before;
            if (found)
                snprintf(text, text_bytes, "element %u, mask %u, bit %u", b ? i / 4 : rest, i % 4, bits[n]);
        }
    }
    free(copy);
    return found;
}

typedef struct tally {
    uint64_t tried, refused, one, more, steps, stuck;
} tally;

static uint64_t longer, longer_tried;

static void look_for_shorter(const hd_graph *graph, const hd_plan *plan, const first_found *f, uint64_t seed)
{
    char text[128];
    bool masks = f->repair.kind == HD_REPAIR_WIDEN || f->repair.kind == HD_REPAIR_WAIT_STAGES ||
                 f->repair.kind == HD_REPAIR_SIGNAL_STAGES;
    if (f->rule < HD_RULE_EXECUTION || f->rule > HD_RULE_VISIBILITY || (masks && bits_in(&f->repair) == 1))
        return;
    longer_tried++;
    if (!one_bit_does(graph, plan, text, sizeof(text)))
        return;
    longer++;
    cr_expect(false, "HEDDLE_SEED=%llu: one bit does (%s), the repair is \"%s\" for \"%s\"", (unsigned long long)seed,
              text, f->repair_text, f->text);
}

/* Steps until the plan is accepted, 0: it was; MOST_STEPS + 1: never. */
static uint32_t mend(const hd_graph *graph, const hd_plan *broken, uint64_t seed, uint32_t kind, uint32_t bits,
                     bool small)
{
    hd_plan *now = NULL;
    bool talk = getenv("HEDDLE_SEED") != NULL;
    for (uint32_t step = 0; step <= MOST_STEPS; step++) {
        const hd_plan *plan = step ? now : broken;
        first_found f = verify(graph, plan);
        if (f.count == 0) {
            char why[512] = "";
            bool sound = !small || step == 0 || hdt_brute(graph, plan, why, sizeof(why));
            cr_expect(sound, "HEDDLE_SEED=%llu, %s: only the plain graph refuses the repaired plan: %s",
                      (unsigned long long)seed, kinds[kind].name, why);
            hd_plan_free(now, NULL);
            return step;
        }
        if (talk)
            printf("  %s, step %u: %s; repair: %s\n", kinds[kind].name, step, f.text, f.repair_text);
        if (step == 0 && small && seed % 4 == 1)
            look_for_shorter(graph, plan, &f, seed);
        if (step == 0 && bits)
            cr_expect(bits_in(&f.repair) <= bits && f.repair.kind != HD_REPAIR_ADD &&
                          f.repair.kind != HD_REPAIR_ADD_WAIT && f.repair.kind != HD_REPAIR_NONE,
                      "HEDDLE_SEED=%llu, %s: %u bits were taken, the repair is \"%s\" for \"%s\"",
                      (unsigned long long)seed, kinds[kind].name, bits, f.repair_text, f.text);
        hd_plan *next = NULL;
        hd_result result = f.repair.kind ? hd_plan_repair(plan, &f.repair, NULL, &next) : HD_INVALID_ARGUMENT;
        cr_assert(!f.repair.kind || result == HD_OK, "%s", f.repair_text);
        hd_plan_free(now, NULL);
        now = next;
        if (!now)
            break;
    }
    hd_plan_free(now, NULL);
    return MOST_STEPS + 1;
}

static void try_plan(const hd_graph *graph, const hd_plan *plan, uint64_t seed, uint64_t *rng, tally *t, bool small)
{
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    void *copy = malloc(bytes);
    cr_assert_not_null(copy);
    for (uint32_t i = 0; i < MUTANTS; i++) {
        uint32_t kind = hdt_below(rng, KINDS), bits = 0;
        memcpy(copy, data, bytes);
        hd_plan_view view = hd_plan_read(copy);
        if (!kinds[kind].run(rng, &view, &bits))
            continue;
        uint32_t steps = mend(graph, copy, seed, kind, bits, small);
        t[kind].tried++;
        t[kind].refused += steps != 0;
        t[kind].one += steps == 1;
        t[kind].more += steps > 1 && steps <= MOST_STEPS;
        t[kind].steps += steps <= MOST_STEPS ? steps : 0;
        t[kind].stuck += steps > MOST_STEPS;
    }
    free(copy);
}

Test(repair, repairs_lead_back_to_sound_plans)
{
    uint64_t first = 1, count = 250;
    tally t[KINDS] = {0};
    hd_graph *graph;
#if defined(__SANITIZE_ADDRESS__)
    count /= 5;
#endif
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t rng = seed;
        uint32_t passes = seed % 3 ? 3 + (uint32_t)(seed % 9) : 30;
        hdt_random_frame(graph, seed, passes);
        for (uint32_t set = 0; set < 3; set++) {
            const hd_plan *plan;
            hd_compile_desc desc = {.queues = queue_sets[set],
                                    .queue_count = queue_counts[set],
                                    .order = (hd_order)(seed % 3),
                                    .merge_rendering = seed % 2};
            cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK);
            try_plan(graph, plan, seed, &rng, t, passes < 12);
        }
    }
    printf("%-20s%8s%9s%10s%8s%8s%8s\n", "", "tried", "refused", "one step", "more", "steps", "stuck");
    for (uint32_t k = 0; k < KINDS; k++) {
        printf("%-20s%8llu%9llu%10llu%8llu%8.2f%8llu\n", kinds[k].name, (unsigned long long)t[k].tried,
               (unsigned long long)t[k].refused, (unsigned long long)t[k].one, (unsigned long long)t[k].more,
               t[k].one + t[k].more ? (double)t[k].steps / (double)(t[k].one + t[k].more) : 0,
               (unsigned long long)t[k].stuck);
        cr_expect(getenv("HEDDLE_SEED") || (t[k].one + t[k].more) * 100 >= t[k].refused * kinds[k].least,
                  "%s: %llu of %llu stay broken", kinds[k].name, (unsigned long long)t[k].stuck,
                  (unsigned long long)t[k].refused);
    }
    printf("%llu repairs of more than one bit, of which one bit would have done in %llu\n",
           (unsigned long long)longer_tried, (unsigned long long)longer);
    hd_graph_destroy(graph);
}

/* One that took bytes of the host over is put apart again, and so is the one whose bytes they were. */
Test(repair, what_was_moved_takes_nothing_over)
{
    for (uint32_t moved = 2; moved <= 4; moved += 2) {
        hd_graph *graph;
        hd_plan *mended;
        const hd_plan *plan;
        const hd_plan_reasons *reasons;
        hd_resource r[6];
        cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
        for (uint32_t i = 0; i < 6; i++)
            r[i] = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 256});
        for (uint32_t i = 0; i <= 6; i++) {
            hd_use uses[2];
            uint32_t count = 0;
            if (i > 0)
                uses[count++] = (hd_use){r[i - 1], i % 2 ? HD_TRANSFER_SRC : HD_HOST_READ};
            if (i < 6)
                uses[count++] = (hd_use){r[i], i % 2 ? HD_TRANSFER_DST : HD_HOST_WRITE};
            hd_graph_pass(graph, &(hd_pass_desc){.type = i % 2 ? HD_PASS_TRANSFER : HD_PASS_HOST,
                                                 .root = i == 6,
                                                 .uses = uses,
                                                 .use_count = count});
        }
        cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK);
        hd_plan_view view = hd_plan_read(plan);
        cr_assert_eq(view.resources[4].placing, HD_PLACING_TAKES_OVER);
        cr_assert_eq(view.resources[4].tenant, 2u);
        hd_repair move = {.kind = HD_REPAIR_MOVE, .index = moved, .value = 65536, .bytes = 256};
        cr_assert_eq(hd_plan_repair(plan, &move, NULL, &mended), HD_OK);
        cr_expect_eq(verify(graph, mended).count, 0);
        cr_assert_eq(hd_plan_explain(graph, mended, NULL, &reasons), HD_OK);
        cr_expect_eq(reasons->resources[4].code, HD_PLACING_HOST);
        cr_expect_eq(reasons->resources[4].other_resource, HD_NONE);
        hd_plan_reasons_free(reasons, NULL);
        hd_plan_free(mended, NULL);
        hd_graph_destroy(graph);
    }
}

Test(repair, out_of_memory)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdt_random_frame(graph, 5, 10);
    const hd_plan *plan;
    hd_compile_desc desc = {.queues = queue_sets[1], .queue_count = queue_counts[1]};
    cr_assert_eq(hd_graph_compile(graph, &desc, &plan), HD_OK);
    size_t bytes;
    const void *data = hd_plan_data(plan, &bytes);
    hd_plan *broken = malloc(bytes);
    cr_assert_not_null(broken);
    memcpy(broken, data, bytes);
    hd_plan_view view = hd_plan_read(broken);
    for (uint32_t b = 0; b < view.barrier_count; b++)
        ((hd_plan_barrier *)view.barriers)[b].src_access = 0;
    for (uint64_t k = 1;; k++) {
        hdt_limited limited = {.fail_at = k};
        hd_allocator allocator = hdt_limited_allocator(&limited);
        first_found f = {0};
        hd_plan *mended = NULL;
        hd_verify_desc verify_desc = {.allocator = allocator, .finding = keep_first, .user = &f};
        hd_result result = hd_plan_verify(graph, broken, &verify_desc);
        if (result == HD_PLAN_INVALID) {
            cr_assert_neq(f.repair.kind, HD_REPAIR_NONE, "%s", f.text);
            result = hd_plan_repair(broken, &f.repair, &allocator, &mended);
            hd_plan_free(mended, &allocator);
        }
        cr_assert(limited.out == 0 && limited.bytes == 0 && limited.wrong == 0, "allocation %d", (int)k);
        cr_assert_eq(result, limited.made < k ? HD_OK : HD_OUT_OF_MEMORY);
        if (limited.made < k)
            break;
    }
    free(broken);
    hd_graph_destroy(graph);
}

Test(repair, of_nothing)
{
    hd_graph *graph;
    hd_plan *out = NULL;
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdt_random_frame(graph, 3, 6);
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK);
    hd_plan_view v = hd_plan_read(plan);
    hd_repair none = {0};
    cr_expect_eq(hd_plan_repair(plan, NULL, NULL, &out), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_plan_repair(NULL, &none, NULL, &out), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_plan_repair(plan, &none, NULL, NULL), HD_INVALID_ARGUMENT);
    for (uint32_t kind = 0; kind <= HD_REPAIR_COUNT; kind++) {
        hd_repair outside = {.kind = kind,
                             .index = 1u << 30,
                             .submit = kind == HD_REPAIR_ADD_WAIT ? v.submit_count : 0,
                             .command = v.command_count + 1};
        cr_expect_eq(hd_plan_repair(plan, &outside, NULL, &out), HD_INVALID_ARGUMENT, "kind %u", kind);
        cr_expect_null(out);
    }
    for (int rule = 0; rule < HD_RULE_COUNT; rule++)
        cr_expect(*hd_rule_name((hd_rule)rule));
    cr_expect_str_eq(hd_rule_name((hd_rule)HD_RULE_COUNT), "?");
    hd_graph_destroy(graph);
}
