/* bench/adapter.h: how a frame graph enters the benchmark suite. bench/README.md has the rules and a walk through an
 * adapter; bench/adapters/textbook.c is a whole one to start from.
 *
 * An adapter is a shared library that exports `hb_adapter_get`. heddle-bench loads it with --adapter FILE.so, opens
 * workloads, and times `declare` and `compile`. The plan that `export_plan` writes goes through heddle's verifier; a
 * time is shown only beside an accepted plan. This header stands alone: it needs neither heddle nor Vulkan.
 *
 * All calls come from one thread, one at a time. Several workloads may be open at once. `export_plan`, `counts` and
 * `phase` follow the `compile` of the same handle, with no other call between. */
#ifndef HEDDLE_BENCH_ADAPTER_H
#define HEDDLE_BENCH_ADAPTER_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HB_INTERFACE 1u /* of this header; it grows by new members at the ends of the structs */
#define HB_NONE UINT32_MAX
#define HB_UNKNOWN UINT64_MAX

enum { HB_PASS_GFX, HB_PASS_COMPUTE, HB_PASS_TRANSFER, HB_PASS_HOST };
enum { HB_QUEUE_GFX, HB_QUEUE_COMPUTE, HB_QUEUE_TRANSFER };
enum { HB_ORDER_OVERLAP, HB_ORDER_MEMORY, HB_ORDER_DECLARED };
enum { HB_RESOURCE_IMAGE, HB_RESOURCE_BUFFER, HB_RESOURCE_HISTORY }; /* a history is only read */
enum { HB_FORMAT_RGBA8 = 37, HB_FORMAT_BGRA8 = 44, HB_FORMAT_RGBA16F = 97, HB_FORMAT_RG16F = 83, HB_FORMAT_R8 = 9,
       HB_FORMAT_R32F = 100, HB_FORMAT_D32F = 126 }; /* VkFormat */

/* What a workload needs, and an adapter can do. A workload is run with an adapter that has all of its bits. */
enum {
    HB_CAN_IMAGE_RANGES = 1,   /* uses of single mips and layers */
    HB_CAN_BUFFER_RANGES = 2,  /* uses of byte ranges */
    HB_CAN_HISTORIES = 4,      /* a resource's content of the frame before */
    HB_CAN_HOST_PASSES = 8,    /* passes on the CPU */
    HB_CAN_SEVERAL_QUEUES = 16, /* workloads with more than one queue; the plan may use one alone */
    HB_CAN_PINS = 32,           /* passes that name the kind of their queue */
    HB_CAN_WORKERS = 64,       /* compile on several threads */
    HB_CAN_REUSE = 128,        /* finds the plan of a frame that comes again unchanged */
    HB_CAN_BUDGET = 256,       /* keeps its heaps within a budget, or refuses */
};

/* A row of the access table: Vulkan's numbers. */
typedef struct hb_access {
    const char *name;       /* as in .fgt, such as "color_write" */
    uint64_t stages;        /* VkPipelineStageFlags2 */
    uint64_t access;        /* VkAccessFlags2: reads and writes together; a barrier's source needs the writes */
    uint32_t layout;        /* VkImageLayout; 0: buffers only */
    uint8_t reads, writes;  /* writes without reads: earlier content is thrown away */
    uint8_t attachment;     /* 0 none, 1 color, 2 depth */
} hb_access;

/* A part of a resource, with explicit counts that are not 0. */
typedef struct hb_range {
    uint32_t mip_base, mip_count, layer_base, layer_count; /* images */
    uint64_t offset, bytes;                                /* buffers */
} hb_range;

/* A frame as flat arrays, read only. Resources, passes and uses are numbered from 0; the uses of pass P stand from
 * pass_use_begin[P] up to pass_use_begin[P + 1]. Passes stand in declaration order: a read sees the last earlier write.
 * Several uses of one part in a pass are all reads. bench/README.md, "What has to hold", judges a plan. */
