/* What an hd_vk holds, and what the files of vk/ call of one another. One thread at a time runs an hd_vk; what workers
 * and the host thread touch as well says so. */
#ifndef HDI_VK_STATE_H
#define HDI_VK_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include <heddle/vk.h>

#include "alloc.h"
#include "arena.h"
#include "observer.h"
#include "functions.h"
#include "kept.h"
#include "staging.h"
#include "tables.h"

/* Cached objects that no frame used for so long are dropped; more than frames can be in flight. */
#define HDI_VK_KEEP_FRAMES 16
/* Heap numbers: a memory type, plus this for memory that the host maps. */
#define HDI_VK_HOST_HEAP 32u
/* A history is dropped when this many frames in a row have skipped it. */
#define HDI_VK_HISTORY_FRAMES 256
/* In flags of heaps: of histories, and no plan's. */
#define HDI_VK_HEAP_HISTORIES (1u << 31)
/* In the serials of imports that are heddle's own. */
#define HDI_VK_OWN_SERIAL (UINT64_C(1) << 63)

/* ---- resources ---- */

/* What an image or buffer is made from; no padding, compared as bytes. */
typedef struct hdi_vk_key {
    uint64_t bytes;
    uint32_t width, height, depth, format, mips, layers, samples, flags, usage;
    uint32_t bits; /* HDI_VK_KEY_* */
    uint32_t view_format; /* of hd_resource_info */
    uint32_t zero;
} hdi_vk_key;
enum { HDI_VK_KEY_BUFFER = 1, HDI_VK_KEY_HOST = 2, HDI_VK_KEY_CONCURRENT = 4, HDI_VK_KEY_IMPORT = 8 };
_Static_assert(sizeof(hdi_vk_key) == 56, "keys are compared and hashed as bytes");

/* What one frame left on one queue in some memory or in an import. */
typedef struct hdi_vk_left {
    uint64_t value; /* of the queue's timeline, which says that it has finished */
    uint64_t frame;
    uint64_t stages, access; /* access: of writes only */
    uint32_t queue;
    bool writes, apart; /* apart: in no stage that a barrier could name */
} hdi_vk_left;

/* Lives in the arena of its frame's slot. */
typedef struct hdi_vk_cell {
    uint64_t frame;
    uint32_t left_count;
    bool writes; /* its own frame does */
    hdi_vk_left left[];
} hdi_vk_cell;

/* Bytes of a heap and what the last frame that used them left there. */
typedef struct hdi_vk_span {
    uint64_t begin, end;
    uint64_t frame; /* the cell is gone once the frame's slot has come round again */
    const hdi_vk_cell *cell;
} hdi_vk_span;

typedef struct hdi_vk_import {
    const void *native;
    uint64_t frame;
    const hdi_vk_cell *cell;
    uint64_t serial;           /* the engine's */
    uint32_t resource, layout; /* in that frame; what it left the image in */
    bool buffer, warned;
} hdi_vk_import;

/* An engine's semaphores around an import; the submits are those of the frame that is executed. */
typedef struct hdi_vk_sync {
    const hd_graph *graph;
    hd_resource import;
    hd_vk_sync sync;
    uint32_t wait_submit, signal_submit;
    uint32_t wait_command; /* first of the plan that must come behind the wait; HD_NONE: all of wait_submit */
    struct hdi_vk_told *told; /* of a swapchain, which waits only where the frame uses the image; null: the engine's */
    uint64_t host_needed;     /* of the host's timeline: value that its signal depends on; 0: none */
} hdi_vk_sync;

/* What became of a swapchain's image in a frame. */
typedef struct hdi_vk_told {
    uint64_t frame;
    uint64_t host_needed; /* of the host's timeline: value that the signal for the present depends on; 0: none */
    uint32_t queue;       /* of hd_vk: did the last of it */
    bool done;
} hdi_vk_told;

