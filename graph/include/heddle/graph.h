/* heddle/graph.h: declare a frame, compile it into a plan, read and verify the plan.
 *
 * Formats, stages, accesses, layouts and usage bits are Vulkan's own numbers (VkFormat, VkPipelineStageFlags2,
 * VkAccessFlags2, VkImageLayout, VkImageUsageFlags, ...) held in plain integers: this header needs no Vulkan header.
 * Sizes are bytes, times microseconds, unless said otherwise. A graph is used by one thread at a time, and not
 * changed while it is executed: else the log says so and the next compile fails (of calls that declare, in debug
 * builds). A plan is constant and may be read by many. */
#ifndef HEDDLE_GRAPH_H
#define HEDDLE_GRAPH_H

#include <stdbool.h>
#include <stdio.h>

#include <heddle/base.h>
#include <heddle/jobs.h>

HD_API_BEGIN

typedef struct hd_graph hd_graph;
typedef struct hd_plan hd_plan;
typedef struct hd_recorder hd_recorder; /* what a pass records into; made by heddle/vk.h */

/* Handles of one frame: valid from the call that returned them to the next hd_graph_begin. id 0 is none.
 * A hd_resource names a version of a resource: what hd_graph_image and its like return is the first one, and a write
 * may start the next (hd_use.next). Whatever asks which resource is meant (plans, errors, recorders) takes any version.
 */
typedef struct hd_resource {
    uint32_t id;
} hd_resource;
typedef struct hd_pass {
    uint32_t id;
} hd_pass;

/* ---- graph ---- */

typedef struct hd_graph_desc {
    const char *name; /* copied, at most 4096 bytes of it; null: "frame" */
    hd_allocator allocator;
    hd_log log;
    bool log_plans; /* for debugging: each new plan (none that is found again) goes to log by hd_plan_log */
    uint32_t plans; /* how many plans are kept to be found again, at most 1024; 0: 4, HD_NONE: none */
} hd_graph_desc;

/* desc may be null. The graph belongs to the caller. */
hd_result hd_graph_create(const hd_graph_desc *desc, hd_graph **out);
/* Frees the graph and its plans. Null is allowed. */
void hd_graph_destroy(hd_graph *graph);
/* Starts a new frame: forgets all declarations and the sticky error, keeps the memory. Handles of before become stale.
 */
void hd_graph_begin(hd_graph *graph);
void hd_graph_set_name(hd_graph *graph, const char *name);
const char *hd_graph_name(const hd_graph *graph);

/* The first mistake of this frame, if any. Declaring never fails on the spot: the first error sticks, is logged, and
 * comes back from compile; after it, declarations are ignored and return none. */
#define HD_NONE UINT32_MAX
typedef struct hd_error {
    hd_result result;
    uint32_t pass;     /* index of the pass (of one that was refused: the index that it would have got), or HD_NONE */
    uint32_t resource; /* index of the resource, likewise, or HD_NONE */
    uint32_t use;      /* index of the use within its pass, or HD_NONE */
    char text[512];    /* a sentence that names them */
} hd_error;
/* Any thread may read it between the graph's own calls. Never null; result is HD_OK when there is none. */
const hd_error *hd_graph_error(const hd_graph *graph);

/* ---- resources ---- */

/* Which queue families may access an image or buffer that passes on several families use. */
typedef enum hd_sharing {
    HD_SHARING_AUTO,      /* buffers: concurrent; images: concurrent where several queues read one content at once, else
                           * exclusive; imports: exclusive images, concurrent buffers */
    HD_SHARING_EXCLUSIVE, /* one family at a time, moved by ownership transfers */
    HD_SHARING_CONCURRENT, /* all families at once */
} hd_sharing;

typedef struct hd_image_desc {
    const char *name; /* must live until the frame is executed; null: none */
    uint32_t width, height, depth; /* texels; depth 0: 1 */
    uint32_t format;               /* VkFormat */
    uint32_t mips, layers, samples; /* 0: 1 */
    uint32_t flags;                 /* VkImageCreateFlags */
    uint32_t usage;                 /* VkImageUsageFlags beyond those that the uses imply */
    hd_sharing sharing;
} hd_image_desc;

