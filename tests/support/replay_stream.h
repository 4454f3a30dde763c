/* Captured streams made by hand: a device, objects, commands, submits, as vk/capture/call.h describes them. In the
 * structures that calls are given, a handle is the number of an object (HDT_NUMBER). */
#ifndef HDT_REPLAY_STREAM_H
#define HDT_REPLAY_STREAM_H

#include <heddle/replay.h>

#include "capture/call.h"
#include "stream.h"

#define HDT_NUMBER(type, number) ((type)(uintptr_t)(number))

typedef struct hdt_maker {
    hd_stream *s;
    hdi_call_writer w;
} hdt_maker;

/* With an instance and a device: families of these flags, and one type of memory, which the host can see. */
hdt_maker hdt_maker_begin(const VkQueueFlags *families, uint32_t family_count);
/* Frees all but the stream. */
hd_stream *hdt_maker_end(hdt_maker *m);
/* What the writer holds, as data; as an object that a function made. */
uint32_t hdt_maker_data(hdt_maker *m);
uint32_t hdt_maker_object(hdt_maker *m, const char *function);
/* An object that a function made of one structure, which is the function's. */
uint32_t hdt_maker_plain(hdt_maker *m, const char *function, const void *info);
uint32_t hdt_maker_memory(hdt_maker *m, uint64_t bytes);
/* The object as it is with its memory. */
uint32_t hdt_maker_bind(hdt_maker *m, bool is_image, uint32_t object, uint32_t memory, uint64_t offset);
/* A resource of the stream, a buffer with memory at an offset; of resource_object the object. */
uint32_t hdt_maker_buffer(hdt_maker *m, const char *name, uint64_t bytes, uint32_t memory, uint64_t offset);
/* A colour image of 4 bytes a texel, one level and one layer. */
uint32_t hdt_maker_image(hdt_maker *m, const char *name, uint32_t width, uint32_t height);
uint32_t hdt_maker_queue(hdt_maker *m, hd_queue_kind kind, uint32_t family);
uint32_t hdt_maker_semaphore(hdt_maker *m, bool binary);

/* A submit, whose waits and signals (semaphore HD_NONE: none) stand here; commands follow. */
void hdt_maker_submit(hdt_maker *m, uint32_t queue, hd_stream_sync wait, hd_stream_sync signal);
/* A command with what the writer holds (data 0 where it holds nothing). */
hd_stream_command *hdt_maker_command(hdt_maker *m, hd_stream_kind kind, const char *name);
/* One with the arguments of its function. */
hd_stream_command *hdt_maker_call(hdt_maker *m, const char *name, const void *arguments);
hd_stream_access *hdt_maker_access(hdt_maker *m, uint32_t resource, uint64_t stages, uint64_t access);
hd_stream_barrier *hdt_maker_barrier(hdt_maker *m, uint32_t resource);
/* vkCmdClearColorImage with so much red, with its access. */
void hdt_maker_clear(hdt_maker *m, uint32_t image, float red, uint32_t layout);
/* Of a host queue, on the memory of a resource. */
void hdt_maker_write(hdt_maker *m, uint32_t memory, uint32_t resource, uint64_t offset, const void *bytes,
                     uint32_t count);
void hdt_maker_read(hdt_maker *m, uint32_t memory, uint32_t resource, uint64_t offset, uint64_t count, uint64_t hash);

#endif
