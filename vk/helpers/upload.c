#include "helpers.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "graph_state.h"
#include "vk_device.h"
#include "vk_frame.h"
#include "vk_memory.h"

/* hd_vk_upload_async and what becomes of it. Data lies in a ring of mapped memory in the order in which it was handed
 * over; each upload has an entry in a second ring, found by its token. The thread that hands over takes room under the lock and
 * copies outside of it. The graph's thread declares passes for entries, oldest first; executing the frame makes them
 * planned; that a later frame found it finished makes them done. The oldest ones go, and their room with them, when the
 * next upload looks for some.
 *
 * An entry that was declared belongs to that frame of that graph: its pass looks it up when it is recorded, so that a
 * frame that was left and is executed after all cannot copy what meanwhile went with another one. It is free again when
 * the graph declares another frame, or after the frames for which objects are kept. */

enum { FILLING, WAITING, DECLARED, PLANNED, DROPPED };

static hdi_vk_upload *entry_of(const hdi_vk_uploads *u, uint64_t id)
{
    return id >= u->first && id < u->next ? &u->uploads[id & (u->capacity - 1)] : NULL;
}

static bool is_over(const hdi_vk_uploads *u, const hdi_vk_upload *e)
{
    return e->state == DROPPED ||
           (e->state == PLANNED && e->frame < atomic_load_explicit(&u->finished, memory_order_acquire));
}

void hdi_vk_uploads_finish(hd_vk *vk, uint64_t frame)
{
    atomic_store_explicit(&vk->uploads.finished, frame, memory_order_release);
}

hd_result hdi_vk_uploads_open(hd_vk *vk, uint64_t bytes)
{
    if (bytes > UINT64_MAX / 2)
        return hdi_vk_fail(vk, HD_TOO_LARGE, HD_NONE, HD_NONE, "upload_bytes is %llu", (unsigned long long)bytes);
    bytes = (bytes + HDI_VK_STAGING_ALIGNMENT - 1) / HDI_VK_STAGING_ALIGNMENT * HDI_VK_STAGING_ALIGNMENT;
    vk->uploads.first = vk->uploads.next = 1;
    hd_result result = hdi_vk_chunk_make(vk, bytes, &vk->uploads.ring);
    if (result == HD_OK)
        vk->uploads.ring->used = bytes;
    return result;
}

void hdi_vk_uploads_close(hd_vk *vk)
{
    if (vk->uploads.ring)
        hdi_vk_chunk_free(vk, vk->uploads.ring);
    hdi_free(&vk->allocator, vk->uploads.uploads, vk->uploads.capacity * sizeof(*vk->uploads.uploads));
    vk->uploads.ring = NULL;
    vk->uploads.uploads = NULL;
}

uint64_t hdi_vk_uploads_held(hd_vk *vk)
{
    pthread_mutex_lock(&vk->uploads.lock);
    uint64_t held = vk->uploads.head - vk->uploads.tail;
    pthread_mutex_unlock(&vk->uploads.lock);
    return held;
}

/* ---- handing over: any thread ---- */

/* Null, or what is wrong. */
static const char *desc_fault(const hd_vk_upload_desc *desc, hdi_res_info *info, hdi_vk_part *part, hd_result *result)
{
    const hd_import_desc *target = &desc->target;
    const char *fault = hdi_import_fault(target, result);
    if (fault)
        return fault;
    *result = HD_INVALID_ARGUMENT;
    if (!(target->bytes ? target->buffer != NULL : target->image != NULL) || !desc->data || desc->bytes == 0)
        return "no native handle, or no data";
    if (!target->bytes && target->final_layout == VK_IMAGE_LAYOUT_UNDEFINED)
        return "final_layout of an image is UNDEFINED";
    *info = (hdi_res_info){.width = target->width,
                           .height = target->height,
                           .depth = target->depth ? target->depth : 1,
                           .format = target->format,
                           .mips = target->mips ? target->mips : 1,
                           .layers = target->layers ? target->layers : 1,
                           .samples = target->samples ? target->samples : 1,
                           .bytes = target->bytes};
    *part = (hdi_vk_part){info, target->bytes != 0, desc->range};
    if (!hdi_vk_fit_part(part))
        return "no such part of the target";
    return hdi_vk_upload_fault(part, desc->bytes);
}

/* The oldest that nothing needs any more go. */
static void pop(hdi_vk_uploads *u)
{
    for (const hdi_vk_upload *e; (e = entry_of(u, u->first)) && is_over(u, e); u->first++)
        u->tail = e->end;
    if (u->first == u->next)
        u->head = u->tail = 0;
}

