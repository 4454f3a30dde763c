/* heddle/capture.h: writes down what a process really gives to Vulkan (barriers, copies, rendering, submits,
 * semaphores, host waits), as a stream of commands that can be kept in a file, looked at, and verified by the rules of
 * Vulkan's synchronization: offline, without the engine, by `heddle verify --capture FILE`.
 *
 *     hd_capture_open(NULL);          or a desc; with .replay, hd_capture_begin() stands here, before the instance
 *     ... hd_vk_create with .get_instance_proc = hd_capture_get_instance_proc; or, with an engine's own volk:
 *         volkInitializeCustom(hd_capture_get_instance_proc), volkLoadInstance, volkLoadDevice ...
 *     hd_capture_begin();             nothing under way on the GPU
 *     ... frames ...
 *     hd_vk_wait(vk);
 *     hd_capture_end(&stream);
 *     hd_stream_write(stream, file);
 *     hd_stream_free(stream);
 *
 * What is seen: all accesses of copies, clears, fills, updates, blits, resolves (each in its box of texels),
 * attachments (load, store, resolve), vertex, index and indirect buffers; of passes of an hd_vk also what they declare,
 * at the stages and layouts of their accesses, so that shaders and host passes are covered. What is not seen: what
 * shaders do through descriptors outside of heddle's passes (tell it by hd_capture_buffer and hd_capture_image; with
 * hd_capture_desc.replay what they may do is seen, and verified against nothing); and, without that, mapped memory and
 * queries; and the older vkCmdWaitEvents, ray tracing and sparse binding, which hd_stream.unseen counts.
 *
 * This is the only part of heddle with process-wide state: Vulkan's functions have no room for a pointer of ours. It is
 * for finding mistakes, not for shipping: every call takes one lock. */
#ifndef HEDDLE_CAPTURE_H
#define HEDDLE_CAPTURE_H

#include <heddle/stream.h>
#include <heddle/vk.h>

HD_API_BEGIN

/* ---- capturing ---- */

typedef struct hd_capture_desc {
    hd_allocator allocator;
    PFN_vkGetInstanceProcAddr get_instance_proc; /* what really does the work; null: the system's Vulkan loader */
    /* Host calls are ordered as they came, whatever their threads; else only those of one thread are, and what heddle's
     * own threads tell each other. For engines whose threads hand work on to each other. Hides some mistakes: two calls
     * may come in an order that nothing ensures. */
    bool order_by_time;
    /* The stream has the commands that set state, too (pipelines, descriptors, push constants, buffers, dynamic state),
     * and draws and dispatches say which they use: for hd_stream_graph_build. Makes it some times as long. */
    bool state;
    /* The stream can be replayed (heddle/replay.h): it has what commands, pipelines, descriptor sets and memory were
     * given, what the host writes to mapped memory, and hashes of what is presented and of what the host can read.
     * Includes state. hd_capture_begin must come before the instance is made. Where heddle was built without Vulkan's
     * registry (vk.xml), the stream has the state alone, and hd_stream.device is 0. */
    bool replay;
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
 * HD_OK, HD_INVALID_ARGUMENT (with hd_capture_desc.replay also: an instance was made since the capture was opened),
 * HD_TOO_LARGE: more than 15 queues and threads, HD_OUT_OF_MEMORY (the stream is dropped). The caller owns *out;
 * hd_stream_free frees it. */
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

HD_API_END
#endif
