/* Plans broken in every single way, and which check finds it: the verifier, the plain graph of sync nodes, real
 * execution, the validation layer. What no check finds must be harmless, with a reason.
 *
 * HEDDLE_SEED=n replays the plans of one seed, HEDDLE_MUTANTS=n breaks those of n seeds, HEDDLE_TRIALS=n executes n
 * mutants of each kind; without them, a few. HEDDLE_KIND=words takes only kinds whose names hold them. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "brute.h"
#include "mutant_reason.h"
#include "mutant_trial.h"
#include "random.h"
#include "random_graph.h"

typedef struct tally {
    uint64_t made, verifier, told, graph_asked, graph, harmless[HDT_HARMLESS_COUNT];
    uint64_t executed, execution, outcomes[HDT_OUTCOMES], captured, stream, layered, layer, layer_alone;
} tally;

typedef struct judge {
    hd_graph *graph;
    const hd_plan *plan;
    hdt_sketch whole, broken;
    uint64_t seed, failures;
    tally tallies[HDT_MUTANT_KINDS_MOST];
} judge;

static void complain(judge *j, uint32_t kind, uint32_t n, const char *what, const char *text)
{
    if (j->failures++ < 8)
        cr_log_error("HEDDLE_SEED=%llu: '%s' number %u: %s: %s", (unsigned long long)j->seed,
                     hdt_mutant_kinds[kind].name, n, what, text);
}

static bool wanted(uint32_t kind)
{
    const char *words = getenv("HEDDLE_KIND");
    return !words || strstr(hdt_mutant_kinds[kind].name, words);
}

/* ---- judged on paper ---- */

typedef struct sink {
    char first[512];
    const char *rule;
    bool any, told; /* told: one held the word of the kind */
    bool shared;    /* one is of a rule that the plain graph knows */
    bool tables;    /* one says that the tables are not what the plain graph relies on */
} sink;

static bool begins_with(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static void keep(const char *text, void *user)
{
    static const char *const tables[] = {"structure:", "cull:", "rendering:", "pin:", "queue:"};
    static const char *const alone[] = {
        "alignment:", "placement:", "stages:", "access:", "range:", "event:", "signal:"};
    sink *s = user;
    if (!s->any)
        snprintf(s->first, sizeof(s->first), "%s", text);
    bool of_tables = begins_with(text, tables, sizeof(tables) / sizeof(tables[0]));
    s->any = true;
    s->tables |= of_tables;
    s->shared |= !of_tables && !begins_with(text, alone, sizeof(alone) / sizeof(alone[0]));
    s->told |= s->rule && strstr(text, s->rule);
}

static void judge_one(judge *j, uint32_t kind, uint32_t n)
{
    const hd_plan *mutant = hdt_sketch_pack(&j->broken);
    tally *t = &j->tallies[kind];
    char text[512] = "";
    sink s = {.rule = hdt_mutant_kinds[kind].rule};
    hd_verify_desc desc = {.message = keep, .user = &s, .max_messages = 64};
    bool holds = hd_plan_verify(j->graph, mutant, &desc) == HD_OK;
    t->made++;
    t->verifier += !holds;
    t->told += s.told;
    if (!s.tables) {
        bool graph_holds = hdt_brute(j->graph, mutant, text, sizeof(text));
        t->graph_asked++;
        t->graph += !graph_holds;
        if (graph_holds ? s.shared : holds)
            complain(j, kind, n, holds ? "only the plain graph refuses" : "only the verifier refuses",
                     holds ? text : s.first);
    }
    if (!holds)
        return;
    hdt_harmless reason = hdt_mutant_reason(j->graph, j->plan, &j->broken, text, sizeof(text));
    t->harmless[reason]++;
    if (reason == HDT_UNEXPLAINED)
        complain(j, kind, n, "no check refuses it, and it is not known to be harmless", text);
}

/* Passes that go on with the attachments of the pass before: random frames hardly have them. */
static void declare_attachments(hd_graph *graph, uint64_t seed)
{
    hd_graph_begin(graph);
    hd_image_desc color = {.width = 64, .height = 64, .format = 37}, depth = {.width = 64, .height = 64, .format = 126};
    hd_resource a = hd_graph_image(graph, &color), b = hd_graph_image(graph, &color), d = hd_graph_image(graph, &depth);
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({a, HD_COLOR_WRITE}, {d, HD_DEPTH_WRITE})});
    for (uint64_t i = 0; i < 1 + seed % 3; i++)
        hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({a, HD_COLOR_RW}, {d, HD_DEPTH_RW})});
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({b, HD_COLOR_WRITE}, {d, HD_DEPTH_READ})});
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({b, HD_COLOR_RW}, {d, HD_DEPTH_READ})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_COMPUTE,
                                         .root = true,
                                         .uses = HD_USES({a, HD_SAMPLED_COMPUTE}, {b, HD_SAMPLED_COMPUTE})});
}

