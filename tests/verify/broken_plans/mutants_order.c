#include "mutants.h"

#include <stdlib.h>

/* Mutants of semaphores, submits and passes. */

#define ALL_COMMANDS UINT64_C(0x10000)
#define ITEM_OR_RETURN(at, wanted)                                                                                     \
    if ((at) >= sketch->item_count)                                                                                    \
        return HDT_NO_MORE;                                                                                            \
    if (sketch->items[at].kind != (wanted))                                                                            \
        return HDT_NOT_THERE;                                                                                          \
    hdt_item *item = &sketch->items[at];                                                                               \
    (void)item, (void)decl

/* ---- helpers ---- */

/* The next submit of the same queue; item_count: none. */
static uint32_t next_submit(const hdt_sketch *s, uint32_t item)
{
    uint32_t queue = hdt_sketch_queue(s, item);
    for (uint32_t i = item + 1; i < s->item_count; i++)
        if (s->items[i].kind == HDT_SUBMIT && s->items[i].index == queue)
            return i;
    return s->item_count;
}

static bool goes_on(const hdt_sketch *s, uint32_t at)
{
    const hdt_item *a = &s->items[at - 1], *b = &s->items[at];
    if (b->kind == HDT_BARRIER)
        return a->kind == HDT_BARRIER && b->joined;
    return a->kind == HDT_PASS && b->kind == HDT_PASS && a->scope != HD_NONE && a->scope == b->scope;
}

/* Behind the command (a whole barrier command, a whole rendering scope) that begins at an item. */
static uint32_t behind_command(const hdt_sketch *s, uint32_t at)
{
    for (at++; at < s->item_count && goes_on(s, at);)
        at++;
    return at;
}

static bool is_command(const hdt_sketch *s, uint32_t at)
{
    return at < s->item_count && (s->items[at].kind == HDT_PASS || s->items[at].kind == HDT_BARRIER);
}

/* The value next below or above one, among the signals of a queue; 0: none. */
static uint64_t other_value(const hdt_sketch *s, uint32_t queue, uint64_t value, bool above)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < s->item_count; i++) {
        uint64_t v = s->items[i].value;
        if (s->items[i].kind != HDT_SIGNAL || hdt_sketch_queue(s, i) != queue || (above ? v <= value : v >= value))
            continue;
        if (!found || (above ? v < found : v > found))
            found = v;
    }
    return found;
}

/* Without its bit of a number; of ALL_COMMANDS: only one stage that the queue has. */
static hdt_made weaken(uint64_t *stages, uint32_t kind, uint32_t number)
{
    static const uint64_t singles[] = {0x800, UINT64_C(1) << 32, 0x2, 0x400, 0x80, 0x300};
    if (kind == HD_QUEUE_HOST)
        return HDT_NOT_THERE;
    if (*stages & ALL_COMMANDS) {
        uint32_t first = kind == HD_QUEUE_TRANSFER ? 1 : 0, end = kind == HD_QUEUE_GFX       ? 6
                                                                  : kind == HD_QUEUE_COMPUTE ? 3
                                                                                             : 2;
        if (number + first >= end)
            return HDT_NOT_THERE;
        *stages = singles[first + number];
        return HDT_MADE;
    }
    if (number >= (uint32_t)__builtin_popcountll(*stages) || __builtin_popcountll(*stages) == 1)
        return HDT_NOT_THERE;
    uint64_t left = *stages;
    while (number--)
        left &= left - 1;
    *stages &= ~(left & -left);
    return HDT_MADE;
}

/* ---- waits ---- */

HDT_MUTANT_MAKER(hdt_drop_wait)
{
    ITEM_OR_RETURN(n, HDT_WAIT);
    hdt_sketch_delete(sketch, n);
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_lower_wait)
{
    ITEM_OR_RETURN(n, HDT_WAIT);
    uint64_t value = other_value(sketch, item->wait.queue, item->wait.value, false);
    if (value)
        item->wait.value = value;
    return value ? HDT_MADE : HDT_NOT_THERE;
}

HDT_MUTANT_MAKER(hdt_raise_wait)
{
    ITEM_OR_RETURN(n, HDT_WAIT);
    uint64_t value = other_value(sketch, item->wait.queue, item->wait.value, true);
    if (value)
        item->wait.value = value;
    return value ? HDT_MADE : HDT_NOT_THERE;
}

HDT_MUTANT_MAKER(hdt_weaken_wait)
{
    ITEM_OR_RETURN(n / 16, HDT_WAIT);
    return weaken(&item->wait.stages, sketch->queues[hdt_sketch_queue(sketch, n / 16)].kind, n % 16);
}

HDT_MUTANT_MAKER(hdt_wait_elsewhere)
{
    ITEM_OR_RETURN(n / HD_MAX_QUEUES, HDT_WAIT);
    uint32_t queue = n % HD_MAX_QUEUES, at = n / HD_MAX_QUEUES;
    if (queue == item->wait.queue || queue == hdt_sketch_queue(sketch, at))
        return HDT_NOT_THERE;
    for (uint32_t i = at; i-- > 0;)
        if (sketch->items[i].kind == HDT_SIGNAL && hdt_sketch_queue(sketch, i) == queue) {
            item->wait.queue = queue;
            item->wait.value = sketch->items[i].value;
            return HDT_MADE;
        }
    return HDT_NOT_THERE;
}

