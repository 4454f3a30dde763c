#include <criterion/criterion.h>
#include <heddle/graph.h>

#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "random.h"
#include "random_graph.h"
#include "tables.h"

/* Random frames full of versions against a model that keeps, for every version, what each cell of it holds: a read must
 * see what its version held when it was declared. The model knows neither segments nor an order of passes: it has
 * cells, and for each pair of uses of a cell that conflict which one comes first, closed over all passes. A pass that
 * comes before itself is a cycle, and else the plan's order, run through cell by cell, must show each read what it is
 * to see. */

enum {
    MAX_RES = 12,
    MAX_VERSIONS = 24,
    MAX_CELLS = 8,
    MAX_PASSES = 40,
    MAX_USES = 6,
    INITIAL = 10000,
    NOTHING = 10001
};

typedef struct version {
    hd_resource handle;
    uint32_t value[MAX_CELLS]; /* pass that wrote it, INITIAL or NOTHING */
    uint32_t ended_by;         /* a pass, or NOTHING */
} version;

typedef struct resource {
    bool is_buffer, read_only, external;
    uint32_t mips, layers, cells, version_count;
    version version[MAX_VERSIONS];
} resource;

typedef struct use {
    uint32_t res, version, access, before; /* before: it sees and follows writes of passes declared before that one */
    uint32_t cells;                        /* a bit a cell */
    bool reads, writes;
    uint32_t seen[MAX_CELLS];
} use;

typedef struct model {
    hd_graph *graph;
    uint64_t rng;
    uint32_t res_count, pass_count;
    uint32_t newest; /* how often a use is of the newest version, percent */
    bool looks;      /* the pass only reads, old versions as gladly as new ones */
    resource res[MAX_RES];
    uint32_t use_count[MAX_PASSES];
    bool root[MAX_PASSES];
    use uses[MAX_PASSES][MAX_USES];
    bool first[MAX_PASSES][MAX_PASSES]; /* [a][b]: a comes before b */
} model;

static bool chance(model *m, uint32_t percent)
{
    return hdt_below(&m->rng, 100) < percent;
}

/* ---- declaring ---- */

static void add_resource(model *m)
{
    if (m->res_count == MAX_RES)
        return;
    resource *r = &m->res[m->res_count++];
    *r = (resource){.is_buffer = chance(m, 60), .external = chance(m, 30), .version_count = 1};
    r->mips = r->is_buffer || chance(m, 50) ? 1 : 1 + hdt_below(&m->rng, 3);
    r->layers = r->is_buffer || chance(m, 50) ? 1 : 1 + hdt_below(&m->rng, 2);
    r->cells = r->is_buffer ? 8 : r->mips * r->layers;
    version *v = &r->version[0];
    v->ended_by = NOTHING;
    for (uint32_t c = 0; c < MAX_CELLS; c++)
        v->value[c] = r->external ? INITIAL : NOTHING;
    if (r->external)
        v->handle = r->is_buffer ? hd_graph_import(m->graph, &(hd_import_desc){.bytes = 4096})
                                 : hd_graph_import(m->graph, &(hd_import_desc){.width = 64,
                                                                               .height = 64,
                                                                               .format = 37,
                                                                               .mips = r->mips,
                                                                               .layers = r->layers,
                                                                               .initial_layout = 1});
    else
        v->handle =
            r->is_buffer
                ? hd_graph_buffer(m->graph, &(hd_buffer_desc){.bytes = 4096})
                : hd_graph_image(
                      m->graph,
                      &(hd_image_desc){.width = 64, .height = 64, .format = 37, .mips = r->mips, .layers = r->layers});
    if (r->external || !chance(m, 25) || m->res_count == MAX_RES)
        return;
    r->external = true; /* the history of the next frame reads all that is left of it */
    resource *history = &m->res[m->res_count++];
    *history = *r;
    history->read_only = true;
    history->version[0].handle = hd_graph_history(m->graph, v->handle);
    for (uint32_t c = 0; c < MAX_CELLS; c++)
        history->version[0].value[c] = INITIAL;
}