/* A memory barrier that stands before a command because of earlier frames. */
typedef struct hdi_vk_join {
    uint64_t src_stages, src_access, dst_stages, dst_access;
} hdi_vk_join;

typedef struct hdi_vk_heap {
    hd_vk_memory at;
    uint64_t serial; /* never used twice */
    uint64_t bytes;
    uint32_t number, flags, ordinal; /* of the plan heaps that it stands for; flags may be HDI_VK_HEAP_HISTORIES */
    uint32_t copy;                   /* vk->frame modulo copy_count of the frames that use it */
    uint64_t last_frame, since; /* since: the last frame that needed more than half of it, or made it */
    uint64_t most;  /* bytes that frames needed from then on */
    bool retired;   /* another one took its place */
    uint32_t histories; /* of those: that live in it, and bytes from the front that they have taken */
    uint64_t used;
    hdi_vk_span *spans; /* disjoint, ascending */
    uint32_t span_count, span_capacity;
} hdi_vk_heap;

typedef struct hdi_vk_view {
    struct hdi_vk_view *next;
    hdi_vk_shape shape;
    hd_vk_view_info info;
} hdi_vk_view;

typedef struct hdi_vk_object {
    hdi_vk_key key;
    uint64_t serial; /* never used twice */
    uint64_t heap_serial, offset; /* place; part of what it is found by. Imports: the engine's serial and the handle */
    hdi_vk_heap *heap; /* of histories and what they are of: where it lies, and how long it is; else null */
    uint64_t bytes;
    VkImage image;
    VkBuffer buffer;
    void *mapped;
    uint64_t last_frame;
    hdi_vk_view *views;         /* under the view lock */
    struct hdi_vk_object *next; /* same bucket */
} hdi_vk_object;

/* For callbacks that ask for what their pass may not have; of buffer and image. */
typedef struct hdi_vk_spare {
    VkBuffer buffer;
    VkImage image;
    VkImageView view;
    VkDeviceMemory memory[2];
    bool made;
} hdi_vk_spare;

/* Where a resource of a plan was found in the frame before; in steady frames it is there again. */
typedef struct hdi_vk_guess {
    hdi_vk_object *object;
    uint32_t span; /* of its heap */
} hdi_vk_guess;

typedef struct hdi_vk_size {
    hdi_vk_key key;
    hd_memory_need need;
    uint32_t result;
    bool used;
} hdi_vk_size;

/* ---- frames ---- */

typedef struct hdi_vk_queue {
    hd_vk_queue_desc desc; /* the host queue: kind host, no family */
    VkQueueFlags flags;    /* of the family */
    uint32_t family_index; /* in families */
    VkSemaphore timeline;
    uint32_t timestamp_bits; /* of the family; 0: none */
    uint64_t base;      /* value with which the frames so far end */
    uint64_t submitted; /* highest value whose signal was handed to the driver (or to the host thread) */
    uint64_t host_needed; /* highest value of the host's timeline that what it was given depends on; 0: none */
} hdi_vk_queue;

/* A command pool of one frame slot and kind; taken by one batch or strand at a time. */
typedef struct hdi_vk_pool {
    struct hdi_vk_pool *next; /* all of the slot */
    struct hdi_vk_pool *free; /* those free of the kind, which have buffers left */
    VkCommandPool pool;
    uint32_t kind;
    VkCommandBuffer *buffers;
    uint32_t buffer_count, buffer_capacity, buffer_used;
} hdi_vk_pool;
/* Of pools: by family index and level of their command buffers. */
#define HDI_VK_POOL_KINDS (2 * HD_MAX_QUEUES)
static inline uint32_t hdi_vk_pool_kind(uint32_t family_index, bool secondary)
{
    return 2 * family_index + secondary;
}

typedef struct hdi_vk_host_use {
    uint32_t handle;
    hdi_vk_object *object;
} hdi_vk_host_use;

