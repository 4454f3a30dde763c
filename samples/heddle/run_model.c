#include "run_state.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

/* What each subresource and each range of bytes holds: walks the passes that are executed in the order of their
 * declaration, whatever order the plan has, and lists for each what it must find and what it writes. A value follows
 * from the pass, the frame and the place, so that a wrong value is seen whichever pass left it. */

static const run_format formats[] = {
    {VK_FORMAT_R8G8B8A8_UNORM, 4, 256, 4, 1.0f / 255, 1e-3f, RUN_STORAGE_COMP},
    {VK_FORMAT_B8G8R8A8_UNORM, 4, 256, 4, 1.0f / 255, 1e-3f, -1}, /* GLSL has no word for it */
    {VK_FORMAT_R16G16B16A16_SFLOAT, 4, 2048, 8, 1, 0, RUN_STORAGE_COMP + 1},
    {VK_FORMAT_R16G16_SFLOAT, 2, 2048, 4, 1, 0, RUN_STORAGE_COMP + 2},
    {VK_FORMAT_R8_UNORM, 1, 256, 1, 1.0f / 255, 1e-3f, RUN_STORAGE_COMP + 3},
    {VK_FORMAT_R32_SFLOAT, 1, 1 << 20, 4, 1, 0, RUN_STORAGE_COMP + 4},
    {VK_FORMAT_D32_SFLOAT, 1, 4096, 4, 1.0f / 4096, 1e-5f, -1},
};

uint32_t run_format_index(uint32_t format)
{
    uint32_t i = 0;
    while (i + 1 < sizeof(formats) / sizeof(formats[0]) && formats[i].format != format)
        i++;
    return i;
}

const run_format *run_format_of(uint32_t format)
{
    return &formats[run_format_index(format)];
}

static uint16_t half_of(uint32_t value) /* an integer below 2048 is exact */
{
    if (value == 0)
        return 0;
    uint32_t power = 31 - (uint32_t)__builtin_clz(value);
    return (uint16_t)((power + 15) << 10 | (value << (10 - power) & 0x3ff));
}

void run_encode(uint32_t format, const run_cell *cell, uint8_t *out)
{
    const run_format *f = run_format_of(format);
    static const uint8_t bgra[] = {2, 1, 0, 3};
    for (uint32_t c = 0; c < f->channels; c++) {
        uint32_t value = (uint32_t)cell->c[format == VK_FORMAT_B8G8R8A8_UNORM ? bgra[c] : c];
        float real = (float)value * f->scale;
        uint16_t half = half_of(value & 2047);
        if (f->most == 256)
            out[c] = (uint8_t)value;
        else if (f->most == 2048)
            memcpy(out + 2 * c, &half, 2);
        else
            memcpy(out, &real, 4);
    }
}

static run_cell value_of(const run *r, uint32_t res, uint32_t pass, uint64_t frame, uint64_t part)
{
    run_cell cell = {.writer = pass, .known = true};
    uint64_t hash = hdi_hash_mix(hdi_hash_mix(hdi_hash_mix(hdi_hash_mix(1, pass), frame), part), res);
    if (r->res[res].buffer) {
        cell.c[0] = r->res[res].small ? (int32_t)(1 + hash % 5) : (int32_t)(hash & 0xffffff);
        return cell;
    }
    for (uint32_t c = 0; c < 4; c++) {
        hash = hdi_hash_mix(hash, c);
        cell.c[c] = (int32_t)(hash % run_format_of(r->res[res].format)->most);
    }
    return cell;
}

/* ---- content ---- */

static bool reserve_spans(run_content *content, uint32_t count)
{
    if (count <= content->room)
        return true;
    uint32_t room = count * 2 + 16;
    run_span *grown = realloc(content->spans, room * sizeof(*grown));
    if (!grown)
        return false;
    content->spans = grown;
    content->room = room;
    return true;
}

/* A cut at a byte; the span that begins there. */
static uint32_t cut_at(run_content *content, uint64_t at)
{
    uint32_t s = 0;
    while (s < content->count && content->spans[s].begin < at)
        s++;
    if (s < content->count && content->spans[s].begin == at)
        return s;
    memmove(&content->spans[s + 1], &content->spans[s], (content->count - s) * sizeof(run_span));
    content->spans[s] = (run_span){at, content->spans[s - 1].cell};
    content->count++;
    return s;
}

static bool set_span(run_content *content, uint64_t begin, uint64_t end, uint64_t bytes, const run_cell *cell)
{
    if (!reserve_spans(content, content->count + 3))
        return false;
    uint32_t first = cut_at(content, begin), last = end < bytes ? cut_at(content, end) : content->count;
    content->spans[first].cell = *cell;
    memmove(&content->spans[first + 1], &content->spans[last], (content->count - last) * sizeof(run_span));
    content->count -= last - first - 1;
    return true;
}

