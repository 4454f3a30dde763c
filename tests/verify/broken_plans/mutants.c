#include "mutants.h"

/* The list of kinds, and those of barriers. Numbers of a kind go through the items (or rows) of the plan, and at each
 * one through its variants. */

enum { VARIANTS = 16 };

/* Those bits of an access mask that some stage of the mask can do: others are an error of their own. */
static uint64_t supported(uint64_t access, uint64_t stages)
{
    uint64_t can = stages >> 16 & 1 ? access & ~UINT64_C(0x6000) : 0; /* ALL_COMMANDS, without the host */
    for (int a = 1; a < HD_ACCESS_COUNT; a++)
        if (hdt_access_rows[a].stages & stages)
            can |= hdt_access_rows[a].access;
    return access & can;
}

/* Without its bit of this number; 0: it has fewer. */
static uint64_t without(uint64_t mask, uint32_t number)
{
    uint64_t left = mask;
    while (number-- && left)
        left &= left - 1;
    return left ? mask & ~(left & -left) : 0;
}

static bool is_transfer(const hd_plan_barrier *b)
{
    return b->src_family != b->dst_family;
}

static bool is_release(const hdt_sketch *s, uint32_t item)
{
    const hd_plan_barrier *b = &s->items[item].barrier;
    return is_transfer(b) && s->queues[hdt_sketch_queue(s, item)].family == b->src_family;
}

static bool is_acquire(const hdt_sketch *s, uint32_t item)
{
    return is_transfer(&s->items[item].barrier) && !is_release(s, item);
}

static bool is_transition(const hd_plan_barrier *b)
{
    return !is_transfer(b) && b->resource != HD_NONE && b->old_layout != b->new_layout;
}

static bool is_barrier(const hdt_sketch *s, uint32_t item)
{
    return s->items[item].kind == HDT_BARRIER;
}

#define BARRIER_OR_RETURN(item)                                                                                        \
    if ((item) >= sketch->item_count)                                                                                  \
        return HDT_NO_MORE;                                                                                            \
    if (!is_barrier(sketch, item))                                                                                     \
        return HDT_NOT_THERE;                                                                                          \
    hd_plan_barrier *b = &sketch->items[item].barrier;                                                                 \
    (void)b, (void)decl

/* ---- dropped ---- */

