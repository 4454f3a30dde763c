/* heddle/vk.h: executes plans on a Vulkan 1.3 device.
 *
 * One hd_vk is used by one thread at a time; record callbacks run on any worker of its job pool. A call while another
 * one on the same hd_vk runs, by a callback or by another thread, and any call by a host pass, gives
 * HD_INVALID_ARGUMENT, and does nothing; but for what the headers allow to any thread or inside a callback. No Vulkan
 * function is called through global pointers: heddle keeps no process-wide state of its own.
 *
 * A null pointer where none is allowed does no harm: functions give HD_INVALID_ARGUMENT, no pass (the graph has the
 * error), a null handle, or zeros. */
#ifndef HEDDLE_VK_H
#define HEDDLE_VK_H

#include <heddle/graph.h>
#include <vulkan/vulkan_core.h>

HD_API_BEGIN

typedef struct hd_vk hd_vk;

typedef struct hd_vk_queue_desc {
    hd_queue_kind kind; /* gfx, compute or transfer */
    uint32_t family;
    /* No other thread uses it while hd_vk_execute, hd_vk_destroy or a call of swapchains runs. One VkQueue may stand
     * for several kinds, which the GPU then runs one after another. */
    VkQueue queue;
} hd_vk_queue_desc;

/* Device memory from the engine. heddle asks for few and large pieces: the heaps of graph resources, a piece for each
 * large history, pieces of 1 MiB that small histories share, and staging memory. The callbacks are called inside of
 * hd_vk_ calls, by the thread that made the call.
 *
 * A heap that is too small for a frame is replaced by a larger one. One of which no frame needed more than half for 256
 * frames makes way for a smaller one, where that saves 16 MiB, without waiting for anything on the CPU. A heap or a
 * piece of staging memory that no frame used for 16 frames goes, as does one in which no history has lived for so long;
 * hd_vk_trim does all of that sooner. */
typedef struct hd_vk_memory_request {
    uint64_t bytes;
    uint64_t alignment; /* of the offset: a power of two */
    uint32_t type;      /* index of the memory type that it must be of */
    bool mapped;        /* the host uses it: of a host-visible, coherent type, and mapped as long as it lives */
} hd_vk_memory_request;
typedef struct hd_vk_memory {
    VkDeviceMemory memory;
    uint64_t offset;
    void *mapped; /* the piece's first byte; only where it was asked for */
    void *handle; /* the engine's own, for free */
} hd_vk_memory;
typedef struct hd_vk_memory_callbacks {
    /* VK_SUCCESS, or why not. After VK_ERROR_OUT_OF_DEVICE_MEMORY, for a heap, heddle waits for the frames in flight,
     * frees the heaps, histories and staging memory that this frame does without and asks once more; for staging memory
     * it frees that of finished frames and asks once more. */
    VkResult (*allocate)(const hd_vk_memory_request *request, hd_vk_memory *out, void *user);
    /* What allocate gave; nothing on the GPU uses it any more. */
    void (*free)(const hd_vk_memory *memory, void *user);
    void *user;
} hd_vk_memory_callbacks;

/* A VkImageView that heddle makes, from when it is made to right before it is destroyed. */
typedef struct hd_vk_view_info {
    VkImageView view;
    uint64_t serial; /* of this view: from 1 on, never used twice by one hd_vk */
    uint64_t number; /* what `made` returned; 0 without it */
    VkImage image;
    VkImageViewType type;
    VkFormat format;
    VkImageUsageFlags usage; /* 0: that of the image. Views of images that are seen in several formats have that of the
                              * uses in theirs */
    VkComponentMapping swizzle;
    VkImageSubresourceRange range;
} hd_vk_view_info;
/* For tables of descriptors that outlive frames: a view lives as long as its image does, which is kept while frames
 * come that use it and for 16 frames more (of imports without a serial: one frame). heddle destroys it when no frame in
 * flight uses it any more. */
