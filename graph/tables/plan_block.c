#include "plan_block.h"

#include <string.h>

#include "alloc.h"
#include "hash.h"

/* A plan is one block: a header with counts and offsets, then the tables, each 8-byte aligned, in the order of the
 * view. Unused bytes are zero, so that equal plans are equal bytes. */

#define PLAN_MAGIC 0x316e6c7064656864u /* "hdedpln1" as bytes */

enum {
    QUEUES,
    CULLED,
    HEAPS,
    RESOURCES,
    SUBMITS,
    WAITS,
    COMMANDS,
    BATCHES,
    BARRIERS,
    SCOPES,
    ATTACHMENTS,
    TABLE_COUNT
};

struct hd_plan {
    uint64_t hash; /* first: it covers what follows */
    uint64_t magic;
    uint64_t bytes;
    hdi_plan_counts counts;
    uint32_t offset[TABLE_COUNT]; /* in units of 8 bytes */
};

static uint64_t layout(const hdi_plan_counts *counts, uint32_t *offset)
{
    const uint64_t sizes[TABLE_COUNT] = {
        [QUEUES] = (uint64_t)counts->queue_count * sizeof(hd_plan_queue),
        [CULLED] = (uint64_t)counts->culled_count * sizeof(uint32_t),
        [HEAPS] = (uint64_t)counts->heap_count * sizeof(hd_plan_heap),
        [RESOURCES] = (uint64_t)counts->resource_count * sizeof(hd_plan_resource),
        [SUBMITS] = (uint64_t)counts->submit_count * sizeof(hd_plan_submit),
        [WAITS] = (uint64_t)counts->wait_count * sizeof(hd_plan_wait),
        [COMMANDS] = (uint64_t)counts->command_count * sizeof(hd_plan_command),
        [BATCHES] = (uint64_t)counts->batch_count * sizeof(hd_plan_batch),
        [BARRIERS] = (uint64_t)counts->barrier_count * sizeof(hd_plan_barrier),
        [SCOPES] = (uint64_t)counts->scope_count * sizeof(hd_plan_scope),
        [ATTACHMENTS] = (uint64_t)counts->attachment_count * sizeof(hd_plan_attachment),
    };
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
    for (int t = SUBMITS + 1; t < TABLE_COUNT; t++) {
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
    return (hd_plan_view){
        .hash = plan->hash,
        .bytes = plan->bytes,
        .pass_count = c->pass_count,
        .declared_resource_count = c->declared_resource_count,
        .queue_count = c->queue_count,
        .culled_count = c->culled_count,
        .heap_count = c->heap_count,
        .resource_count = c->resource_count,
        .submit_count = c->submit_count,
        .wait_count = c->wait_count,
        .command_count = c->command_count,
        .batch_count = c->batch_count,
        .barrier_count = c->barrier_count,
        .scope_count = c->scope_count,
        .attachment_count = c->attachment_count,
        .queues = (const void *)(base + plan->offset[QUEUES]),
        .culled = (const void *)(base + plan->offset[CULLED]),
        .heaps = (const void *)(base + plan->offset[HEAPS]),
        .resources = (const void *)(base + plan->offset[RESOURCES]),
        .submits = (const void *)(base + plan->offset[SUBMITS]),
        .waits = (const void *)(base + plan->offset[WAITS]),
        .commands = (const void *)(base + plan->offset[COMMANDS]),
        .batches = (const void *)(base + plan->offset[BATCHES]),
        .barriers = (const void *)(base + plan->offset[BARRIERS]),
        .scopes = (const void *)(base + plan->offset[SCOPES]),
        .attachments = (const void *)(base + plan->offset[ATTACHMENTS]),
    };
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