static HDT_MUTANT_MAKER(drop_memory)
{
    BARRIER_OR_RETURN(n);
    if (is_transfer(b) || is_transition(b))
        return HDT_NOT_THERE;
    hdt_sketch_delete(sketch, n);
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(drop_transition)
{
    BARRIER_OR_RETURN(n);
    if (!is_transition(b))
        return HDT_NOT_THERE;
    hdt_sketch_delete(sketch, n);
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(drop_release)
{
    BARRIER_OR_RETURN(n);
    if (!is_release(sketch, n))
        return HDT_NOT_THERE;
    hdt_sketch_delete(sketch, n);
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(drop_acquire)
{
    BARRIER_OR_RETURN(n);
    if (!is_acquire(sketch, n))
        return HDT_NOT_THERE;
    hdt_sketch_delete(sketch, n);
    return HDT_MADE;
}

/* The acquire of a release; item_count: none. */
static uint32_t other_half(const hdt_sketch *s, uint32_t release)
{
    const hd_plan_barrier *a = &s->items[release].barrier;
    for (uint32_t i = release + 1; i < s->item_count; i++) {
        const hd_plan_barrier *b = &s->items[i].barrier;
        if (is_barrier(s, i) && is_acquire(s, i) && a->resource == b->resource && a->range.offset == b->range.offset &&
            a->range.bytes == b->range.bytes && a->dst_family == b->dst_family)
            return i;
    }
    return s->item_count;
}

static HDT_MUTANT_MAKER(drop_transfer)
{
    BARRIER_OR_RETURN(n);
    uint32_t other = is_release(sketch, n) ? other_half(sketch, n) : sketch->item_count;
    if (other == sketch->item_count)
        return HDT_NOT_THERE;
    hdt_sketch_delete(sketch, other);
    hdt_sketch_delete(sketch, n);
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(drop_command)
{
    BARRIER_OR_RETURN(n);
    if (sketch->items[n].joined || n + 1 == sketch->item_count || !is_barrier(sketch, n + 1) ||
        !sketch->items[n + 1].joined)
        return HDT_NOT_THERE; /* one barrier alone is another kind */
    while (n + 1 < sketch->item_count && is_barrier(sketch, n + 1) && sketch->items[n + 1].joined)
        hdt_sketch_delete(sketch, n);
    hdt_sketch_delete(sketch, n);
    return HDT_MADE;
}

/* ---- scopes ---- */

static hdt_made drop_bit(uint64_t *stages, uint64_t *access, bool of_stages, uint32_t bit)
{
    uint64_t *mask = of_stages ? stages : access, now = without(*mask, bit);
    if (bit >= (uint32_t)__builtin_popcountll(*mask))
        return HDT_NOT_THERE;
    *mask = now;
    *access = of_stages ? supported(*access, *stages) : *access;
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(drop_src_stage)
{
    BARRIER_OR_RETURN(n / VARIANTS);
    return drop_bit(&b->src_stages, &b->src_access, true, n % VARIANTS);
}

static HDT_MUTANT_MAKER(drop_dst_stage)
{
    BARRIER_OR_RETURN(n / VARIANTS);
    return drop_bit(&b->dst_stages, &b->dst_access, true, n % VARIANTS);
}

static HDT_MUTANT_MAKER(drop_src_access)
{
    BARRIER_OR_RETURN(n / VARIANTS);
    return drop_bit(&b->src_stages, &b->src_access, false, n % VARIANTS);
}

static HDT_MUTANT_MAKER(drop_dst_access)
{
    BARRIER_OR_RETURN(n / VARIANTS);
    return drop_bit(&b->dst_stages, &b->dst_access, false, n % VARIANTS);
}

static HDT_MUTANT_MAKER(no_source)
{
    BARRIER_OR_RETURN(n);
    if (__builtin_popcountll(b->src_stages) < 2) /* one bit is dropped by itself */
        return HDT_NOT_THERE;
    b->src_stages = b->src_access = 0;
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(no_destination)
{
    BARRIER_OR_RETURN(n);
    if (__builtin_popcountll(b->dst_stages) < 2)
        return HDT_NOT_THERE;
    b->dst_stages = b->dst_access = 0;
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(no_access)
{
    BARRIER_OR_RETURN(n);
    if (!b->src_access || !b->dst_access)
        return HDT_NOT_THERE;
    b->src_access = b->dst_access = 0;
    return HDT_MADE;
}

/* One mip, layer or 256 bytes less, at either end. */
static HDT_MUTANT_MAKER(narrow_range)
{
    BARRIER_OR_RETURN(n / 4);
    if (b->resource == HD_NONE)
        return HDT_NOT_THERE;
    bool head = n % 4 & 1, second = n % 4 & 2;
    if (decl->res_flags[b->resource] & HDI_RES_BUFFER) {
        if (second || b->range.bytes <= 256)
            return HDT_NOT_THERE;
        b->range.bytes -= 256;
        b->range.offset += head ? 256 : 0;
    } else if (second) {
        if (b->range.layer_count < 2)
            return HDT_NOT_THERE;
        b->range.layer_count--;
        b->range.layer_base += head;
    } else {
        if (b->range.mip_count < 2)
            return HDT_NOT_THERE;
        b->range.mip_count--;
        b->range.mip_base += head;
    }
    return HDT_MADE;
}

/* A global barrier made one of the resource for whose sake it is there. */
static HDT_MUTANT_MAKER(narrow_to_resource)
{
    BARRIER_OR_RETURN(n);
    uint32_t res = b->reason_resource;
    if (b->resource != HD_NONE || res == HD_NONE)
        return HDT_NOT_THERE;
    const hdi_res_info *info = &decl->res_info[res];
    b->resource = res;
    b->range = (hd_range){0};
    if (decl->res_flags[res] & HDI_RES_BUFFER) {
        b->range.bytes = info->bytes;
    } else {
        b->range.mip_count = info->mips ? (uint16_t)info->mips : 1;
        b->range.layer_count = info->layers ? info->layers : 1;
    }
    return HDT_MADE;
}

/* ---- layouts ---- */

static const uint32_t layouts[] = {1, 2, 3, 4, 5, 6, 7};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

static bool has_layouts(const hd_plan_barrier *b, const hdi_decl *decl)
{
    return b->resource != HD_NONE && !(decl->res_flags[b->resource] & HDI_RES_BUFFER);
}

static HDT_MUTANT_MAKER(wrong_old_layout)
{
    BARRIER_OR_RETURN(n / LAYOUTS);
    uint32_t layout = layouts[n % LAYOUTS];
    if (!has_layouts(b, decl) || b->old_layout == layout)
        return HDT_NOT_THERE;
    b->old_layout = layout;
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(wrong_new_layout)
{
    BARRIER_OR_RETURN(n / LAYOUTS);
    uint32_t layout = layouts[n % LAYOUTS];
    if (!has_layouts(b, decl) || b->new_layout == layout)
        return HDT_NOT_THERE;
    b->new_layout = layout;
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(throw_content_away)
{
    BARRIER_OR_RETURN(n);
    if (!has_layouts(b, decl) || !b->old_layout)
        return HDT_NOT_THERE;
    b->old_layout = 0;
    return HDT_MADE;
}

/* ---- owners ---- */

static HDT_MUTANT_MAKER(swap_families)
{
    BARRIER_OR_RETURN(n);
    if (!is_transfer(b))
        return HDT_NOT_THERE;
    uint32_t family = b->src_family;
    b->src_family = b->dst_family;
    b->dst_family = family;
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(third_family)
{
    BARRIER_OR_RETURN(n / 2);
    if (!is_transfer(b))
        return HDT_NOT_THERE;
    uint32_t third = HD_NONE;
    for (uint32_t q = 0; q < sketch->queue_count; q++) {
        uint32_t family = sketch->queues[q].family;
        if (family != HD_NONE && family != b->src_family && family != b->dst_family)
            third = family;
    }
    if (third == HD_NONE)
        return HDT_NOT_THERE;
    *(n % 2 ? &b->src_family : &b->dst_family) = third;
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(no_transfer)
{
    BARRIER_OR_RETURN(n);
    if (!is_transfer(b))
        return HDT_NOT_THERE;
    b->src_family = b->dst_family = HD_NONE;
    return HDT_MADE;
}

/* ---- places ---- */

static bool same_scope(const hdt_sketch *s, uint32_t a, uint32_t b)
{
    return b < s->item_count && s->items[a].kind == HDT_PASS && s->items[b].kind == HDT_PASS &&
           s->items[a].scope != HD_NONE && s->items[a].scope == s->items[b].scope;
}

/* Behind the next pass or signal, or behind the waits of the next submit of its queue. */
static HDT_MUTANT_MAKER(later)
{
    BARRIER_OR_RETURN(n);
    uint32_t at = n + 1, queue = hdt_sketch_queue(sketch, n);
    while (at < sketch->item_count && is_barrier(sketch, at))
        at++;
    if (at < sketch->item_count && sketch->items[at].kind != HDT_SUBMIT) {
        while (same_scope(sketch, at, at + 1))
            at++;
        hdt_sketch_move(sketch, n, at + 1);
        return HDT_MADE;
    }
    while (at < sketch->item_count && (sketch->items[at].kind != HDT_SUBMIT || sketch->items[at].index != queue))
        at++;
    if (at++ >= sketch->item_count)
        return HDT_NOT_THERE;
    while (at < sketch->item_count && sketch->items[at].kind == HDT_WAIT)
        at++;
    hdt_sketch_move(sketch, n, at);
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(earlier)
{
    BARRIER_OR_RETURN(n);
    uint32_t at = n, queue = hdt_sketch_queue(sketch, n);
    while (is_barrier(sketch, at - 1))
        at--;
    if (sketch->items[at - 1].kind != HDT_SUBMIT) {
        for (at--; same_scope(sketch, at, at - 1) ||
                   (sketch->items[at].kind == HDT_WAIT && sketch->items[at - 1].kind == HDT_WAIT);)
            at--;
        hdt_sketch_move(sketch, n, at);
        return HDT_MADE;
    }
    for (at--; at-- > 0;)
        if (sketch->items[at].kind == HDT_SUBMIT && sketch->items[at].index == queue)
            break;
    if (at == UINT32_MAX)
        return HDT_NOT_THERE;
    at = hdt_sketch_submit_end(sketch, at);
    if (sketch->items[at - 1].kind == HDT_SIGNAL)
        at--;
    hdt_sketch_move(sketch, n, at);
    return HDT_MADE;
}

static HDT_MUTANT_MAKER(twice)
{
    BARRIER_OR_RETURN(n);
    if (!is_transition(b) && !is_transfer(b))
        return HDT_NOT_THERE;
    hdt_item again = sketch->items[n];
    again.joined = false;
    uint32_t at = n + 1;
    while (at < sketch->item_count && is_barrier(sketch, at) && sketch->items[at].joined)
        at++;
    hdt_sketch_insert(sketch, at, again);
    return HDT_MADE;
}

/* Elements of one command never chain with each other. */
static HDT_MUTANT_MAKER(join_commands)
{
    BARRIER_OR_RETURN(n);
    if (sketch->items[n].joined || n == 0 || !is_barrier(sketch, n - 1))
        return HDT_NOT_THERE;
    sketch->items[n].joined = true;
    return HDT_MADE;
}

const hdt_mutant_kind hdt_mutant_kinds[HDT_MUTANT_KINDS_MOST] = {
    {"memory barrier dropped", HDT_WEAKER, drop_memory, "race"},
    {"layout transition dropped", HDT_OTHER, drop_transition, "layout:"},
    {"release dropped", HDT_OTHER, drop_release, "ownership:"},
    {"acquire dropped", HDT_OTHER, drop_acquire, "ownership:"},
    {"release and acquire dropped", HDT_OTHER, drop_transfer, "ownership:"},
    {"barrier command of several dropped", HDT_OTHER, drop_command, "race"},
    {"source stage dropped", HDT_WEAKER, drop_src_stage, "race"},
    {"destination stage dropped", HDT_WEAKER, drop_dst_stage, "race"},
    {"source access dropped", HDT_WEAKER, drop_src_access, "race"},
    {"destination access dropped", HDT_WEAKER, drop_dst_access, "race"},
    {"no source scope", HDT_WEAKER, no_source, "race"},
    {"no destination scope", HDT_WEAKER, no_destination, "race"},
    {"no access", HDT_WEAKER, no_access, "race"},
    {"barrier's range narrowed", HDT_OTHER, narrow_range, "race"},
    {"global barrier of one resource", HDT_WEAKER, narrow_to_resource, "race"},
    {"wrong old layout", HDT_OTHER, wrong_old_layout, "layout:"},
    {"wrong new layout", HDT_OTHER, wrong_new_layout, "layout:"},
    {"content thrown away", HDT_OTHER, throw_content_away, "content:"},
    {"transfer's families swapped", HDT_OTHER, swap_families, "ownership:"},
    {"transfer with a third family", HDT_OTHER, third_family, "ownership:"},
    {"half of a transfer without families", HDT_OTHER, no_transfer, "ownership:"},
    {"barrier one slot later", HDT_OTHER, later, "race"},
    {"barrier one slot earlier", HDT_OTHER, earlier, "race"},
    {"transition or transfer done twice", HDT_OTHER, twice, "layout:"},
    {"two barrier commands made one", HDT_WEAKER, join_commands, "race"},
    {"wait dropped", HDT_WEAKER, hdt_drop_wait, "race"},
    {"wait for an earlier value", HDT_WEAKER, hdt_lower_wait, "race"},
    {"wait for a later value", HDT_STRONGER, hdt_raise_wait, "deadlock:"},
    {"wait's stages weakened", HDT_WEAKER, hdt_weaken_wait, "race"},
    {"wait for another queue", HDT_OTHER, hdt_wait_elsewhere, "race"},
    {"wait one slot later", HDT_WEAKER, hdt_later_wait, "race"},
    {"wait one submit earlier", HDT_STRONGER, hdt_earlier_wait, "wait"},
    {"wait for itself", HDT_OTHER, hdt_wait_for_itself, "deadlock:"},
    {"signal dropped", HDT_OTHER, hdt_drop_signal, "wait:"},
    {"signal one command earlier", HDT_WEAKER, hdt_earlier_signal, "race"},
    {"signal one submit later", HDT_STRONGER, hdt_later_signal, "wait"},
    {"signal's stages weakened", HDT_WEAKER, hdt_weaken_signal, "race"},
    {"two submits made one", HDT_OTHER, hdt_merge_submits, "wait"},
    {"submit cut in two", HDT_OTHER, hdt_cut_submit, NULL},
    {"two submits swapped", HDT_OTHER, hdt_swap_submits, "race"},
    {"two passes swapped", HDT_OTHER, hdt_swap_passes, "layout:"},
    {"two distant passes swapped", HDT_OTHER, hdt_swap_far_passes, "content:"},
    {"pass on another queue", HDT_OTHER, hdt_move_pass, "race"},
    {"pass twice", HDT_OTHER, hdt_double_pass, "twice"},
    {"pass dropped", HDT_OTHER, hdt_drop_pass, "missing"},
    {"kept pass culled", HDT_OTHER, hdt_cull_kept, "cull:"},
    {"culled pass kept", HDT_OTHER, hdt_keep_culled, "cull:"},
    {"another pass culled", HDT_OTHER, hdt_wrong_cull, "cull:"},
    {"placed over another", HDT_OTHER, hdt_put_over, "persistent"},
    {"place shifted by its alignment", HDT_OTHER, hdt_shift_place, "race"},
    {"place not aligned", HDT_OTHER, hdt_misalign, "alignment:"},
    {"a byte less memory", HDT_OTHER, hdt_shrink, "placement:"},
    {"in another heap", HDT_OTHER, hdt_other_heap, "placement:"},
    {"a byte less heap", HDT_OTHER, hdt_short_heap, "outside"},
    {"wrong final layout", HDT_OTHER, hdt_final_layout, "final state:"},
    {"wrong final family", HDT_OTHER, hdt_final_family, "final state:"},
    {"wrong first family", HDT_OTHER, hdt_first_family, "ownership:"},
    {"concurrent for exclusive, or reverse", HDT_OTHER, hdt_other_sharing, "ownership:"},
    {"attachment not loaded", HDT_OTHER, hdt_not_loaded, "rendering:"},
    {"attachment not stored", HDT_OTHER, hdt_not_stored, "content"},
    {"attachment stored in vain", HDT_STRONGER, hdt_stored_in_vain, "rendering:"},
    {"resolve left out or added", HDT_OTHER, hdt_wrong_resolve, "rendering:"},
    {"another use as attachment", HDT_OTHER, hdt_other_attachment, "rendering:"},
    {"rendering scope split", HDT_OTHER, hdt_split_scope, "rendering:"},
    {"rendering scopes joined", HDT_OTHER, hdt_join_scopes, "rendering:"},
};

uint32_t hdt_mutant_kind_count(void)
{
    uint32_t count = 0;
    while (hdt_mutant_kinds[count].name)
        count++;
    return count;
}