static bool make_content(const run_res *res, run_content *content)
{
    const run_cell unknown = {.writer = HD_NONE};
    if (res->buffer) {
        if (!reserve_spans(content, 4))
            return false;
        content->spans[0] = (run_span){0, unknown};
        content->count = 1;
        return true;
    }
    content->count = res->mips * res->layers;
    content->cells = calloc(content->count, sizeof(*content->cells));
    for (uint32_t c = 0; content->cells && c < content->count; c++)
        content->cells[c] = unknown;
    return content->cells != NULL;
}

static bool copy_content(const run_content *from, run_content *to)
{
    if (from->cells) {
        memcpy(to->cells, from->cells, from->count * sizeof(*from->cells));
        return true;
    }
    if (!reserve_spans(to, from->count))
        return false;
    memcpy(to->spans, from->spans, from->count * sizeof(*from->spans));
    to->count = from->count;
    return true;
}

static void set_all(run_content *content, const run_cell *cell)
{
    for (uint32_t c = 0; c < content->count && content->cells; c++)
        content->cells[c] = *cell;
    if (!content->cells) {
        content->spans[0] = (run_span){0, *cell};
        content->count = 1;
    }
}

hd_result run_make_model(run *r)
{
    uint32_t count = r->decl.res_count;
    const run_cell zero = {.writer = HD_NONE, .known = true}; /* what a first history holds */
    r->content = calloc((size_t)count + 1, sizeof(*r->content));
    r->kept = calloc((size_t)count + 1, sizeof(*r->kept));
    if (!r->content || !r->kept)
        return run_fail(r, HD_OUT_OF_MEMORY, "no memory");
    for (uint32_t i = 0; i < count; i++) {
        if (!make_content(&r->res[i], &r->content[i]) || !make_content(&r->res[i], &r->kept[i]))
            return run_fail(r, HD_OUT_OF_MEMORY, "no memory");
        set_all(&r->kept[i], &zero);
    }
    return HD_OK;
}

void run_free_model(run *r)
{
    for (uint32_t i = 0; i < r->decl.res_count; i++) {
        if (r->content) {
            free(r->content[i].cells);
            free(r->content[i].spans);
        }
        if (r->kept) {
            free(r->kept[i].cells);
            free(r->kept[i].spans);
        }
    }
    free(r->content);
    free(r->kept);
}

/* ---- operations ---- */

static run_op *add_op(run_slot *slot, const run_op *op)
{
    if (slot->op_count == slot->op_room) {
        uint32_t room = slot->op_room * 2 + 64;
        run_op *grown = realloc(slot->ops, room * sizeof(*grown));
        if (!grown)
            return NULL;
        slot->ops = grown;
        slot->op_room = room;
    }
    slot->ops[slot->op_count] = *op;
    return &slot->ops[slot->op_count++];
}

static uint32_t smaller(uint32_t size, uint32_t mip)
{
    return size >> mip ? size >> mip : 1;
}

/* What a drawing that adds must add, so that no channel leaves its format. */
static run_cell sum_of(const run *r, uint32_t res, const run_cell *old, run_cell *value)
{
    run_cell sum = *value;
    uint32_t most = run_format_of(r->res[res].format)->most;
    for (uint32_t c = 0; c < 4; c++) {
        if (most == 256)
            value->c[c] %= 256 - old->c[c];
        else
            value->c[c] -= old->c[c]; /* of floats, which may be negative */
        sum.c[c] = old->c[c] + value->c[c];
    }
    sum.known = old->known;
    return sum;
}

/* The pass tests depth in this subresource too, which is then in the read-only layout of depth. */
static bool tested_too(const run *r, uint32_t pass, uint32_t res, uint32_t mip, uint32_t layer)
{
    for (uint32_t u = r->decl.pass_use_begin[pass]; u < r->decl.pass_use_begin[pass + 1]; u++) {
        if (r->decl.use_res[u] != res ||
            r->decl.access[r->uses[u].access].layout != VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL)
            continue;
        hd_range range = run_use_range(r, u);
        if (mip >= range.mip_base && mip - range.mip_base < range.mip_count && layer >= range.layer_base &&
            layer - range.layer_base < range.layer_count)
            return true;
    }
    return false;
}

static bool image_ops(run *r, run_slot *slot, run_op op, bool write, uint64_t frame, const hd_range *range)
{
    const run_res *res = &r->res[op.res];
    for (uint32_t mip = range->mip_base; mip < range->mip_base + (uint32_t)range->mip_count; mip++) {
        for (uint32_t layer = range->layer_base; layer < range->layer_base + range->layer_count; layer++) {
            run_cell *cell = &r->content[op.res].cells[mip * res->layers + layer];
            op.mip = mip;
            op.layer = layer;
            op.width = smaller(res->width, mip);
            op.height = smaller(res->height, mip);
            op.write = write;
            op.sampled_depth = !write && op.pass != HD_NONE && tested_too(r, op.pass, op.res, mip, layer);
            op.cell = *cell;
            if (write) {
                op.cell = value_of(r, op.res, op.pass, frame, mip * res->layers + layer);
                op.add = run_access_of(op.access)->adds;
                *cell = op.add ? sum_of(r, op.res, cell, &op.cell) : op.cell;
                cell->writer = op.pass;
            } else if (!op.cell.known) {
                r->report->unchecked++;
                continue;
            }
            if (!add_op(slot, &op))
                return false;
        }
    }
    return true;
}

