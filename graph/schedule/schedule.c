#include "schedule.h"

#include <string.h>

#include "bitset.h"
#include "schedule_groups.h"
#include "vk_numbers.h"

/* Schedule: order and queue of each kept pass. What both schedulers need is prepared (schedule_prepare.c), then one of
 * them runs: schedule_groups.c for one GPU queue, schedule_list.c for several, as schedule_queues.c says.
 *
 *   overlap   one queue: the fewest groups between barriers that the memory allows. First as much as the passes would
 *             need by rank, or a few MiB; where that leaves clearly more groups than the longest chain has, twice as
 *             much.
 *             Where that is full most of the time, passes wait for their consumers (schedule_level.c).
 *             Several queues: the shortest frame within a fifth more than that, or three times as much where that
 *             makes it clearly shorter.
 *   memory    groups within the memory that the passes need by rank
 *   declared  as declared; groups end where a dependence, a layout or the memory says so
 *
 * Where rendering may merge, one queue gathers what can share a scope (schedule_scopes.c), unless the order is
 * declared.
 *
 * A scheduler takes one pass after another, so a long frame is cut into regions, runs of ranks that are scheduled side
 * by side, as if everything before were done: the order of the frame is that of its regions. Where they end depends on
 * the ranks and on the bytes alive there, and on nothing else; so there is the same plan with any number of workers.
 * Letting later phases stream behind one scheduler instead would leave the frame waiting for it, and it takes a third
 * of all. A cut costs what could have been moved across it: a group, or on several queues what these wait for one
 * another. */

enum { WINDOW = 64 };

bool hdi_copies(const hdi_access_info *access)
{
    return (access->stages & (HDI_STAGE_COPY | HDI_STAGE_BLIT | HDI_STAGE_RESOLVE | HDI_STAGE_CLEAR)) != 0;
}

static bool is_depth_image(const hdi_decl *decl, uint32_t res)
{
    return !(decl->res_flags[res] & HDI_RES_BUFFER) && hdi_format_aspects(decl->res_info[res].format) != 0;
}

/* Vulkan copies and clears depth and stencil on graphics queues only, whatever the type of the pass. */
bool hdi_copies_depth(const hdi_decl *decl, uint32_t pass)
{
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        if (hdi_copies(&decl->access[decl->use_access[u]]) && is_depth_image(decl, decl->use_res[u]))
            return true;
    }
    return false;
}

/* Whether some pass may: what images are used for says so, by the frame, and mostly none is both. */
static bool may_copy_depth(const hdi_decl *decl)
{
    uint64_t copying = 0, all = 0;
    for (uint32_t a = 0; a < decl->access_count; a++) {
        const hdi_access_info *access = &decl->access[a];
        if (!hdi_copies(access) || !access->on_image)
            continue;
        if (!access->image_usage)
            return true;
        copying |= access->image_usage;
    }
    for (size_t r = 0, count = decl->res_count; r < count; r++)
        all |= decl->res_state[r].word;
    for (uint32_t r = 0; all & copying && r < decl->res_count; r++) {
        if (decl->res_state[r].word & copying && is_depth_image(decl, r))
            return true;
    }
    return false;
}

uint32_t hdi_type_kinds(uint32_t type)
{
    static const uint8_t by_type[] = {
        [HD_PASS_GFX] = 1u << HD_QUEUE_GFX,
        [HD_PASS_COMPUTE] = 1u << HD_QUEUE_GFX | 1u << HD_QUEUE_COMPUTE,
        [HD_PASS_TRANSFER] = 1u << HD_QUEUE_GFX | 1u << HD_QUEUE_COMPUTE | 1u << HD_QUEUE_TRANSFER,
        [HD_PASS_HOST] = 1u << HD_QUEUE_HOST,
    };
    return by_type[type];
}

uint32_t hdi_pin_kinds(uint32_t pin)
{
    static const uint8_t by_pin[] = {
        [HD_PIN_NONE] = 0,
        [HD_PIN_GFX] = 1u << HD_QUEUE_GFX,
        [HD_PIN_COMPUTE] = 1u << HD_QUEUE_COMPUTE,
        [HD_PIN_TRANSFER] = 1u << HD_QUEUE_TRANSFER,
    };
    return by_pin[pin];
}