typedef struct hdi_vk_host_pass {
    const char *name; /* never null */
    hd_record_fn record;
    void *user;
    hdi_vk_host_use *uses;
    uint32_t use_count;
    uint32_t pass;
    uint64_t begin_ns, end_ns;
    void *observed; /* what the observer keeps of it */
} hdi_vk_host_pass;

typedef struct hdi_vk_host_submit {
    VkSemaphore *semaphores;
    uint64_t *values;
    uint32_t wait_count;
    hdi_vk_host_pass *passes;
    uint32_t pass_count;
    uint64_t signal; /* 0: none */
} hdi_vk_host_submit;

/* ---- times ---- */

/* Something measured while its frame is in flight; on the GPU the times are in queries 2 * pass and 2 * pass + 1. */
typedef struct hdi_vk_timed {
    hd_vk_span span;
    const uint64_t *host; /* begin and end, where the host thread writes them */
} hdi_vk_timed;

/* Times of a finished frame. */
typedef struct hdi_vk_times {
    uint64_t frame;
    hd_vk_span *spans;
    char *names; /* one after another, in the order of the spans */
    uint32_t span_count, span_capacity, name_bytes, name_capacity;
    bool calibrated;
} hdi_vk_times;

typedef struct hdi_vk_slot {
    hdi_arena arena;
    uint64_t end[HD_MAX_QUEUES]; /* timeline values that its frame ends with; 0: nothing to wait for */
    hdi_vk_pool *pools;
    hdi_vk_pool *free_pools[HDI_VK_POOL_KINDS]; /* under pool_lock */
    VkEvent *events;
    uint32_t event_count, event_capacity;
    hdi_vk_object *imports; /* arena; their views live as long as the frame */
    uint32_t import_count;
    hdi_vk_host_submit *host_submits; /* arena */
    uint32_t host_submit_count;
    uint32_t *aliases; /* arena; what handles of lists stand for, from first_alias on: for host passes */
    uint32_t first_alias, alias_count;
    uint64_t frame;
    bool by_host;       /* the host thread waits for its frame and tells */
    VkQueryPool queries;
    uint32_t query_capacity, query_count;
    hdi_vk_timed *timed; /* arena; null: nothing to collect */
    uint32_t timed_count, timed_capacity;
    atomic_int failure;  /* first hd_result of a worker or of a record callback's call */
    hd_error host_error; /* first one of its frame's host passes; the caller's once the frame has finished */
} hdi_vk_slot;

/* The plan and its declaration during one hd_vk_execute. */
typedef struct hdi_vk_frame {
    hd_vk *vk;
    hdi_vk_slot *slot;
    const hd_graph *graph;
    hdi_decl decl;
    hd_plan_view plan;
    hdi_vk_kept *kept;
    const uint32_t *queue_of;   /* of kept */
    const uint32_t *plan_index; /* of kept */
    hdi_vk_object **bound;      /* by declared resource; null: not in the plan */
    bool rebound;               /* some object is not the one that stands in the kept barriers */
    hdi_vk_heap **heaps;        /* by plan heap */
    struct hdi_vk_init *inits;
    uint32_t init_count;
    struct hdi_vk_history **histories; /* those of kept; null: not found yet */
    struct hdi_vk_history **next_histories; /* room for all that there are */
    struct hdi_vk_batch *batches;
    uint32_t batch_count;
    uint32_t *submit_batch_begin; /* submit_count + 1 */
    struct hdi_vk_strand *strands;
    uint32_t strand_count;
    uint32_t *jobs; /* what is recorded first: batches without strands, and batch_count + strand; the dearest first */
    uint32_t job_count;
    atomic_uint next_job;
    hdi_vk_ends ends;
    uint32_t first_observed; /* number of pass 0, by the observer */
    uint32_t *before;      /* by command: 1 + index in joins; 0: none */
    hdi_vk_join *joins;
    uint32_t *before_room; /* what the two are written into, where they are not those of the kept plan */
    hdi_vk_join *joins_room;
    uint64_t *join_values; /* submit * (queue_count + 1) + queue: value of earlier frames to wait for; 0: none */
    uint64_t known[HD_MAX_QUEUES][HD_MAX_QUEUES]; /* hd_vk.known as this frame leaves it */
} hdi_vk_frame;