typedef struct hd_buffer_desc {
    const char *name;
    uint64_t bytes;
    uint32_t usage; /* VkBufferUsageFlags beyond those that the uses imply */
    hd_sharing sharing;
    /* An order token: a buffer without memory, of which bytes is 0. Its uses are those of any buffer, as a whole, and
     * order passes in the same way, culling included: a pass that a kept one waits for is kept. The access says which
     * commands of a pass: hd_token_signal and hd_token_wait stand for all of a GPU pass, HD_HOST_WRITE and HD_HOST_READ
     * for a host pass. What the one that writes the token did in those stages, to whatever memory, is finished and
     * visible to those of the one that reads it. It has no native handle, no history and no owner (sharing is ignored),
     * and nothing of it is left for the next frame.
     *
     *     hd_resource done = hd_graph_buffer(g, &(hd_buffer_desc){.name = "particles done", .token = true});
     *     first:  .uses = HD_USES({done, HD_ACCESS_CUSTOM, .custom = &hd_token_signal})
     *     behind: .uses = HD_USES({done, HD_ACCESS_CUSTOM, .custom = &hd_token_wait})
     */
    bool token;
} hd_buffer_desc;

/* A resource from outside: it keeps its content after the frame. The frame relies on it that all earlier work on the
 * resource has completed and is visible. */
typedef struct hd_import_desc {
    const char *name;
    struct VkImage_T *image;   /* a VkImage, or ... */
    struct VkBuffer_T *buffer; /* a VkBuffer; with neither the graph can be compiled but not executed */
    /* An image, unless bytes > 0. */
    uint32_t width, height, depth, format, mips, layers, samples;
    uint32_t flags;          /* VkImageCreateFlags that it was made with */
    uint32_t initial_layout; /* VkImageLayout at the frame's start; UNDEFINED (0): it holds no content */
    /* VkImageLayout to leave it in, but not PREINITIALIZED; UNDEFINED (0): where its last use leaves it. An image that
     * no pass uses, but for those that are culled, stays in initial_layout: the plan has no entry for it. */
    uint32_t final_layout;
    uint64_t bytes;          /* > 0: a buffer */
    hd_sharing sharing;      /* as it was made */
    /* Not 0: a number that this image has as long as it lives and that no later image behind the same handle gets.
     * Views of it are then kept from frame to frame; else they live for one frame. Below 2^63: the others are heddle's.
     * The executor refuses one with which an earlier frame gave the image other sizes or another format.
     */
    uint64_t serial;
} hd_import_desc;

hd_resource hd_graph_image(hd_graph *graph, const hd_image_desc *desc);
hd_resource hd_graph_buffer(hd_graph *graph, const hd_buffer_desc *desc);
hd_resource hd_graph_import(hd_graph *graph, const hd_import_desc *desc);
/* What `of` (an image or buffer of this graph, declared this frame) held at the end of the previous frame; read-only.
 * Two physical resources take turns. At most one history of a resource. Its content is kept after the frame. The same
 * as hd_graph_history_with of a description in which all but `of` is 0. */
hd_resource hd_graph_history(hd_graph *graph, hd_resource of);

/* A frame skips a history where no pass that is kept uses what it is of, or the history is not declared: nothing is
 * handed on. What a history holds behind such frames: */
typedef enum hd_skipped {
    HD_SKIPPED_KEEP,    /* what it held before them. The executor bounds how long: heddle/vk.h */
    HD_SKIPPED_RESTART, /* zero, as in its first frame */
} hd_skipped;

/* Plans depend on `of` alone. */
typedef struct hd_history_desc {
    hd_resource of;
    hd_skipped skipped;
    /* Not 0: the executor recognises the history by this key from frame to frame. 0: by the name of the resource `of`.
     * Histories of two frames or views that are executed side by side need two keys or names. */
    uint64_t key;
} hd_history_desc;
hd_resource hd_graph_history_with(hd_graph *graph, const hd_history_desc *desc);

