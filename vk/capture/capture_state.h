/* What the files that capture share: one capture a process, under one lock. Functions whose names end in _locked are
 * called with it. */
#ifndef HDI_CAPTURE_STATE_H
#define HDI_CAPTURE_STATE_H

#include <pthread.h>

#include <heddle/capture.h>

#include "call.h"
#include "observer.h"
#include "stream.h"

typedef enum hdi_cap_kind {
    HDI_CAP_IMAGE,
    HDI_CAP_BUFFER,
    HDI_CAP_MEMORY,
    HDI_CAP_VIEW,
    HDI_CAP_SEMAPHORE,
    HDI_CAP_FENCE,
    HDI_CAP_COMMANDS,
    HDI_CAP_QUEUE,
    HDI_CAP_EVENT,
    HDI_CAP_RENDER_PASS,
    HDI_CAP_FRAMEBUFFER,
    HDI_CAP_TEMPLATE, /* of descriptor updates */
    HDI_CAP_SWAPCHAIN,
    HDI_CAP_TOLD, /* what threads tell each other: a semaphore behind a pointer of heddle's */
} hdi_cap_kind;

enum { HDI_CAP_LABELS = 16, HDI_CAP_BINDINGS = 32, HDI_CAP_QUERIES = 16, HDI_CAP_BY_PASS = 32 };

/* A command buffer while it is recorded, and what it holds. In list, resources are numbers of objects, names and labels
 * those of cap.names. */
typedef struct hdi_cap_commands {
    hd_stream *list;
    hd_stream *at_end; /* accesses of the end of the rendering that has begun */
    uint32_t labels[HDI_CAP_LABELS], label_count;
    uint32_t group, scope;
    uint32_t rendering;           /* hd_stream_command.pair in the rendering that has begun; 0: none has */
    struct hdi_cap_pass_run *run; /* the render pass object that has begun, or null */
    struct {
        uint32_t object; /* HD_NONE: none */
        uint64_t offset, bytes;
    } vertices[HDI_CAP_BINDINGS], index;
    uint32_t index_bytes;
    struct {
        uint64_t pool;
        uint32_t number, pair;
    } queries[HDI_CAP_QUERIES]; /* that have begun */
    uint32_t query_count;
} hdi_cap_commands;

typedef struct hdi_cap_object {
    hdi_cap_kind kind;
    uint64_t handle, serial; /* serial: when it was made; 0: not known */
    uint32_t stream;         /* its number in the stream, HD_NONE: none yet */
    uint32_t name;           /* in cap.names */
    hd_stream_resource res;  /* images, buffers; memory: serial of the memory */
    uint32_t format, levels; /* images */
    uint32_t extent[3];      /* images of three dimensions; else 0 */
    hd_range range;          /* of a view */
    hd_stream_box box;       /* of a view: the slices of such an image that it shows as layers; else all 0 */
    uint32_t of;             /* a view's image, the memory of an image or buffer (where res.memory is known); object */
    uint64_t value;          /* semaphores, fences, queues: highest that is signalled; binary: pending signals */
    uint32_t binary, queue_kind, family;
    uint32_t record; /* images, buffers, memory: in cap.records; 0: none */
    bool mapped, dead;
    bool linear;       /* images: the host may write texels */
    bool by_host_pass; /* a host pass declares that it writes a part */
    hdi_cap_commands *commands;
    struct hdi_cap_memory *memory; /* of memory that the host can see, where the capture can be replayed */
    void *made;                    /* of render passes, framebuffers, templates, swapchains: what they were made from */
    size_t made_bytes;
} hdi_cap_object;

typedef struct hdi_cap_slot {
    uint64_t handle;
    uint32_t kind, object; /* object HD_NONE: dead; kind UINT32_MAX: free */
} hdi_cap_slot;

/* The newest record of a handle. */
typedef struct hdi_cap_record_slot {
    uint64_t handle;
    uint32_t type, record; /* record 0: free */
} hdi_cap_record_slot;

/* A submit is known to be finished when its semaphore or fence has the value, and all that its queue was given before.
 */
