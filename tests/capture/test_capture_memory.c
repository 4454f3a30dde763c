#include "capture_device.h"

#include "hash.h"
#include "random.h"

/* What the host and the device write to mapped memory, and what the host reads there. */

TestSuite(capture_memory, .init = begin_test, .fini = end_test);

/* What the memory holds when a stream is replayed: fills of the device when they are submitted. Checks the hashes of
 * what the host read. */
static uint32_t replay_memory(const hd_stream *s, uint8_t bytes[BYTES])
{
    uint32_t reads = 0;
    memset(bytes, 0, BYTES);
    for (uint32_t i = 0; i < s->command_count; i++) {
        const hd_stream_command *x = &s->commands[i];
        const hd_stream_access *a = &s->accesses[x->begin];
        hdi_call_reader r = reader_of(s, x->data);
        if (strcmp(name_of(s, x), "host write") == 0) {
            uint64_t offset;
            memcpy(&offset, r.bytes, sizeof(offset));
            cr_assert(offset + r.byte_count - 8 <= BYTES);
            memcpy(bytes + offset, r.bytes + 8, r.byte_count - 8);
            for (uint32_t k = 0; k < x->count; k++)
                cr_expect(a[k].flags == HD_STREAM_OBSERVED && a[k].access == VK_ACCESS_2_HOST_WRITE_BIT);
        } else if (strcmp(name_of(s, x), "host read") == 0) {
            uint64_t is[3];
            cr_assert_eq(r.byte_count, sizeof(is));
            memcpy(is, r.bytes, sizeof(is));
            cr_expect_eq(is[2], hdi_hash_bytes(bytes + is[0], is[1], 0), "read of %llu bytes at %llu",
                         (unsigned long long)is[1], (unsigned long long)is[0]);
            cr_expect(x->count && a->flags == HD_STREAM_OBSERVED && a->access == VK_ACCESS_2_HOST_READ_BIT);
            reads++;
        } else {
            const hd_stream_resource *res = &s->resources[a->resource];
            memset(bytes + res->offset + a->range.offset, 0xf0, a->range.bytes);
        }
    }
    return reads;
}

typedef struct range {
    uint64_t begin, end, value; /* value: of the semaphore when the device has written */
} range;

/* Host and device write here and there, the host never where the device may be writing. What the stream has of it gives
 * the same content. */
static void random_writes(uint64_t seed, unsigned *reads)
{
    enum { A = 1024, A_BYTES = 30000, B = 40000, B_BYTES = 20000, ROUNDS = 60 };
    uint64_t random = seed, value = 0;
    range pending[ROUNDS];
    uint32_t pending_count = 0;
    void *mapped;
    finished = 0;
    open_device();
    allocate(1);
    for (uint32_t i = 0; i < BYTES; i++)
        cr_assert_eq(content[i], 0, "memory begins as zeros");
    VkBuffer buffers[2] = {make_buffer(A, A_BYTES), make_buffer(B, B_BYTES)};
    VkSemaphore semaphore = make_timeline();
    CALL(vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t n = hdt_below(&random, 4); n-- > 0;) { /* of the host */
            uint64_t begin = hdt_below(&random, BYTES), bytes = 1 + hdt_below(&random, n ? 300 : 3);
            bool free = begin + bytes <= BYTES;
            for (uint32_t k = 0; k < pending_count; k++)
                free &= pending[k].begin >= begin + bytes || pending[k].end <= begin;
            for (uint64_t k = begin; k < begin + bytes && free; k++)
                content[k] = (uint8_t)hdt_random(&random);
        }
        if (hdt_below(&random, 2)) { /* the device gets more to do */
            uint32_t which = hdt_below(&random, 2);
            uint64_t from = which ? B : A, offset = 4 * hdt_below(&random, 4000),
                     bytes = 4 + 4 * hdt_below(&random, 60);
            range w = {from + offset, from + offset + bytes, ++value};
            bool free = true;
            CALL(vkBeginCommandBuffer)(COMMANDS, NULL);
            for (uint32_t k = 0; k < pending_count; k++)
                free &= pending[k].begin >= w.end || pending[k].end <= w.begin;
            if (free) {
                CALL(vkCmdFillBuffer)(COMMANDS, buffers[which], offset, bytes, 0);
                pending[pending_count++] = w;
            }
            submit(semaphore, value);
        }
        while (finished < value && hdt_below(&random, 2)) { /* the device does something */
            finished++;
            for (uint32_t k = 0; k < pending_count; k++) {
                if (pending[k].value == finished)
                    memset(content + pending[k].begin, 0xf0, pending[k].end - pending[k].begin);
            }
        }
        if (hdt_below(&random, 3) == 0) { /* the host learns of it */
            uint64_t is;
            CALL(vkGetSemaphoreCounterValue)(device, semaphore, &is);
            uint32_t kept = 0;
            for (uint32_t k = 0; k < pending_count; k++) {
                if (pending[k].value > finished)
                    pending[kept++] = pending[k];
            }
            pending_count = kept;
        }
    }
    for (uint32_t k = 0; k < pending_count; k++)
        memset(content + pending[k].begin, 0xf0, pending[k].end - pending[k].begin);
    finished = value;
    CALL(vkUnmapMemory)(device, memory);
    static uint8_t again[BYTES];
    hd_stream *s = close_device();
    cr_expect_eq(hd_stream_verify(s, NULL), HD_OK);
    *reads += replay_memory(s, again);
    cr_expect_eq(memcmp(again, content, BYTES), 0, "HEDDLE_SEED=%llu", (unsigned long long)seed);
    hd_stream_free(s);
}

