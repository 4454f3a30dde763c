#include "stream_content.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 6, PRESENT_SRC = 1000001002 }; /* offset; or mip, layer, aspect, x, y, z */
#define FAR UINT32_MAX

typedef struct grid {
    uint64_t *cut[AXES];
    uint32_t cuts[AXES]; /* one more than pieces */
    uint32_t first, count;
} grid;

typedef struct model {
    const hd_stream *s;
    const hd_stream_graph *g;
    grid *grids; /* by resource */
    uint32_t cell_count;
    uint64_t *value, *layout;
    uint8_t *tenant;
    uint64_t *mark;              /* of hdt_content_edges: cells where the command's content stands */
    uint64_t state[64], *object; /* of the command buffer; what changes an object has gone through */
    uint32_t buffer;
} model;

typedef struct span {
    uint64_t begin[AXES], end[AXES];
} span;

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static span span_of(const model *m, uint32_t res, const hd_range *range, const hd_stream_box *box)
{
    const hd_stream_resource *r = &m->s->resources[res];
    span x = {{0}, {FAR, 1, 1, 1, 1, 1}};
    if (!r->aspects) {
        x.begin[0] = range->offset;
        x.end[0] = range->offset + range->bytes;
        return x;
    }
    x.begin[0] = range->mip_base;
    x.end[0] = range->mip_base + range->mip_count;
    x.begin[1] = range->layer_base;
    x.end[1] = range->layer_base + range->layer_count;
    x.begin[2] = range->aspect == HD_ASPECT_STENCIL;
    x.end[2] = range->aspect && range->aspect != HD_ASPECT_STENCIL ? 1 : 2;
    for (int i = 0; i < 3; i++) {
        bool whole = !box || !box->extent[0];
        x.begin[3 + i] = whole ? 0 : box->offset[i];
        x.end[3 + i] = whole ? FAR : (uint64_t)box->offset[i] + box->extent[i];
    }
    return x;
}

static void cut_at(grid *g, int axis, uint64_t at)
{
    uint32_t i = g->cuts[axis];
    while (i > 0 && g->cut[axis][i - 1] > at)
        i--;
    if (i > 0 && g->cut[axis][i - 1] == at)
        return;
    g->cut[axis] = realloc(g->cut[axis], (g->cuts[axis] + 1) * sizeof(uint64_t));
    cr_assert(g->cut[axis]);
    memmove(g->cut[axis] + i + 1, g->cut[axis] + i, (g->cuts[axis]++ - i) * sizeof(uint64_t));
    g->cut[axis][i] = at;
}

static void cut_span(model *m, uint32_t res, const span *x)
{
    for (int i = 0; i < AXES; i++) {
        cut_at(&m->grids[res], i, x->begin[i]);
        cut_at(&m->grids[res], i, x->end[i]);
    }
}

static void make_grids(model *m)
{
    const hd_stream *s = m->s;
    m->grids = calloc(s->resource_count + 1, sizeof(*m->grids));
    for (uint32_t r = 0; r < s->resource_count; r++) {
        const hd_stream_resource *x = &s->resources[r];
        hd_range all = {.bytes = x->bytes};
        if (x->aspects)
            all = (hd_range){.mip_count = (uint16_t)x->mips, .layer_count = x->layers};
        span whole = span_of(m, r, &all, NULL);
        cut_span(m, r, &whole);
    }
    for (uint32_t i = 0; i < s->access_count; i++) {
        span x = span_of(m, s->accesses[i].resource, &s->accesses[i].range, &s->accesses[i].box);
        cut_span(m, s->accesses[i].resource, &x);
    }
    for (uint32_t i = 0; i < s->barrier_count; i++) {
        if (s->barriers[i].resource == HD_NONE)
            continue;
        span x = span_of(m, s->barriers[i].resource, &s->barriers[i].range, NULL);
        cut_span(m, s->barriers[i].resource, &x);
    }
    for (uint32_t r = 0; r < s->resource_count; r++) {
        grid *g = &m->grids[r];
        g->first = m->cell_count;
        g->count = 1;
        for (int i = 0; i < AXES; i++)
            g->count *= g->cuts[i] - 1;
        m->cell_count += g->count;
    }
}