uint32_t hdi_allowed_kinds(const hdi_decl *decl, const hdi_queues *queues, uint32_t pass, bool may_copy_depth)
{
    uint32_t kinds = hdi_type_kinds(decl->pass_type[pass]) & queues->kinds;
    uint32_t pinned = kinds & hdi_pin_kinds(decl->pass_pin[pass]);
    const uint32_t gfx = 1u << HD_QUEUE_GFX;
    if (may_copy_depth && !pinned && kinds & gfx && kinds != gfx && hdi_copies_depth(decl, pass))
        return gfx;
    return pinned ? pinned : kinds;
}

/* Others would only stand in the way: columns of queues are longer for them, and for one there are shorter ways. */
void hdi_queues_in_use(const hdi_decl *decl, const hdi_queues *all, hdi_queues *out)
{
    bool several = all->gpu_count > 1 && decl->pass_count;
    uint32_t kinds = several ? 1u << HD_QUEUE_HOST : UINT32_MAX;
    for (uint32_t type = HD_PASS_GFX; several && type < HD_PASS_HOST; type++) {
        if (memchr(decl->pass_type, (int)type, decl->pass_count))
            kinds |= hdi_type_kinds(type);
    }
    *out = (hdi_queues){.host = HDI_NONE, .kinds = all->kinds & kinds};
    for (uint32_t q = 0; q < all->count; q++) {
        uint32_t to = out->count;
        if (!(kinds >> all->kind[q] & 1))
            continue;
        out->kind[to] = all->kind[q];
        out->number[to] = (uint8_t)q;
        out->family[to] = all->family[q];
        out->count++;
        out->gpu_count += q < all->gpu_count;
        if (q == all->host)
            out->host = to;
    }
    if (out->gpu_count == 0)
        *out = *all; /* there is always one */
}

/* ---- one GPU queue ---- */

static hd_result one_queue(const hdi_sched *s, const hdi_goal *goal, hdi_schedule *out)
{
    hdi_group_rules rules[2] = {{.cap = s->peak, .window = WINDOW}};
    uint32_t count = 1;
    if (goal->cap) {
        rules[0].cap = goal->cap > s->peak ? goal->cap : s->peak;
        rules[0].window = goal->window;
        rules[0].wait_in_float = true;
    } else if (goal->order == HD_ORDER_DECLARED) {
        rules[0].in_order = true;
        rules[0].window = 1;
    } else if (goal->order == HD_ORDER_MEMORY) {
        rules[0].wait_in_float = rules[0].level = true;
    } else {
        rules[0].cap = s->peak > HDI_SMALL_BYTES ? s->peak : HDI_SMALL_BYTES;
        rules[0].gives_up = rules[0].level = true;
        rules[1] = (hdi_group_rules){.cap = 2 * rules[0].cap, .window = WINDOW, .level = true, .wait_in_float = true};
        count = 2;
    }
    rules[0].gather = rules[1].gather = rules[0].in_order ? HDI_GATHER_NONE : goal->gather;
    return hdi_schedule_groups(s, rules, count, out) ? HD_OK : HD_OUT_OF_MEMORY;
}

/* ---- regions ---- */

typedef struct region {
    hdi_sched s;
    hdi_schedule out;
    hdi_arena_mark mark;
    hd_result result;
    uint32_t groups_before;
    uint32_t first[HD_MAX_QUEUES], newest[HD_MAX_QUEUES]; /* of several queues: slots of the frame; HDI_NONE: none */
} region;

typedef struct work {
    const hdi_goal *goal;
    const hdi_sched_cuts *cuts;
    region *region;
    hdi_schedule *out;
} work;

/* Slots go where the frame has them: those of one queue at once. */
static void describe(const hdi_sched *s, const hdi_crew *crew, const hdi_sched_cuts *cuts, const hdi_schedule *out,
                     region *r)
{
    const hdi_decl *decl = s->decl;
    const uint32_t *begin = cuts->begin, count = cuts->count;
    for (uint32_t k = 0; k < count; k++) {
        hdi_sched *of = &r[k].s;
        r[k] = (region){.s = *s};
        if (out->slot_group) {
            r[k].out.slot_pass = out->slot_pass + begin[k];
            r[k].out.slot_queue = out->slot_queue + begin[k];
            r[k].out.slot_group = out->slot_group + begin[k];
        }
        of->whole = count == 1;
        of->alone = crew->workers == 1;
        of->use_count = decl->use_count;
        if (count == 1)
            return;
        of->arena = hdi_crew_arena(crew, k, s->arena);
        of->rank_begin = begin[k];
        of->kept_count = begin[k + 1] - begin[k];
        of->rank_pass += begin[k];
        if (of->ask) {
            of->ask += begin[k];
            of->live += begin[k];
        } else {
            of->rank += begin[k];
        }
        of->pass_begin = of->rank_pass[0];
        of->pass_end = of->rank_pass[of->kept_count - 1] + 1;
        uint64_t before = of->ask ? of->live[0] - (uint64_t)of->ask[0].opens : of->rank[0].live - of->rank[0].opens;
        of->live_bytes = (int64_t)(cuts->base[k] + before);
        of->use_count = decl->pass_use_begin[of->pass_end] - decl->pass_use_begin[of->pass_begin];
    }
}