static hd_range random_range(model *m, const resource *r, uint32_t *cells)
{
    hd_range range = {0};
    *cells = (1u << r->cells) - 1;
    if (chance(m, 60))
        return range;
    *cells = 0;
    if (r->is_buffer) {
        uint32_t first = hdt_below(&m->rng, 8), count = 1 + hdt_below(&m->rng, 8 - first);
        range.offset = first * 512;
        range.bytes = count * 512;
        *cells = ((1u << count) - 1) << first;
        return range;
    }
    range.mip_base = hdt_below(&m->rng, r->mips);
    range.mip_count = 1 + hdt_below(&m->rng, r->mips - range.mip_base);
    range.layer_base = hdt_below(&m->rng, r->layers);
    range.layer_count = 1 + hdt_below(&m->rng, r->layers - range.layer_base);
    for (uint32_t mip = range.mip_base; mip < range.mip_base + range.mip_count; mip++) {
        for (uint32_t layer = range.layer_base; layer < range.layer_base + range.layer_count; layer++)
            *cells |= 1u << (mip * r->layers + layer);
    }
    return range;
}

/* Two uses of one pass may touch the same cells only to read them the same way. */
static bool agrees(const model *m, uint32_t pass, const use *u)
{
    for (uint32_t i = 0; i < m->use_count[pass]; i++) {
        const use *other = &m->uses[pass][i];
        if (other->res == u->res && (other->cells & u->cells) && (u->writes || other->access != u->access))
            return false;
    }
    return true;
}

static bool has_content(const version *v, uint32_t cells)
{
    for (uint32_t c = 0; c < MAX_CELLS; c++) {
        if (cells >> c & 1 && v->value[c] == NOTHING)
            return false;
    }
    return true;
}

static bool random_use(model *m, uint32_t type, uint32_t pass, hd_use *out)
{
    static const hd_access access[4][4] = {
        {HD_SAMPLED_GRAPHICS, HD_SAMPLED_GRAPHICS, HD_COLOR_WRITE, HD_COLOR_RW},
        {HD_STORAGE_READ_COMPUTE, HD_STORAGE_READ_COMPUTE, HD_STORAGE_WRITE_COMPUTE, HD_STORAGE_RW_COMPUTE},
        {HD_TRANSFER_SRC, HD_TRANSFER_SRC, HD_TRANSFER_DST, HD_TRANSFER_DST},
        {HD_HOST_READ, HD_HOST_READ, HD_HOST_WRITE, HD_HOST_WRITE},
    };
    for (int attempt = 0; attempt < 10; attempt++) {
        use u = {.res = hdt_below(&m->rng, m->res_count), .access = access[type][hdt_below(&m->rng, 4)]};
        const resource *r = &m->res[u.res];
        const hdi_access_info *row = &hdi_access_table[u.access];
        u.version = chance(m, m->looks ? 50 : m->newest) ? r->version_count - 1 : hdt_below(&m->rng, r->version_count);
        u.reads = row->reads;
        u.writes = row->writes;
        const version *v = &r->version[u.version];
        if (!(r->is_buffer ? row->on_buffer : row->on_image) || (u.writes && (r->read_only || m->looks)) ||
            (u.writes && v->ended_by != NOTHING && v->ended_by != pass))
            continue;
        hd_range range = random_range(m, r, &u.cells);
        if (!agrees(m, pass, &u) || (u.reads && !has_content(v, u.cells)))
            continue;
        u.before = v->ended_by < pass ? v->ended_by : pass;
        *out = (hd_use){.resource = v->handle, .access = (hd_access)u.access, .range = range};
        m->uses[pass][m->use_count[pass]++] = u;
        return true;
    }
    return false;
}