typedef struct hd_vk_view_callbacks {
    /* A view was made. The number is kept with it: the engine's index in its table, for hd_vk_view_as to give. name: of
     * the resource, during the call; never null. By any worker that records and by the thread that executes, under a
     * lock: it calls nothing of this hd_vk. May be null. */
    uint64_t (*made)(const hd_vk_view_info *view, const char *name, void *user);
    /* By a thread that runs a call of the hd_vk, its destroy included. May be null. */
    void (*dropped)(const hd_vk_view_info *view, void *user);
    void *user;
} hd_vk_view_callbacks;

/* A pass, or a part of one, that is recorded. */
typedef struct hd_vk_pass_info {
    VkCommandBuffer commands; /* null: a host pass */
    uint32_t pass;            /* index */
    const char *name;         /* null: none */
    uint32_t queue;           /* index in hd_vk_info.queues; queue_count: the host's */
    uint32_t worker;          /* HD_NONE in a host pass */
    uint32_t part, part_count;
    uint64_t frame;
} hd_vk_pass_info;
/* Around each call of a pass's record function, inside of its rendering where there is one: for the engine's own
 * profiler, on the CPU by the two calls' times, on the GPU by what they record. Also for passes without a function. By
 * the worker that records, host passes by heddle's host thread; several at once. They call nothing of this hd_vk. */
typedef struct hd_vk_pass_callbacks {
    void (*before)(const hd_vk_pass_info *pass, void *user); /* either may be null */
    void (*after)(const hd_vk_pass_info *pass, void *user);
    void *user;
} hd_vk_pass_callbacks;

/* Names and labels for debuggers and captures are written where the instance has VK_EXT_debug_utils: heddle enables it
 * where it makes the instance and the loader has it; an engine that hands its device over enables it or does not.
 * Named when they are made, which costs nothing in frames that make nothing: images, buffers and views (as the resource
 * that they are made for first; staging memory "staging"), timeline semaphores ("gfx queue 0", ... "host queue"), the
 * swapchain's semaphores, command pools and buffers, query pools, events and device memory of heddle's ("heap"). A pass
 * with a name has it as a label around its commands, in each recording (of split passes around each part): two calls a
 * pass. */

typedef struct hd_vk_desc {
    hd_allocator allocator;
    hd_vk_memory_callbacks memory; /* null: vkAllocateMemory */
    hd_vk_view_callbacks views;
    hd_vk_pass_callbacks passes;
    hd_log log;
    hd_error *error;           /* null, or what gets the result of hd_vk_create and, where it failed, why */
    hd_jobs *jobs;             /* records in parallel; null: on the caller. Not owned: it outlives the hd_vk */
    uint32_t frames_in_flight; /* 0: 2; at most 4 */
    uint32_t memory_copies; /* how many frames in turn have memory of their own for resources that no frame hands on. A
                             * frame then need not wait until the one before is done with its images, so that no queue
                             * is idle at a frame's start or end; it takes memory_copies times the memory. 0: 1; at most
                             * frames_in_flight */
    uint32_t timed_frames;  /* frames are measured, and the times of the last timed_frames are kept; at most 1024; 0: no
                             * measuring. An adopted device must have hostQueryReset enabled for it, and
                             * VK_KHR_calibrated_timestamps or the EXT one for one time base */
    uint64_t upload_bytes;  /* staging memory for hd_vk_upload_async (heddle/vk_upload.h); 0: none, and no such call */

    /* Adopt: with device set, heddle uses these and destroys none of them. The device must have synchronization2,
     * dynamicRendering, timelineSemaphore and maintenance4 (Vulkan 1.3) enabled, and separateDepthStencilLayouts where
     * depth and stencil of one image are used apart. Vulkan does not tell what a device was made with: give features12,
     * features13 or device_next (below) as they were given to vkCreateDevice, and what is missing there gives
     * HD_MISSING_FEATURE; with none of the three nothing is checked. */
    PFN_vkGetInstanceProcAddr get_instance_proc; /* null: the system's Vulkan loader */
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkDevice device;
    const hd_vk_queue_desc *queues;
    uint32_t queue_count;

    /* Make: with device null, heddle makes instance, device and queues. */
    const char *application;
    uint32_t device_index;            /* in vkEnumeratePhysicalDevices order */
    const hd_queue_kind *queue_kinds; /* wanted queues; folded onto what the device has. null: gfx, compute, transfer */
    uint32_t queue_kind_count;
    const char *const *instance_extensions;
    uint32_t instance_extension_count;
    const char *const *device_extensions;
    uint32_t device_extension_count;
    const VkPhysicalDeviceFeatures *features;           /* beyond what heddle needs; null: none */
    const VkPhysicalDeviceVulkan11Features *features11; /* likewise; their pNext is ignored */
    const VkPhysicalDeviceVulkan12Features *features12;
    const VkPhysicalDeviceVulkan13Features *features13;
    const void *device_next; /* structures of extensions for the chain of VkDeviceCreateInfo */
} hd_vk_desc;