/* The next cell of the span from cell on; HD_NONE: there is none. */
static uint32_t next_cell(const model *m, uint32_t res, const span *x, uint32_t cell)
{
    const grid *g = &m->grids[res];
    for (; cell < g->first + g->count; cell++) {
        uint32_t left = cell - g->first;
        bool in = true;
        for (int i = 0; i < AXES; i++) {
            uint32_t piece = left % (g->cuts[i] - 1);
            left /= g->cuts[i] - 1;
            in &= g->cut[i][piece] >= x->begin[i] && g->cut[i][piece] < x->end[i];
        }
        if (in)
            return cell;
    }
    return HD_NONE;
}
#define EACH_CELL(m, res, x, c)                                                                                        \
    for (uint32_t c = next_cell(m, res, x, (m)->grids[res].first); c != HD_NONE; c = next_cell(m, res, x, c + 1))

static void bytes_of(const model *m, uint32_t res, uint32_t cell, uint64_t *begin, uint64_t *end)
{
    const hd_stream_resource *r = &m->s->resources[res];
    const grid *g = &m->grids[res];
    *begin = r->aspects ? r->offset : r->offset + g->cut[0][cell - g->first];
    *end = r->aspects ? r->offset + r->bytes : r->offset + g->cut[0][cell - g->first + 1];
}

/* The first cell from `cell` on of another resource that shares bytes with cell `of`. */
static uint32_t next_alias(const model *m, uint32_t res, uint32_t of, uint32_t cell, uint32_t *owner)
{
    const hd_stream_resource *r = m->s->resources;
    uint64_t begin, end, b, e;
    bytes_of(m, res, of, &begin, &end);
    for (uint32_t o = 0; o < m->s->resource_count && r[res].memory != HD_NONE; o++) {
        const grid *g = &m->grids[o];
        if (o == res || r[o].memory != r[res].memory || cell >= g->first + g->count)
            continue;
        for (uint32_t c = cell > g->first ? cell : g->first; c < g->first + g->count; c++) {
            bytes_of(m, o, c, &b, &e);
            if (b < end && e > begin) {
                *owner = o;
                return c;
            }
        }
    }
    return HD_NONE;
}

static bool has_alias(const model *m, uint32_t res, uint32_t cell)
{
    uint32_t owner;
    return next_alias(m, res, cell, 0, &owner) != HD_NONE;
}

static void take(model *m, uint32_t res, uint32_t cell, bool whole)
{
    uint32_t owner;
    if (m->tenant[cell])
        return;
    for (uint32_t c = next_alias(m, res, cell, 0, &owner); c != HD_NONE; c = next_alias(m, res, cell, c + 1, &owner)) {
        m->value[c] = m->mark[c] = 0;
        m->layout[c] = !m->s->resources[owner].aspects;
        m->tenant[c] = 0;
    }
    m->tenant[cell] = whole || !has_alias(m, res, cell);
}

/* The host has written the cell, and what shares its bytes with it. */
static void share(model *m, uint32_t res, uint32_t cell)
{
    uint32_t owner;
    for (uint32_t c = next_alias(m, res, cell, 0, &owner); c != HD_NONE; c = next_alias(m, res, cell, c + 1, &owner))
        m->tenant[c] = 0;
}

static bool is_write(uint64_t access)
{
    return access & (0x40 | 0x100 | 0x400 | 0x1000 | 0x4000 | 0x10000 | UINT64_C(0x400000000));
}
static bool is_read(uint64_t access)
{
    return access & ~(UINT64_C(0x40) | 0x100 | 0x400 | 0x1000 | 0x4000 | 0x10000 | UINT64_C(0x400000000));
}

/* The first command of a rendering of several. */
static bool begins(const model *m, uint32_t access)
{
    const hd_stream *s = m->s;
    uint32_t first = HD_NONE, last = HD_NONE, own = HD_NONE;
    for (uint32_t n = 0; n < m->g->node_count; n++) {
        uint32_t c = m->g->nodes[n].command;
        if (m->g->nodes[n].kind != HD_STREAM_NODE_COMMAND)
            continue;
        for (uint32_t i = s->commands[c].begin; i < s->commands[c].begin + s->commands[c].count; i++) {
            if (s->accesses[i].scope != s->accesses[access].scope || s->accesses[i].flags & HD_STREAM_DECLARED)
                continue;
            first = first == HD_NONE ? n : first;
            last = n;
            own = i == access ? n : own;
        }
    }
    return own == first && first != last;
}