static hd_result grow(hd_vk *vk, hdi_vk_uploads *u)
{
    if (u->next - u->first < u->capacity)
        return HD_OK;
    uint32_t capacity = u->capacity ? u->capacity * 2 : 64;
    hdi_vk_upload *more = u->capacity < UINT32_MAX / 2 ? hdi_alloc(&vk->allocator, capacity * sizeof(*more), 64) : NULL;
    if (!more)
        return HD_OUT_OF_MEMORY;
    for (uint64_t id = u->first; id < u->next; id++)
        more[id & (capacity - 1)] = *entry_of(u, id);
    hdi_free(&vk->allocator, u->uploads, u->capacity * sizeof(*more));
    u->uploads = more;
    u->capacity = capacity;
    return HD_OK;
}

/* Room for an upload, and its entry; under the lock. */
static hd_result reserve(hd_vk *vk, const hd_vk_upload_desc *desc, const hd_range *range, uint64_t *id)
{
    hdi_vk_uploads *u = &vk->uploads;
    const uint64_t size = u->ring->used;
    pop(u);
    uint64_t begin = u->head, bytes = desc->bytes + HDI_VK_STAGING_ALIGNMENT - 1;
    bytes -= bytes % HDI_VK_STAGING_ALIGNMENT;
    if (begin % size + bytes > size)
        begin += size - begin % size; /* it lies in one piece */
    if (begin + bytes - u->tail > size)
        return HD_BUSY;
    hd_result result = grow(vk, u);
    if (result != HD_OK)
        return result;
    *id = u->next++;
    u->head = begin + bytes;
    hdi_vk_upload *e = entry_of(u, *id);
    *e = (hdi_vk_upload){.target = desc->target,
                         .range = *range,
                         .bytes = desc->bytes,
                         .begin = begin,
                         .end = u->head,
                         .state = FILLING};
    snprintf(e->name, sizeof(e->name), "%s", desc->target.name ? desc->target.name : "");
    return HD_OK;
}

hd_result hd_vk_upload_async(hd_vk *vk, const hd_vk_upload_desc *desc, hd_vk_token *token)
{
    if (token)
        *token = (hd_vk_token){0};
    if (!vk || !desc || !token)
        return HD_INVALID_ARGUMENT;
    hd_result result = (hd_result)atomic_load_explicit(&vk->lost, memory_order_acquire);
    if (result != HD_OK)
        return result;
    hdi_res_info info;
    hdi_vk_part part;
    const char *fault = desc_fault(desc, &info, &part, &result);
    if (!fault && (!vk->uploads.ring || desc->bytes > vk->uploads.ring->used)) {
        result = vk->uploads.ring ? HD_TOO_LARGE : HD_INVALID_ARGUMENT;
        fault = vk->uploads.ring ? "more data than upload_bytes of the hd_vk" : "upload_bytes of the hd_vk is 0";
    }
    if (fault) {
        hdi_log(&vk->log, HD_LOG_ERROR, "hd_vk_upload_async of '%.40s': %s", desc->target.name ? desc->target.name : "",
                fault);
        return result;
    }
    hdi_vk_uploads *u = &vk->uploads;
    uint64_t id = 0, at = 0;
    pthread_mutex_lock(&u->lock);
    result = reserve(vk, desc, &part.range, &id);
    if (result == HD_OK)
        at = entry_of(u, id)->begin % u->ring->used;
    pthread_mutex_unlock(&u->lock);
    if (result != HD_OK)
        return result;
    memcpy((unsigned char *)u->ring->at.mapped + at, desc->data, desc->bytes);
    pthread_mutex_lock(&u->lock);
    entry_of(u, id)->state = WAITING;
    pthread_mutex_unlock(&u->lock);
    *token = (hd_vk_token){id};
    return HD_OK;
}

/* ---- its pass ---- */

static bool is_own(const hdi_vk_upload *e, const hd_graph *graph)
{
    return e->state == DECLARED && e->graph == graph && e->tag == graph->tag;
}

typedef struct move {
    hd_resource to;
    hd_range range;
    hdi_vk_staged from;
    uint64_t id;
} move;

static void record_move(hd_recorder *recorder, void *user)
{
    const move *m = user;
    hd_vk *vk = recorder->vk;
    pthread_mutex_lock(&vk->uploads.lock);
    const hdi_vk_upload *e = entry_of(&vk->uploads, m->id);
    bool own = e && is_own(e, recorder->frame->graph);
    pthread_mutex_unlock(&vk->uploads.lock);
    if (own) {
        hdi_vk_record_upload(recorder, m->to, &m->range, &m->from);
        return;
    }
    hd_result result =
        hdi_vk_fail(vk, HD_INVALID_ARGUMENT, recorder->pass, HD_NONE,
                    "pass %u 'upload': its data went with another frame: what is handed over is executed once, in the "
                    "frame that is declared last",
                    recorder->pass);
    hdi_vk_note_failure(recorder->frame->slot, result);
}