/* A command buffer and the worker that recorded it. */
typedef struct hdi_vk_made {
    VkCommandBuffer commands;
    uint32_t worker;
    uint64_t begin_ns, end_ns; /* where frames are timed */
} hdi_vk_made;

/* Consecutive commands of one submit in one primary command buffer. */
typedef struct hdi_vk_batch {
    uint32_t submit;
    uint32_t command_begin, command_count;
    bool after_host; /* begins with a barrier that shows what the host wrote */
    uint32_t strand_begin, strand_count; /* what of it is recorded apart */
    atomic_uint pending;                 /* strands not recorded yet; the worker of the last one records the batch */
    float cost;                          /* without that of its strands */
    hdi_vk_made made;
} hdi_vk_batch;

/* Consecutive passes of one rendering scope, or a part of one pass, in one secondary command buffer. */
typedef struct hdi_vk_strand {
    uint32_t batch;
    uint32_t scope; /* HD_NONE: outside of rendering, a part */
    uint32_t command_begin, command_count;
    uint32_t part, part_count; /* part_count 0: whole passes */
    float cost;
    hdi_vk_made made;
} hdi_vk_strand;

struct hd_recorder {
    hdi_vk_frame *frame; /* null in a host pass */
    const hdi_vk_host_pass *host;
    hd_vk *vk;
    VkCommandBuffer commands;
    uint32_t pass, worker, part, part_count;
    uint64_t frame_index;
};

