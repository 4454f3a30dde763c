/* Random streams of commands on one queue, judged by the verifier, by the plain graph and, recorded on a device, by the
 * Khronos validation layer with synchronization validation over submits. Every disagreement is made as small as it can
 * be and then explained by a place where the layer is known to be blind or wrong; one that is not explained fails.
 * HEDDLE_SEED=n replays one stream and prints it, HEDDLE_SEEDS=n tries n of them; HEDDLE_NO_LAYER=1 leaves the layer
 * out. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "brute.h"
#include "command_stream.h"
#include "random_graph.h"

enum { MOST_FOUND = 32 };

typedef struct verdict {
    bool makes_sense, race, plain_race, layer_race;
    uint32_t found, only; /* only: 1 + the one resource whose races count, or 0 */
    hd_finding findings[MOST_FOUND];
    char by_verifier[1024], by_plain[512], by_layer[1024];
} verdict;

static void keep(const hd_finding *finding, void *user)
{
    verdict *v = user;
    cr_assert(finding->rule >= HD_RULE_EXECUTION && finding->rule <= HD_RULE_VISIBILITY, "not about order: %s",
              finding->text);
    if (v->only && finding->resource != v->only - 1)
        return;
    v->findings[v->found] = *finding;
    if (v->found++ == 0)
        snprintf(v->by_verifier, sizeof(v->by_verifier), "%s: %s; repair: %s", hd_rule_name(finding->rule),
                 finding->text, finding->repair_text);
}

static bool judge_plan(hd_graph *graph, const hdt_stream *stream, bool fill_copies, verdict *v)
{
    hd_plan *plan = hdt_stream_plan(stream, graph, fill_copies);
    if (!plan)
        return false;
    cr_assert_eq(hd_graph_error(graph)->result, HD_OK, "%s", hd_graph_error(graph)->text);
    hd_result result =
        hd_plan_verify(graph, plan, &(hd_verify_desc){.finding = keep, .user = v, .max_messages = MOST_FOUND});
    v->race = result != HD_OK;
    v->plain_race = !hdt_brute(graph, plan, v->by_plain, sizeof(v->by_plain));
    free(plan);
    return true;
}

static verdict judge(hd_graph *graph, hdt_player *player, const hdt_stream *stream)
{
    verdict v = {0};
    uint32_t others = 0;
    v.makes_sense = judge_plan(graph, stream, false, &v);
    if (!v.makes_sense || !player)
        return v;
    v.layer_race = hdt_play(player, stream, v.by_layer, sizeof(v.by_layer), &others) != 0;
    if (others) {
        hdt_stream_print(stream, stderr);
        cr_assert_fail("the stream breaks other rules");
    }
    return v;
}

/* ---- smaller ---- */

static bool same_disagreement(hd_graph *graph, hdt_player *player, const hdt_stream *stream, const verdict *as)
{
    if (stream->count == 0)
        return false;
    verdict v = judge(graph, player, stream);
    return v.makes_sense && v.race == as->race && v.plain_race == as->plain_race && v.layer_race == as->layer_race;
}

static bool shrink_item(hdt_stream *s, uint32_t i, uint32_t way)
{
    hdt_stream_item *x = &s->item[i];
    switch (way) {
    case 0:
        s->count--;
        memmove(x, x + 1, (s->count - i) * sizeof(*x));
        return true;
    case 1:
        if (x->kind != HDT_STREAM_BARRIER || x->element_count < 2)
            return false;
        x->element[0] = x->element[1];
        x->element_count = 1;
        return true;
    case 2:
        if (x->kind != HDT_STREAM_BARRIER || x->element_count < 2)
            return false;
        x->element_count = 1;
        return true;
    case 3:
        if (x->kind != HDT_STREAM_CUT || !x->id)
            return false;
        x->id = 0;
        return true;
    case 4:
        if (x->kind != HDT_STREAM_CUT || !x->wait)
            return false;
        x->wait = 0;
        return true;
    default:
        if (x->kind != HDT_STREAM_OP || (!x->half_a && !x->half_b))
            return false;
        x->half_a = x->half_b = 0;
        return true;
    }
}