/* Its slots and edges become those of the frame; to: where its slots stand there. */
static void place_slots(region *r, hdi_schedule *to)
{
    hdi_schedule *out = &r->out;
    uint32_t begin = r->s.rank_begin, count = out->slot_count;
    memcpy(to->slot_pass + begin, out->slot_pass, count * sizeof(*to->slot_pass));
    memcpy(to->slot_queue + begin, out->slot_queue, count * sizeof(*to->slot_queue));
    memset(r->first, 0xff, sizeof(r->first));
    memset(r->newest, 0xff, sizeof(r->newest));
    for (uint32_t i = 0; i < count; i++)
        r->newest[out->slot_queue[i]] = begin + i;
    for (uint32_t i = count; i-- > 0;)
        r->first[out->slot_queue[i]] = begin + i;
    for (uint32_t e = 0; e < out->edge_count; e++)
        out->edge[e] = (hdi_edge){out->edge[e].from + begin, out->edge[e].to + begin};
}

/* Leaves nothing but its edges in the arena, unless it is the whole. */
static void run_region(uint32_t part, void *user)
{
    const work *w = user;
    region *r = &w->region[part];
    hdi_schedule *out = &r->out;
    bool one = r->s.queues->gpu_count == 1;
    r->mark = hdi_arena_here(r->s.arena);
    hdi_sched_settle(&r->s, w->cuts, part);
    r->result = one ? one_queue(&r->s, w->goal, out) : hdi_schedule_queues(&r->s, w->goal, out);
    if (r->result != HD_OK || r->s.whole)
        return;
    if (!one)
        place_slots(r, w->out);
    const hdi_arena_kept edges = {&out->edge, out->edge_count * sizeof(*out->edge)};
    hdi_arena_keep(r->s.arena, r->mark, &edges, one ? 0 : 1);
}

/* Whoever comes first on its queue in a region waits for what the other queues had before. */
static uint32_t add_edges(const region *r, uint32_t regions, uint32_t queues, hdi_edge *edge)
{
    uint32_t count = 0, newest[HD_MAX_QUEUES];
    memset(newest, 0xff, sizeof(newest));
    for (uint32_t k = 0; k < regions; k++) {
        uint32_t left = (1u << queues) - 1;
        while (left) { /* those who come first, by slot */
            uint32_t q = (uint32_t)__builtin_ctz(left);
            for (uint32_t other = q + 1; other < queues; other++)
                q = left >> other & 1 && r[k].first[other] < r[k].first[q] ? other : q;
            left &= ~(1u << q);
            for (uint32_t other = 0; r[k].first[q] != HDI_NONE && other < queues; other++) {
                if (other != q && newest[other] != HDI_NONE)
                    edge[count++] = (hdi_edge){newest[other], r[k].first[q]};
            }
        }
        for (uint32_t q = 0; q < queues; q++)
            newest[q] = r[k].newest[q] != HDI_NONE ? r[k].newest[q] : newest[q];
    }
    return count;
}

/* One region behind another, for one queue: they stand there, only their groups are numbered from 1. */
static void shift_groups(uint32_t part, void *user)
{
    const region *r = &((const work *)user)->region[part];
    uint32_t *group = r->out.slot_group, count = r->out.slot_count, before = r->groups_before;
    for (uint32_t i = 0; i < count; i++)
        group[i] += before;
}

static void join_groups(const hdi_crew *crew, work *w, hdi_schedule *out)
{
    uint32_t groups = 0;
    for (uint32_t k = 0; k < out->region_count; k++) {
        region *r = &w->region[k];
        r->groups_before = groups;
        groups += r->out.group_count - 1;
    }
    out->slot_count = out->region_begin[out->region_count];
    out->group_count = groups + 1;
    hdi_crew_parts(crew, out->region_count, shift_groups, w);
}