/* Errors: HD_NO_LOADER, HD_NO_DEVICE, HD_MISSING_FEATURE (the error names it), HD_OUT_OF_MEMORY, HD_VULKAN, ... */
hd_result hd_vk_create(const hd_vk_desc *desc, hd_vk **out);
/* Waits for the device, frees everything. Null is allowed. */
void hd_vk_destroy(hd_vk *vk);

/* Why the last call on this hd_vk, or on a swapchain of it, that gave an error did so: the same result, the sentence
 * that was logged, and the pass and the resource where it is about one. HD_OK and no text: none did. What hd_vk_create
 * refuses stands in hd_vk_desc.error. Any thread. */
void hd_vk_error_get(const hd_vk *vk, hd_error *out);

/* Declared frame to GPU: compiles (with this device's queues and sizes) and executes. Does not wait for the GPU but for
 * frames in flight, nor for host passes but for those before binary semaphores (hd_vk_sync_import). */
hd_result hd_vk_frame(hd_vk *vk, hd_graph *graph);
/* The two steps of it. A null desc stands for the device's queues and sizes, with merge_rendering; in one that is not
 * null, null queues, size and jobs stand for those of the device all the same. graph must hold the
 * declaration that plan was compiled from, and stay as it is until hd_vk_execute returned; host passes run later, on
 * heddle's host thread: what their callbacks need must live until hd_vk_wait or until the frame has left the frames in
 * flight.
 *
 * A history holds what was left in what it is of by the last frame that was executed on this hd_vk and used that,
 * whatever became of other resources, of the plan and of its queues in between; what that frame did not write of it is
 * undefined. It is known by its key, or by the name of what it is of (of several with one name, by the order of their
 * declaration), and it has memory of its own. Its uses, sharing and queues may differ from frame to frame: where they
 * ask for another image or buffer the content is copied, and all queues wait for that.
 *
 * Frames that skip a history (hd_skipped) leave it as it is. It goes when no plan of 256 frames had it, and sooner
 * where the device has no memory left, or by hd_vk_trim when no frame in flight has it. One that has neither a key nor
 * a name is known by its description, and goes with the first frame whose plan does not have it.
 *
 * It is zero in its first frame, and where it restarts: with another size, format or flags, behind frames that skipped
 * it and HD_SKIPPED_RESTART, after it went, and where a frame failed while the history was prepared for it (behind any
 * other frame that failed it is as before). The log has one line each time that a history with content restarts or
 * goes, with its name and why: HD_LOG_INFO, or HD_LOG_WARNING where nothing in the declaration asks for it. Where no
 * queue of the device can make it zero it is undefined: without graphics depth, without graphics and compute several
 * samples, and always texels that heddle does not know (of several planes, PVRTC and of other extensions); these are
 * not copied either.
 *
 * The engine may destroy an image once the frames that import it have finished: views of imports live for one frame,
 * but for those with a serial, which are dropped by age.
 *
 * Frames overlap on the GPU: a frame waits, where it first uses memory or an import, for what earlier frames left
 * there, and for nothing else. A VkImage or VkBuffer is imported once in a frame: twice gives HD_INVALID_ARGUMENT. A
 * layout that is not the one in which the last frame left the image is warned of once: it is right where the engine
 * changed it. Of two imports that share memory heddle knows nothing: their order from frame to frame is up to the
 * engine; so is a barrier to the host where host passes read an import that was last written by a frame of which no
 * host pass uses it.
 *
 * When only half of a frame could be submitted, and when the device is lost, that result comes back from every later
 * call; then only hd_vk_destroy is left. After any other error, memory that ran out included, the next frame may be
 * executed. A new hd_vk goes on with the same graph; where its device is another one, hd_graph_drop_plans comes first.
 */