/* ---- passes ---- */

typedef enum hd_pass_type { HD_PASS_GFX, HD_PASS_COMPUTE, HD_PASS_TRANSFER, HD_PASS_HOST } hd_pass_type;

/* What a use does to its range. _WRITE: overwrites, earlier content is thrown away; _RW: reads and writes. _GRAPHICS:
 * in vertex and fragment shaders. */
typedef enum hd_access {
    HD_ACCESS_NONE,
    HD_COLOR_WRITE, /* blends over its clear value and what its own pass drew, not with HD_LOAD_DONT_CARE */
    HD_COLOR_RW,    /* blends over what earlier passes drew */
    HD_DEPTH_WRITE, /* tests against its clear value and what its own pass wrote */
    HD_DEPTH_RW,
    HD_DEPTH_READ,
    HD_SAMPLED_GRAPHICS,
    HD_SAMPLED_COMPUTE,
    HD_STORAGE_READ_COMPUTE,
    HD_STORAGE_WRITE_COMPUTE,
    HD_STORAGE_RW_COMPUTE,
    HD_UNIFORM_READ,
    HD_UNIFORM_READ_COMPUTE,
    HD_VERTEX_READ,
    HD_INDEX_READ,
    HD_INDIRECT_READ,
    HD_TRANSFER_SRC,
    HD_TRANSFER_DST,
    HD_HOST_READ, /* this and the next one: images can be compiled but not executed, unless they are imports */
    HD_HOST_WRITE,
    HD_PRESENT,
    HD_SAMPLED_VERTEX,
    HD_SAMPLED_FRAGMENT,
    HD_STORAGE_READ_GRAPHICS,
    HD_STORAGE_WRITE_GRAPHICS,
    HD_STORAGE_RW_GRAPHICS,
    HD_ACCESS_COUNT,
    HD_RESOLVE_WRITE = 30, /* overwritten at the end of the pass by the resolve of hd_use.resolve_of; gfx, images */
    HD_ACCESS_CUSTOM = 31, /* stages, access and layout stand in hd_use.custom */
} hd_access;

/* A range of a resource; all zero is the whole. Images: a count of 0 means all from the base on. Buffers: bytes 0 means
 * all from the offset on. */
typedef union hd_range {
    __extension__ struct { /* standard C11, and an extension of C++ that both compilers have */
        uint16_t mip_base, mip_count;
        uint32_t layer_base, layer_count;
        uint32_t aspect; /* HD_ASPECT_*, of an image with depth and stencil; 0: all aspects of the format */
    };
    __extension__ struct {
        uint64_t offset, bytes;
    };
} hd_range;
#define HD_ASPECT_DEPTH 2u /* VkImageAspectFlags; layouts are those of both aspects, HD_DEPTH_* does for stencil too */
#define HD_ASPECT_STENCIL 4u

/* What HD_COLOR_WRITE and HD_DEPTH_WRITE start from. */
typedef enum hd_load { HD_LOAD_CLEAR, HD_LOAD_DONT_CARE } hd_load;

typedef union hd_clear {
    float color[4];
    __extension__ struct {
        float depth;
        uint32_t stencil;
    };
} hd_clear;

/* An access beyond the named ones; copied. */
typedef struct hd_custom_access {
    /* VkPipelineStageFlags2, such as queues for the pass's type have, but neither TOP nor BOTTOM_OF_PIPE */
    uint64_t stages;
    uint64_t access; /* VkAccessFlags2, each bit such as one of the stages can do */
    uint32_t layout; /* VkImageLayout, neither UNDEFINED nor PREINITIALIZED; ignored for buffers */
    uint32_t usage;  /* VkImageUsageFlags or VkBufferUsageFlags that it needs */
    bool reads, writes;
} hd_custom_access;

extern const hd_custom_access hd_token_signal, hd_token_wait; /* of order tokens: hd_buffer_desc.token */