/* For several, their edges. */
static hd_result join_lists(const hdi_sched *s, const hdi_crew *crew, region *r, hdi_schedule *out)
{
    uint32_t count = out->region_count, queues = s->queues->count;
    size_t edges = (size_t)count * queues * queues;
    for (uint32_t k = 0; k < count; k++)
        edges += r[k].out.edge_count;
    out->edge = HDI_ARENA_ARRAY(s->arena, hdi_edge, edges);
    if (s->arena->failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < count; k++) {
        const hdi_schedule *of = &r[k].out;
        if (of->edge_count)
            memcpy(out->edge + out->edge_count, of->edge, of->edge_count * sizeof(*of->edge));
        out->edge_count += of->edge_count;
        out->makespan_us += of->makespan_us;
        if (crew->workers > 1)
            hdi_arena_keep(r[k].s.arena, r[k].mark, NULL, 0);
    }
    out->slot_count = out->region_begin[count];
    out->edge_count += add_edges(r, count, queues, out->edge + out->edge_count);
    return HD_OK;
}

static hd_result run_regions(const hdi_sched *s, const hdi_goal *goal, const hdi_sched_cuts *cuts, const hdi_crew *crew,
                             hdi_schedule *out)
{
    uint32_t count = cuts->count;
    bool one = s->queues->gpu_count == 1;
    region *r = hdi_arena_array(s->arena, count, sizeof(*r));
    uint32_t *region_begin = HDI_ARENA_ARRAY(s->arena, uint32_t, (size_t)count + 1);
    if (one || count > 1) {
        out->slot_pass = HDI_ARENA_ARRAY(s->arena, uint32_t, s->kept_count);
        out->slot_queue = HDI_ARENA_ARRAY(s->arena, uint8_t, s->kept_count);
        out->slot_group = one ? HDI_ARENA_ARRAY(s->arena, uint32_t, s->kept_count) : NULL;
    }
    if (s->arena->failed)
        return HD_OUT_OF_MEMORY;
    describe(s, crew, cuts, out, r);
    work w = {goal, cuts, r, out};
    hdi_crew_parts(crew, count, run_region, &w);
    for (uint32_t k = 0; k < count; k++) {
        if (r[k].result != HD_OK)
            return r[k].result;
    }
    memcpy(region_begin, cuts->begin, ((size_t)count + 1) * sizeof(*region_begin));
    if (count == 1)
        *out = r[0].out;
    out->region_count = count;
    out->region_begin = region_begin; /* ranks of a region are its slots */
    if (count > 1 && one)
        join_groups(crew, &w, out);
    return count == 1 || one ? HD_OK : join_lists(s, crew, r, out);
}

hd_result hdi_schedule_passes(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_kept *kept,
                              const hdi_depends *depends, const hdi_sizes *sizes, const hdi_queues *queues,
                              const hdi_goal *goal, const hdi_crew *crew, hdi_arena *arena, hdi_schedule *out,
                              uint32_t *bad_pass)
{
    hdi_sched s = {.decl = decl, .frozen = frozen, .depends = depends, .queues = queues, .arena = arena};
    hdi_arena_mark mark = hdi_arena_here(arena);
    *out = (hdi_schedule){0};
    hdi_sched_cuts cuts;
    s.may_copy_depth = queues->gpu_count > 1 && may_copy_depth(decl);
    hd_result result = hdi_sched_prepare(&s, kept, sizes, crew, &cuts, bad_pass);
    if (result == HD_OK && s.mixed_uses && queues->gpu_count == 1 && (crew->workers == 1 || cuts.count == 1))
        s.note = HDI_ARENA_ZEROED(arena, hdi_note, frozen->seg_count);
    if (result == HD_OK)
        result = run_regions(&s, goal, &cuts, crew, out);
    out->peak_bytes = s.peak;
    if (result != HD_OK)
        return result;
    size_t begins = (size_t)out->region_count + 1;
    const hdi_arena_kept out_arrays[] = {{&out->region_begin, begins * sizeof(*out->region_begin)},
                                         {&out->slot_pass, out->slot_count * sizeof(*out->slot_pass)},
                                         {&out->slot_queue, out->slot_count * sizeof(*out->slot_queue)},
                                         {&out->slot_group, out->slot_count * sizeof(*out->slot_group)},
                                         {&out->edge, out->edge_count * sizeof(*out->edge)}};
    hdi_crew_keep(crew, arena, mark, out_arrays, 5);
    return HD_OK;
}