typedef struct hdi_cap_check {
    uint32_t queue; /* of the stream */
    bool fence;
    uint64_t number, handle, value;
} hdi_cap_check;

typedef struct hdi_cap_state {
    bool open, by_time, with_state;
    hd_allocator allocator;
    PFN_vkGetInstanceProcAddr instance_proc;
    PFN_vkGetDeviceProcAddr device_proc;
    VkInstance instance;
    hd_result failure; /* sticks: the stream is not whole */
    uint64_t serial, begin_serial;
    uint32_t memory_serial, groups, scopes, stream_scopes, events, buffers;
    uint64_t frame;
    hdi_cap_object *objects;
    uint32_t object_count, object_room, *free, free_count, free_room;
    hdi_cap_slot *slots;
    uint32_t slot_count, slot_room;
    hd_stream *names;    /* only its strings */
    hd_stream *stream;   /* null: not between begin and end */
    uint32_t *string_of; /* names -> strings of the stream */
    uint32_t string_room;
    struct {
        pthread_t thread;
        uint32_t queue;
    } threads[HDI_STREAM_MAX_QUEUES];
    uint32_t thread_count;
    /* ---- where the capture can be replayed ---- */
    bool replay, has_instance;
    uint32_t pairs;
    VkDevice device;
    VkPhysicalDevice physical;
    VkPhysicalDeviceMemoryProperties memory_types;
    hd_stream *records; /* its objects and datas: all that was made; names of objects are those of names */
    hdi_cap_record_slot *record_slots;
    uint32_t record_slot_count, record_slot_room;
    uint32_t *object_of; /* records -> objects of the stream; 0: none yet */
    uint32_t object_of_room, device_record;
    hdi_call_writer writer;
    struct {
        uint64_t submitted, finished; /* submits of a queue of the stream */
    } queues[HDI_STREAM_MAX_QUEUES];
    uint32_t submit_queue; /* of the submit that was opened last on one */
    hdi_cap_check *checks;
    uint32_t check_count, check_room;
    struct {
        uint32_t object, thread; /* thread: its queue of the stream */
        hd_range range;
    } by_pass[HDI_CAP_BY_PASS]; /* buffers that the host pass that runs declares to write */
    uint32_t by_pass_count;
} hdi_cap_state;
extern hdi_cap_state hdi_cap;

/* A function that is replaced, and where what it calls is kept. */
typedef struct hdi_cap_hook {
    const char *name;
    PFN_vkVoidFunction hook;
    PFN_vkVoidFunction *next;
} hdi_cap_hook;
typedef struct hdi_cap_hooks {
    const hdi_cap_hook *list;
    size_t count;
    bool replay; /* only where the capture can be replayed */
} hdi_cap_hooks;
extern const hdi_cap_hooks hdi_cap_object_hooks, hdi_cap_record_hooks, hdi_cap_transfer_hooks, hdi_cap_draw_hooks,
    hdi_cap_bind_hooks, hdi_cap_pass_hooks, hdi_cap_submit_hooks, hdi_cap_wait_hooks, hdi_cap_made_hooks,
    hdi_cap_host_hooks;

/* In each file: next_vkX is an untyped pointer, NEXT(vkX) calls it. */
#define HDI_CAP_NEXT(name) static PFN_vkVoidFunction next_##name;
#define NEXT(name) ((PFN_##name)next_##name)
#define HDI_CAP_ENTRY(name) {#name, (PFN_vkVoidFunction)hook_##name, &next_##name},

#define HDI_CAP_HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

/* ---- what the executor tells (observer.h) ---- */
extern const hdi_vk_observer hdi_cap_observer; /* capture_observer.c */
void hdi_cap_mark_queue(VkQueue queue, uint32_t kind, uint32_t family);
void hdi_cap_mark_tell(const void *place, uint64_t value);
void hdi_cap_mark_hear(const void *place, uint64_t value);

