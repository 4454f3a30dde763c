/* Streams of captured commands: how their arrays grow, and their leaves as fields of a file. */
#ifndef HDI_STREAM_H
#define HDI_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include <heddle/stream.h>

#include "alloc.h"

#define HDI_STREAM_MAX_QUEUES (HD_MAX_QUEUES - 1)

/* An element behind the last one of an array of the stream, zeroed; null: no memory. */
hd_stream *hdi_stream_make(const hd_allocator *allocator);
hd_stream_queue *hdi_stream_queue(hd_stream *s);
hd_stream_resource *hdi_stream_resource(hd_stream *s);
hd_stream_semaphore *hdi_stream_semaphore(hd_stream *s);
hd_stream_submit *hdi_stream_submit(hd_stream *s);
hd_stream_sync *hdi_stream_sync(hd_stream *s);
hd_stream_command *hdi_stream_command(hd_stream *s);
hd_stream_barrier *hdi_stream_barrier(hd_stream *s);
hd_stream_access *hdi_stream_access(hd_stream *s);
/* The number of an object or of data; 0: no memory. bytes and refs may be null: there are none, or the caller fills
 * them in. */
uint32_t hdi_stream_object(hd_stream *s, const hd_stream_object *object);
uint32_t hdi_stream_data(hd_stream *s, const void *bytes, uint32_t byte_count, const uint32_t *refs,
                         uint32_t ref_count);
/* The number of a string, which is copied where it is new; HD_NONE: no memory. Bytes that are no UTF-8 are dropped. */
uint32_t hdi_stream_string(hd_stream *s, const char *text);

/* Integers of a structure as members of a JSON object. */
typedef struct hdi_stream_field {
    const char *key;
    size_t offset, bytes; /* 4 or 8 */
    bool optional;        /* not written where it is absent */
    uint64_t absent;
} hdi_stream_field;
typedef struct hdi_stream_fields {
    const hdi_stream_field *list;
    size_t count;
} hdi_stream_fields;
extern const hdi_stream_fields hdi_stream_queue_fields, hdi_stream_resource_fields, hdi_stream_semaphore_fields,
    hdi_stream_sync_fields, hdi_stream_barrier_fields, hdi_stream_access_fields, hdi_stream_submit_fields,
    hdi_stream_command_fields;
extern const char *const hdi_stream_kinds[4];

#endif