HDT_MUTANT_MAKER(hdt_later_wait)
{
    ITEM_OR_RETURN(n, HDT_WAIT);
    uint32_t at = n + 1;
    while (at < sketch->item_count && sketch->items[at].kind == HDT_WAIT)
        at++;
    if (!is_command(sketch, at))
        return HDT_NOT_THERE;
    hdt_sketch_move(sketch, n, behind_command(sketch, at));
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_earlier_wait)
{
    ITEM_OR_RETURN(n, HDT_WAIT);
    uint32_t submit = hdt_sketch_submit(sketch, n), queue = sketch->items[submit].index;
    for (uint32_t i = submit; i-- > 0;)
        if (sketch->items[i].kind == HDT_SUBMIT && sketch->items[i].index == queue) {
            hdt_sketch_move(sketch, n, i + 1);
            return HDT_MADE;
        }
    return HDT_NOT_THERE;
}

HDT_MUTANT_MAKER(hdt_wait_for_itself)
{
    ITEM_OR_RETURN(n, HDT_WAIT);
    uint32_t end = hdt_sketch_submit_end(sketch, n);
    if (sketch->items[end - 1].kind != HDT_SIGNAL)
        return HDT_NOT_THERE;
    item->wait.queue = hdt_sketch_queue(sketch, n);
    item->wait.value = sketch->items[end - 1].value;
    return HDT_MADE;
}

/* ---- signals ---- */

HDT_MUTANT_MAKER(hdt_drop_signal)
{
    ITEM_OR_RETURN(n, HDT_SIGNAL);
    hdt_sketch_delete(sketch, n);
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_earlier_signal)
{
    ITEM_OR_RETURN(n, HDT_SIGNAL);
    uint32_t at = n - 1;
    if (!is_command(sketch, at))
        return HDT_NOT_THERE;
    while (goes_on(sketch, at))
        at--;
    hdt_sketch_move(sketch, n, at);
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_later_signal)
{
    ITEM_OR_RETURN(n, HDT_SIGNAL);
    uint32_t next = next_submit(sketch, n);
    if (next == sketch->item_count)
        return HDT_NOT_THERE;
    uint32_t end = hdt_sketch_submit_end(sketch, next);
    if (sketch->items[end - 1].kind == HDT_SIGNAL)
        end--;
    hdt_sketch_move(sketch, n, end);
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_weaken_signal)
{
    ITEM_OR_RETURN(n / 16, HDT_SIGNAL);
    return weaken(&item->stages, sketch->queues[hdt_sketch_queue(sketch, n / 16)].kind, n % 16);
}

/* ---- submits ---- */

/* The next submit of the queue comes to this one, or this one to it. Of two signals the later one is kept. */
HDT_MUTANT_MAKER(hdt_merge_submits)
{
    uint32_t first = n / 2;
    ITEM_OR_RETURN(first, HDT_SUBMIT);
    uint32_t second = next_submit(sketch, first);
    if (second == sketch->item_count)
        return HDT_NOT_THERE;
    uint32_t first_end = hdt_sketch_submit_end(sketch, first), second_end = hdt_sketch_submit_end(sketch, second);
    bool at_second = n % 2,
         both = sketch->items[first_end - 1].kind == HDT_SIGNAL && sketch->items[second_end - 1].kind == HDT_SIGNAL;
    hdt_item *out = hdt_zeroed(sketch->item_count, sizeof(*out));
    uint32_t count = 0;
    for (uint32_t i = 0; i < sketch->item_count; i++) {
        if (i != (at_second ? second : first)) {
            if ((i < first || i >= first_end) && (i < second || i >= second_end))
                out[count++] = sketch->items[i];
            continue;
        }
        out[count++] = sketch->items[i];
        for (int kind = 0; kind < 3; kind++) /* waits, commands, signals */
            for (int half = 0; half < 2; half++)
                for (uint32_t k = (half ? second : first) + 1; k < (half ? second_end : first_end); k++) {
                    hdt_item_kind what = sketch->items[k].kind;
                    int its = what == HDT_WAIT ? 0 : what == HDT_SIGNAL ? 2 : 1;
                    if (its == kind && !(kind == 2 && half == 0 && both))
                        out[count++] = sketch->items[k];
                }
    }
    free(sketch->items);
    sketch->items = out;
    sketch->item_count = sketch->room = count;
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_cut_submit)
{
    if (n >= sketch->item_count)
        return HDT_NO_MORE;
    (void)decl;
    if (!is_command(sketch, n) || !is_command(sketch, n - 1) || goes_on(sketch, n))
        return HDT_NOT_THERE;
    hdt_sketch_insert(sketch, n, (hdt_item){.kind = HDT_SUBMIT, .index = hdt_sketch_queue(sketch, n)});
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_swap_submits)
{
    ITEM_OR_RETURN(n, HDT_SUBMIT);
    uint32_t middle = hdt_sketch_submit_end(sketch, n);
    if (middle == sketch->item_count)
        return HDT_NOT_THERE;
    uint32_t end = hdt_sketch_submit_end(sketch, middle);
    hdt_item *out = hdt_zeroed(end - n, sizeof(*out));
    for (uint32_t i = n; i < end; i++)
        out[i < middle ? i - n + (end - middle) : i - middle] = sketch->items[i];
    for (uint32_t i = n; i < end; i++)
        sketch->items[i] = out[i - n];
    free(out);
    return HDT_MADE;
}

