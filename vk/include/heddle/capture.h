/* heddle/capture.h: writes down what a process really gives to Vulkan (barriers, copies, rendering, submits,
 * semaphores, host waits), as a stream of commands that can be kept in a file, looked at, and verified by the rules of
 * Vulkan's synchronization: offline, without the engine, by `heddle verify --capture FILE`.
 *
 *     hd_capture_open(NULL);
 *     ... hd_vk_create with .get_instance_proc = hd_capture_get_instance_proc; or, with an engine's own volk:
 *         volkInitializeCustom(hd_capture_get_instance_proc), volkLoadInstance, volkLoadDevice ...
 *     hd_capture_begin();             nothing under way on the GPU
 *     ... frames ...
 *     hd_vk_wait(vk);
 *     hd_capture_end(&stream);
 *     hd_stream_write(stream, file);
 *
 * What is seen: all accesses of copies, clears, fills, updates, blits, resolves (each in its box of texels),
 * attachments (load, store, resolve), vertex, index and indirect buffers; of passes of an hd_vk also what they declare,
 * at the stages and layouts of their accesses, so that shaders and host passes are covered. What is not seen: what
 * shaders do through descriptors outside of heddle's passes (tell it by hd_capture_buffer and hd_capture_image), mapped
 * memory, queries; and render pass objects, the older vkCmdWaitEvents, ray tracing and sparse binding, which
 * hd_stream.unseen counts.
 *
 * This is the only part of heddle with process-wide state: Vulkan's functions have no room for a pointer of ours. It is
 * for finding mistakes, not for shipping: every call takes one lock. */
#ifndef HEDDLE_CAPTURE_H
#define HEDDLE_CAPTURE_H

#include <heddle/vk.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- streams ---- */

typedef struct hd_stream_queue {
    uint32_t kind;   /* hd_queue_kind; host: one thread that waits, signals or touches memory */
    uint32_t family; /* HD_NONE: a host queue */
} hd_stream_queue;

typedef struct hd_stream_resource {
    uint32_t name;          /* in strings, or HD_NONE */
    uint32_t memory;        /* a number; resources of one memory whose bytes meet are aliases. HD_NONE: its own */
    uint64_t offset, bytes; /* in it; bytes of a buffer: those of the buffer */
    uint32_t mips, layers;  /* buffers: 1 */
    uint32_t aspects;       /* VkImageAspectFlags; 0: a buffer */
    uint32_t layout;        /* of an image when the stream begins; HD_NONE: not known */
    uint32_t flags;         /* HD_STREAM_* */
} hd_stream_resource;
#define HD_STREAM_CONCURRENT 1u
#define HD_STREAM_OLD 2u    /* from before the stream: owner and layout are not known, content counts as defined */
#define HD_STREAM_MAPPED 4u /* the host may write it at any time: its content counts as defined */

typedef struct hd_stream_semaphore {
    uint32_t binary;
    uint64_t initial; /* value when the stream begins; binary: 1 where it is signalled */
} hd_stream_semaphore;

/* A wait or a signal. */
typedef struct hd_stream_sync {
    uint32_t semaphore; /* HD_NONE: nothing */
    uint64_t value, stages;
} hd_stream_sync;

typedef struct hd_stream_barrier {
    uint64_t src_stages, src_access, dst_stages, dst_access;
    uint32_t resource; /* HD_NONE: all memory */
    uint32_t old_layout, new_layout, src_family, dst_family;
    hd_range range; /* explicit counts */
} hd_stream_barrier;

/* Texels, in the subresource's own: x, y, z. */
typedef struct hd_stream_box {
    uint32_t offset[3], extent[3]; /* extent[0] 0: all that there are */
} hd_stream_box;

typedef struct hd_stream_access {
    uint64_t stages, access; /* each bit of access at each stage that can do it */
    uint32_t resource;
    uint32_t layout; /* of images */
    uint32_t flags;  /* HD_STREAM_DECLARED, ... */
    uint32_t scope; /* rendering that it is an attachment of, or reads one of in the layout for feedback loops; 0: none.
                     * In one, accesses to an attachment are in rasterization order */
    hd_range range;  /* explicit counts */
    hd_stream_box box; /* of images: of each subresource of range; else all 0 */
} hd_stream_access;
/* By its pass; not checked against commands of that pass, but for those that write what it only reads. */
#define HD_STREAM_DECLARED 1u
#define HD_STREAM_LOST 2u     /* what stands there is thrown away afterwards */

typedef enum hd_stream_kind {
    HD_STREAM_ACCESS,  /* begin, count: accesses */
    HD_STREAM_BARRIER, /* begin, count: barriers, here and below */
    HD_STREAM_SET,
    HD_STREAM_WAIT,
} hd_stream_kind;

typedef struct hd_stream_command {
    uint32_t kind;
    uint32_t name;  /* the Vulkan function, in strings */
    uint32_t label; /* the pass, in strings, or HD_NONE */
    uint32_t group; /* commands of one pass have one number; 0: of none */
    uint32_t event; /* SET, WAIT */
    uint32_t begin, count;
} hd_stream_command;