static void add_pass(model *m)
{
    uint32_t pass = m->pass_count++, want = 1 + hdt_below(&m->rng, MAX_USES), type = hdt_below(&m->rng, 10);
    type = type < 3 ? HD_PASS_GFX : type < 7 ? HD_PASS_COMPUTE : type < 9 ? HD_PASS_TRANSFER : HD_PASS_HOST;
    hd_use uses[MAX_USES];
    hd_resource next[MAX_USES] = {0};
    m->use_count[pass] = 0;
    m->looks = chance(m, 20);
    want = m->looks ? 1 + want / 4 : want;
    while (m->use_count[pass] < want && random_use(m, type, pass, &uses[m->use_count[pass]]))
        continue;
    uint32_t count = m->use_count[pass];
    for (uint32_t i = 0; i < count; i++) {
        const use *u = &m->uses[pass][i];
        resource *r = &m->res[u->res];
        if (!chance(m, 65) || (u->writes && r->version_count == MAX_VERSIONS))
            continue;
        uses[i].next = &next[i];
        if (u->writes)
            r->version[u->version].ended_by = pass;
    }
    m->root[pass] = chance(m, m->looks ? 80 : 10);
    hd_graph_pass(m->graph, &(hd_pass_desc){.type = (hd_pass_type)type,
                                            .root = m->root[pass],
                                            .cost_us = (float)(1 + hdt_below(&m->rng, 50)),
                                            .uses = uses,
                                            .use_count = count});
    cr_assert_eq(hd_graph_error(m->graph)->result, HD_OK, "%s", hd_graph_error(m->graph)->text);
    for (uint32_t i = 0; i < count; i++) { /* what is read is what stood there before the pass */
        use *u = &m->uses[pass][i];
        memcpy(u->seen, m->res[u->res].version[u->version].value, sizeof(u->seen));
    }
    for (uint32_t i = 0; i < count; i++) {
        const use *u = &m->uses[pass][i];
        resource *r = &m->res[u->res];
        if (uses[i].next && !u->writes)
            cr_assert_eq(next[i].id, uses[i].resource.id);
        if (!uses[i].next || !u->writes || r->version[r->version_count - 1].handle.id == next[i].id)
            continue;
        r->version[r->version_count] = r->version[u->version];
        r->version[r->version_count].handle = next[i];
        r->version[r->version_count++].ended_by = NOTHING;
    }
    for (uint32_t i = 0; i < count; i++) {
        const use *u = &m->uses[pass][i];
        resource *r = &m->res[u->res];
        for (uint32_t c = 0; u->writes && c < MAX_CELLS; c++) {
            if (u->cells >> c & 1)
                r->version[r->version_count - 1].value[c] = pass;
        }
    }
}

/* ---- the model's order ---- */

static void add_order(model *m, uint32_t a, uint32_t b)
{
    const use *x = m->uses[a], *y = m->uses[b];
    for (uint32_t i = 0; i < m->use_count[a]; i++) {
        for (uint32_t k = 0; k < m->use_count[b]; k++) {
            if (!x[i].writes || x[i].res != y[k].res || !(x[i].cells & y[k].cells))
                continue;
            if (y[k].writes ? a < b : a < y[k].before)
                m->first[a][b] = true;
            else if (!y[k].writes && a != b)
                m->first[b][a] = true;
        }
    }
}

static void close_order(model *m)
{
    memset(m->first, 0, sizeof(m->first));
    for (uint32_t a = 0; a < m->pass_count; a++) {
        for (uint32_t b = 0; b < m->pass_count; b++)
            add_order(m, a, b);
    }
    for (uint32_t k = 0; k < m->pass_count; k++) {
        for (uint32_t a = 0; a < m->pass_count; a++) {
            for (uint32_t b = 0; m->first[a][k] && b < m->pass_count; b++)
                m->first[a][b] |= m->first[k][b];
        }
    }
}

static bool has_cycle(const model *m)
{
    for (uint32_t p = 0; p < m->pass_count; p++) {
        if (m->first[p][p])
            return true;
    }
    return false;
}

/* Kept: roots, and what writes a cell that a kept pass reads, or that is left at the end of an external, without a kept
 * overwrite between: passes with fewer successors cannot be asked for by those with more. */