static bool is_seen(const hd_stream_access *a)
{
    return a->flags & HD_STREAM_OBSERVED;
}

static bool is_loose(const hd_stream_access *a)
{
    return a->flags & (HD_STREAM_OBSERVED | HD_STREAM_BOUND);
}

/* A command of a transfer writes all texels that it names, and so does a rendering that begins without loading, and a
 * write to a buffer that was seen; others may leave some. */
static bool overwrites(const model *m, const hd_stream_access *a)
{
    if (!is_write(a->access) || a->flags & HD_STREAM_LOST)
        return is_write(a->access);
    if (is_read(a->access) || a->flags & HD_STREAM_DECLARED)
        return false;
    if (is_seen(a))
        return !m->s->resources[a->resource].aspects;
    return a->scope ? begins(m, (uint32_t)(a - m->s->accesses)) : !(a->stages & ~(0x1000 | UINT64_C(0xf00000000)));
}

/* What the command reads as one number, 0 where some of that is not defined; and in *marked whether it reads marked
 * content. */
static uint64_t read_command(model *m, const hd_stream_command *x, bool *marked)
{
    uint64_t seen = 1;
    uint32_t owner;
    bool defined = true;
    *marked = false;
    for (uint32_t i = x->begin; i < x->begin + x->count; i++) {
        const hd_stream_access *a = &m->s->accesses[i];
        span at = span_of(m, a->resource, &a->range, &a->box);
        bool reads = is_read(a->access) || !overwrites(m, a); /* a part keeps what was there */
        EACH_CELL(m, a->resource, &at, c)
        {
            bool own = m->value[c] != 0;
            if (is_read(a->access) || !is_seen(a))
                seen = mix(seen, m->layout[c]);
            if (!reads)
                continue;
            if (is_read(a->access)) /* what a part leaves is not seen, but stands in the cell */
                seen = mix(seen, own ? m->value[c] : 0);
            defined &= (own && m->layout[c]) || !is_read(a->access);
            *marked |= m->mark[c] != 0;
            for (uint32_t o = m->tenant[c] ? HD_NONE : next_alias(m, a->resource, c, 0, &owner); o != HD_NONE;
                 o = next_alias(m, a->resource, c, o + 1, &owner))
                *marked |= m->mark[o] != 0;
        }
    }
    return defined ? seen : 0;
}

/* left: gets the cells that it writes, in their order; or null. Returns how many they are. */
static uint32_t write_command(model *m, const hd_stream_command *x, uint64_t value, bool mark, uint64_t *left)
{
    uint32_t count = 0;
    for (uint32_t i = x->begin; i < x->begin + x->count; i++) { /* all bytes are taken before any is written */
        const hd_stream_access *a = &m->s->accesses[i];
        span at = span_of(m, a->resource, &a->range, &a->box);
        bool mapped = m->s->resources[a->resource].flags & HD_STREAM_MAPPED;
        EACH_CELL(m, a->resource, &at, c)
        if (!is_loose(a) && (is_write(a->access) || mapped))
            take(m, a->resource, c, !a->box.extent[0]);
    }
    for (uint32_t i = x->begin; i < x->begin + x->count; i++) {
        const hd_stream_access *a = &m->s->accesses[i];
        span at = span_of(m, a->resource, &a->range, &a->box);
        bool all = overwrites(m, a);
        EACH_CELL(m, a->resource, &at, c)
        {
            if (!is_write(a->access))
                continue;
            if (is_loose(a))
                share(m, a->resource, c);
            if (a->flags & HD_STREAM_LOST || !value)
                m->value[c] = 0;
            else if (all || m->value[c]) /* a part of what is not defined is not defined */
                m->value[c] = mix(all ? 0 : m->value[c], mix(value, i));
            m->mark[c] = mark;
            if (left)
                left[count] = m->value[c];
            count++;
        }
    }
    return count;
}

/* The state of its command buffer and the objects that the command uses, as one number; those that it sets and changes
 * hold it from now on. */
