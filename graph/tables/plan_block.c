#include "plan_block.h"

#include <string.h>

#include "alloc.h"
#include "hash.h"

/* A plan is one block: a header with counts and offsets, then the tables, each 8-byte aligned, in the order of the
 * view. Unused bytes are zero, so that equal plans are equal bytes. */

#define PLAN_MAGIC 0x316e6c7064656864u /* "hdedpln1" as bytes */

/* Each table: what is counted in it, its field of the view, its rows. */
#define TABLES(X)                                                                                                      \
    X(queue, queues, hd_plan_queue)                                                                                    \
    X(culled, culled, uint32_t)                                                                                        \
    X(heap, heaps, hd_plan_heap)                                                                                       \
    X(resource, resources, hd_plan_resource)                                                                           \
    X(submit, submits, hd_plan_submit)                                                                                 \
    X(wait, waits, hd_plan_wait)                                                                                       \
    X(command, commands, hd_plan_command)                                                                              \
    X(batch, batches, hd_plan_batch)                                                                                   \
    X(barrier, barriers, hd_plan_barrier)                                                                              \
    X(scope, scopes, hd_plan_scope)                                                                                    \
    X(attachment, attachments, hd_plan_attachment)
#define NUMBER(row, field, type) TABLE_##row,
enum { TABLES(NUMBER) TABLE_COUNT };

struct hd_plan {
    uint64_t hash; /* first: it covers what follows */
    uint64_t magic;
    uint64_t bytes;
    hdi_plan_counts counts;
    uint32_t offset[TABLE_COUNT]; /* in units of 8 bytes */
};

static uint64_t layout(const hdi_plan_counts *counts, uint32_t *offset)
{
#define SIZE(row, field, type) (uint64_t)counts->row##_count * sizeof(type),
    const uint64_t sizes[TABLE_COUNT] = {TABLES(SIZE)};
    uint64_t at = (sizeof(hd_plan) + 7) / 8;
    for (int t = 0; t < TABLE_COUNT; t++) {
        if (offset)
            offset[t] = (uint32_t)at;
        at += (sizes[t] + 7) / 8;
    }
    return at * 8;
}

size_t hdi_plan_size(const hdi_plan_counts *counts)
{
    return (size_t)layout(counts, NULL);
}

/* The last 8 bytes of a table may hold padding; nothing else does: structs have none. */
static void clear_padding(unsigned char *block, const uint32_t *offset, uint64_t bytes)
{
    for (int t = 0; t < TABLE_COUNT; t++) {
        uint64_t end = t + 1 < TABLE_COUNT ? (uint64_t)offset[t + 1] * 8 : bytes;
        if (end > (uint64_t)offset[t] * 8)
            memset(block + end - 8, 0, 8);
    }
}

hd_plan *hdi_plan_begin(void *block, const hdi_plan_counts *counts)
{
    hd_plan *plan = block;
    memset(plan, 0, sizeof(*plan));
    plan->magic = PLAN_MAGIC;
    plan->counts = *counts;
    plan->bytes = layout(counts, plan->offset);
    clear_padding(block, plan->offset, plan->bytes);
    return plan;
}

/* No table grows, so each goes where it is to be before what stands behind it does. */
void hdi_plan_shrink(hd_plan *plan, uint32_t submit_count, uint32_t scope_count, uint32_t attachment_count)
{
    hdi_plan_counts *counts = &plan->counts;
    if (counts->submit_count == submit_count && counts->scope_count == scope_count &&
        counts->attachment_count == attachment_count)
        return;
    uint32_t from[TABLE_COUNT];
    memcpy(from, plan->offset, sizeof(from));
    counts->submit_count = submit_count;
    counts->scope_count = scope_count;
    counts->attachment_count = attachment_count;
    plan->bytes = layout(counts, plan->offset);
    uint64_t *block = (uint64_t *)(void *)plan;
    for (int t = TABLE_submit + 1; t < TABLE_COUNT; t++) {
        uint64_t end = t + 1 < TABLE_COUNT ? plan->offset[t + 1] : plan->bytes / 8;
        if (plan->offset[t] != from[t])
            memmove(block + plan->offset[t], block + from[t], (size_t)(end - plan->offset[t]) * 8);
    }
}