typedef struct hd_stream_submit {
    uint32_t queue;
    uint32_t thread; /* host queue of the caller: what that did before happens before this */
    uint32_t name;   /* the Vulkan function, in strings */
    uint32_t frame;
    uint32_t wait_begin, wait_count;       /* in syncs */
    uint32_t command_begin, command_count; /* in commands */
    uint32_t signal_begin, signal_count;   /* in syncs */
} hd_stream_submit;

/* Plain arrays, in the order of the calls. Whoever changes them keeps them consistent. */
typedef struct hd_stream {
    hd_allocator allocator;
    uint64_t unseen; /* calls whose accesses are not known */
    char **strings;
    hd_stream_queue *queues;
    hd_stream_resource *resources;
    hd_stream_semaphore *semaphores;
    hd_stream_submit *submits;
    hd_stream_sync *syncs;
    hd_stream_command *commands;
    hd_stream_barrier *barriers;
    hd_stream_access *accesses;
    uint32_t string_count, queue_count, resource_count, semaphore_count, submit_count, sync_count, command_count,
        barrier_count, access_count;
    uint32_t string_room, queue_room, resource_room, semaphore_room, submit_room, sync_room, command_room, barrier_room,
        access_room; /* of the arrays */
} hd_stream;

void hd_stream_free(hd_stream *stream);
hd_result hd_stream_copy(const hd_stream *stream, hd_stream **out);
/* JSON, a line a submit, command, barrier or access; the same stream gives the same bytes. HD_OK, HD_IO. Names are
 * those of the structures. "range": [offset, bytes], of images [first mip, mips, first layer, layers], with "aspect"
 * where it is one of two; "box": [x, y, z, width, height, depth], left out where an access touches all texels. */
hd_result hd_stream_write(const hd_stream *stream, FILE *file);
/* HD_OK, HD_PARSE (error says what and where), HD_TOO_LARGE, HD_OUT_OF_MEMORY. allocator and error may be null. */
hd_result hd_stream_read(const char *text, size_t bytes, const hd_allocator *allocator, hd_stream **out, char *error,
                         size_t error_bytes);
/* HD_OK: no rule is broken. HD_PLAN_INVALID: desc->message (may be null, as desc) got a sentence for each broken rule,
 * beginning with its word: race, layout, content, ownership, wait, event, stages. It names both commands; a race of two
 * commands on a resource, and a sentence that would be the same again, are said once. */
hd_result hd_stream_verify(const hd_stream *stream, const hd_verify_desc *desc);

/* ---- capturing ---- */

typedef struct hd_capture_desc {
    hd_allocator allocator;
    PFN_vkGetInstanceProcAddr get_instance_proc; /* what really does the work; null: the system's Vulkan loader */
    /* Host calls are ordered as they came, whatever their threads; else only those of one thread are, and what heddle's
     * own threads tell each other. For engines whose threads hand work on to each other. Hides some mistakes: two calls
     * may come in an order that nothing ensures. */
    bool order_by_time;
} hd_capture_desc;

/* One at a time in a process, before the device (the objects) that are to be seen. desc may be null. HD_OK,
 * HD_NO_LOADER, HD_INVALID_ARGUMENT: one is open, HD_OUT_OF_MEMORY. */
hd_result hd_capture_open(const hd_capture_desc *desc);
/* When no function that was got through it is called any more. */
void hd_capture_close(void);
/* For hd_vk_desc.get_instance_proc, or for a loader of the engine's; gives functions that write down and go on. */
PFN_vkVoidFunction VKAPI_PTR hd_capture_get_instance_proc(VkInstance instance, const char *name);

/* The stream holds what is submitted between the two, also from command buffers recorded before. Both when no submit is
 * under way: earlier work counts as finished, and a wait for what comes later would look like one for nothing.
 * HD_OK, HD_INVALID_ARGUMENT, HD_TOO_LARGE: more than 15 queues and threads, HD_OUT_OF_MEMORY (the stream is dropped).
 */
hd_result hd_capture_begin(void);
hd_result hd_capture_end(hd_stream **out);

/* What commands of the engine do at this place of a command buffer that is being recorded and that the capture cannot
 * see. access: VkAccessFlags2. A size of VK_WHOLE_SIZE and VK_REMAINING_ counts are understood. What one draw or
 * dispatch reads and writes in an order of its shaders' own is told by one call: of two, the second counts as a command
 * behind the first. What is read within a rendering that writes it is a race, but in
 * VK_IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT. */
void hd_capture_buffer(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
                       VkPipelineStageFlags2 stages, VkAccessFlags2 access);
void hd_capture_image(VkCommandBuffer commands, VkImage image, const VkImageSubresourceRange *range,
                      VkImageLayout layout, VkPipelineStageFlags2 stages, VkAccessFlags2 access);

#ifdef __cplusplus
}
#endif
#endif
