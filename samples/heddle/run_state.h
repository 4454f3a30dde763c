/* What the files of heddle run share. */
#ifndef RUN_STATE_H
#define RUN_STATE_H

#include "run.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tables.h"

enum { RUN_SLOTS = 4 }; /* frames whose operations are kept: those in flight, and the one that is prepared */

/* Content of a subresource or of a range of bytes: the same value throughout. */
typedef struct run_cell {
    int32_t c[4];    /* in units of the format; c[0]: the word of a buffer */
    uint32_t writer; /* pass; HD_NONE: from before the frame */
    bool known;
} run_cell;

typedef struct run_span { /* bytes begin up to the next span's begin */
    uint64_t begin;
    run_cell cell;
} run_span;

typedef struct run_content {
    run_cell *cells; /* images: mip * layers + layer */
    run_span *spans; /* buffers, in order; the first begins at 0 */
    uint32_t count, room;
} run_content;

/* One thing that a pass does with one subresource or range. */
typedef struct run_op {
    uint32_t pass, use, res, access;
    bool write;  /* else a check */
    bool add;    /* cell is what is added */
    bool sampled_depth; /* in the layout of depth that is tested too */
    bool shader; /* counts in the slot; must be seen */
    uint32_t mip, layer, width, height;
    uint64_t begin, end; /* bytes */
    run_cell cell;       /* expected, or written */
    uint64_t staging;    /* of copies: where in the slot's staging memory */
    uint32_t samples;    /* of copies that check */
    atomic_uint host_wrong;
    VkDescriptorSet set;
} run_op;

typedef struct run_memory {
    VkBuffer buffer;
    VkDeviceMemory memory;
    void *mapped;
    uint64_t bytes;
} run_memory;

typedef struct run_slot {
    run_op *ops;
    uint32_t op_count, op_room;
    uint32_t *op_begin; /* pass_count + 1 */
    run_memory counts, staging;
    VkDescriptorPool pool;
    uint32_t pool_room;
    VkQueryPool queries; /* two a pass */
    uint64_t frame;
    bool used;
} run_slot;

#define RUN_FUNCTIONS(X)                                                                                               \
    X(AllocateDescriptorSets) X(AllocateMemory) X(BindBufferMemory) X(BindImageMemory) X(CmdBeginRendering)            \
    X(CmdBindDescriptorSets) X(CmdBindIndexBuffer) X(CmdBindPipeline) X(CmdBindVertexBuffers) X(CmdClearColorImage)    \
    X(CmdClearDepthStencilImage) X(CmdCopyBuffer) X(CmdCopyBufferToImage) X(CmdCopyImageToBuffer) X(CmdDispatch)       \
    X(CmdDispatchIndirect) X(CmdDraw) X(CmdDrawIndexed) X(CmdDrawIndirect) X(CmdEndRendering) X(CmdFillBuffer)         \
    X(CmdPipelineBarrier2) X(CmdPushConstants) X(CmdResetQueryPool) X(CmdSetDepthCompareOp)                            \
    X(CmdSetDepthWriteEnable) X(CmdSetScissor) X(CmdSetViewport) X(CmdWriteTimestamp2) X(CreateBuffer)                 \
    X(CreateComputePipelines) X(CreateDescriptorPool) X(CreateDescriptorSetLayout) X(CreateGraphicsPipelines)          \
    X(CreateImage) X(CreatePipelineLayout) X(CreateQueryPool) X(CreateShaderModule) X(DestroyBuffer)                   \
    X(DestroyDescriptorPool) X(DestroyDescriptorSetLayout) X(DestroyImage) X(DestroyPipeline)                          \
    X(DestroyPipelineLayout) X(DestroyQueryPool) X(DestroyShaderModule) X(FreeMemory) X(GetBufferMemoryRequirements)   \
    X(GetImageMemoryRequirements) X(GetQueryPoolResults) X(MapMemory) X(ResetDescriptorPool) X(UpdateDescriptorSets)

enum { RUN_STORAGE_FORMATS = 5 };
typedef enum run_program {
    RUN_IMAGE_COMP,
    RUN_STORE_COMP,
    RUN_BUFFER_COMP,
    RUN_FILL_COMP,
    RUN_UNIFORM_COMP,
    RUN_INDIRECT_COMP,
    RUN_STORAGE_COMP, /* one a format */
    RUN_IMAGE_FRAG = RUN_STORAGE_COMP + RUN_STORAGE_FORMATS,
    RUN_STORE_FRAG,
    RUN_BUFFER_FRAG,
    RUN_FILL_FRAG,
    RUN_UNIFORM_FRAG,
    RUN_STORAGE_FRAG,
    RUN_IMAGE_VERT = RUN_STORAGE_FRAG + RUN_STORAGE_FORMATS,
    RUN_ATTRIBUTE_VERT,
    RUN_INDEX_VERT,
    RUN_INDIRECT_VERT,
    RUN_DEPTH, /* counts fragments that pass the test */
    RUN_DEPTH_WRITE,
    RUN_COLOR, /* one a format: adds to what is there */
    RUN_PROGRAM_COUNT = RUN_COLOR + 6,
} run_program;

typedef struct run_push {
    float expect[4], value[4];
    uint32_t slot, first, last, word, width, height, nx, ny, channels;
    float tolerance, depth;
} run_push;

typedef struct run_import {
    VkImage image;
    VkBuffer buffer;
    VkDeviceMemory memory;
    void *mapped; /* where host passes use it: the memory of an import is not heddle's to map */
} run_import;