hd_result hd_vk_compile(hd_vk *vk, hd_graph *graph, const hd_compile_desc *desc, const hd_plan **out);
hd_result hd_vk_execute(hd_vk *vk, const hd_graph *graph, const hd_plan *plan);
/* The sizes that hd_vk_compile takes where its desc has none: an hd_size_fn whose user is the hd_vk; what
 * hd_plan_verify needs for a plan of this device. Any thread. */
hd_result hd_vk_size(const hd_resource_info *info, hd_memory_need *need, void *vk);
/* Semaphores of the engine around what the next frame does to an import. */
typedef struct hd_vk_sync {
    VkSemaphore wait;      /* null: none. Waited for before the frame's first command that touches the import */
    uint64_t wait_value;   /* of a timeline semaphore; 0: the semaphore is binary */
    VkSemaphore signal;    /* null: none. Signalled by the last submit that touches it */
    uint64_t signal_value; /* likewise */
} hd_vk_sync;
/* For the frame that graph declares, when vk executes it; at most one call an import. The frame's first use of the
 * import must come before all others (a write does, as of a swapchain's image) and its last one behind them: other
 * queues that use it at the same time would not wait. A frame that is not executed waits for nothing and signals
 * nothing; one that does nothing with the import does both all the same. hd_vk_execute forgets them, also where it
 * fails: for another try they are given anew. HD_OK, HD_BAD_HANDLE, HD_INVALID_ARGUMENT, HD_OUT_OF_MEMORY.
 *
 * Vulkan wants that all signals which a binary semaphore's depends on have been submitted before anything waits for it,
 * those of the host included. So with a binary semaphore hd_vk_execute waits for host passes, which timelines do not
 * need: before it submits a wait for one, for those that work of earlier frames waits for; and, where it signals one,
 * before it returns, for those that this signal depends on. What else the engine submits to queues that heddle uses
 * comes behind heddle's submits there: where that signals a binary semaphore for anything but heddle, hd_vk_wait comes
 * first, or no host pass precedes it. */
hd_result hd_vk_sync_import(hd_vk *vk, const hd_graph *graph, hd_resource import, const hd_vk_sync *sync);
/* Waits until every frame that was executed has finished, host passes included. */
hd_result hd_vk_wait(hd_vk *vk);

typedef struct hd_vk_info {
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkDevice device;
    PFN_vkGetInstanceProcAddr get_instance_proc;
    const char *device_name;
    uint32_t queue_count;
    hd_vk_queue_desc queues[HD_MAX_QUEUES];
    uint64_t frame; /* frames executed */
} hd_vk_info;
void hd_vk_info_get(const hd_vk *vk, hd_vk_info *out);

typedef struct hd_vk_frame_stats {
    double compile_us, record_us, submit_us; /* CPU, last frame */
    /* Device memory that heddle holds now, for whatever frames. */
    uint64_t memory_bytes;  /* the sum of the three */
    uint64_t heap_bytes;    /* heaps of graph resources but for the next */
    uint64_t history_bytes; /* heaps of histories and what they are of */
    uint64_t staging_bytes; /* for uploads, and for the zeros of histories */
    uint64_t upload_bytes;  /* of hd_vk_desc.upload_bytes: held by what waits or is under way */
} hd_vk_frame_stats;
void hd_vk_frame_stats_get(const hd_vk *vk, hd_vk_frame_stats *out);

/* Frees at once what would go by age: memory of all three kinds, histories, images, buffers and views that none of the
 * last frames_in_flight frames used, and what is kept of such frames' plans. Heaps of which the next frame needs no
 * more than half make way for smaller ones then, where that saves 16 MiB. For the end of loading or of a level. Waits
 * for nothing. Null is allowed. */
void hd_vk_trim(hd_vk *vk);

/* ---- times of finished frames, where hd_vk_desc.timed_frames says so ---- */