/* Words: bytes that only share a word with what the range holds are not looked at, and no longer known. */
static bool buffer_ops(run *r, run_slot *slot, run_op op, bool write, uint64_t frame, const hd_range *range)
{
    run_content *content = &r->content[op.res];
    uint64_t begin = (range->offset + 3) & ~UINT64_C(3), end = (range->offset + range->bytes) & ~UINT64_C(3);
    if (begin >= end) { /* not a whole word */
        r->report->unchecked += !write;
        return true;
    }
    if (write) {
        op.write = true;
        op.begin = begin;
        op.end = end;
        op.cell = value_of(r, op.res, op.pass, frame, range->offset);
        return set_span(content, begin, end, r->res[op.res].bytes, &op.cell) && add_op(slot, &op);
    }
    for (uint32_t s = 0; s < content->count; s++) {
        uint64_t last = s + 1 < content->count ? content->spans[s + 1].begin : r->res[op.res].bytes;
        op.begin = content->spans[s].begin < begin ? begin : content->spans[s].begin;
        op.end = last < end ? last : end;
        if (op.begin >= op.end)
            continue;
        op.cell = content->spans[s].cell;
        r->report->unchecked += !op.cell.known;
        if (op.cell.known && !add_op(slot, &op))
            return false;
    }
    return true;
}

static bool add_ops(run *r, run_slot *slot, const run_op *op, bool write, uint64_t frame, const hd_range *range)
{
    return r->res[op->res].buffer ? buffer_ops(r, slot, *op, write, frame, range)
                                  : image_ops(r, slot, *op, write, frame, range);
}

static bool pass_ops(run *r, run_slot *slot, uint32_t pass, uint64_t frame)
{
    for (uint32_t writes = 0; writes < 2; writes++) { /* everything is read before anything is written */
        for (uint32_t u = r->decl.pass_use_begin[pass]; u < r->decl.pass_use_begin[pass + 1]; u++) {
            const hdi_access_info *info = &r->decl.access[r->decl.use_access[u]];
            run_op op = {.pass = pass, .use = u, .res = r->decl.use_res[u], .access = r->uses[u].access};
            hd_range range = run_use_range(r, u);
            if (!(writes ? info->writes : info->reads) || (!writes && !r->desc->check))
                continue;
            if (!writes && !run_can_check(r, &op)) {
                r->report->unchecked++;
                continue;
            }
            if (!add_ops(r, slot, &op, writes, frame, &range))
                return false;
        }
    }
    return true;
}

hd_result run_model_frame(run *r, run_slot *slot, uint64_t frame)
{
    const run_cell unknown = {.writer = HD_NONE};
    bool good = true;
    slot->op_count = 0;
    for (uint32_t i = 0; i < r->decl.res_count && good; i++) {
        r->res[i].used = false;
        if (r->decl.res_flags[i] & HDI_RES_HISTORY)
            good = copy_content(&r->kept[i], &r->content[i]);
        else if (!(r->decl.res_flags[i] & HDI_RES_EXTERNAL))
            set_all(&r->content[i], &unknown);
    }
    for (uint32_t p = 0; p < r->decl.pass_count && good; p++) {
        slot->op_begin[p] = slot->op_count;
        if (r->pass_queue[p] == HD_NONE)
            continue;
        for (uint32_t u = r->decl.pass_use_begin[p]; u < r->decl.pass_use_begin[p + 1]; u++)
            r->res[r->decl.use_res[u]].used = true;
        good = pass_ops(r, slot, p, frame);
    }
    slot->op_begin[r->decl.pass_count] = slot->op_count;
    for (uint32_t i = 0; i < r->decl.res_count && good; i++) {
        if (r->decl.res_flags[i] & HDI_RES_HISTORY && r->res[r->decl.res_pair[i]].used) /* else it stays as it is */
            good = copy_content(&r->content[r->decl.res_pair[i]], &r->kept[i]);
    }
    return good ? HD_OK : run_fail(r, HD_OUT_OF_MEMORY, "no memory");
}

hd_result run_model_externals(run *r, run_slot *slot, bool write)
{
    slot->op_count = 0;
    for (uint32_t i = 0; i < r->decl.res_count; i++) {
        const run_res *res = &r->res[i];
        run_op op = {.pass = HD_NONE, .res = i, .access = write ? HD_TRANSFER_DST : HD_TRANSFER_SRC};
        hd_range range = {.mip_count = (uint16_t)res->mips, .layer_count = res->layers};
        if (res->buffer)
            range = (hd_range){.offset = 0, .bytes = res->bytes};
        if (r->decl.res_flags[i] & HDI_RES_EXTERNAL && !add_ops(r, slot, &op, write, 0, &range))
            return run_fail(r, HD_OUT_OF_MEMORY, "no memory");
    }
    return HD_OK;
}