/* Barriers on what no operation uses any more go with it. */
static void drop_unused(hdt_stream *s)
{
    bool used[HDT_RESOURCES] = {0};
    for (uint32_t i = 0; i < s->count; i++) {
        hdt_stream_use uses[HDT_MOST_USES];
        uint32_t n = s->item[i].kind == HDT_STREAM_OP ? hdt_stream_uses(&s->item[i], uses) : 0;
        while (n-- > 0)
            used[uses[n].resource] = true;
    }
    for (uint32_t i = s->count; i-- > 0;) {
        hdt_stream_item *x = &s->item[i];
        if (x->kind != HDT_STREAM_BARRIER)
            continue;
        for (uint32_t e = x->element_count; e-- > 0;)
            if (x->element[e].resource != HD_NONE && !used[x->element[e].resource])
                x->element[e] = x->element[--x->element_count];
        if (x->element_count == 0) {
            s->count--;
            memmove(x, x + 1, (s->count - i) * sizeof(*x));
        }
    }
}

static void minimise(hd_graph *graph, hdt_player *player, hdt_stream *stream, const verdict *as)
{
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (uint32_t i = stream->count; i-- > 0;)
            for (uint32_t way = 0; way < 6 && i < stream->count; way++) {
                hdt_stream less = *stream;
                if (!shrink_item(&less, i, way))
                    continue;
                drop_unused(&less);
                if (same_disagreement(graph, player, &less, as)) {
                    *stream = less;
                    smaller = true;
                }
            }
    }
}

/* ---- why the layer says otherwise ---- */

enum {
    /* The layer is blind. */
    DISPATCHES,
    BESIDE_IMAGE,
    REST_OF_BUFFER,
    SECOND_READ,
    READ_BETWEEN_SUBMITS,
    READ_BETWEEN,
    ONE_COMMAND,
    /* Either way. */
    FILL,
    /* The layer is wrong, or stricter. */
    LOST_SIGNAL,
    OTHER_RESOURCE,
    TRANSITION,
    WAIT_STAGES,
    WHYS
};
static const char *const why_names[WHYS] = {
    "blind: dispatch after dispatch of one command buffer, write after write",
    "blind: a buffer against submits before, where its command buffer uses an image between the same barriers",
    "blind: the rest of a buffer, used as a whole after a half of it was",
    "blind: against submits before, a read behind another read of the same buffer in its command buffer",
    "blind: write after read over submits, and an earlier submit has written it",
    "lax: behind a read that has seen the write, order is enough",
    "lax: a transition gets the second scopes of its neighbours in one command",
    "other: vkCmdFillBuffer and vkCmdUpdateBuffer are in the COPY stage",
    "other: a timeline's signal that no submit waits for is taken for a later one",
    "false: a chain through a barrier of another resource is none",
    "false: a transition's own source access must make available what is available already",
    "false: a wait shows memory to the stages that it names, not to later ones",
};

static uint32_t nth_item(const hdt_stream *s, bool op, uint32_t n)
{
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t count = op ? s->item[i].kind == HDT_STREAM_OP : s->item[i].element_count;
        if (n < count)
            return i;
        n -= count;
    }
    return s->count;
}

static uint32_t item_of(const hdt_stream *s, const hd_verify_place *p)
{
    return nth_item(s, p->kind == HD_PLACE_PASS, p->index);
}

static bool is_dispatch(const hdt_stream_item *x)
{
    return x->kind == HDT_STREAM_OP && (x->op == HDT_DISPATCH || x->op == HDT_INDIRECT);
}

/* Whether an item reads, or writes (a transition too), a resource. */
static bool touches(const hdt_stream_item *x, uint32_t resource, bool writes)
{
    hdt_stream_use uses[HDT_MOST_USES];
    uint32_t n = x->kind == HDT_STREAM_OP ? hdt_stream_uses(x, uses) : 0;
    for (uint32_t u = 0; u < n; u++)
        if (uses[u].resource == resource && uses[u].writes == writes)
            return true;
    for (uint32_t e = 0; e < x->element_count; e++)
        if (writes && x->element[e].resource == resource && resource >= HDT_BUFFERS)
            return true;
    return false;
}

/* Whether an operation next to this one, up to the barriers around them, uses an image, or the barrier behind changes
 * the layout of one: what the layer finds for images then takes the place of what it found for buffers. */
static bool image_beside(const hdt_stream *s, uint32_t at)
{
    uint32_t begin = at, end = at;
    while (begin > 0 && s->item[begin - 1].kind == HDT_STREAM_OP)
        begin--;
    while (end < s->count && s->item[end].kind == HDT_STREAM_OP)
        end++;
    for (uint32_t i = begin; i < s->count && i <= end; i++)
        for (uint32_t r = HDT_BUFFERS; r < HDT_RESOURCES; r++)
            if (touches(&s->item[i], r, false) || touches(&s->item[i], r, true))
                return true;
    return false;
}

static uint32_t half_of(const hdt_stream_item *x, uint32_t resource)
{
    hdt_stream_use uses[HDT_MOST_USES];
    for (uint32_t n = hdt_stream_uses(x, uses); n-- > 0;)
        if (uses[n].resource == resource)
            return uses[n].half;
    return 0;
}