typedef struct hd_use {
    hd_resource resource;
    hd_access access;
    hd_range range;
    hd_clear clear;
    hd_load load;
    /* Only with HD_RESOLVE_WRITE: an attachment of the same pass, of the same format, size and layers, with more than
     * one sample. An attachment is resolved at most once a pass. */
    hd_resource resolve_of;
    /* Where the handle of the next version goes; null: versions are ignored, declaration order counts.
     * A write that gives `next` ends the version that it names in `resource` and starts the next one, of the whole
     * resource: what lies outside its range carries over. A read of the old handle, in a pass declared earlier or
     * later, reads what stood there before this write, and is ordered before this and all later writes where they
     * overlap. A use of the new handle comes after the write. Uses through one handle are in declaration order.
     * An ended version can be read, not written: another pass that writes it is HD_VERSION_FORKED (uses of one pass end
     * a version together and get the same next one). Reads that would have to run before themselves make compile fail
     * with HD_VERSION_CYCLE. Of a read, `next` gets the handle that it read. */
    hd_resource *next;
    uint32_t resolve_mode; /* VkResolveModeFlagBits, of depth; 0: the first sample. Colors: 0, which averages the
                            * samples and takes the first one of integers */
    /* VkFormat in which the pass sees an image, in views and attachments. 0: the image's own. Another one has blocks of
     * texels of as many bytes, and neither is of depth or stencil; the image is then made with
     * VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT and _EXTENDED_USAGE_BIT (an import was made with the first). A resolve has the
     * format of its attachment. */
    uint32_t format;
    const hd_custom_access *custom; /* only with HD_ACCESS_CUSTOM */
} hd_use;

/* HD_USES({depth, HD_DEPTH_WRITE}, {albedo, HD_COLOR_WRITE}) gives .uses its value and its count. In C: C++ has no
 * arrays that are made in an expression; there the two are set to an array's. */
#define HD_USES(...)                                                                                                   \
    (const hd_use[]){__VA_ARGS__}, .use_count = sizeof((const hd_use[]){__VA_ARGS__}) / sizeof(hd_use)

typedef enum hd_queue_kind { HD_QUEUE_GFX, HD_QUEUE_COMPUTE, HD_QUEUE_TRANSFER, HD_QUEUE_HOST } hd_queue_kind;

/* Runs on any worker, during hd_vk_execute; passes of one frame may record at the same time. For a host pass: runs on
 * the host queue's thread once what it waits for has finished, which may be long after hd_vk_execute returned. What
 * `user` of a host pass points to lives until then: with N frames in flight, N + 1 copies that take turns are enough.
 */
typedef void (*hd_record_fn)(hd_recorder *recorder, void *user);

typedef enum hd_pin { HD_PIN_NONE, HD_PIN_GFX, HD_PIN_COMPUTE, HD_PIN_TRANSFER } hd_pin;

typedef struct hd_pass_desc {
    const char *name; /* must live until the frame is executed; null: none */
    hd_pass_type type;
    hd_pin pin; /* a kind that the queue set lacks: ignored; one that cannot run the type: HD_BAD_PIN */
    bool root;         /* never culled */
    bool no_rendering; /* gfx passes: heddle does not begin dynamic rendering, the pass does its own */
    float cost_us;     /* expected GPU time, from 0 on and finite; 0: 10 */
    const hd_use *uses; /* copied */
    uint32_t use_count;
    hd_record_fn record; /* null: the pass records nothing */
    void *user;
    /* record is called so many times, also side by side: heddle/vk.h says which part a call is to record, and the
     * parts' commands run in order. 0: 1; at most HD_MAX_SPLITS. Nothing in the plan depends on it. Host passes: called
     * once. */
    uint32_t splits;
} hd_pass_desc;
enum { HD_MAX_SPLITS = 1024 };

/* A pass and its uses in one call; graph: or a list (below). Order of calls is declaration order: a read sees the last
 * earlier write of the version that it names. */
hd_pass hd_graph_pass(hd_graph *graph, const hd_pass_desc *desc);

/* ---- declaring on several threads ---- */

