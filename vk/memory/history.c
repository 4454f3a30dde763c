#include "history.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "vk_memory.h"

/* Histories, which live and die one by one. A plan says where a history and what it is of would lie; here each has
 * memory of its own instead, so that no other resource, plan or queue set moves it. It is known from frame to frame by
 * its key, or by the name of what it is of; those that have neither are told apart by their description and the order
 * of their declaration, and live as long as each frame has them.
 *
 * The two objects change places behind a frame that uses what the history is of. Behind any other frame both stay what
 * they are: the frame skips the history, which keeps what it held or becomes zero, as its declaration says. Where a
 * plan asks for another kind of object (a usage more, another sharing, memory for the host) the content is copied; a
 * usage that one plan asked for is kept, and a sharing where that does no harm, so that plans that take turns do not
 * copy again and again. Another shape is
 * another content: it begins with zero.
 *
 * Nothing of this counts before the frame has been handed over: what was made for a frame that failed goes again, and
 * what it would have replaced is still there. What its inits did to objects is noted when they have been submitted.
 *
 * Memory: a large history has a piece of its own, small ones share pieces that are filled from the front and freed once
 * none lives in them. A piece that is empty is taken again where it is not twice as large as it needs to be, so that
 * sizes that come and go ask for no memory.
 *
 * Cost: a comparison of keys or names a history and frame; in frames of another order as many as there are pairs. */

enum { SHARED_BYTES = 1 << 20, SMALL_BYTES = 1 << 18 };

/* ---- which one it is ---- */

static bool same_shape(const hdi_vk_key *a, const hdi_vk_key *b)
{
    hdi_vk_key x = *a, y = *b;
    x.usage = y.usage = 0;
    x.bits &= HDI_VK_KEY_BUFFER;
    y.bits &= HDI_VK_KEY_BUFFER;
    return memcmp(&x, &y, sizeof(x)) == 0;
}

/* How a declaration names a history. */
typedef struct identity {
    uint64_t id;
    const char *name;
    const hdi_vk_key *key;
} identity;

static identity identity_of(const hdi_vk_frame *frame, uint32_t i)
{
    const hdi_vk_kept_history *at = &frame->kept->histories[i];
    return (identity){frame->decl.res_import[at->res].serial, frame->decl.res_info[at->res].name,
                      &frame->kept->keys[at->plan != HDI_NONE ? at->plan : at->of]};
}

static bool is_named(const identity *wanted)
{
    return wanted->id || wanted->name;
}

static bool has_identity(const hd_vk *vk, const hdi_vk_history *h, const identity *wanted)
{
    if (h->retired || h->attempt == vk->attempt)
        return false;
    if (h->id || wanted->id)
        return h->id == wanted->id;
    return !h->name || !wanted->name ? h->name == wanted->name : strcmp(h->name, wanted->name) == 0;
}

/* From `first` on; of the same shape, or else one that has the name and is to be replaced. Null: none. */
static hdi_vk_history *find(const hd_vk *vk, uint32_t first, const identity *wanted)
{
    hdi_vk_history *other = NULL;
    for (uint32_t i = first; i < vk->history_count; i++) {
        hdi_vk_history *h = vk->histories[i];
        if (!has_identity(vk, h, wanted))
            continue;
        if (same_shape(&h->key, wanted->key))
            return h;
        other = other || !is_named(wanted) ? other : h;
    }
    return other;
}

hd_result hdi_vk_find_histories(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    uint32_t count = frame->kept->history_count, known = 0; /* known: so many stand where they stood */
    frame->histories = HDI_ARENA_ZEROED(&frame->slot->arena, hdi_vk_history *, count);
    frame->next_histories = HDI_ARENA_ARRAY(&frame->slot->arena, hdi_vk_history *, (size_t)vk->history_count + count);
    frame->inits = HDI_ARENA_ARRAY(&frame->slot->arena, hdi_vk_init, 2 * (size_t)count);
    if (frame->slot->arena.failed)
        return HD_OUT_OF_MEMORY;
    vk->attempt++;
    for (uint32_t i = 0; i < count; i++) {
        const identity wanted = identity_of(frame, i);
        hdi_vk_history *h = known == i && i < vk->history_count ? vk->histories[i] : NULL;
        if (h && has_identity(vk, h, &wanted) && same_shape(&h->key, wanted.key))
            known++;
        else
            h = find(vk, known, &wanted);
        if (h)
            h->attempt = vk->attempt;
        frame->histories[i] = h;
    }
    return HD_OK;
}