typedef struct run_pass {
    struct run *run;
    uint32_t pass; /* HD_NONE: all externals */
} run_pass;

typedef struct run_res {
    hd_resource handle;
    uint32_t width, height, format, mips, layers, usage;
    uint64_t bytes;
    uint32_t scale;
    bool buffer, small; /* small: words are counts of an indirect command */
    bool used;          /* by a pass of the frame that is prepared */
} run_res;

typedef struct run {
    const run_desc *desc;
    run_report *report;
    hdi_decl decl; /* of the graph as it was read */
    char *error;
    size_t error_bytes;

    hd_graph *graph, *before, *after; /* the frame; one pass that fills externals; one that checks them */
    const hd_plan *plan;
    run_res *res;
    run_import *imports;
    run_pass *passes; /* pass_count, then the passes of before and after */
    hd_use *uses;     /* scaled; decl.use_count */
    uint32_t *pass_queue; /* queue of the plan; HD_NONE: culled */
    uint32_t *queue_kind; /* pass -> hd_queue_kind */
    run_content *content; /* a resource each */
    run_content *kept;    /* what OFs held at the end of the last frame, by the history */

    hd_vk *vk;
    hd_vk_info info;
#define RUN_MEMBER(name) PFN_vk##name name;
    RUN_FUNCTIONS(RUN_MEMBER)
#undef RUN_MEMBER
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDeviceLimits limits;
    uint32_t families[HD_MAX_QUEUES], family_count;
    bool has_gfx;
    uint32_t timestamp_bits[HD_MAX_QUEUES]; /* by queue of the plan */
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline programs[RUN_PROGRAM_COUNT];
    run_slot slots[RUN_SLOTS];
    double *us_sum;
    uint32_t *us_count;
    uint32_t told;
} run;

hd_result run_fail(run *r, hd_result result, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* run_declare.c: sizes and ranges scaled, the graphs declared. */
hd_result run_scale(run *r);
hd_result run_declare(run *r);
hd_range run_use_range(const run *r, uint32_t use);

/* run_import.c */
hd_result run_make_imports(run *r);
void run_free_imports(run *r);

/* run_model.c: what each pass of a frame writes and must find. */
hd_result run_make_model(run *r);
void run_free_model(run *r);
hd_result run_model_frame(run *r, run_slot *slot, uint64_t frame);
/* One pass over all externals: written, or checked. */
hd_result run_model_externals(run *r, run_slot *slot, bool write);

/* Formats: index 0 rgba8, 1 bgra8, 2 rgba16f, 3 rg16f, 4 r8, 5 r32f, 6 d32f. */
typedef struct run_format {
    uint32_t format, channels, most, bytes; /* most: values are below it */
    float scale, tolerance;
    int storage; /* index of the program that reads it, or -1 */
} run_format;
const run_format *run_format_of(uint32_t format);
uint32_t run_format_index(uint32_t format);
void run_encode(uint32_t format, const run_cell *cell, uint8_t *out);

/* run_gpu.c, run_programs.c */
hd_result run_make_gpu(run *r);
void run_free_gpu(run *r);
hd_result run_make_programs(run *r);
void run_free_programs(run *r);
hd_result run_make_memory(run *r, uint64_t bytes, VkBufferUsageFlags usage, run_memory *out);
void run_free_memory(run *r, run_memory *memory);
/* Descriptor sets, counters and staging memory for the slot's operations. */
hd_result run_prepare_slot(run *r, run_slot *slot);
/* Looks at what a frame left; the frame has finished. */
void run_collect(run *r, run_slot *slot);

/* run_record.c */
void run_record(hd_recorder *recorder, void *user);
void run_bind(run *r, hd_recorder *recorder, const run_op *op, run_program program, VkPipelineBindPoint point,
              run_push *push);
run_push run_push_of(const run *r, const run_slot *slot, const run_op *op);
VkImageView run_view(const run *r, hd_recorder *recorder, const run_op *op);
VkBuffer run_buffer(const run *r, hd_recorder *recorder, const run_op *op);

/* Records one operation, outside a rendering scope; in host passes it is carried out at once. */
typedef void run_action(run *r, run_slot *slot, hd_recorder *recorder, run_op *op);

/* run_access.c: what `run` knows of an access beside the compiler's own table. */
enum { RUN_CHECK = 1, RUN_WRITE = 2 };
typedef struct run_access {
    run_action *check, *write;            /* null: the access does not read or has no check; does not write */
    uint8_t sets;                         /* RUN_CHECK, RUN_WRITE: actions that need a descriptor set */
    uint8_t copies;                       /* RUN_CHECK, RUN_WRITE: actions that copy through staging memory */
    bool adds;                            /* a write adds to what is there */
    bool counts;                          /* words of the buffer are counts of an indirect command, and small */
    VkPipelineStageFlags2 between_stages; /* of the barrier between check and write; 0: none */
    VkAccessFlags2 between_access;
} run_access;
const run_access *run_access_of(uint32_t access);
bool run_can_check(const run *r, const run_op *op);

/* run_copy.c, run_draw.c: actions for the table. */
run_action run_copy_out, run_copy_in, run_clear, run_add, run_test_depth, run_set_depth;
void run_begin_rendering(run *r, VkCommandBuffer commands, uint32_t width, uint32_t height,
                         const VkRenderingAttachmentInfo *color, const VkRenderingAttachmentInfo *depth);

#endif