/* A list is a part of the frame that one thread declares while others declare theirs. Lists join the graph in the order
 * of their keys, in whatever order and on whatever threads they were filled: the frame is what the same calls, made one
 * list after another, would have declared.
 *
 * All calls that declare take a list as they take the graph: hd_graph_image, _buffer, _import, _history, _history_with
 * and _pass, and the helpers of heddle/vk.h. They only note what is declared (descriptions, uses and custom accesses
 * are copied, names are not): checks and errors come with the join, the first error by order of keys. They return
 * handles of their own, and so does hd_use.next; these are good in that list at once, in the graph from the join on,
 * and in lists of larger keys. What the graph declared before a list uses it is good in that list too. All other calls
 * want the graph: given a list they refuse it, or do nothing.
 *
 * Opens a list. Any thread, also while the graph's own thread declares; what the graph's thread declares before the
 * join stands before all lists. Keys of lists that are open at a time differ, else the join fails. The list belongs to
 * the graph and lives until the join; one thread at a time declares into it. What is
 * declared into it later is lost: the call gives none, and the next join fails with HD_LIST_JOINED. Null when there is
 * no memory: then the join fails with HD_OUT_OF_MEMORY, and the calls that declare accept null. */
hd_graph *hd_graph_list(hd_graph *graph, uint32_t order_key);
/* Appends all open lists to the graph and closes them. By the graph's own thread, after the others have finished
 * theirs. hd_graph_compile does it for lists that are still open. Returns the graph's error. */
hd_result hd_graph_join(hd_graph *graph);

/* Indices behind the handles, as plans, errors and files name them: dense from 0 in order of declaration; passes have a
 * numbering of their own. HD_NONE for a handle that is not of this frame. */
uint32_t hd_graph_resource_index(const hd_graph *graph, hd_resource resource);
uint32_t hd_graph_pass_index(const hd_graph *graph, hd_pass pass);
uint32_t hd_graph_resource_count(const hd_graph *graph);
uint32_t hd_graph_pass_count(const hd_graph *graph);

/* ---- by name: modules that do not know one another ---- */

/* The first pass of this frame with the name; none: there is none, or its list has not joined yet. O(passes). */
hd_pass hd_graph_find_pass(const hd_graph *graph, const char *name);
/* Says that others find the resource by this name, until the next hd_graph_begin: a module of the engine publishes what
 * it makes ("depth"), and another one asks for that. The same name again takes the place of the one before, as for the
 * next version of a resource. name must live as long. By the graph's own thread, with handles of joined lists, too.
 * HD_OK, or the graph's error, which HD_BAD_HANDLE and HD_OUT_OF_MEMORY become. */
hd_result hd_graph_publish(hd_graph *graph, const char *name, hd_resource resource);
/* None (id 0): nothing was published by the name. */
hd_resource hd_graph_find(const hd_graph *graph, const char *name);

/* ---- compile ---- */

typedef struct hd_queue_desc {
    hd_queue_kind kind; /* gfx, compute or transfer */
    uint32_t family;    /* queue family index */
} hd_queue_desc;

typedef enum hd_order {
    HD_ORDER_OVERLAP,  /* short frames: queues overlap, barriers are few, for about twice the memory that is needed */
    HD_ORDER_MEMORY,   /* as little memory as the passes need in declaration order, and the fewest barriers within it */
    HD_ORDER_DECLARED, /* as declared */
} hd_order;

/* What a resource needs in memory. heap: a small number chosen by the callback, resources of different numbers never
 * share a heap; below 64. host_visible: some host pass uses it. */
typedef struct hd_memory_need {
    uint64_t bytes;     /* from 1 to 32 tebibytes */
    uint64_t alignment; /* a power of two, likewise */
    uint32_t heap;
} hd_memory_need;
typedef struct hd_resource_info {
    bool is_buffer;
    bool host_visible;
    bool concurrent_possible; /* may be made with concurrent sharing */
    uint32_t width, height, depth, format, mips, layers, samples;
    uint32_t flags; /* VkImageCreateFlags, those that the uses imply included */
    uint32_t usage; /* VkImageUsageFlags or VkBufferUsageFlags, those that the uses imply included */
    uint64_t bytes; /* buffers */
    uint32_t view_format; /* VkFormat: the one in which uses see an image (hd_use.format) beside its own; 0: none, or
                           * several */
} hd_resource_info;
/* Same answer for the same info and user. A result other than HD_OK ends the compile with it. Not asked for a plan that
 * is found in the cache: where its answers change all the same, hd_graph_drop_plans comes first. */