typedef enum hd_vk_span_kind {
    HD_VK_SPAN_PASS,      /* on the GPU: from when its commands could begin at the earliest to their end */
    HD_VK_SPAN_HOST_PASS, /* a host pass's callback */
    HD_VK_SPAN_RECORD,    /* a job that recorded passes or a part of one; pass: the first of them */
    HD_VK_SPAN_SUBMIT,    /* one vkQueueSubmit2 */
} hd_vk_span_kind;

typedef struct hd_vk_span {
    hd_vk_span_kind kind;
    uint32_t queue;            /* index in hd_vk_info.queues; queue_count: the host's */
    uint32_t pass;             /* index, or HD_NONE */
    uint32_t worker;           /* of a record job; else HD_NONE */
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, the GPU's too */
    const char *name;          /* of the pass; never null */
} hd_vk_span;

typedef struct hd_vk_times {
    uint64_t frame;  /* hd_vk_frame_index */
    bool calibrated; /* else the GPU's times are set so that no frame begins before it was submitted */
    uint32_t span_count;
    const hd_vk_span *spans; /* until the next hd_vk_execute or hd_vk_wait */
} hd_vk_times;

/* back: 0 for the newest frame that is known to have finished, 1 for the one before it, ... A frame is known to have
 * finished once its place in the frames in flight was taken by another, or after hd_vk_wait. HD_INVALID_ARGUMENT: not
 * kept. */
hd_result hd_vk_times_get(const hd_vk *vk, uint32_t back, hd_vk_times *out);
/* All frames that are kept, as JSON in the trace event format: Perfetto and chrome://tracing open it. HD_OK, HD_IO,
 * HD_OUT_OF_MEMORY. */
hd_result hd_vk_write_trace(const hd_vk *vk, FILE *stream);

/* Writes what a bug report needs to know of a frame into a folder: frame.fgt (what graph declares, queues, options and
 * sizes), plan.json, plan.html (the page; where heddle has it), trace.json (where frames are timed), device.json
 * (device, driver, queues, memory, last error). The plan is the one that hd_vk_compile gives for desc (null: as
 * hd_vk_frame), which ends the life of an earlier one that it does not find. For a key or an option of an application,
 * between frames: takes some 10 ms, and waits for nothing.
 *
 * folder must not exist, or be empty; the folder that it stands in exists. It appears when all files are whole, and
 * after an error nothing is left. HD_OK; HD_IO: hd_vk_error_get says which file and why; HD_OUT_OF_MEMORY; what
 * hd_vk_compile gives. */
hd_result hd_vk_report_frame(hd_vk *vk, hd_graph *graph, const hd_compile_desc *desc, const char *folder);

/* ---- inside a record callback; any worker ---- */

/* In recording state; in a gfx pass with attachments inside the rendering scope that heddle began, with viewport and
 * scissor set to the whole render area (unless the pass has no_rendering). An attachment is one level, the first of its
 * use's range (with a warning, where that has more); the render area is what all attachments have, and what lies beyond
 * it is not cleared (with a warning, where one has more). All have as many samples (else with a warning: it takes an
 * extension). Null in a host pass. */
VkCommandBuffer hd_vk_commands(hd_recorder *recorder);
/* Of a pass with splits: which part this call records, and how many there are. The parts may be recorded at the same
 * time, each into a command buffer of its own, and each begins as the pass does: inside the rendering scope, with
 * viewport and scissor set, and with nothing bound. 0 and 1 for other passes. */
uint32_t hd_vk_part(const hd_recorder *recorder);
uint32_t hd_vk_part_count(const hd_recorder *recorder);
uint32_t hd_vk_worker(const hd_recorder *recorder);      /* index of the recording worker; HD_NONE in a host pass */
uint64_t hd_vk_frame_index(const hd_recorder *recorder); /* frames executed before this one */
/* What pipelines ask of the rendering that heddle begins for a gfx pass. */
enum { HD_VK_MAX_COLORS = 8 };
typedef struct hd_vk_rendering {
    VkPipelineRenderingCreateInfo info; /* points to colors below: of this very struct, not of a copy */
    VkFormat colors[HD_VK_MAX_COLORS];  /* in the order of the pass's uses */
    VkSampleCountFlagBits samples;      /* 1 where there are no attachments */
} hd_vk_rendering;
/* Of the pass that is recorded; zeros in a host pass. */
void hd_vk_rendering_get(const hd_recorder *recorder, hd_vk_rendering *out);
/* The same before the frame is compiled: from the declaration of the pass on, until the next hd_graph_begin. HD_OK,
 * HD_BAD_HANDLE, HD_INVALID_ARGUMENT. */