/* ---- memory ---- */

static uint64_t align_up(uint64_t bytes, uint64_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/* Where bytes would lie in a heap: the engine's memory begins anywhere. */
static uint64_t next_offset(const hdi_vk_heap *heap, uint64_t alignment)
{
    return align_up(heap->at.offset + (heap->histories ? heap->used : 0), alignment) - heap->at.offset;
}

/* The smallest heap of histories that has room; null: none. */
static hdi_vk_heap *find_room(const hd_vk *vk, uint32_t number, uint64_t bytes, uint64_t alignment)
{
    hdi_vk_heap *best = NULL;
    bool small = bytes <= SMALL_BYTES;
    for (uint32_t i = 0; i < vk->heap_count; i++) {
        hdi_vk_heap *heap = vk->heaps[i];
        if (!(heap->flags & HDI_VK_HEAP_HISTORIES) || heap->number != number || (heap->histories && !small) ||
            heap->bytes > (small ? SHARED_BYTES : 2 * bytes) || (best && best->bytes <= heap->bytes))
            continue;
        uint64_t offset = next_offset(heap, alignment);
        if (offset <= heap->bytes && bytes <= heap->bytes - offset)
            best = heap;
    }
    return best;
}

/* Both objects, one behind the other. */
static hd_result make_objects(const hdi_vk_frame *frame, hdi_vk_history *h, uint32_t res)
{
    hd_vk *vk = frame->vk;
    hd_memory_need need;
    hd_result result = hdi_vk_need_of(vk, &h->key, &need);
    if (result != HD_OK)
        return result;
    uint64_t each = align_up(need.bytes, need.alignment), offset;
    h->heap = find_room(vk, need.heap, 2 * each, need.alignment);
    if (!h->heap) {
        hdi_vk_heap like = {.bytes = 2 * each <= SMALL_BYTES ? SHARED_BYTES : 2 * each,
                            .number = need.heap,
                            .flags = HDI_VK_HEAP_HISTORIES};
        result = hdi_vk_make_heap(frame, &like, &h->heap);
    }
    if (result != HD_OK)
        return result;
    offset = next_offset(h->heap, need.alignment);
    for (uint32_t i = 0; i < 2 && result == HD_OK; i++) {
        result = hdi_vk_make_object(vk, &h->key, h->heap, offset + i * each, res, h->name, &h->objects[i]);
        if (result == HD_OK) {
            h->objects[i]->heap = h->heap;
            h->objects[i]->bytes = each;
        }
    }
    h->heap->last_frame = vk->frame;
    if (result == HD_OK) {
        h->heap->histories++;
        h->heap->used = offset + 2 * each;
    }
    return result;
}

static void free_history(hd_vk *vk, hdi_vk_history *h)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (h->objects[i])
            hdi_vk_destroy_object(vk, h->objects[i]);
    }
    if (h->name)
        hdi_free(&vk->allocator, h->name, strlen(h->name) + 1);
    hdi_free(&vk->allocator, h, sizeof(*h));
}