typedef hd_result (*hd_size_fn)(const hd_resource_info *info, hd_memory_need *need, void *user);

enum {
    HD_PHASE_FREEZE,
    HD_PHASE_CULL,
    HD_PHASE_DEPEND,
    HD_PHASE_SIZE,
    HD_PHASE_SCHEDULE,
    HD_PHASE_SYNC,
    HD_PHASE_LIFETIME,
    HD_PHASE_ALIAS,
    HD_PHASE_BARRIER,
    HD_PHASE_ATTACH,
    HD_PHASE_PLAN,
    HD_PHASE_COUNT
};
const char *hd_phase_name(int phase);

/* A declaration that was compiled before, with the same queues and options, finds its plan again. Names, record
 * functions, user pointers, clear values and native handles may differ: no plan says anything about them. */
typedef enum hd_cache {
    HD_CACHE_ON,
    HD_CACHE_OFF,   /* neither looks for a plan nor keeps this one */
    HD_CACHE_CHECK, /* compiles all the same; HD_CACHE_MISMATCH unless the plan that was found has the same bytes */
} hd_cache;

typedef struct hd_compile_desc {
    const hd_queue_desc *queues; /* null: one gfx queue of family 0 */
    uint32_t queue_count; /* at most HD_MAX_QUEUES - 1; the host queue is added where the graph has host passes */
    hd_order order;
    uint64_t memory_budget; /* bytes for all heaps: the fewest barrier batches that stay within them, whatever the
                             * order; HD_OVER_BUDGET, with what would do, where nothing does. 0: none */
    uint32_t packing_effort; /* 0: to make heaps smaller takes at most about as much work as the rest of the compile;
                              * N: at most N times as much again. Work is counted in steps, not in time */
    float handoff_us;       /* price of a hand-off in microseconds, from 0 on and finite; 0: 6. Queues hand over to one
                             * another only where that shortens the frame by more than all hand-offs cost */
    hd_size_fn size;        /* null: the sizes that the .fgt format defines */
    void *size_user;
    hd_jobs *jobs;          /* null: serial */
    /* Gfx passes that stand side by side and go on with the attachments of the pass before share one rendering scope,
     * without the barriers between them; on one queue they are put there where memory allows it. Such a plan holds only
     * where its scopes are kept: an executor that replays only passes and barriers needs a plan without merging. */
    bool merge_rendering;
    uint64_t *phase_ns;     /* null, or HD_PHASE_COUNT times in nanoseconds to fill; all 0 for a plan that was found.
                              Of phases that run side by side the later one gets what it takes longer. */
    hd_cache cache;
} hd_compile_desc;

#define HD_MAX_QUEUES 16

/* Compiles this frame's declaration. desc may be null. The plan belongs to the graph and lives until its next compile
 * or destroy (it survives hd_graph_begin). On a result other than HD_OK *out is null and hd_graph_error says more (of
 * HD_INVALID_ARGUMENT: which field of desc is out of its range); that sticks, too: what is tried next (another budget,
 * other queues) begins with hd_graph_begin. */
hd_result hd_graph_compile(hd_graph *graph, const hd_compile_desc *desc, const hd_plan **out);

typedef struct hd_cache_stats {
    uint64_t hits, misses; /* compiles that looked for a plan */
    uint64_t checks;       /* hits that were compiled all the same, and compared */
    uint64_t dropped;      /* plans that made way for newer ones, the least recently used first */
    uint64_t bytes;        /* that kept plans and their keys hold */
    uint32_t plans, most;  /* plans that are kept, and may be */
} hd_cache_stats;
hd_cache_stats hd_graph_cache_stats(const hd_graph *graph);
/* Forgets all kept plans and gives their memory back; ends the life of the last plan, too. */
void hd_graph_drop_plans(hd_graph *graph);