/* The frame's own import of a target; none: it has none. */
static hd_resource find_import(const hd_graph *graph, const hd_import_desc *target)
{
    const void *native = target->bytes ? (const void *)target->buffer : (const void *)target->image;
    for (uint32_t r = graph->res_count; r-- > 0;) {
        if (graph->res_flags[r] & HDI_RES_EXTERNAL && graph->res_import[r].native == native &&
            !(graph->res_flags[r] & HDI_RES_BUFFER) == !target->bytes)
            return (hd_resource){graph->first_handle + r};
    }
    return (hd_resource){0};
}

static hd_resource get_import(hdi_arena *arena, hd_graph *graph, const hdi_vk_upload *e)
{
    hd_resource found = find_import(graph, &e->target);
    char *name = found.id ? NULL : hdi_arena_alloc(arena, sizeof(e->name));
    if (!name)
        return found;
    memcpy(name, e->name, sizeof(e->name));
    hd_import_desc import = e->target;
    import.name = *name ? name : NULL;
    import.initial_layout = import.final_layout;
    return hd_graph_import(graph, &import);
}

/* Imports are not handed from family to family between frames, and graphics alone copies depth and stencil. */
static hd_pin pin_of(const hd_graph *graph, hd_resource to)
{
    uint32_t res = hd_graph_resource_index(graph, to);
    const hdi_res_info *info = &graph->res_info[res];
    bool buffer = graph->res_flags[res] & HDI_RES_BUFFER;
    bool shared = info->sharing == HD_SHARING_CONCURRENT || (buffer && info->sharing == HD_SHARING_AUTO);
    return shared && (buffer || !hdi_format_aspects(info->format)) ? HD_PIN_TRANSFER : HD_PIN_GFX;
}

static void declare(hd_vk *vk, hd_graph *graph, uint64_t id, const hdi_vk_upload *e)
{
    hdi_arena *arena = &hdi_vk_help_now(vk, graph)->arena;
    hd_resource to = get_import(arena, graph, e);
    move *m = hdi_arena_alloc(arena, sizeof(*m));
    if (!m) {
        hdi_graph_fail(graph, HD_OUT_OF_MEMORY, HD_NONE, HD_NONE, HD_NONE, "what an upload keeps");
        return;
    }
    if (!to.id)
        return;
    const hdi_vk_chunk *ring = vk->uploads.ring;
    *m = (move){to, e->range, {ring->buffer, e->begin % ring->used, e->bytes}, id};
    hd_graph_pass(graph, &(hd_pass_desc){.name = "upload",
                                         .type = HD_PASS_TRANSFER,
                                         .pin = pin_of(graph, to),
                                         .record = record_move,
                                         .user = m,
                                         .uses = HD_USES({to, HD_TRANSFER_DST, .range = e->range})});
}

/* ---- choosing: the graph's thread ---- */

static bool is_free(const hd_vk *vk, const hdi_vk_upload *e, const hd_graph *graph)
{
    return e->state == WAITING || (e->state == DECLARED && !is_own(e, graph) &&
                                   (e->graph == graph || e->frame + HDI_VK_KEEP_FRAMES < vk->frame));
}

static bool same_target(const hd_import_desc *a, const hd_import_desc *b)
{
    return !a->bytes == !b->bytes && (a->bytes ? a->buffer == b->buffer : a->image == b->image);
}

/* Takes the first upload from *id on that is free, and of the target (null: of any); *id goes behind it. False: there
 * is none, or it has more than `left` bytes. */
static bool take(hd_vk *vk, const hd_graph *graph, const hd_import_desc *target, uint64_t end, uint64_t left,
                 uint64_t *id, hdi_vk_upload *out)
{
    hdi_vk_uploads *u = &vk->uploads;
    bool taken = false;
    pthread_mutex_lock(&u->lock);
    *id = *id > u->first ? *id : u->first;
    for (hdi_vk_upload *e; !taken && *id < end && (e = entry_of(u, *id)); ++*id) {
        if (!is_free(vk, e, graph) || (target && !same_target(&e->target, target)))
            continue;
        if (e->bytes > left)
            break;
        e->state = DECLARED;
        e->graph = graph;
        e->tag = graph->tag;
        e->frame = vk->frame;
        *out = *e;
        taken = true;
    }
    pthread_mutex_unlock(&u->lock);
    return taken;
}