typedef struct hb_workload {
    const char *name, *family;
    uint64_t needs; /* HB_CAN_* */
    uint32_t pass_count, resource_count, use_count, range_count, access_count, queue_count;

    const uint8_t *pass_type;       /* HB_PASS_*: gfx needs a gfx queue, compute gfx or compute, transfer any */
    const uint8_t *pass_root;       /* 1: never culled */
    const uint8_t *pass_pin;        /* 0, or 1 + HB_QUEUE_*; ignored where no queue is of this kind */
    const float *pass_cost_us;      /* expected GPU time, microseconds */
    const uint32_t *pass_use_begin; /* pass_count + 1 */

    const uint8_t *resource_kind;     /* HB_RESOURCE_* */
    const uint8_t *resource_external; /* 1: made outside, in layout GENERAL at the frame's start, content kept after it */
    const uint32_t *resource_of;      /* histories: of which resource, whose rows below they repeat; else HB_NONE */
    const uint32_t *resource_format, *resource_width, *resource_height, *resource_mips, *resource_layers; /* images */
    const uint64_t *resource_bytes;     /* in memory; a buffer's own size rounded up to its alignment */
    const uint64_t *resource_size;      /* a buffer's own size */
    const uint64_t *resource_alignment; /* a power of two */

    const uint32_t *use_resource;
    const uint16_t *use_access;  /* index in access */
    const uint32_t *use_range;   /* index in range; HB_NONE: the whole resource */

    const hb_range *range;
    const hb_access *access;
    const uint8_t *queue_kind;    /* HB_QUEUE_*; the plan lists these queues and may use a part of them. The queue of
                                   * host passes is not among them: the plan appends it */
    const uint32_t *queue_family; /* distinct */
} hb_workload;

typedef struct hb_options {
    uint32_t order;   /* HB_ORDER_*, a wish: a short frame, little memory, passes as declared. Any order is accepted */
    uint32_t workers; /* threads of a compile, the caller among them; 1 unless HB_CAN_WORKERS */
    uint32_t reuse;   /* 1: the plan of an earlier frame that was the same may be taken; 0: compile each time */
    uint32_t timed;   /* 1: phase() will be asked; else phases need not be timed */
    uint64_t memory_budget; /* bytes of all heaps, externals aside; 0: none. HB_REFUSED where no plan fits */
} hb_options;

#define HB_REFUSED 77 /* of compile: within this budget there is no plan */

/* HB_UNKNOWN where an adapter does not count. */
typedef struct hb_counts {
    uint64_t allocations; /* so far, of this handle and what it shares */
    uint64_t bytes, peak; /* allocated now, and the most at once */
} hb_counts;

typedef struct hb_adapter {
    uint32_t interface; /* HB_INTERFACE */
    const char *(*name)(void);
    const char *(*version)(void);
    uint64_t (*capabilities)(void); /* HB_CAN_* */

    /* Makes ready for a workload: conversions of names, tables, pools. Timed apart. The workload and everything in it
     * outlives the handle. Null: failed, error (error_bytes long) says why. */
    void *(*open)(const hb_workload *workload, const hb_options *options, char *error, size_t error_bytes);
    /* One frame: says again everything that the frame is made of, as an engine would. 0: done. */
    int (*declare)(void *handle);
    /* From what was declared to a plan that could be executed. 0: done. */
    int (*compile)(void *handle);
    /* Writes the newest plan as JSON (bench/README.md). 0: done. Not timed. */
    int (*export_plan)(void *handle, FILE *file);
    void (*counts)(void *handle, hb_counts *out);
    /* The name of phase `index` of the newest compile and its nanoseconds; null behind the last. May be null. */
    const char *(*phase)(void *handle, uint32_t index, uint64_t *ns);
    void (*close)(void *handle);
} hb_adapter;

/* The one symbol that a library exports. The adapter lives as long as the library. */
typedef const hb_adapter *(*hb_adapter_get_fn)(void);
#define HB_ADAPTER_SYMBOL "hb_adapter_get"

#ifdef __cplusplus
}
#endif
#endif