static hd_result make(const hdi_vk_frame *frame, uint32_t i, const hdi_vk_key *key, hdi_vk_history **out)
{
    hd_vk *vk = frame->vk;
    const identity wanted = identity_of(frame, i);
    hd_result result = hdi_grow(&vk->allocator, (void **)&vk->histories, &vk->history_capacity, vk->history_count + 1,
                                sizeof(*vk->histories));
    hdi_vk_history *h = result == HD_OK ? hdi_alloc(&vk->allocator, sizeof(*h), 64) : NULL;
    if (!h)
        return HD_OUT_OF_MEMORY;
    *h = (hdi_vk_history){.id = wanted.id,
                          .key = *key,
                          .serial = ++vk->object_serial,
                          .held = {{0, HD_NONE}, {0, HD_NONE}},
                          .last_frame = vk->frame,
                          .attempt = vk->attempt,
                          .fresh = true};
    if (wanted.name) {
        size_t bytes = strlen(wanted.name) + 1;
        h->name = hdi_alloc(&vk->allocator, bytes, 1);
        if (h->name)
            memcpy(h->name, wanted.name, bytes);
        else
            result = HD_OUT_OF_MEMORY;
    }
    if (result == HD_OK)
        result = make_objects(frame, h, frame->kept->histories[i].res);
    if (result != HD_OK) {
        free_history(vk, h);
        return result;
    }
    vk->histories[vk->history_count++] = h;
    *out = h;
    return HD_OK;
}

/* Its memory may be taken at once, as what comes there waits for what was there; its objects live on for a while. */
static void retire(hd_vk *vk, hdi_vk_history *h)
{
    h->retired = true;
    h->last_frame = h->heap->last_frame = vk->frame;
    h->heap->histories--;
}

/* ---- what a frame finds ---- */

static void tell(hd_vk *vk, const hdi_vk_history *h, bool warns, const char *why)
{
    char known[32] = "";
    if (h->id)
        snprintf(known, sizeof(known), " (key %llu)", (unsigned long long)h->id);
    hdi_log(&vk->log, warns ? HD_LOG_WARNING : HD_LOG_INFO, "history '%s'%s restarts: %s", h->name ? h->name : "",
            known, why);
}

static void set_why(hdi_vk_history *h, bool warns, const char *why)
{
    snprintf(h->why, sizeof(h->why), "%s", why);
    h->warns = warns;
}

/* What all families share also does for a plan that keeps it for one, and hands it to no other. */
static bool serves(const hdi_vk_frame *frame, uint32_t i, const hdi_vk_key *has, const hdi_vk_key *wanted)
{
    bool shared = hdi_vk_shares(frame->vk, has);
    return !((has->bits ^ wanted->bits) & HDI_VK_KEY_HOST) && (wanted->usage & ~has->usage) == 0 &&
           (shared == hdi_vk_shares(frame->vk, wanted) || (shared && !frame->kept->histories[i].moves));
}

/* Frames that skipped it, up to the one at hand. */
static uint64_t skipped_frames(const hd_vk *vk, const hdi_vk_history *h)
{
    return vk->frame - h->last_used - 1;
}

/* Whether what it holds is not to be found by the frame. */
static bool is_void(const hdi_vk_frame *frame, uint32_t i, const hdi_vk_history *h, char *why, size_t bytes)
{
    const hd_vk *vk = frame->vk;
    uint32_t skipped = frame->decl.res_import[frame->kept->histories[i].res].skipped;
    if (h->lost)
        snprintf(why, bytes, "a frame failed while it was prepared");
    else if (skipped == HD_SKIPPED_RESTART && !h->zero && skipped_frames(vk, h))
        snprintf(why, bytes, "frames skipped it (%llu)", (unsigned long long)skipped_frames(vk, h));
    return why[0] != 0;
}

/* Makes objects of the kind that the plan asks for, in place of those of `old` (null: none), and says whether they get
 * its content. */
static hd_result renew(const hdi_vk_frame *frame, uint32_t i, hdi_vk_history *old, const char *why,
                       hdi_vk_history **out, bool *copies)
{
    hd_vk *vk = frame->vk;
    const identity wanted = identity_of(frame, i);
    hdi_vk_key key = *wanted.key;
    bool goes_on = old && same_shape(&old->key, &key) && !why[0];
    hd_result result = HD_UNSUPPORTED;
    *copies = goes_on && hdi_vk_can_copy(vk, &key);
    if (*copies) {
        key.usage |= old->key.usage;
        result = make(frame, i, &key, out);
        key.usage = wanted.key->usage; /* a device may not have all of them together */
    }
    if (result == HD_UNSUPPORTED)
        result = make(frame, i, &key, out);
    if (result != HD_OK || !old)
        return result;
    hdi_vk_history *h = *out;
    h->replaces = old;
    h->turn = old->turn;
    h->last_used = old->last_used;
    h->zero = *copies && old->zero;
    if (why[0])
        set_why(h, old->lost, why);
    else if (!goes_on)
        set_why(h, false, "its size, format or flags changed");
    else if (!*copies)
        set_why(h, true, "a plan needs other images for it, and no queue can copy their texels");
    return HD_OK;
}