hd_result hd_vk_rendering_of(const hd_graph *graph, hd_pass pass, hd_vk_rendering *out);
/* Objects behind a resource that this pass declares; they live as long as heddle's cache keeps them, at least for the
 * frame and all frames in flight.
 *
 * To ask for a resource that the pass does not declare, or of the other kind, or for a view of what no use of the pass
 * has in its range, is a mistake: the log names pass and resource, and the frame fails with HD_BAD_HANDLE (of no
 * resource of this frame), HD_BAD_RANGE or else HD_INVALID_ARGUMENT. The callback gets an object of heddle's own that
 * it may record with; nothing of the frame is submitted. (What was asked for by a host pass comes to light later: the
 * next hd_vk_wait, or the next frame that waits for one, which is not executed then, gives the result.) */
VkImage hd_vk_image(hd_recorder *recorder, hd_resource resource);
VkBuffer hd_vk_buffer(hd_recorder *recorder, hd_resource resource);
/* range null: what the pass's uses of the image span; counts of 0: up to the end. The view has the type that fits: 2D,
 * or 2D array for more than one layer, 3D, cube for cube-compatible images over six layers, and the format of the
 * pass's first use of the image (hd_use.format). Cached; depth-stencil formats give the depth aspect unless the range
 * names the other. */
VkImageView hd_vk_view(hd_recorder *recorder, hd_resource resource, const hd_range *range);
typedef struct hd_vk_view_desc {
    const hd_range *range;      /* as above */
    VkFormat format;            /* one that a use of the pass has; UNDEFINED (0): as above */
    VkComponentMapping swizzle; /* all 0: none */
} hd_vk_view_desc;
/* The same as desc (null: all zero) says. out (may be null) gets what is known of the view; zeros after a mistake. */
VkImageView hd_vk_view_as(hd_recorder *recorder, hd_resource resource, const hd_vk_view_desc *desc,
                          hd_vk_view_info *out);
/* In a host pass: the memory of a buffer that it declares. Coherent. Null otherwise, which is a mistake as above. */
void *hd_vk_mapped(hd_recorder *recorder, hd_resource resource);

/* ---- passes that every engine needs ----
 *
 * Each function declares what its comment says and returns the pass (of several: the last), which is culled where no
 * pass reads what it writes. They are declared for the frame that vk executes next. A mistake, or lack of memory,
 * sticks in the graph like any other. Ranges: null stands for the whole; of images one mip level, the base of the
 * range, where the comment says so. graph: or a list of it, by the list's thread; then the join declares the passes,
 * and vk is used by the join alone. as: null, or what else the pass is.
 *
 *     hd_resource mesh = hd_graph_buffer(g, &(hd_buffer_desc){.name = "mesh", .bytes = sizeof(vertices)});
 *     hd_vk_upload(vk, g, mesh, NULL, vertices, sizeof(vertices), NULL);
 *
 *     hd_vk_upload(vk, g, texture, &(hd_range){.mip_count = 1}, texels, bytes, &(hd_vk_as){.name = "bricks"});
 *     hd_vk_generate_mips(vk, g, texture, &(hd_vk_as){.name = "bricks"});
 *
 *     hd_vk_clear(vk, g, shadows, NULL, &(VkClearValue){.depthStencil = {1.0f, 0}}, NULL);
 *     hd_vk_blit(vk, g, scene, NULL, target, NULL, VK_FILTER_LINEAR, &(hd_vk_as){.name = "to target", .cost_us = 40});
 *     hd_vk_readback(vk, g, target, NULL, save_picture, engine, NULL);
 */

/* All zero: as with null. Each field as in hd_pass_desc. */
typedef struct hd_vk_as {
    const char *name; /* must live until the frame is executed; null: what the function does, such as "blit" */
    hd_pin pin;       /* of a readback: of its copy */
    float cost_us;    /* of each pass; of a readback: of its copy */
} hd_vk_as;