Test(capture_memory, host_writes)
{
    unsigned reads = 0;
    uint64_t seed = hdt_seed();
    for (int i = 0; i < 100; i++)
        random_writes(seed + (uint64_t)i, &reads);
    cr_expect(reads > 500, "%u", reads);
}

/* Spans are what the host wrote: gaps of less than 64 bytes between are closed. */
Test(capture_memory, spans)
{
    uint8_t *mapped;
    open_device();
    allocate(1);
    make_buffer(100, 50);
    CALL(vkMapMemory)(device, memory, 64, VK_WHOLE_SIZE, 0, (void **)&mapped);
    content[110] = content[120] = content[184] = 1; /* 63 bytes between the last two */
    content[249] = 2;                               /* 64 */
    submit(VK_NULL_HANDLE, 0);
    submit(VK_NULL_HANDLE, 0);
    content[4095] = content[4096] = 3;
    CALL(vkUnmapMemory)(device, memory);
    hd_stream *s = close_device();
    cr_assert_eq(count_of(s, "host write"), 3);
    static const uint64_t spans[3][2] = {{110, 185}, {249, 250}, {4095, 4097}};
    for (uint32_t i = 0; i < 3; i++) {
        const hd_stream_command *x = command_of(s, "host write", i);
        const hd_stream_data *d = &s->datas[x->data];
        uint64_t offset;
        memcpy(&offset, s->bytes + d->byte_begin, sizeof(offset));
        cr_expect_eq(offset, spans[i][0]);
        cr_expect_eq(offset + d->byte_count - 8, spans[i][1]);
        cr_expect_eq(x->count, i == 0, "the bytes behind the buffer have no access");
    }
    const hd_range *cut = &s->accesses[command_of(s, "host write", 0)->begin].range;
    cr_expect(cut->offset == 10 && cut->bytes == 40, "cut to the buffer");
    hd_stream_free(s);
}