/* Of a target, or any (null): those before `end`, the first one however large. */
static hd_result declare_all(hd_vk *vk, hd_graph *graph, const hd_import_desc *target, uint64_t end, uint64_t left)
{
    uint64_t id = 0, most = UINT64_MAX;
    for (hdi_vk_upload e; take(vk, graph, target, end, most, &id, &e); most = left) {
        declare(vk, graph, id - 1, &e);
        left -= e.bytes < left ? e.bytes : left;
    }
    return hd_graph_error(graph)->result;
}

/* What the frame that graph declares has so far. */
static uint64_t own_bytes(hdi_vk_uploads *u, const hd_graph *graph)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&u->lock);
    for (uint64_t id = u->first; id < u->next; id++)
        bytes += is_own(entry_of(u, id), graph) ? entry_of(u, id)->bytes : 0;
    pthread_mutex_unlock(&u->lock);
    return bytes;
}

hd_result hd_vk_upload_some(hd_vk *vk, hd_graph *graph, uint64_t bytes)
{
    if (!vk || !graph || graph->list)
        return HD_INVALID_ARGUMENT;
    if (bytes == 0 || hd_graph_error(graph)->result != HD_OK)
        return hd_graph_error(graph)->result;
    uint64_t own = own_bytes(&vk->uploads, graph);
    return declare_all(vk, graph, NULL, UINT64_MAX, own < bytes ? bytes - own : 0);
}

hd_result hd_vk_upload_now(hd_vk *vk, hd_graph *graph, hd_vk_token token)
{
    if (!vk || !graph || graph->list)
        return HD_INVALID_ARGUMENT;
    if (hd_graph_error(graph)->result != HD_OK)
        return hd_graph_error(graph)->result;
    hd_import_desc target = {0};
    pthread_mutex_lock(&vk->uploads.lock);
    const hdi_vk_upload *e = entry_of(&vk->uploads, token.id);
    bool known = token.id != 0 && token.id < vk->uploads.next && (!e || e->state != FILLING);
    if (known && e)
        target = e->target;
    pthread_mutex_unlock(&vk->uploads.lock);
    if (!known)
        return hdi_graph_fail(graph, HD_BAD_HANDLE, HD_NONE, HD_NONE, HD_NONE, "the token given to hd_vk_upload_now");
    return e ? declare_all(vk, graph, &target, token.id + 1, UINT64_MAX) : HD_OK;
}

void hdi_vk_uploads_commit(const hdi_vk_frame *frame)
{
    hdi_vk_uploads *u = &frame->vk->uploads;
    if (!u->ring)
        return;
    pthread_mutex_lock(&u->lock);
    for (uint64_t id = u->first; id < u->next; id++) {
        hdi_vk_upload *e = entry_of(u, id);
        if (!is_own(e, frame->graph))
            continue;
        e->state = PLANNED;
        e->frame = frame->vk->frame;
    }
    pthread_mutex_unlock(&u->lock);
}

/* ---- asking: any thread ---- */

static hd_vk_upload_state state_of(const hdi_vk_uploads *u, uint64_t id, uint64_t *frame)
{
    const hdi_vk_upload *e = entry_of(u, id);
    *frame = 0;
    if (!e)
        return id != 0 && id < u->next ? HD_VK_UPLOAD_DONE : HD_VK_UPLOAD_NONE;
    if (e->state < DECLARED)
        return HD_VK_UPLOAD_WAITING;
    if (is_over(u, e))
        return HD_VK_UPLOAD_DONE;
    *frame = e->frame;
    return HD_VK_UPLOAD_PLANNED;
}

hd_vk_upload_state hd_vk_upload_done(const hd_vk *vk, hd_vk_token token, uint64_t *frame)
{
    hdi_vk_uploads *u = vk ? (hdi_vk_uploads *)(uintptr_t)&vk->uploads : NULL;
    hd_vk_upload_state state = HD_VK_UPLOAD_NONE;
    uint64_t planned = 0;
    if (u) {
        pthread_mutex_lock(&u->lock);
        state = state_of(u, token.id, &planned);
        pthread_mutex_unlock(&u->lock);
    }
    if (frame)
        *frame = planned;
    return state;
}

hd_vk_upload_state hd_vk_upload_drop(hd_vk *vk, hd_vk_token token)
{
    uint64_t frame;
    if (!vk)
        return HD_VK_UPLOAD_NONE;
    pthread_mutex_lock(&vk->uploads.lock);
    hdi_vk_upload *e = entry_of(&vk->uploads, token.id);
    if (e && e->state == WAITING)
        e->state = DROPPED;
    hd_vk_upload_state state = state_of(&vk->uploads, token.id, &frame);
    pthread_mutex_unlock(&vk->uploads.lock);
    return state;
}