static void compile(judge *j)
{
    static const hd_queue_desc queues[4][5] = {
        {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}},
        {{HD_QUEUE_GFX, 0}},
        {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}},
        {{HD_QUEUE_GFX, 0}, {HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}},
    };
    static const uint32_t counts[4] = {3, 1, 2, 5};
    uint64_t seed = j->seed, set = seed / 2 % 4;
    hd_compile_desc desc = {.queues = queues[set],
                            .queue_count = counts[set],
                            .order = (hd_order)(seed % 3),
                            .merge_rendering = seed % 8 >= 5};
    if (seed % 16 == 15)
        declare_attachments(j->graph, seed / 16);
    else
        hdt_random_frame(j->graph, seed, 3 + (uint32_t)(seed % 10));
    cr_assert_eq(hd_graph_compile(j->graph, &desc, &j->plan), HD_OK, "seed %llu", (unsigned long long)seed);
    hdt_sketch_read(&j->whole, j->plan);
    size_t bytes, again;
    const void *data = hd_plan_data(j->plan, &bytes), *packed = hd_plan_data(hdt_sketch_pack(&j->whole), &again);
    cr_assert(bytes == again && memcmp(data, packed, bytes) == 0, "seed %llu", (unsigned long long)seed);
}

static void judge_plans(judge *j, uint64_t first, uint64_t count)
{
    cr_assert_eq(hd_graph_create(NULL, &j->graph), HD_OK);
    for (j->seed = first; j->seed < first + count; j->seed++) {
        compile(j);
        hdi_decl decl = hdi_graph_decl(j->graph);
        for (uint32_t k = 0; hdt_mutant_kinds[k].name; k++) {
            hdt_made made = HDT_MADE;
            for (uint32_t n = 0; made != HDT_NO_MORE && wanted(k); n++) {
                hdt_sketch_copy(&j->broken, &j->whole);
                made = hdt_mutant_kinds[k].make(&j->broken, &decl, n);
                if (made == HDT_MADE)
                    judge_one(j, k, n);
            }
        }
        hdt_sketch_free(&j->whole);
    }
    hdt_sketch_free(&j->broken);
    hd_graph_destroy(j->graph);
}

/* ---- judged by what happens ---- */

/* Trials of all kinds, in turn, each with a seed of its own. */
static uint32_t list_trials(hdt_trial *trials, uint32_t most, uint32_t each, uint64_t seed)
{
    uint32_t count = 0, kinds = hdt_mutant_kind_count();
    cr_assert(kinds % 7 != 0);
    for (uint32_t i = 0; i < each * kinds && count < most; i++) {
        uint32_t kind = i * 7 % kinds; /* so that a few are of all sorts */
        if (wanted(kind))
            trials[count++] = (hdt_trial){.seed = seed + i, .kind = kind};
    }
    return count;
}

/* A plan says nothing of other frames: by the format's contract a frame ends with full synchronization. To the executor
 * it says more. It joins a frame to what the last tenants of memory did, as every plan that is compiled hands over
 * whole resources, also the bytes that the next tenant does not touch. A mutant that does not, where the next tenant
 * uses but a part, is right alone, and races with the frame behind it. */
static bool right_but_for_the_next_frame(const hdt_trial *trial)
{
    return trial->only_across && trial->in_part;
}

static void execute(judge *j, uint32_t most, uint32_t each, uint32_t orders)
{
    hdt_trial *trials = calloc((size_t)most + 1, sizeof(*trials));
    uint32_t count = list_trials(trials, most, each, hdt_seed());
    if (!hdt_try(trials, count, orders, false)) {
        printf("no Vulkan 1.3 device: nothing was executed\n");
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const hdt_trial *x = &trials[i];
        tally *t = &j->tallies[x->kind];
        bool caught = x->outcome > HDT_NOT_NOTICED;
        t->outcomes[x->outcome]++;
        t->executed += x->outcome != HDT_NOT_TRIED;
        t->execution += caught;
        t->captured += x->captured;
        t->stream += x->captured && x->stream_refused;
        j->seed = x->seed;
        if (x->captured && x->stream_refused && !x->refused && !right_but_for_the_next_frame(x))
            complain(j, x->kind, 0, "only what is given to Vulkan is refused", "");
        else if (x->captured && x->stream_refused && !x->refused)
            printf("only the next frame is refused, as memory is handed over in part: seed %llu '%s'\n",
                   (unsigned long long)x->seed, hdt_mutant_kinds[x->kind].name);
        if (caught && !x->refused)
            complain(j, x->kind, 0, hdt_outcome_names[x->outcome], x->text);
        else if (x->outcome == HDT_CRASHED)
            printf("crash: seed %llu '%s' %s\n", (unsigned long long)x->seed, hdt_mutant_kinds[x->kind].name, x->text);
    }
    free(trials);
}