/* Whether the first uses all of a buffer, something before it a half, and the second the other half. */
static bool half_before(const hdt_stream *s, uint32_t first, uint32_t second, uint32_t resource)
{
    uint32_t rest = half_of(&s->item[second], resource);
    for (uint32_t i = 0; i < first && rest && half_of(&s->item[first], resource) == 0; i++)
        if (s->item[i].kind == HDT_STREAM_OP &&
            (touches(&s->item[i], resource, false) || touches(&s->item[i], resource, true)) &&
            half_of(&s->item[i], resource) == 3 - rest)
            return true;
    return false;
}

/* Where the layer is known to miss such a race; WHYS: nowhere. */
static uint32_t missed_by_layer(const hdt_stream *s, const hd_finding *f)
{
    uint32_t first = item_of(s, &f->first), second = item_of(s, &f->second), r = f->resource;
    const hdt_stream_item *x = &s->item[first], *y = &s->item[second];
    bool submits = f->first.submit != f->second.submit, write = touches(x, r, true) && touches(y, r, true);
    if (is_dispatch(x) && is_dispatch(y) && !submits && write)
        return DISPATCHES;
    if (submits && r < HDT_BUFFERS && image_beside(s, second))
        return BESIDE_IMAGE;
    if (r < HDT_BUFFERS && half_before(s, first, second, r))
        return REST_OF_BUFFER;
    for (uint32_t i = second; i-- > first && submits && touches(y, r, false) && s->item[i].kind != HDT_STREAM_CUT;)
        if (touches(&s->item[i], r, false))
            return SECOND_READ;
    bool cut = false;
    for (uint32_t i = first; i-- > 0 && submits && touches(x, r, false);) {
        cut |= s->item[i].kind == HDT_STREAM_CUT;
        if (cut && touches(&s->item[i], r, true))
            return READ_BETWEEN_SUBMITS;
    }
    for (uint32_t i = first + 1; i < second && f->rule != HD_RULE_EXECUTION; i++)
        if (touches(&s->item[i], r, false))
            return READ_BETWEEN;
    return WHYS;
}

/* What a transition's neighbours in one command have in their second scopes, it has too. */
static void merge_commands(hdt_stream *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        hdt_stream_item *x = &s->item[i];
        for (uint32_t e = 0; e < x->element_count; e++)
            for (uint32_t o = 0; o < x->element_count; o++) {
                x->element[e].dst_stages |= x->element[o].dst_stages;
                x->element[e].dst_access |= x->element[o].dst_access;
            }
    }
}

static void drop_lost_signals(hdt_stream *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        bool waited = false;
        for (uint32_t o = 0; o < s->count; o++)
            waited |= s->item[o].kind == HDT_STREAM_CUT && s->item[o].wait == s->item[i].id;
        if (s->item[i].kind == HDT_STREAM_CUT && !waited)
            s->item[i].id = 0;
    }
}

/* Each race that the verifier finds is one that the layer misses. */
static bool blind(hd_graph *graph, hdt_player *player, const hdt_stream *stream, uint64_t *told)
{
    for (uint32_t relaxed = 0; relaxed < (hdt_player_fill_copies(player) ? 4 : 2); relaxed++) {
        hdt_stream s = *stream;
        verdict v = {0};
        uint32_t whys = 0;
        if (relaxed & 1)
            merge_commands(&s);
        if (!judge_plan(graph, &s, relaxed & 2, &v))
            continue;
        for (uint32_t f = 0; f < v.found; f++)
            whys |= 1u << missed_by_layer(&s, &v.findings[f]);
        if (whys & 1u << WHYS)
            continue;
        whys |= relaxed & 1 ? 1u << ONE_COMMAND : 0;
        whys |= relaxed & 2 ? 1u << FILL : 0;
        for (uint32_t w = 0; w < WHYS; w++)
            told[w] += whys >> w & 1;
        return true;
    }
    hdt_stream less = *stream;
    drop_lost_signals(&less);
    verdict v = judge(graph, player, &less);
    told[LOST_SIGNAL] += v.race && v.layer_race;
    return v.race && v.layer_race;
}

static void widen(hdt_stream *s, bool transitions)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (!transitions)
            s->item[i].wait_stages |= UINT64_C(0x10000);
        for (uint32_t e = 0; transitions && e < s->item[i].element_count; e++)
            if (s->item[i].element[e].layout) {
                s->item[i].element[e].src_stages |= UINT64_C(0x10000);
                s->item[i].element[e].src_access |= UINT64_C(0x10000); /* MEMORY_WRITE */
            }
    }
}