static bool has_family(const hd_vk *vk, uint32_t family)
{
    bool has = false;
    for (uint32_t f = 0; f < vk->family_count; f++)
        has |= vk->families[f] == family;
    return has;
}

/* How the plan takes the two for granted, by object. */
static void find_wanted(const hdi_vk_frame *frame, uint32_t i, const hdi_vk_history *h, hdi_vk_held want[2])
{
    const hd_vk *vk = frame->vk;
    const hdi_vk_kept_history *at = &frame->kept->histories[i];
    const hd_plan_resource *own = at->plan != HDI_NONE ? &frame->plan.resources[at->plan] : NULL;
    const hd_plan_resource *of = at->of != HDI_NONE ? &frame->plan.resources[at->of] : own;
    uint32_t first = own ? own->first_family : HD_NONE, left = of->final_family;
    if (first == HD_NONE)
        first = left;
    if (hdi_vk_shares(vk, &h->key))
        first = left = HD_NONE;
    want[h->turn] = (hdi_vk_held){of->final_layout, has_family(vk, left) ? left : HD_NONE};
    want[1 - h->turn] = (hdi_vk_held){of->final_layout, has_family(vk, first) ? first : HD_NONE};
}

static void add_init(hdi_vk_frame *frame, hdi_vk_history *h, uint32_t index, hdi_vk_held want, bool copies)
{
    frame->inits[frame->init_count++] =
        (hdi_vk_init){h, copies ? h->replaces : NULL, index, want, h->clears && !copies};
}

static hd_result bind(hdi_vk_frame *frame, uint32_t i)
{
    const hdi_vk_kept_history *at = &frame->kept->histories[i];
    hdi_vk_history *old = frame->histories[i], *h = old;
    char why[sizeof(h->why)] = "";
    bool copies = false, voids = old && is_void(frame, i, old, why, sizeof(why));
    const hdi_vk_key *wanted = identity_of(frame, i).key;
    if (!old || !same_shape(&old->key, wanted) || !serves(frame, i, &old->key, wanted)) {
        hd_result result = renew(frame, i, old, why, &h, &copies);
        if (result != HD_OK)
            return result;
        frame->histories[i] = h;
    } else if (voids) {
        set_why(h, h->lost, why);
    }
    h->clears = (h->fresh && !copies) || voids;
    hdi_vk_held want[2];
    find_wanted(frame, i, h, want);
    uint32_t index = 1 - h->turn;
    if (h->clears || copies) { /* the other one, too: a pass may write but parts of it */
        add_init(frame, h, index, want[index], copies);
        add_init(frame, h, h->turn, want[h->turn], copies);
    } else if (at->plan != HDI_NONE) {
        const hdi_vk_held *held = &h->held[index];
        bool moves = want[index].family != HD_NONE && held->family != HD_NONE && want[index].family != held->family;
        bool changes = h->objects[index]->image && want[index].layout != held->layout;
        if (want[index].family == HD_NONE)
            want[index].family = held->family;
        if (moves || changes)
            add_init(frame, h, index, want[index], false);
    }
    if (at->plan != HDI_NONE)
        frame->bound[frame->plan.resources[at->plan].id] = h->objects[index];
    if (at->of != HDI_NONE)
        frame->bound[frame->plan.resources[at->of].id] = h->objects[h->turn];
    return HD_OK;
}