void hdi_cap_lock(void);
void hdi_cap_unlock(void);
void hdi_cap_fail_locked(hd_result result);
/* The object behind a handle; null: none. make: a new one takes the handle. Pointers live until the next is made. */
hdi_cap_object *hdi_cap_find_locked(hdi_cap_kind kind, uint64_t handle);
hdi_cap_object *hdi_cap_make_locked(hdi_cap_kind kind, uint64_t handle);
void hdi_cap_drop_locked(hdi_cap_kind kind, uint64_t handle);
uint32_t hdi_cap_index_locked(const hdi_cap_object *object);
/* An image or buffer; one that was made elsewhere comes to be with what is known. */
hdi_cap_object *hdi_cap_resource_locked(hdi_cap_kind kind, uint64_t handle);
uint32_t hdi_cap_string_locked(const char *text);
hdi_cap_commands *hdi_cap_commands_locked(VkCommandBuffer commands);
void hdi_cap_forget_commands_locked(hdi_cap_object *object, bool all);

/* ---- capture_record.c: what a command buffer holds ---- */
hd_stream_command *hdi_cap_command_locked(hdi_cap_commands *c, hd_stream_kind kind, const char *name);
/* A command that sets state, where the capture keeps such. HD_STREAM_STATE_*. */
void hdi_cap_state_locked(VkCommandBuffer commands, const char *name, uint64_t sets, uint64_t uses);
#define HDI_CAP_USES_GRAPHICS                                                                                          \
    (((UINT64_C(1) << 50) - 1) & ~(UINT64_C(1) << 1 | UINT64_C(0xff) << 10 | HD_STREAM_STATE_INDEX))
#define HDI_CAP_USES_COMPUTE                                                                                           \
    (HD_STREAM_STATE_PIPELINE(1) | UINT64_C(0xff) << 10 | HD_STREAM_STATE_PUSH | HD_STREAM_STATE_OTHER)
/* Adds an access to the command that list ends with (to none: where list is at_end). */
void hdi_cap_buffer_locked(hd_stream *list, VkBuffer buffer, uint64_t offset, uint64_t bytes, uint64_t stages,
                           uint64_t access);
/* range: explicit counts or VK_REMAINING_. */
hd_stream_access *hdi_cap_image_locked(hd_stream *list, VkImage image, const VkImageSubresourceRange *range,
                                       uint32_t layout, uint64_t stages, uint64_t access);
/* An element of the barrier command that list ends with, of no resource and family yet; null: no memory. */
hd_stream_barrier *hdi_cap_barrier_locked(hd_stream *list);
/* as: layout, scope, range and box. */
hd_stream_access *hdi_cap_attachment_locked(hd_stream *list, const hdi_cap_object *image, uint64_t stages,
                                            uint64_t access, const hd_stream_access *as);
hd_range hdi_cap_image_range(const hdi_cap_object *image, const VkImageSubresourceRange *range);
void hdi_cap_unseen_locked(void);

/* ---- capture_pass.c ---- */
void hdi_cap_forget_run_locked(hdi_cap_commands *commands);
/* Vulkan ignores states of attachments that the subpass does not have: programs leave anything there. */
void hdi_cap_drop_ignored_locked(VkGraphicsPipelineCreateInfo *info);

/* ---- capture_submit.c ---- */
/* The numbers of objects in the stream. HD_NONE: no memory, or too many queues. */
uint32_t hdi_cap_stream_resource_locked(uint32_t object);
uint32_t hdi_cap_stream_string_locked(uint32_t name);
uint32_t hdi_cap_thread_locked(void);
uint32_t hdi_cap_queue_locked(VkQueue queue);
/* Opens a submit of a queue; null: nothing is captured. Waits first, then hdi_cap_close_waits_locked, then signals. */
hd_stream_submit *hdi_cap_open_submit_locked(uint32_t queue, const char *name);
void hdi_cap_sync_locked(hdi_cap_object *object, uint64_t value, uint64_t stages, bool signal);
void hdi_cap_close_waits_locked(void);
void hdi_cap_signal_fence_locked(VkFence fence);
hdi_cap_object *hdi_cap_semaphore_locked(VkSemaphore semaphore);
/* Values of semaphores are known also where no stream is open. */
void hdi_cap_remember_locked(const VkSemaphoreSubmitInfo *infos, uint32_t count, bool signal);
/* Opens a submit of the calling thread's host queue; false: nothing is captured. */
bool hdi_cap_open_host_locked(const char *name);
/* As hdi_cap_open_host_locked, for what counts in the order of the stream: a thread that has no queue takes another's,
 * since there are few queues, and many threads may record. */