static void find_kept(const model *m, bool *kept)
{
    uint32_t order[MAX_PASSES], after[MAX_PASSES] = {0};
    bool live[MAX_RES][MAX_CELLS];
    for (uint32_t p = 0; p < m->pass_count; p++) {
        for (uint32_t b = 0; b < m->pass_count; b++)
            after[p] += m->first[p][b];
        uint32_t at = p;
        for (; at > 0 && after[order[at - 1]] > after[p]; at--)
            order[at] = order[at - 1];
        order[at] = p;
    }
    for (uint32_t r = 0; r < m->res_count; r++)
        memset(live[r], m->res[r].external, sizeof(live[r]));
    for (uint32_t i = 0; i < m->pass_count; i++) {
        uint32_t p = order[i];
        kept[p] = m->root[p];
        for (int step = 0; step < 3; step++) {
            for (uint32_t n = 0; n < m->use_count[p]; n++) {
                const use *u = &m->uses[p][n];
                for (uint32_t c = 0; c < MAX_CELLS; c++) {
                    if (!(u->cells >> c & 1))
                        continue;
                    if (step == 0)
                        kept[p] |= u->writes && live[u->res][c];
                    else if (kept[p] && u->reads == (step == 2))
                        live[u->res][c] = step == 2;
                }
            }
        }
    }
}

/* ---- the plan against it ---- */

static void check_pass(const model *m, uint32_t (*cell)[MAX_CELLS], uint32_t p, uint64_t seed)
{
    for (uint32_t n = 0; n < m->use_count[p]; n++) {
        const use *u = &m->uses[p][n];
        for (uint32_t c = 0; u->reads && c < MAX_CELLS; c++) {
            if (u->cells >> c & 1)
                cr_assert_eq(cell[u->res][c], u->seen[c],
                             "seed %llu: pass %u reads what %u left in cell %u of resource %u,"
                             " not what %u left",
                             (unsigned long long)seed, p, cell[u->res][c], c, u->res, u->seen[c]);
        }
    }
    for (uint32_t n = 0; n < m->use_count[p]; n++) {
        const use *u = &m->uses[p][n];
        for (uint32_t c = 0; u->writes && c < MAX_CELLS; c++) {
            if (u->cells >> c & 1)
                cell[u->res][c] = p;
        }
    }
}

/* The model without the passes that are culled: these ask for no order. */
static const model *kept_only(const model *m)
{
    static model only;
    bool kept[MAX_PASSES];
    find_kept(m, kept);
    only = *m;
    for (uint32_t p = 0; p < m->pass_count; p++)
        only.use_count[p] = kept[p] ? m->use_count[p] : 0;
    close_order(&only);
    return &only;
}

static void check_plan(const model *m, const hd_plan *plan, uint64_t seed)
{
    const model *only = kept_only(m);
    hd_plan_view view = hd_plan_read(plan);
    uint32_t cell[MAX_RES][MAX_CELLS], ran = 0, culled = 0;
    bool kept[MAX_PASSES], done[MAX_PASSES] = {0};
    for (uint32_t r = 0; r < m->res_count; r++) {
        for (uint32_t c = 0; c < MAX_CELLS; c++)
            cell[r][c] = m->res[r].version[0].handle.id && m->res[r].external ? INITIAL : NOTHING;
    }
    for (uint32_t s = 0; s < view.submit_count; s++) {
        for (uint32_t c = 0; c < view.submits[s].command_count; c++) {
            const hd_plan_command *command = &view.commands[view.submits[s].command_begin + c];
            if (command->kind != HD_COMMAND_PASS)
                continue;
            for (uint32_t p = 0; p < m->pass_count; p++)
                cr_assert(!done[p] || !only->first[command->index][p], "seed %llu: pass %u runs after pass %u",
                          (unsigned long long)seed, command->index, p);
            check_pass(m, cell, command->index, seed);
            done[command->index] = true;
            ran++;
        }
    }
    find_kept(m, kept);
    for (uint32_t p = 0; p < m->pass_count; p++) {
        bool listed = culled < view.culled_count && view.culled[culled] == p;
        culled += listed;
        cr_assert_eq(listed, !kept[p], "seed %llu: pass %u is %s", (unsigned long long)seed, p,
                     listed ? "culled" : "kept");
        cr_assert_eq(done[p], kept[p], "seed %llu: pass %u", (unsigned long long)seed, p);
    }
    cr_assert_eq(ran + culled, m->pass_count);
}