static uint64_t use_state(model *m, uint32_t node, const hd_stream_command *x)
{
    const hd_stream_data *data = x->data ? &m->s->datas[x->data] : NULL;
    bool bare = x->data && !(x->count || x->sets || x->uses || x->changes);
    uint64_t used = 1, uses = bare ? HD_STREAM_STATE_OTHER : x->uses, sets = bare ? HD_STREAM_STATE_OTHER : x->sets;
    if (x->buffer != m->buffer)
        memset(m->state, 0, sizeof(m->state));
    m->buffer = x->buffer;
    for (int bit = 0; bit < 64; bit++)
        used = uses >> bit & 1 ? mix(used, m->state[bit]) : used;
    for (uint32_t i = 0; data && i < data->ref_count; i++)
        used = mix(used, m->object[m->s->refs[data->ref_begin + i]]);
    if (x->changes)
        m->object[x->changes] = mix(m->object[x->changes], mix(used, node));
    for (int bit = 0; bit < 64; bit++)
        m->state[bit] = sets >> bit & 1 ? mix(used, node) : m->state[bit];
    return used;
}

/* The host or the display reads something by it. */
static bool is_out(const model *m, uint32_t submit, const hd_stream_command *x)
{
    bool host = m->s->queues[m->s->submits[submit].queue].kind == HD_QUEUE_HOST, out = false;
    for (uint32_t i = x->begin; i < x->begin + x->count; i++) {
        const hd_stream_access *a = &m->s->accesses[i];
        out |= is_read(a->access) && (is_seen(a) ? !is_write(a->access) : host);
    }
    return out;
}

static bool changes(const model *m, const hd_stream_barrier *b)
{
    return b->resource != HD_NONE &&
           ((m->s->resources[b->resource].aspects && b->old_layout != b->new_layout) || b->src_family != b->dst_family);
}

/* A transition; what is presented is added to *out. */
static void execute_barrier(model *m, uint32_t node, const hd_stream_barrier *b, uint64_t *out, bool *marked)
{
    bool image = m->s->resources[b->resource].aspects != 0;
    span at = span_of(m, b->resource, &b->range, NULL);
    *marked = false;
    EACH_CELL(m, b->resource, &at, c)
    {
        uint32_t owner;
        for (uint32_t o = next_alias(m, b->resource, c, 0, &owner); o != HD_NONE && !m->tenant[c] && b->old_layout;
             o = next_alias(m, b->resource, c, o + 1, &owner))
            *marked |= m->mark[o] != 0; /* it keeps what an alias wrote */
        take(m, b->resource, c, true);
        if (image && !b->old_layout)
            m->value[c] = m->layout[c] = m->mark[c] = 0;
        m->layout[c] = mix(m->layout[c], node + 1);
        if (b->new_layout != PRESENT_SRC)
            continue;
        *out = mix(*out, m->value[c]);
        *marked |= m->mark[c] != 0;
    }
}

static model make_model(const hd_stream *s, const hd_stream_graph *g)
{
    model m = {.s = s, .g = g};
    make_grids(&m);
    m.value = calloc(m.cell_count + 1, sizeof(*m.value));
    m.layout = calloc(m.cell_count + 1, sizeof(*m.layout));
    m.mark = calloc(m.cell_count + 1, sizeof(*m.mark));
    m.tenant = calloc(m.cell_count + 1, 1);
    m.object = calloc(s->object_count + 1, sizeof(*m.object));
    cr_assert(m.value && m.layout && m.mark && m.tenant && m.object);
    return m;
}

static void begin(model *m)
{
    for (uint32_t r = 0; r < m->s->resource_count; r++) {
        for (uint32_t c = m->grids[r].first; c < m->grids[r].first + m->grids[r].count; c++) {
            m->tenant[c] = !has_alias(m, r, c);
            m->value[c] = m->tenant[c] ? mix(7, c) : 0;                 /* from before the stream */
            m->layout[c] = m->tenant[c] || !m->s->resources[r].aspects; /* 0: none */
            m->mark[c] = 0;
        }
    }
}

static void free_model(model *m)
{
    for (uint32_t r = 0; r < m->s->resource_count; r++) {
        for (int i = 0; i < AXES; i++)
            free(m->grids[r].cut[i]);
    }
    free(m->grids);
    free(m->object);
    free(m->mark);
    free(m->tenant);
}