/* Barriers of other resources than r, and of a half of it that is not the one, order nothing. */
static void only_chains_of(hdt_stream *s, uint32_t r, uint32_t half)
{
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t e = 0; e < s->item[i].element_count; e++)
            if (s->item[i].element[e].resource != HD_NONE &&
                (s->item[i].element[e].resource != r || (half && s->item[i].element[e].half == 3 - half)))
                s->item[i].element[e].src_stages = s->item[i].element[e].src_access = s->item[i].element[e].dst_stages =
                    s->item[i].element[e].dst_access = 0;
}

/* What the layer holds against a stream is gone where the stream does without what it misunderstands. */
static bool wrong(hd_graph *graph, hdt_player *player, const hdt_stream *stream, uint64_t *told)
{
    verdict v = {0};
    if (hdt_player_fill_copies(player) && judge_plan(graph, stream, true, &v) && v.race) {
        told[FILL]++;
        return true;
    }
    for (uint32_t i = 0; i < HDT_RESOURCES * 3; i++) {
        hdt_stream s = *stream;
        v = (verdict){.only = i / 3 + 1};
        only_chains_of(&s, i / 3, i % 3);
        if (judge_plan(graph, &s, false, &v) && v.found) {
            told[OTHER_RESOURCE]++;
            return true;
        }
    }
    for (uint32_t ways = 1; ways < 8; ways++) {
        hdt_stream s = *stream;
        if (ways & 1)
            drop_lost_signals(&s);
        if (ways & 2)
            widen(&s, true);
        if (ways & 4)
            widen(&s, false);
        v = judge(graph, player, &s);
        if (v.race || v.layer_race)
            continue;
        told[LOST_SIGNAL] += ways & 1;
        told[TRANSITION] += ways >> 1 & 1;
        told[WAIT_STAGES] += ways >> 2 & 1;
        return true;
    }
    return false;
}

/* ---- all ---- */

Test(differential, streams_by_three_judges, .timeout = 3600)
{
    uint64_t first = 1, count = 400, told[WHYS] = {0}, races = 0, same = 0, unknown = 0, at_odds = 0;
    char reason[256] = "";
    hd_graph *graph;
    hdt_player *player = getenv("HEDDLE_NO_LAYER") ? NULL : hdt_player_open(reason, sizeof(reason));
    if (!player)
        printf("the verifier and the plain graph alone%s%s\n", *reason ? ": " : "", reason);
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        hdt_stream stream;
        hdt_stream_make(&stream, seed, !player || hdt_player_shaders(player));
        verdict v = judge(graph, player, &stream);
        cr_assert(v.makes_sense, "HEDDLE_SEED=%llu", (unsigned long long)seed);
        if (getenv("HEDDLE_SEED")) {
            hdt_stream_print(&stream, stdout);
            printf("verifier: %s\nplain graph: %s\nlayer: %s\n", v.by_verifier, v.by_plain, v.by_layer);
        }
        races += v.race;
        if (v.race != v.plain_race) {
            minimise(graph, player, &stream, &v);
            hdt_stream_print(&stream, stdout);
            v = judge(graph, player, &stream);
            printf("verifier: %s\nplain graph: %s\n", v.by_verifier, v.by_plain);
            cr_expect(false, "HEDDLE_SEED=%llu: the verifier and the plain graph differ", (unsigned long long)seed);
            at_odds++;
            continue;
        }
        if (!player || v.race == v.layer_race) {
            same++;
            continue;
        }
        minimise(graph, player, &stream, &v);
        v = judge(graph, player, &stream);
        if (v.race ? blind(graph, player, &stream, told) : wrong(graph, player, &stream, told))
            continue;
        if (unknown++ < 12) {
            printf("HEDDLE_SEED=%llu: only the %s sees a race\n", (unsigned long long)seed,
                   v.race ? "verifier" : "layer");
            hdt_stream_print(&stream, stdout);
            printf("    verifier: %s\n    layer: %s\n", v.by_verifier, v.by_layer);
        }
    }
    printf("%llu streams, %llu with a race; verdicts agree on %llu\n", (unsigned long long)count,
           (unsigned long long)races, (unsigned long long)same);
    for (uint32_t w = 0; w < WHYS && player; w++)
        printf("%6llu  %s\n", (unsigned long long)told[w], why_names[w]);
    cr_expect_eq(unknown, 0, "%llu disagreements are not explained", (unsigned long long)unknown);
    cr_expect_eq(at_odds, 0);
    hd_graph_destroy(graph);
    if (player)
        hdt_player_close(player);
}