/* ---- passes ---- */

static hdt_made swap_with(hdt_sketch *s, uint32_t at, uint32_t distance)
{
    uint32_t queue = hdt_sketch_queue(s, at);
    for (uint32_t i = at + 1; i < s->item_count; i++) {
        if (s->items[i].kind != HDT_PASS || hdt_sketch_queue(s, i) != queue || --distance)
            continue;
        hdt_item item = s->items[i];
        s->items[i] = s->items[at];
        s->items[at] = item;
        return HDT_MADE;
    }
    return HDT_NOT_THERE;
}

HDT_MUTANT_MAKER(hdt_swap_passes)
{
    ITEM_OR_RETURN(n, HDT_PASS);
    return swap_with(sketch, n, 1);
}

HDT_MUTANT_MAKER(hdt_swap_far_passes)
{
    ITEM_OR_RETURN(n / 4, HDT_PASS);
    return swap_with(sketch, n / 4, 2 + n % 4 * 2);
}

/* In a submit of its own behind the one that it stood in, with no wait and no signal. */
HDT_MUTANT_MAKER(hdt_move_pass)
{
    uint32_t at = n / HD_MAX_QUEUES, queue = n % HD_MAX_QUEUES;
    ITEM_OR_RETURN(at, HDT_PASS);
    if (queue >= sketch->queue_count || queue == hdt_sketch_queue(sketch, at) ||
        sketch->queues[queue].kind == HD_QUEUE_HOST || decl->pass_type[item->index] == HD_PASS_HOST)
        return HDT_NOT_THERE;
    uint32_t end = hdt_sketch_submit_end(sketch, at);
    hdt_sketch_move(sketch, at, end);
    hdt_sketch_insert(sketch, end - 1, (hdt_item){.kind = HDT_SUBMIT, .index = queue});
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_double_pass)
{
    ITEM_OR_RETURN(n, HDT_PASS);
    hdt_sketch_insert(sketch, n + 1, *item);
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_drop_pass)
{
    ITEM_OR_RETURN(n, HDT_PASS);
    hdt_sketch_delete(sketch, n);
    return HDT_MADE;
}

HDT_MUTANT_MAKER(hdt_cull_kept)
{
    ITEM_OR_RETURN(n, HDT_PASS);
    uint32_t pass = item->index, at = sketch->culled_count++;
    for (; at > 0 && sketch->culled[at - 1] > pass; at--)
        sketch->culled[at] = sketch->culled[at - 1];
    sketch->culled[at] = pass;
    hdt_sketch_delete(sketch, n);
    return HDT_MADE;
}

static bool can_run(uint32_t type, uint32_t kind)
{
    if (type == HD_PASS_COMPUTE)
        return kind == HD_QUEUE_GFX || kind == HD_QUEUE_COMPUTE;
    return type == HD_PASS_TRANSFER ? kind != HD_QUEUE_HOST
           : type == HD_PASS_GFX    ? kind == HD_QUEUE_GFX
                                    : kind == HD_QUEUE_HOST;
}

HDT_MUTANT_MAKER(hdt_keep_culled)
{
    if (n >= sketch->culled_count)
        return HDT_NO_MORE;
    uint32_t pass = sketch->culled[n];
    for (uint32_t q = 0; q < sketch->queue_count; q++) {
        if (!can_run(decl->pass_type[pass], sketch->queues[q].kind))
            continue;
        for (uint32_t i = n; i + 1 < sketch->culled_count; i++)
            sketch->culled[i] = sketch->culled[i + 1];
        sketch->culled_count--;
        hdt_sketch_insert(sketch, sketch->item_count, (hdt_item){.kind = HDT_SUBMIT, .index = q});
        hdt_sketch_insert(sketch, sketch->item_count, (hdt_item){.kind = HDT_PASS, .index = pass, .scope = HD_NONE});
        return HDT_MADE;
    }
    return HDT_NOT_THERE;
}

HDT_MUTANT_MAKER(hdt_wrong_cull)
{
    (void)decl;
    if (n >= sketch->culled_count)
        return HDT_NO_MORE;
    if ((n + 1 < sketch->culled_count && sketch->culled[n + 1] == sketch->culled[n] + 1) ||
        sketch->culled[n] + 1 == sketch->pass_count)
        return HDT_NOT_THERE;
    sketch->culled[n]++;
    return HDT_MADE;
}