/* What the device writes to memory that is mapped only later can be read then. */
Test(capture_memory, mapped_later)
{
    void *mapped;
    static uint8_t again[BYTES];
    open_device();
    allocate(1);
    VkBuffer buffer = make_buffer(128, 1024);
    VkSemaphore semaphore = make_timeline();
    finished = 0;
    for (uint64_t i = 1; i < 4; i++) {
        CALL(vkBeginCommandBuffer)(COMMANDS, NULL);
        CALL(vkCmdFillBuffer)(COMMANDS, buffer, 8, 16, 0);
        submit(semaphore, i);
        memset(content + 128 + 8, 0xf0, 16);
    }
    finished = 3;
    CALL(vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    hd_stream *s = close_device();
    cr_expect_eq(replay_memory(s, again), 1);
    cr_expect_eq(count_of(s, "host write"), 0);
    hd_stream_free(s);
}

/* A semaphore that goes had its submit finished. */
Test(capture_memory, semaphore_goes)
{
    void *mapped;
    uint64_t is;
    open_device();
    allocate(1);
    VkBuffer buffer = make_buffer(0, 1024);
    VkSemaphore semaphore = make_timeline(), other = make_timeline();
    finished = 0;
    CALL(vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    CALL(vkCmdFillBuffer)(COMMANDS, buffer, 8, 16, 0);
    submit(semaphore, 7);
    memset(content + 8, 0xf0, 16);
    CALL(vkDestroySemaphore)(device, semaphore, NULL);
    finished = 1;
    gone = semaphore;
    CALL(vkGetSemaphoreCounterValue)(device, other, &is);
    hd_stream *s = close_device();
    cr_expect_eq(count_of(s, "host read"), 1);
    hd_stream_free(s);
}

/* Semaphores of a device that is gone are not asked, either. */
Test(capture_memory, device_goes)
{
    open_device();
    gone = make_timeline();
    finished = 0;
    submit(gone, 1);
    CALL(vkDestroyDevice)(device, NULL);
    CALL(vkCreateDevice)
    (NULL, &(VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO}, NULL, &device);
    finished = 1;
    CALL(vkGetSemaphoreCounterValue)(device, make_timeline(), &(uint64_t){0});
    hd_stream *s = close_device();
    cr_expect_eq(objects_of(s, "vkCreateDevice"), 1, "the one that was made last");
    hd_stream_free(s);
}

static VkImage make_image(VkImageTiling tiling, uint64_t offset)
{
    VkImage image;
    CALL(vkCreateImage)
    (device,
     &(VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                          .format = VK_FORMAT_R8_UNORM,
                          .mipLevels = 1,
                          .arrayLayers = 1,
                          .tiling = tiling},
     NULL, &image);
    CALL(vkBindImageMemory)(device, image, memory, offset);
    return image;
}

/* Images in mapped memory: what the device writes to them is no write of the host's, and of those whose texels lie in
 * lines the host reads and writes texels. */
Test(capture_memory, images)
{
    void *mapped;
    open_device();
    allocate(1);
    VkImage tiled = make_image(VK_IMAGE_TILING_OPTIMAL, 0), lines = make_image(VK_IMAGE_TILING_LINEAR, 4096),
            made_ready = make_image(VK_IMAGE_TILING_OPTIMAL, 8192);
    const VkImageMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                           .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                           .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                           .image = made_ready,
                                           .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VkSemaphore semaphore = make_timeline();
    finished = 0;
    CALL(vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    content[4100] = 7;
    clear(tiled);
    clear(lines);
    CALL(vkCmdPipelineBarrier2)
    (COMMANDS, &(VkDependencyInfo){.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &barrier});
    submit(semaphore, 1);
    memset(content, 1, 1024);
    memset(content + 8192, 3, 100);
    memset(content + 4096, 2, 1024);
    submit(semaphore, 2); /* the same again */
    finished = 2;
    CALL(vkGetSemaphoreCounterValue)(device, semaphore, &(uint64_t){0});
    CALL(vkUnmapMemory)(device, memory);
    hd_stream *s = close_device();
    cr_assert_eq(count_of(s, "host write"), 1);
    cr_assert_eq(count_of(s, "host read"), 1);
    const hd_stream_command *write = command_of(s, "host write", 0), *read = command_of(s, "host read", 0);
    const hd_stream_access *w = &s->accesses[write->begin], *r = &s->accesses[read->begin];
    cr_assert(write->count == 1 && read->count == 1);
    cr_expect(w->resource == r->resource && w->access == VK_ACCESS_2_HOST_WRITE_BIT &&
              w->layout == VK_IMAGE_LAYOUT_GENERAL && w->range.mip_count == 1);
    hdi_call_reader reader = reader_of(s, s->objects[s->resources[r->resource].object].data);
    cr_expect_eq(reader.ref_count, 2, "an image that has memory");
    hd_stream_free(s);
}

/* A fence tells of its submit, and so does that it was given to another one. */
Test(capture_memory, fences)
{
    void *mapped;
    VkFence fence;
    open_device();
    allocate(1);
    VkBuffer a = make_buffer(0, 1024), b = make_buffer(1024, 1024);
    CALL(vkCreateFence)(device, &(VkFenceCreateInfo){.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO}, NULL, &fence);
    CALL(vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    finished = 0;
    CALL(vkCmdFillBuffer)(COMMANDS, a, 0, 16, 0);
    submit_with(VK_NULL_HANDLE, 0, fence);
    memset(content, 0xf0, 16);
    CALL(vkBeginCommandBuffer)(COMMANDS, NULL);
    CALL(vkCmdFillBuffer)(COMMANDS, b, 0, 16, 0);
    CALL(vkGetFenceStatus)(device, fence); /* not yet */
    submit_with(VK_NULL_HANDLE, 0, fence);
    CALL(vkUnmapMemory)(device, memory);
    CALL(vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped); /* looks: the first is done */
    memset(content + 1024, 0xf0, 16);
    finished = 1;
    CALL(vkGetFenceStatus)(device, fence);
    static uint8_t again[BYTES];
    hd_stream *s = close_device();
    cr_expect_eq(replay_memory(s, again), 2);
    cr_expect_eq(count_of(s, "host write"), 0);
    hd_stream_free(s);
}

/* What memory that comes from elsewhere holds stays there. */
Test(capture_memory, imported)
{
    VkImportMemoryHostPointerInfoEXT import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT};
    open_device();
    CALL(vkAllocateMemory)
    (device, &(VkMemoryAllocateInfo){VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &import, BYTES, 1}, NULL, &memory);
    cr_expect_eq(content[0], 0xcd);
    hd_stream_free(close_device());
}

/* Each call that hands what the host wrote to the device looks for it. */
Test(capture_memory, looks)
{
    void *mapped;
    open_device();
    allocate(1);
    VkSemaphore semaphore = make_timeline();
    CALL(vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    content[0] = 1;
    CALL(vkFlushMappedMemoryRanges)(device, 0, NULL);
    content[0] = 2;
    CALL(vkSignalSemaphore)(device, &(VkSemaphoreSignalInfo){.semaphore = semaphore, .value = 1});
    content[0] = 3;
    submit(VK_NULL_HANDLE, 0);
    content[0] = 4;
    CALL(vkUnmapMemory)(device, memory);
    hd_stream *s = close_device();
    cr_assert_eq(count_of(s, "host write"), 4);
    for (uint32_t i = 0; i < 4; i++) {
        const hd_stream_data *data = &s->datas[command_of(s, "host write", i)->data];
        cr_expect(data->byte_count == 9 && s->bytes[data->byte_begin + 8] == i + 1);
    }
    hd_stream_free(s);
}