hd_result hdi_vk_bind_histories(hdi_vk_frame *frame)
{
    hd_result result = HD_OK;
    for (uint32_t i = 0; i < frame->kept->history_count && result == HD_OK; i++)
        result = bind(frame, i);
    return result;
}

/* ---- what it leaves ---- */

static void leave(hdi_vk_held *held, const hd_plan_resource *by, bool shared)
{
    held->layout = by->final_layout;
    if (shared)
        held->family = HD_NONE;
    else if (by->final_family != HD_NONE)
        held->family = by->final_family;
}

static void commit(const hdi_vk_frame *frame, uint32_t i)
{
    hd_vk *vk = frame->vk;
    const hdi_vk_kept_history *at = &frame->kept->histories[i];
    hdi_vk_history *h = frame->histories[i];
    bool shared = hdi_vk_shares(vk, &h->key);
    if (h->replaces)
        retire(vk, h->replaces);
    if (h->why[0])
        tell(vk, h, h->warns, h->why);
    h->zero = h->zero || h->clears;
    if (at->plan != HDI_NONE)
        leave(&h->held[1 - h->turn], &frame->plan.resources[at->plan], shared);
    if (at->used) {
        leave(&h->held[h->turn], &frame->plan.resources[at->of], shared);
        h->turn = 1 - h->turn;
        h->last_used = vk->frame;
        h->zero = false;
    }
    h->last_frame = vk->frame;
    h->replaces = NULL;
    h->why[0] = 0;
    h->fresh = h->clears = h->lost = false;
}

void hdi_vk_commit_histories(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    uint32_t count = frame->kept->history_count;
    for (uint32_t i = 0; i < count; i++) {
        commit(frame, i);
        frame->next_histories[i] = frame->histories[i];
    }
    for (uint32_t i = 0; i < vk->history_count; i++) {
        hdi_vk_history *h = vk->histories[i];
        if (!h->retired && h->attempt == vk->attempt)
            continue;
        if (!h->retired && !h->id && !h->name) {
            retire(vk, h);
            tell(vk, h, false, "a frame skipped it, and it has neither a key nor a name to be known by");
        }
        frame->next_histories[count++] = h;
    }
    if (count)
        memcpy(vk->histories, frame->next_histories, count * sizeof(*vk->histories));
}

void hdi_vk_revert_histories(hd_vk *vk)
{
    for (uint32_t i = 0; i < vk->history_count; i++) {
        hdi_vk_history *h = vk->histories[i];
        if (h->fresh && !h->retired)
            retire(vk, h);
        h->why[0] = 0;
        h->clears = false;
        h->replaces = NULL;
    }
}

/* ---- what goes ---- */

static void free_retired(hd_vk *vk, uint64_t age)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < vk->history_count; i++) {
        hdi_vk_history *h = vk->histories[i];
        if (h->retired && (age == 0 || h->last_frame + age < vk->frame))
            free_history(vk, h);
        else
            vk->histories[kept++] = h;
    }
    vk->history_count = kept;
}

void hdi_vk_sweep_histories(hd_vk *vk, uint64_t age)
{
    for (uint32_t i = 0; i < vk->history_count; i++) {
        hdi_vk_history *h = vk->histories[i];
        if (h->retired || (age && h->last_frame + age >= vk->frame))
            continue;
        if (age) {
            char why[sizeof(h->why)];
            snprintf(why, sizeof(why), "%s after %llu frames that skipped it",
                     age == HDI_VK_HISTORY_FRAMES ? "it goes" : "memory was trimmed",
                     (unsigned long long)(vk->frame - 1 - h->last_frame));
            tell(vk, h, false, why);
        }
        retire(vk, h);
    }
    free_retired(vk, age ? vk->slot_count : 0);
}

void hdi_vk_drop_other_histories(hd_vk *vk)
{
    for (uint32_t i = 0; i < vk->history_count; i++) {
        hdi_vk_history *h = vk->histories[i];
        if (h->retired || h->attempt == vk->attempt)
            continue;
        tell(vk, h, true, "the device has no memory left, and frames skip it");
        retire(vk, h);
    }
    free_retired(vk, 0);
}