/* ---- plan: one block of memory without pointers; these structs are its tables ---- */

typedef struct hd_plan_queue {
    uint32_t kind;   /* hd_queue_kind */
    uint32_t family; /* HD_NONE for the host queue */
} hd_plan_queue;

typedef struct hd_plan_heap {
    uint64_t bytes;
    uint32_t memory; /* the callback's heap number (0 without a callback: device, 1: host-visible) */
    uint32_t flags;  /* HD_HEAP_* */
} hd_plan_heap;
#define HD_HEAP_HOST 1u       /* buffers that host passes use */
#define HD_HEAP_PERSISTENT 2u /* histories and what they are of: nothing in it shares bytes */

/* Why a resource lies where it lies. */
typedef enum hd_placing {
    HD_PLACING_NONE,
    HD_PLACING_EXTERNAL,   /* brings its own memory */
    HD_PLACING_PERSISTENT, /* a history, or the resource that it is of: shares its bytes with no other resource */
    HD_PLACING_HOST,       /* host passes use it: a heap of its own kind; no resource had its bytes before */
    HD_PLACING_FIRST,      /* the first in the frame to use its bytes */
    HD_PLACING_TAKES_OVER, /* uses bytes that others (tenant is one) are done with */
    HD_PLACING_COUNT
} hd_placing;
const char *hd_placing_name(hd_placing placing);

typedef struct hd_plan_resource {
    uint32_t id;
    uint32_t heap; /* HD_NONE: external */
    uint64_t offset, bytes;
    uint32_t final_layout; /* images that are external, a history or the OF of one; else UNDEFINED */
    uint32_t first_family, final_family; /* HD_NONE where no GPU family owns it */
    uint32_t flags;        /* HD_PLAN_* */
    uint32_t placing;      /* hd_placing */
    uint32_t tenant;       /* with HD_PLACING_TAKES_OVER: a resource that had some of its bytes before; else HD_NONE */
} hd_plan_resource;
#define HD_PLAN_CONCURRENT 1u
#define HD_PLAN_EXTERNAL 2u
#define HD_PLAN_IMAGE 4u
#define HD_PLAN_PERSISTENT 8u /* has a final state that the next frame relies on */

/* Why a submit starts where it starts and is not one with the submit before on its queue. */
typedef enum hd_cut {
    HD_CUT_NONE,
    HD_CUT_FIRST,  /* the first of its queue */
    HD_CUT_WAIT,   /* what stands in it waits for another queue, what stands before it on its queue does not */
    HD_CUT_SIGNAL, /* another queue waits for what stands before it on its queue, but not for what stands in it */
    HD_CUT_END,    /* only of where a submit ends: nothing comes behind it on its queue */
    HD_CUT_COUNT
} hd_cut;
const char *hd_cut_name(hd_cut cut);

typedef struct hd_plan_submit {
    uint32_t queue;
    uint32_t wait_begin, wait_count;       /* in waits */
    uint32_t command_begin, command_count; /* in commands */
    uint32_t cut;                          /* hd_cut */
    uint64_t signal_value; /* on the queue's own timeline, strictly ascending from 1; 0: nothing waits for it */
    uint64_t signal_stages;
} hd_plan_submit;

typedef struct hd_plan_wait {
    uint32_t queue; /* the one whose timeline is waited on */
    uint32_t reason_pass; /* a pass behind it, or HD_NONE */
    uint64_t value;
    uint64_t stages;
} hd_plan_wait;

typedef enum hd_command_kind {
    HD_COMMAND_PASS,    /* index: pass */
    HD_COMMAND_BARRIER, /* index: batch; one vkCmdPipelineBarrier2 */
    HD_COMMAND_SET,     /* index: batch, event: vkCmdSetEvent2 */
    HD_COMMAND_WAIT,    /* index: batch, event: vkCmdWaitEvents2 */
} hd_command_kind;
typedef struct hd_plan_command {
    uint32_t kind;
    uint32_t index;
    uint32_t event; /* event number for SET and WAIT, else 0 */
} hd_plan_command;