struct hd_vk {
    hd_allocator allocator;
    hd_log log;
    hd_jobs *jobs;
    bool owns_device;
    bool labels; /* debug labels can be recorded */
    const hdi_vk_observer *observer; /* null: none */
    char device_name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];

    PFN_vkGetInstanceProcAddr get_instance_proc;
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkDevice device;
    hdi_vk_instance_table in;
    hdi_vk_device_table fn;
    VkPhysicalDeviceLimits limits;
    uint64_t max_buffer_bytes;
    uint64_t max_piece_bytes; /* of one VkDeviceMemory; 0: not told */
    VkResolveModeFlags depth_resolves, stencil_resolves; /* modes */
    bool independent_resolves, independent_resolve_none; /* depth in one mode and stencil in another, or in none */
    bool aspects_apart;                                  /* layouts of depth and stencil may differ */
    VkPhysicalDeviceMemoryProperties memory;

    hdi_vk_queue queues[HD_MAX_QUEUES]; /* queue_count of the GPU, then the host's */
    uint32_t queue_count;
    uint32_t families[HD_MAX_QUEUES]; /* distinct */
    uint32_t family_count;

    /* memory.c */
    pthread_mutex_t size_lock; /* the compiler may ask from its workers */
    hdi_vk_size *sizes;
    uint32_t size_count, size_capacity;
    hdi_vk_heap **heaps;
    uint32_t heap_count, heap_capacity;
    uint64_t heap_serial;
    hd_vk_memory_callbacks memory_callbacks; /* no allocate: the driver's */
    uint64_t alignment;                      /* the largest that any resource asked for; under size_lock */
    uint64_t aligned_plan;                   /* hash of the last plan whose resources' alignments are known */

    /* resource.c, view.c */
    hdi_vk_object **buckets;
    uint32_t bucket_count, object_count;
    hdi_vk_guess *guesses; /* by plan resource and copy: what it was last; objects are null after one was destroyed */
    uint32_t guess_capacity;
    pthread_mutex_t view_lock;
    uint64_t view_serial; /* under it */
    hd_vk_view_callbacks view_callbacks;
    hdi_vk_spare spare; /* under the view lock */

    /* history.c */
    struct hdi_vk_history **histories; /* those of the last frame first, in its order */
    uint32_t history_count, history_capacity;
    uint64_t attempt; /* frames that were tried */

    /* kept.c */
    hdi_vk_kept *kept; /* list */
    uint64_t kept_serial, object_serial;
    uint64_t seen[HDI_VK_KEEP_FRAMES]; /* hashes of the plans of the last frames */
    uint64_t guess_owner[HDI_VK_MAX_FRAMES]; /* by copy: serial of the kept one that set the guesses; 0: none */

    /* join.c */
    hdi_vk_import *imports; /* hashed by native handle */
    uint32_t import_count, import_capacity;
    hdi_vk_sync *syncs; /* for the next frame */
    uint32_t sync_count, sync_capacity;
    hdi_vk_kept *streak_of; /* of the last frame's plan */
    uint32_t streak;        /* frames of it before the last one, in a row, until they repeat */
    uint32_t stale;         /* how many of the last ones do not stand in the spans; slot_count stands for more */
    bool fresh[HD_MAX_QUEUES]; /* the queue's next submit waits for all that came before */
    uint64_t known[HD_MAX_QUEUES][HD_MAX_QUEUES]; /* by queue, of which queue: highest value that it has waited for */

    /* frames */
    hd_vk_pass_callbacks pass_callbacks;
    uint32_t slot_count;
    uint32_t copy_count; /* of memory that frames do not hand on */
    hdi_vk_slot slots[HDI_VK_MAX_FRAMES];
    pthread_mutex_t pool_lock;
    uint64_t frame; /* frames executed */
    hd_vk_frame_stats stats;
    atomic_int lost; /* the hd_result that ended it; also set by the host thread */

    /* error.c */
    atomic_bool entered; /* a call of the engine runs */
    pthread_mutex_t error_lock;
    bool failed; /* error is of the call that runs, or ran last */
    hd_error error; /* of the last call that failed */

    struct hd_vk_swapchain *swapchains; /* swapchain.c; a list */

    /* staging.c */
    hdi_vk_help help[HDI_VK_MAX_FRAMES + 1]; /* by frame modulo slot_count + 1 */
    hdi_vk_chunk *idle_chunks;               /* no frame uses them */

    hdi_vk_uploads uploads; /* upload.c */

    /* timing.c */
    hdi_vk_times *times; /* ring */
    uint32_t times_capacity;
    uint64_t times_count, calibrated_ticks, calibrated_ns; /* times_count: frames ever collected */
    bool calibrated;

    /* host.c */
    pthread_t host_thread;
    bool host_started, host_quit;
    pthread_mutex_t host_lock;
    pthread_cond_t host_wake, host_told;
    hdi_vk_slot *host_queue[HDI_VK_MAX_FRAMES + 1]; /* ring; head (the oldest), tail and pushed under host_lock */
    uint64_t host_head, host_tail;                  /* they only rise */
    VkSemaphore host_more; /* a timeline that has the value host_pushed: frames pushed so far */
    uint64_t host_pushed;
    uint64_t host_finished; /* frames before this one have finished, as far as the host thread had to do with them */
    uint64_t host_signalled; /* value of the host's timeline; under host_lock */
};

/* Layers of a barrier. With the feature maintenance9 those of a 3D image that 2D views can be made of are its slices,
 * and 1 would be the first of them. */
static inline uint32_t hdi_vk_barrier_layers(const hdi_vk_key *key, uint32_t count)
{
    return key->depth > 1 ? VK_REMAINING_ARRAY_LAYERS : count;
}

static inline hdi_vk_guess *hdi_vk_guess_of(hd_vk *vk, uint32_t plan_resource)
{
    return &vk->guesses[(size_t)plan_resource * vk->copy_count + vk->frame % vk->copy_count];
}

#endif
