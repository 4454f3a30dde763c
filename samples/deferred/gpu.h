/* The sample's own Vulkan objects: programs (pipelines with their layouts), samplers, descriptor sets, static buffers.
 */
#ifndef DEFERRED_GPU_H
#define DEFERRED_GPU_H

#include <heddle/vk.h>
#include <stdatomic.h>

#define FRAMES_IN_FLIGHT 2
/* A frame is declared before heddle waits for the frame that is FRAMES_IN_FLIGHT older: what the declaring thread
 * writes needs one slot more. */
#define FRAME_SLOTS (FRAMES_IN_FLIGHT + 1)

enum program_id {
    PROGRAM_SHADOW,
    PROGRAM_DEPTH,
    PROGRAM_GBUFFER,
    PROGRAM_MIRROR,
    PROGRAM_OCCLUSION,
    PROGRAM_OCCLUSION_BLUR,
    PROGRAM_CULL,
    PROGRAM_MIST,
    PROGRAM_GLOSS,
    PROGRAM_LIGHTING,
    PROGRAM_TEMPORAL,
    PROGRAM_BLOOM_DOWN,
    PROGRAM_BLOOM_UP,
    PROGRAM_TONEMAP,
    PROGRAM_COUNT
};

/* Device functions, loaded through the instance that heddle made. */
#define GPU_FUNCTIONS(X)                                                                                               \
    X(AllocateDescriptorSets)                                                                                          \
    X(AllocateMemory)                                                                                                  \
    X(BindBufferMemory)                                                                                                \
    X(CmdBindDescriptorSets)                                                                                           \
    X(CmdBindIndexBuffer)                                                                                              \
    X(CmdBindPipeline)                                                                                                 \
    X(CmdBindVertexBuffers)                                                                                            \
    X(CmdCopyBuffer)                                                                                                   \
    X(CmdCopyImageToBuffer)                                                                                            \
    X(CmdDispatch)                                                                                                     \
    X(CmdDrawIndexed)                                                                                                  \
    X(CmdPushConstants)                                                                                                \
    X(CreateBuffer)                                                                                                    \
    X(CreateComputePipelines)                                                                                          \
    X(CreateDescriptorPool)                                                                                            \
    X(CreateDescriptorSetLayout)                                                                                       \
    X(CreateGraphicsPipelines)                                                                                         \
    X(CreatePipelineLayout)                                                                                            \
    X(CreateSampler)                                                                                                   \
    X(CreateShaderModule)                                                                                              \
    X(DestroyBuffer)                                                                                                   \
    X(DestroyDescriptorPool)                                                                                           \
    X(DestroyDescriptorSetLayout)                                                                                      \
    X(DestroyPipeline)                                                                                                 \
    X(DestroyPipelineLayout)                                                                                           \
    X(DestroySampler)                                                                                                  \
    X(DestroyShaderModule)                                                                                             \
    X(FreeMemory)                                                                                                      \
    X(GetBufferMemoryRequirements)                                                                                     \
    X(ResetDescriptorPool)                                                                                             \
    X(UpdateDescriptorSets)

struct gpu_program {
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkPipelineBindPoint point;
};

/* Descriptor pools of one worker, one a frame slot; only that worker touches them. */
struct gpu_worker {
    VkDescriptorPool pools[FRAME_SLOTS];
    uint64_t frames[FRAME_SLOTS]; /* whose sets the pool holds, plus one */
};

struct gpu {
#define GPU_FUNCTION_MEMBER(name) PFN_vk##name name;
    GPU_FUNCTIONS(GPU_FUNCTION_MEMBER)
#undef GPU_FUNCTION_MEMBER
    VkDevice device;
    VkPhysicalDeviceMemoryProperties memory;
    bool discrete; /* a graphics card */
    uint32_t families[HD_MAX_QUEUES], family_count;
    VkSampler linear, nearest, shadow;
    struct gpu_program programs[PROGRAM_COUNT];
    struct gpu_worker *workers;
    uint32_t worker_count;
    atomic_bool failed; /* a record callback got no descriptor set; the frame is not to be shown */
};

struct gpu_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t bytes;
};

/* What a program's binding gets: a resource that the pass uses. A binding of the letter i, n, l or s takes an image. */
struct gpu_arg {
    hd_resource resource;
    hd_range range;
};

/* HD_VULKAN when the driver refuses something. worker_count as hd_jobs_worker_count gives it. */
hd_result gpu_create(struct gpu *gpu, const hd_vk *vk, uint32_t worker_count);
void gpu_destroy(struct gpu *gpu); /* nothing may be in flight */

hd_result gpu_buffer_create(struct gpu *gpu, uint64_t bytes, VkBufferUsageFlags usage, struct gpu_buffer *out);
void gpu_buffer_destroy(struct gpu *gpu, struct gpu_buffer *buffer);

/* In a record callback: binds the program and a fresh descriptor set with args in the order of the program's bindings.
 * False, with gpu->failed set, when there is no set: record nothing then. */
bool gpu_bind(struct gpu *gpu, hd_recorder *recorder, enum program_id program, const struct gpu_arg *args,
              uint32_t count);
#define GPU_ARGS(...)                                                                                                  \
    (const struct gpu_arg[]){__VA_ARGS__}, sizeof((const struct gpu_arg[]){__VA_ARGS__}) / sizeof(struct gpu_arg)

/* programs.c */
hd_result gpu_programs_create(struct gpu *gpu);
void gpu_programs_destroy(struct gpu *gpu);
const char *gpu_program_bindings(enum program_id program);

#endif