typedef struct hd_plan_batch {
    uint32_t barrier_begin, barrier_count;
} hd_plan_batch;

/* Why a barrier stands where it stands. */
typedef enum hd_reason {
    HD_REASON_NONE,
    HD_REASON_READ_AFTER_WRITE,
    HD_REASON_WRITE_AFTER_READ,
    HD_REASON_WRITE_AFTER_WRITE,
    HD_REASON_LAYOUT,      /* readers want another layout */
    HD_REASON_FIRST_USE,   /* content is thrown away, or the frame's first use */
    HD_REASON_ALIAS,       /* memory changes hands */
    HD_REASON_RELEASE,     /* ownership leaves this family */
    HD_REASON_ACQUIRE,     /* ownership arrives */
    HD_REASON_FINAL_STATE, /* the state that the frame must leave */
    HD_REASON_COUNT
} hd_reason;
const char *hd_reason_name(hd_reason reason);

typedef struct hd_plan_barrier {
    uint64_t src_stages, src_access, dst_stages, dst_access;
    uint32_t resource; /* HD_NONE: a global memory barrier */
    uint32_t old_layout, new_layout;
    uint32_t src_family, dst_family; /* equal (HD_NONE) unless ownership moves */
    uint32_t reason, reason_pass;    /* hd_reason; the pass that needs it, or HD_NONE */
    uint32_t reason_resource;        /* the resource that needs it, also for a global barrier; or HD_NONE */
    hd_range range; /* explicit counts, never 0 */
} hd_plan_barrier;

/* One dynamic rendering: passes that stand side by side in commands and are recorded between one begin and one end. Gfx
 * passes without attachments, and those that do their own rendering, are in none. */
typedef struct hd_plan_scope {
    uint32_t command_begin, command_count; /* in commands; all of kind HD_COMMAND_PASS, of one submit */
    uint32_t attachment_begin, attachment_count;
} hd_plan_scope;

/* An attachment of a scope; all passes of a scope have the same ones in the same order. */
typedef struct hd_plan_attachment {
    uint32_t use;   /* index of the use within the scope's first pass */
    uint32_t load;  /* VkAttachmentLoadOp */
    uint32_t store; /* VkAttachmentStoreOp: DONT_CARE where what is left is never read, NONE where nothing is written */
    uint32_t resolve; /* index of the use within the scope's last pass that it is resolved into, HD_NONE: none that is
                         read */
} hd_plan_attachment;

/* Read view of a plan; the pointers live as long as the plan. */
typedef struct hd_plan_view {
    uint64_t hash;  /* of all bytes of the block but this one */
    uint64_t bytes; /* of the block */
    uint32_t pass_count, declared_resource_count; /* of the graph that it was compiled from */
    uint32_t queue_count, culled_count, heap_count, resource_count, submit_count, wait_count, command_count,
        batch_count, barrier_count, scope_count, attachment_count;
    const hd_plan_queue *queues;
    const uint32_t *culled; /* pass indices, ascending */
    const hd_plan_heap *heaps;
    const hd_plan_resource *resources; /* those that kept passes use, ascending by id */
    const hd_plan_submit *submits;     /* in the order in which they are handed to the driver */
    const hd_plan_wait *waits;
    const hd_plan_command *commands;
    const hd_plan_batch *batches;
    const hd_plan_barrier *barriers;
    const hd_plan_scope *scopes; /* in the order of the commands */
    const hd_plan_attachment *attachments;
} hd_plan_view;

hd_plan_view hd_plan_read(const hd_plan *plan);
/* The block itself, for copying, comparing and storing; hd_plan_read works on a copy (8-byte aligned) as well. */
const void *hd_plan_data(const hd_plan *plan, size_t *bytes);

HD_API_END

#include <heddle/plan_tools.h>

#endif
