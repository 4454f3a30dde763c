/* What the files that capture share: one capture a process, under one lock. Functions whose names end in _locked are
 * called with it. */
#ifndef HDI_CAPTURE_STATE_H
#define HDI_CAPTURE_STATE_H

#include <pthread.h>

#include <heddle/capture.h>

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
    HDI_CAP_TOLD, /* what threads tell each other: a semaphore behind a pointer of heddle's */
} hdi_cap_kind;

enum { HDI_CAP_LABELS = 16, HDI_CAP_BINDINGS = 32 };

/* A command buffer while it is recorded, and what it holds. In list, resources are numbers of objects, names and labels
 * those of cap.names. */
typedef struct hdi_cap_commands {
    hd_stream *list;
    hd_stream *at_end; /* accesses of the end of the rendering that has begun */
    uint32_t labels[HDI_CAP_LABELS], label_count;
    uint32_t group, scope;
    struct hdi_cap_pass_run *run; /* the render pass object that has begun, or null */
    struct {
        uint32_t object; /* HD_NONE: none */
        uint64_t offset, bytes;
    } vertices[HDI_CAP_BINDINGS], index;
    uint32_t index_bytes;
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
    uint32_t of;             /* a view's image, a command buffer's pool; object */
    uint64_t value;          /* semaphores, fences, queues: highest that is signalled; binary: pending signals */
    uint32_t binary, queue_kind, family;
    bool mapped;
    hdi_cap_commands *commands;
    void *made; /* of render passes and framebuffers: what they were made from */
    size_t made_bytes;
} hdi_cap_object;

typedef struct hdi_cap_slot {
    uint64_t handle;
    uint32_t kind, object; /* object HD_NONE: dead; kind UINT32_MAX: free */
} hdi_cap_slot;

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
} hdi_cap_hooks;
extern const hdi_cap_hooks hdi_cap_object_hooks, hdi_cap_record_hooks, hdi_cap_transfer_hooks, hdi_cap_draw_hooks,
    hdi_cap_bind_hooks, hdi_cap_pass_hooks, hdi_cap_submit_hooks;

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
    (((UINT64_C(1) << 49) - 1) & ~(UINT64_C(1) << 1 | UINT64_C(0xff) << 10 | HD_STREAM_STATE_INDEX))
#define HDI_CAP_USES_COMPUTE (HD_STREAM_STATE_PIPELINE(1) | UINT64_C(0xff) << 10 | HD_STREAM_STATE_PUSH)
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

/* ---- capture_submit.c ---- */
/* The numbers of objects in the stream. HD_NONE: no memory, or too many queues. */
uint32_t hdi_cap_stream_resource_locked(uint32_t object);
uint32_t hdi_cap_stream_string_locked(uint32_t name);
uint32_t hdi_cap_thread_locked(void);

#endif