bool hdi_cap_open_any_host_locked(const char *name);
/* A command of the submit that was opened last, kind HD_STREAM_ACCESS; null: no memory. */
hd_stream_command *hdi_cap_host_command_locked(const char *name);

/* ---- captures that can be replayed ---- */
PFN_vkVoidFunction hdi_cap_real(VkDevice device, const char *name);
#define HDI_CAP_REAL(device, name) ((PFN_##name)hdi_cap_real(device, #name))

/* capture_data.c. The record of a handle, 0: none. */
uint32_t hdi_cap_record_locked(VkObjectType type, uint64_t handle);
/* A call that made the handle: what the writer holds. 0: no memory. */
uint32_t hdi_cap_made_locked(const char *name, VkObjectType type, uint64_t handle);
/* The writer, empty. */
hdi_call_writer *hdi_cap_writer_locked(void);
/* What the writer holds, as data of the stream, whose refs are its objects. 0: no memory. */
uint32_t hdi_cap_stream_data_locked(void);
/* Data of a list or of records in the stream. */
uint32_t hdi_cap_copy_data_locked(const hd_stream *from, uint32_t data);
uint32_t hdi_cap_stream_object_locked(uint32_t record);
void hdi_cap_free_records_locked(void);

/* capture_made.c */
void hdi_cap_device_made_locked(VkPhysicalDevice physical, const VkDeviceCreateInfo *info, VkDevice device,
                                const VkQueueFlags *families, uint32_t family_count);
void hdi_cap_bound_locked(hdi_cap_object *object, VkDeviceMemory memory, uint64_t offset);

/* capture_memory.c. Memory that was allocated, mapped, is unmapped. */
void hdi_cap_memory_made_locked(hdi_cap_object *object, VkDevice device, const VkMemoryAllocateInfo *info);
void hdi_cap_mapped_locked(hdi_cap_object *object, void *bytes, uint64_t offset, uint64_t size);
void hdi_cap_unmapped_locked(hdi_cap_object *object);
void hdi_cap_forget_memory_locked(hdi_cap_object *object);
/* What the host wrote to mapped memory since the last look becomes commands of the calling thread. */
void hdi_cap_host_writes_locked(void);
/* Where the calling thread ran a host pass, what that wrote. */
void hdi_cap_pass_writes_locked(void);
/* A submit on a queue of the stream begins; its commands write a resource; it signals; it is all. */
void hdi_cap_device_submits_locked(uint32_t queue);
void hdi_cap_device_writes_locked(const hdi_cap_object *object, const hd_range *range);
void hdi_cap_device_signals_locked(const hdi_cap_object *object, uint64_t value);
/* The host may have learnt that submits are finished. idle: all that this queue of the stream was given. HD_NONE */
void hdi_cap_learnt_locked(uint32_t idle);
/* A semaphore or fence goes. */
void hdi_cap_check_gone_locked(uint64_t handle, bool fence);
#define HDI_CAP_WRITES                                                                                                 \
    (VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT |                                           \
     VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT | VK_ACCESS_2_HOST_WRITE_BIT |    \
     VK_ACCESS_2_MEMORY_WRITE_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT)

/* capture_present.c. What is presented, read on its queue without the lock: waits until it is there. Then what the
 * submit that was opened last has of it. */
enum { HDI_CAP_PRESENTED = 8 };
typedef struct hdi_cap_presented {
    VkImage image; /* null: not known */
    uint64_t hash;
} hdi_cap_presented;
void hdi_cap_read_presented(VkQueue queue, const VkPresentInfoKHR *info, hdi_cap_presented out[HDI_CAP_PRESENTED]);
void hdi_cap_presented_locked(const hdi_cap_presented *images, uint32_t count);
void hdi_cap_free_readback(void);

#endif