typedef struct hashing {
    const unsigned char *data;
    size_t bytes, each;
    uint64_t hash[HDI_MOST_PARTS];
} hashing;

static void hash_part(uint32_t part, void *user)
{
    hashing *h = user;
    size_t begin = part * h->each, end = begin + h->each < h->bytes ? begin + h->each : h->bytes;
    h->hash[part] = hdi_hash_bytes(h->data + begin, end - begin, part);
}

/* A large plan in pieces, by its size alone; its hash is that of theirs. */
void hdi_plan_finish_by(hd_plan *plan, const hdi_crew *crew)
{
    enum { PIECE = 1 << 16 };
    hashing h; /* not cleared: it is long */
    h.data = (const unsigned char *)&plan->magic;
    h.bytes = (size_t)plan->bytes - sizeof(plan->hash);
    size_t pieces = h.bytes / PIECE < HDI_MOST_PARTS ? h.bytes / PIECE + 1 : HDI_MOST_PARTS;
    h.each = (h.bytes / pieces + 64) & ~(size_t)63;
    uint32_t parts = (uint32_t)((h.bytes + h.each - 1) / h.each);
    hdi_crew_parts(crew, parts, hash_part, &h);
    plan->hash = parts == 1 ? h.hash[0] : hdi_hash_bytes(h.hash, parts * sizeof(*h.hash), 0);
}

hd_plan_view hd_plan_read(const hd_plan *plan)
{
    if (!plan)
        return (hd_plan_view){0};
    const hdi_plan_counts *c = &plan->counts;
    const uint64_t *base = (const uint64_t *)(const void *)plan;
#define VIEW(row, field, type) .row##_count = c->row##_count, .field = (const void *)(base + plan->offset[TABLE_##row]),
    return (hd_plan_view){.hash = plan->hash,
                          .bytes = plan->bytes,
                          .pass_count = c->pass_count,
                          .declared_resource_count = c->declared_resource_count,
                          TABLES(VIEW)};
}

void hdi_plan_finish(hd_plan *plan)
{
    hdi_plan_finish_by(plan, &(hdi_crew){.workers = 1});
}

const void *hd_plan_data(const hd_plan *plan, size_t *bytes)
{
    if (bytes)
        *bytes = plan ? (size_t)plan->bytes : 0;
    return plan;
}

void hd_plan_free(hd_plan *plan, const hd_allocator *allocator)
{
    if (plan)
        hdi_free(allocator, plan, (size_t)plan->bytes);
}

/* ---- signals ---- */

bool hdi_signals_list(hdi_signals *signals, const hd_plan_view *plan, hdi_arena *arena)
{
    uint32_t count[HD_MAX_QUEUES] = {0}, at = 0;
    signals->submit = HDI_ARENA_ARRAY(arena, uint32_t, plan->submit_count);
    if (!signals->submit)
        return false;
    for (uint32_t s = 0; s < plan->submit_count; s++)
        count[plan->submits[s].queue]++;
    for (uint32_t q = 0; q < plan->queue_count; at += count[q++])
        signals->begin[q] = signals->end[q] = at;
    for (uint32_t s = 0; s < plan->submit_count; s++) {
        uint32_t q = plan->submits[s].queue, *end = &signals->end[q];
        uint64_t most = *end == signals->begin[q] ? 0 : plan->submits[signals->submit[*end - 1]].signal_value;
        if (plan->submits[s].signal_value > most)
            signals->submit[(*end)++] = s;
    }
    return true;
}

uint32_t hdi_signals_find(const hdi_signals *signals, const hd_plan_view *plan, uint32_t queue, uint64_t value)
{
    if (queue >= plan->queue_count || value == 0)
        return HD_NONE;
    uint32_t low = signals->begin[queue], high = signals->end[queue];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->submits[signals->submit[middle]].signal_value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < signals->end[queue] ? signals->submit[low] : HD_NONE;
}