/* Critical path by the model: the longest chain of kept passes. */
static void check_critical_path(const model *m, const hd_plan *plan, uint64_t seed)
{
    hdi_decl decl = hdi_graph_decl(m->graph);
    double end[MAX_PASSES] = {0}, longest = 0;
    bool kept[MAX_PASSES];
    const model *only = kept_only(m);
    find_kept(m, kept);
    for (uint32_t round = 0; round < m->pass_count; round++) {
        for (uint32_t p = 0; p < m->pass_count; p++) {
            double start = 0;
            for (uint32_t a = 0; a < m->pass_count; a++)
                start = only->first[a][p] && end[a] > start ? end[a] : start;
            end[p] = kept[p] ? start + (double)decl.pass_cost[p] : 0;
            longest = end[p] > longest ? end[p] : longest;
        }
    }
    hd_plan_stats stats;
    cr_assert_eq(hd_plan_stats_get(m->graph, plan, 0, &stats), HD_OK);
    cr_assert_float_eq(stats.critical_path_us, longest, 1e-6, "seed %llu: critical path %f, not %f",
                       (unsigned long long)seed, stats.critical_path_us, longest);
}

static const hd_queue_desc queues[] = {
    {HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}, {HD_QUEUE_COMPUTE, 2}};

static bool late_in(const model *m)
{
    for (uint32_t p = 0; p < m->pass_count; p++) {
        for (uint32_t q = 0; q < p; q++) {
            if (m->first[p][q])
                return true;
        }
    }
    return false;
}

Test(version_random, against_a_model)
{
    static model m;
    hd_graph *graph;
    uint64_t first = 1, count = 20000, cycles = 0, reordered = 0;
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        m.graph = graph;
        m.rng = seed;
        m.res_count = m.pass_count = 0;
        m.newest = 90 + hdt_below(&m.rng, 11);
        hd_graph_begin(graph);
        for (int i = 0; i < 4; i++)
            add_resource(&m);
        for (uint32_t p = 0, n = 3 + hdt_below(&m.rng, MAX_PASSES - 4); p < n; p++) {
            if (chance(&m, 30))
                add_resource(&m);
            add_pass(&m);
        }
        close_order(&m);
        hd_compile_desc desc = {.queues = seed % 3 ? queues : NULL,
                                .queue_count = seed % 3 == 1 ? 2 : 4,
                                .order = (hd_order)(seed / 3 % 3)};
        const hd_plan *plan;
        hd_result result = hdt_compile(graph, &desc, &plan);
        const hd_error *error = hd_graph_error(graph);
        if (has_cycle(&m)) {
            cycles++;
            cr_assert_eq(result, HD_VERSION_CYCLE, "seed %llu: %s", (unsigned long long)seed, hd_result_name(result));
            cr_assert(m.first[error->pass][error->pass], "seed %llu: pass %u is on no cycle", (unsigned long long)seed,
                      error->pass);
            const use *u = &m.uses[error->pass][error->use];
            cr_assert(u->before < error->pass && u->res == error->resource, "seed %llu", (unsigned long long)seed);
            continue;
        }
        cr_assert_eq(result, HD_OK, "seed %llu: %s: %s", (unsigned long long)seed, hd_result_name(result), error->text);
        reordered += late_in(&m);
        check_plan(&m, plan, seed);
        check_critical_path(&m, plan, seed);
    }
    hd_graph_destroy(graph);
    if (count > 1000)
        cr_assert(cycles > count / 10 && reordered > count / 6, "%llu cycles, %llu new orders",
                  (unsigned long long)cycles, (unsigned long long)reordered);
}