hdt_content hdt_content_of(const hd_stream *s, const hd_stream_graph *g, const uint8_t *keep)
{
    model m = make_model(s, g);
    hdt_content content = {.seen = calloc(g->node_count + 1, sizeof(uint64_t)),
                           .shown = calloc(g->node_count + 1, sizeof(uint64_t)),
                           .left = calloc(g->node_count + 1, sizeof(uint64_t *)),
                           .left_count = calloc(g->node_count + 1, sizeof(uint32_t)),
                           .out = 1,
                           .cell_count = m.cell_count,
                           .node_count = g->node_count};
    cr_assert(content.seen && content.shown && content.left && content.left_count);
    begin(&m);
    for (uint32_t n = 0; n < g->node_count; n++) {
        const hd_stream_node *node = &g->nodes[n];
        bool marked;
        if (!keep[n])
            continue;
        if (node->kind == HD_STREAM_NODE_COMMAND) {
            const hd_stream_command *x = &s->commands[node->command];
            uint64_t used = use_state(&m, n, x), seen = read_command(&m, x, &marked);
            content.seen[n] = seen ? mix(mix(seen, used), n) : 0;
            uint64_t *left = malloc((size_t)m.cell_count * (x->count + 1) * sizeof(*left));
            cr_assert(left);
            content.left_count[n] = write_command(&m, x, content.seen[n], false, left);
            content.left[n] = left;
            content.shown[n] = is_out(&m, node->submit, x) ? content.seen[n] : 0;
        } else if (node->kind == HD_STREAM_NODE_BARRIER && changes(&m, &s->barriers[node->element])) {
            execute_barrier(&m, n, &s->barriers[node->element], &content.out, &marked);
        }
    }
    content.cells = m.value;
    content.layouts = m.layout;
    free_model(&m);
    return content;
}

void hdt_content_free(hdt_content *content)
{
    for (uint32_t n = 0; n < content->node_count; n++)
        free(content->left[n]);
    free(content->left);
    free(content->left_count);
    free(content->seen);
    free(content->shown);
    free(content->cells);
    free(content->layouts);
}

bool hdt_content_same(const hdt_content *whole, const hdt_content *part, uint32_t node)
{
    if (whole->seen[node] && whole->seen[node] != part->seen[node])
        return false;
    for (uint32_t i = 0; i < whole->left_count[node] && part->left[node]; i++) {
        if (whole->left[node][i] && whole->left[node][i] != part->left[node][i])
            return false;
    }
    return true;
}

bool hdt_content_shows(const hdt_content *whole, const hdt_content *part)
{
    for (uint32_t n = 0; n < whole->node_count; n++) {
        if (whole->shown[n] && whole->shown[n] != part->shown[n])
            return false;
    }
    return whole->out == part->out;
}

bool hdt_content_stays(const hdt_content *whole, const hdt_content *part)
{
    for (uint32_t c = 0; c < whole->cell_count; c++) {
        if (whole->cells[c] && (whole->cells[c] != part->cells[c] ||
                                (whole->layouts[c] && whole->layouts[c] != part->layouts[c]))) /* 0: not known */
            return false;
    }
    return true;
}

/* For each command: its content is marked, and every later one looks whether it reads marked content. */
uint8_t *hdt_content_edges(const hd_stream *s, const hd_stream_graph *g)
{
    model m = make_model(s, g);
    uint8_t *edges = calloc((size_t)g->node_count * g->node_count + 1, 1);
    cr_assert(edges);
    for (uint32_t from = 0; from < g->node_count; from++) {
        begin(&m);
        for (uint32_t n = 0; n < g->node_count; n++) {
            const hd_stream_node *node = &g->nodes[n];
            bool marked = false;
            uint64_t out = 0;
            if (node->kind == HD_STREAM_NODE_COMMAND) {
                const hd_stream_command *x = &s->commands[node->command];
                read_command(&m, x, &marked);
                write_command(&m, x, 1, n == from, NULL);
            } else if (node->kind == HD_STREAM_NODE_BARRIER && changes(&m, &s->barriers[node->element])) {
                execute_barrier(&m, n, &s->barriers[node->element], &out, &marked);
            }
            edges[(size_t)n * g->node_count + from] = marked && n > from;
        }
    }
    free(m.value);
    free(m.layout);
    free_model(&m);
    return edges;
}