/* Copies data at once into staging memory (into a list: into its memory, and from there at the join), which later
 * frames use again, and in the frame from there on the transfer queue. Buffers: bytes is at most the range's. Images of
 * a format whose texels heddle knows: one mip level, texels (blocks of them where the format has such) packed row by
 * row, layer by layer. */
hd_pass hd_vk_upload(hd_vk *vk, hd_graph *graph, hd_resource to, const hd_range *range, const void *data,
                     uint64_t bytes, const hd_vk_as *as);
/* Called on the host queue's thread once the copy has finished; data lives during the call. */
typedef void (*hd_vk_readback_fn)(const void *data, uint64_t bytes, void *user);
/* Copies a buffer, or one mip level of an image (packed, and of such a format, as for upload), for the host to read. Is
 * never culled. The copy has the pass's name and " copy" behind it. */
hd_pass hd_vk_readback(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *range, hd_vk_readback_fn fn,
                       void *user, const hd_vk_as *as);
/* Level after level by linear blits of the one before; level 0 must hold something. Formats that can be blitted so: no
 * integers, no depth or stencil. The name is "mips", and each pass has its level's number behind it. */
hd_pass hd_vk_generate_mips(hd_vk *vk, hd_graph *graph, hd_resource image, const hd_vk_as *as);
/* Images of a format as for upload, but of blocks; value is copied. */
hd_pass hd_vk_clear(hd_vk *vk, hd_graph *graph, hd_resource image, const hd_range *range, const VkClearValue *value,
                    const hd_vk_as *as);
/* Buffers: every 4 bytes; the range's offset and bytes are multiples of 4. */
hd_pass hd_vk_fill(hd_vk *vk, hd_graph *graph, hd_resource buffer, const hd_range *range, uint32_t word,
                   const hd_vk_as *as);
/* Buffer to buffer (the smaller of the two ranges), image to image (like sizes and counts, and texels, or blocks of as
 * many, of as many bytes; depth and stencil: like formats), or one mip level of an image with one sample to or from a
 * buffer, packed, of a format as for upload. */
hd_pass hd_vk_copy(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *from_range, hd_resource to,
                   const hd_range *to_range, const hd_vk_as *as);
/* One mip level into another, scaled to fit; like counts of layers, one sample. UINT goes to UINT, SINT to SINT, depth
 * and stencil to the same format, all of them with VK_FILTER_NEAREST. */
hd_pass hd_vk_blit(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *from_range, hd_resource to,
                   const hd_range *to_range, VkFilter filter, const hd_vk_as *as);
/* The level of a multisampled image into one with one sample, of like format, size and counts. mode: of depth, 0: the
 * first sample; colors: 0, they are averaged. Where the passes that draw can, HD_RESOLVE_WRITE costs less. */
hd_pass hd_vk_resolve(hd_vk *vk, hd_graph *graph, hd_resource from, const hd_range *from_range, hd_resource to,
                      const hd_range *to_range, VkResolveModeFlagBits mode, const hd_vk_as *as);

/* ---- presenting to a window ----
 *
 *     hd_graph_begin(g);
 *     hd_vk_swapchain_acquire(swapchain, g, &target);
 *     if (target.id) { ... passes, the last of which writes target ... }
 *     hd_vk_frame(vk, g);
 *     hd_vk_swapchain_present(swapchain);
 *
 * An instance with VK_KHR_surface and the window system's extension and a device with VK_KHR_swapchain are needed. What
 * windows do to a swapchain (resized, out of date, suboptimal, minimised) is no error: it is made anew where that
 * helps, and a frame for which there is no image goes without. */

typedef struct hd_vk_swapchain hd_vk_swapchain;