/* Only graphs about whose whole plan the layer says nothing. */
static void execute_under_layer(judge *j, uint32_t most, uint32_t each)
{
    hdt_trial *trials = calloc((size_t)most + 1, sizeof(*trials)), *whole = calloc((size_t)most + 1, sizeof(*whole));
    uint32_t count = list_trials(trials, most, each, hdt_seed() + 7), left = 0;
    for (uint32_t i = 0; i < count; i++)
        whole[i] = (hdt_trial){.seed = trials[i].seed, .kind = HD_NONE};
    bool there = hdt_try(whole, count, 1, true);
    for (uint32_t i = 0; i < count && there; i++) {
        if (whole[i].outcome == HDT_NOT_NOTICED)
            trials[left++] = trials[i];
        else
            printf("left out, seed %llu: %s: %.120s\n", (unsigned long long)whole[i].seed,
                   hdt_outcome_names[whole[i].outcome], whole[i].text);
    }
    if (!there || !hdt_try(trials, left, 1, true)) {
        printf("no validation layer: it was asked nothing\n");
        left = 0;
    }
    for (uint32_t i = 0; i < left; i++) {
        tally *t = &j->tallies[trials[i].kind];
        bool reported = trials[i].outcome == HDT_REPORTED;
        t->layered += trials[i].outcome != HDT_NOT_TRIED;
        t->layer += reported;
        t->layer_alone += reported && !trials[i].refused;
        if (!reported || trials[i].refused)
            continue;
        hdt_trial again = {.seed = trials[i].seed, .kind = trials[i].kind, .spelled = true};
        hdt_try(&again, 1, 1, true);
        j->seed = trials[i].seed;
        if (again.outcome != HDT_NOT_NOTICED || again.refused)
            complain(j, trials[i].kind, 0, "only the layer", trials[i].text);
        else
            printf("only the layer, which limits a barrier's stages to its resource: seed %llu '%s'\n",
                   (unsigned long long)trials[i].seed, hdt_mutant_kinds[trials[i].kind].name);
    }
    free(trials);
    free(whole);
}

/* ---- the table ---- */

static void print_table(const judge *j)
{
    uint64_t reasons[HDT_HARMLESS_COUNT] = {0};
    tally all = {0};
    printf("%-38s %8s %8s %8s %8s %14s %14s %14s\n", "", "made", "harmless", "verifier", "graph", "executed",
           "commands", "layer");
    for (uint32_t k = 0; k <= hdt_mutant_kind_count(); k++) {
        bool last = !hdt_mutant_kinds[k].name;
        const tally *t = last ? &all : &j->tallies[k];
        printf("%-38s %8llu %8llu %8llu %8llu %6llu of %4llu %6llu of %4llu %6llu of %4llu\n",
               last ? "all" : hdt_mutant_kinds[k].name, (unsigned long long)t->made,
               (unsigned long long)(t->made - t->verifier), (unsigned long long)t->verifier,
               (unsigned long long)t->graph, (unsigned long long)t->execution, (unsigned long long)t->executed,
               (unsigned long long)t->stream, (unsigned long long)t->captured, (unsigned long long)t->layer,
               (unsigned long long)t->layered);
        all.made += t->made;
        all.verifier += t->verifier;
        all.graph += t->graph;
        all.execution += t->execution;
        all.executed += t->executed;
        all.stream += t->stream;
        all.captured += t->captured;
        all.layer += t->layer;
        all.layered += t->layered;
        for (int h = 0; h < HDT_HARMLESS_COUNT; h++)
            reasons[h] += t->harmless[h];
    }
    for (int h = 0; h < HDT_HARMLESS_COUNT; h++)
        printf("%8llu live: %s\n", (unsigned long long)reasons[h], hdt_harmless_names[h]);
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

Test(mutants, every_kind, .timeout = 10000)
{
#if defined(__SANITIZE_ADDRESS__)
    const uint32_t few = 16, trials = 8; /* many times as slow there */
#else
    const uint32_t few = 100, trials = 24;
#endif
    judge *j = calloc(1, sizeof(*j));
    uint64_t first = 1, count = number("HEDDLE_MUTANTS", few);
    cr_assert_not_null(j);
    hdt_seeds(&first, &count);
    judge_plans(j, first, count);
    uint32_t each = (uint32_t)number("HEDDLE_TRIALS", 0), all = each * hdt_mutant_kind_count();
    execute(j, each ? all : trials, each ? each : 1, each ? 5 : 2);
    execute_under_layer(j, each ? all : trials / 4, each ? each : 1);
    print_table(j);
    for (uint32_t k = 0; hdt_mutant_kinds[k].name && count >= 400; k++) {
        const tally *t = &j->tallies[k];
        cr_expect(!wanted(k) || (t->made && (!hdt_mutant_kinds[k].rule || t->told)),
                  "%s: %llu made, %llu told of \"%s\"", hdt_mutant_kinds[k].name, (unsigned long long)t->made,
                  (unsigned long long)t->told, hdt_mutant_kinds[k].rule ? hdt_mutant_kinds[k].rule : "");
    }
    cr_assert_eq(j->failures, 0, "%llu failures", (unsigned long long)j->failures);
    free(j);
}