typedef struct hd_vk_swapchain_desc {
    VkSurfaceKHR surface;   /* the engine's; outlives the swapchain. null: none yet, see hd_vk_swapchain_set_surface */
    uint32_t width, height; /* in texels, where the surface leaves the size to its swapchain */
    const VkSurfaceFormatKHR *formats; /* wished for, the best first; at most 16 count. None given, or the surface has
                                        * none of them: 8 bits a channel that are shown as they are written (UNORM) */
    uint32_t format_count;
    const VkPresentModeKHR *present_modes; /* likewise; else FIFO */
    uint32_t present_mode_count;
    uint32_t image_count; /* 0: one more than the surface's least; kept within the surface's limits */
    uint32_t usage;       /* VkImageUsageFlags beyond color attachment and, where it can be, transfer destination */
    hd_sharing sharing;   /* concurrent: the frame's last use of an image may be on a queue that cannot present */
    uint64_t timeout_ns;  /* how long acquire waits for an image; 0: until there is one */
} hd_vk_swapchain_desc;

/* The arrays of desc are copied. HD_OK also for a window that is minimised. HD_INVALID_ARGUMENT, HD_MISSING_FEATURE (an
 * extension is not enabled), HD_UNSUPPORTED (no queue can present, a usage that the surface lacks), HD_SURFACE_LOST,
 * HD_OUT_OF_MEMORY, HD_OUT_OF_DEVICE_MEMORY, HD_DEVICE_LOST, HD_VULKAN. */
hd_result hd_vk_swapchain_create(hd_vk *vk, const hd_vk_swapchain_desc *desc, hd_vk_swapchain **out);
/* Waits for the frames in flight and what was presented. Before hd_vk_destroy (which else logs an error and leaves a
 * swapchain that refuses every call but this one); a lost device is fine. Null is allowed. */
void hd_vk_swapchain_destroy(hd_vk_swapchain *swapchain);

/* Imports the next image into the frame that graph declares; from UNDEFINED to PRESENT_SRC, ordered behind what
 * presents it now. The frame must write it whole, if it uses it. *image is none (id 0) where the frame goes without:
 * minimised, no image in time, no surface. An image that was acquired for a frame that was not executed, or did not use
 * it, is handed out again. May wait for the window system. Results of hd_vk_swapchain_create; after HD_SURFACE_LOST
 * acquire goes on failing until hd_vk_swapchain_set_surface. After other errors but HD_DEVICE_LOST the next acquire
 * tries again. */
hd_result hd_vk_swapchain_acquire(hd_vk_swapchain *swapchain, hd_graph *graph, hd_resource *image);
/* Declares the pass that puts an image (its first level and layer, scaled to fit) into the one that was acquired; none
 * where there is none. graph, as: as of hd_vk_blit (with a list, the join uses the swapchain). HD_UNSUPPORTED sticks in
 * the graph where images of the surface cannot be copied to. */
hd_pass hd_vk_swapchain_show(hd_vk_swapchain *swapchain, hd_graph *graph, hd_resource from, const hd_vk_as *as);
/* Hands what the executed frame wrote to the window; does nothing without. Waits until the host passes have run, of
 * this frame and of earlier ones, that the image depends on, in any number of steps over queues: Vulkan takes for a
 * present only what no signal is missing for. What no host pass precedes is presented at once. Results as of acquire.
 */
hd_result hd_vk_swapchain_present(hd_vk_swapchain *swapchain);

/* The window's new size, where the surface leaves it to the swapchain; other surfaces tell by themselves. 0: minimised.
 */
void hd_vk_swapchain_resize(hd_vk_swapchain *swapchain, uint32_t width, uint32_t height);
/* Another surface, as after HD_SURFACE_LOST, or null; waits as hd_vk_swapchain_destroy does. Afterwards the engine may
 * destroy the old one. */
hd_result hd_vk_swapchain_set_surface(hd_vk_swapchain *swapchain, VkSurfaceKHR surface);

typedef struct hd_vk_swapchain_info {
    uint32_t width, height; /* of the image that was acquired last; 0: there is none */
    VkSurfaceFormatKHR format;
    VkPresentModeKHR present_mode;
    uint32_t image_count;
    uint64_t made;      /* how often a VkSwapchainKHR was made */
    uint64_t presented; /* images */
} hd_vk_swapchain_info;
void hd_vk_swapchain_info_get(const hd_vk_swapchain *swapchain, hd_vk_swapchain_info *out);

HD_API_END

#include <heddle/vk_upload.h>

#endif
