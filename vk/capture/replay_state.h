/* What the files that replay a captured stream share. A function that can fail says why (hdi_replay_fail) and returns
 * false or 0; the first failure ends the replay. */
#ifndef HDI_REPLAY_STATE_H
#define HDI_REPLAY_STATE_H

#include <heddle/replay.h>

#include "alloc.h"
#include "call.h"
#include "stream.h"

#define HDI_REPLAY_INSTANCE_FUNCTIONS(X)                                                                               \
    X(vkDestroyInstance)                                                                                               \
    X(vkEnumeratePhysicalDevices)                                                                                      \
    X(vkGetPhysicalDeviceProperties)                                                                                   \
    X(vkGetPhysicalDeviceMemoryProperties)                                                                             \
    X(vkGetPhysicalDeviceQueueFamilyProperties)                                                                        \
    X(vkEnumerateDeviceExtensionProperties)                                                                            \
    X(vkCreateDevice)                                                                                                  \
    X(vkGetDeviceProcAddr)

#define HDI_REPLAY_DEVICE_FUNCTIONS(X)                                                                                 \
    X(vkDestroyDevice)                                                                                                 \
    X(vkQueueWaitIdle)                                                                                                 \
    X(vkGetDeviceQueue)                                                                                                \
    X(vkQueueSubmit2)                                                                                                  \
    X(vkCreateSemaphore)                                                                                               \
    X(vkDestroySemaphore)                                                                                              \
    X(vkSignalSemaphore)                                                                                               \
    X(vkCreateEvent)                                                                                                   \
    X(vkDestroyEvent)                                                                                                  \
    X(vkCreateCommandPool)                                                                                             \
    X(vkDestroyCommandPool)                                                                                            \
    X(vkResetCommandPool)                                                                                              \
    X(vkAllocateCommandBuffers)                                                                                        \
    X(vkBeginCommandBuffer)                                                                                            \
    X(vkEndCommandBuffer)                                                                                              \
    X(vkCmdPipelineBarrier2)                                                                                           \
    X(vkCmdSetEvent2)                                                                                                  \
    X(vkCmdWaitEvents2)                                                                                                \
    X(vkCmdCopyImageToBuffer)                                                                                          \
    X(vkAllocateMemory)                                                                                                \
    X(vkFreeMemory)                                                                                                    \
    X(vkMapMemory)                                                                                                     \
    X(vkFlushMappedMemoryRanges)                                                                                       \
    X(vkInvalidateMappedMemoryRanges)                                                                                  \
    X(vkCreateImage)                                                                                                   \
    X(vkDestroyImage)                                                                                                  \
    X(vkGetImageMemoryRequirements)                                                                                    \
    X(vkBindImageMemory)                                                                                               \
    X(vkCreateBuffer)                                                                                                  \
    X(vkDestroyBuffer)                                                                                                 \
    X(vkGetBufferMemoryRequirements)                                                                                   \
    X(vkBindBufferMemory)                                                                                              \
    X(vkCreateGraphicsPipelines)                                                                                       \
    X(vkCreateComputePipelines)                                                                                        \
    X(vkCreateDescriptorPool)                                                                                          \
    X(vkDestroyDescriptorPool)                                                                                         \
    X(vkAllocateDescriptorSets)                                                                                        \
    X(vkUpdateDescriptorSets)                                                                                          \
    X(vkDestroyImageView)                                                                                              \
    X(vkDestroyBufferView)                                                                                             \
    X(vkDestroySampler)                                                                                                \
    X(vkDestroySamplerYcbcrConversion)                                                                                 \
    X(vkDestroyShaderModule)                                                                                           \
    X(vkDestroyPipeline)                                                                                               \
    X(vkDestroyPipelineLayout)                                                                                         \
    X(vkDestroyDescriptorSetLayout)                                                                                    \
    X(vkDestroyRenderPass)                                                                                             \
    X(vkDestroyFramebuffer)                                                                                            \
    X(vkDestroyQueryPool)

/* What was made for an object of the stream. */
typedef struct hdi_replay_object {
    uint64_t handle;
    uint64_t own;   /* goes with it: the memory of an image of a swapchain, the pool of a descriptor set */
    uint64_t bytes; /* of memory */
    void *mapped;
    uint32_t memory_type; /* of memory */
    uint32_t stretch;     /* of memory: captured offsets times this number are those here */
    uint32_t type;        /* VkObjectType; 0: not made yet */
    bool borrowed;        /* the handle is another object's */
    bool bound;           /* an image or buffer that has its memory, as another object has it */
    bool seen;            /* memory that the host writes or reads; known from the beginning */
} hdi_replay_object;

/* A semaphore, fence or event between threads of the stream: a timeline semaphore. Of binary ones it counts. */
typedef struct hdi_replay_semaphore {
    VkSemaphore handle; /* made at its first use */
    uint64_t signalled; /* highest value that the host or a submit that was handed on signals */
    uint64_t count;     /* binary: signals up to the submit that the stream has come to */
    uint64_t turn;      /* of the last submit that signals it: hdi_replay.turn */
} hdi_replay_semaphore;

typedef struct hdi_replay_event {
    VkEvent event;
    uint32_t number; /* of the stream */
    uint32_t set;    /* the command */
} hdi_replay_event;

/* A queue family of this device that is used, with the one queue of it. */
typedef struct hdi_replay_family {
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer *buffers;
    uint32_t used, made, room;
} hdi_replay_family;
enum { HDI_REPLAY_FAMILIES = 16 };

typedef enum hdi_replay_word {
    HDI_WORD_OTHER,
    HDI_WORD_MISSED,     /* the capture says that it has no data of the function */
    HDI_WORD_BARRIER,    /* vkCmdPipelineBarrier* */
    HDI_WORD_BEGIN,      /* vkCmdBeginRendering */
    HDI_WORD_BEGIN_PASS, /* vkCmdBeginRenderPass, vkCmdNextSubpass and their second versions */
    HDI_WORD_BEGIN_PASS2,
    HDI_WORD_NEXT,
    HDI_WORD_NEXT2,
    HDI_WORD_END, /* of either */
    HDI_WORD_COPY,
    HDI_WORD_COPY2, /* vkCmdCopyImageToBuffer */
    HDI_WORD_PRESENT,
    HDI_WORD_UPDATE,
    HDI_WORD_RESET,
    HDI_WORD_WRITE,
    HDI_WORD_READ,
} hdi_replay_word;

/* A string of the stream as the name of a function. */
typedef struct hdi_replay_name {
    bool known; /* looked up already */
    hdi_replay_word word;
    const hdi_call *call;
    PFN_vkVoidFunction function;
} hdi_replay_name;

/* The last copy of a whole image into a buffer: the host finds a picture there. */
typedef struct hdi_replay_picture {
    uint64_t offset;
    uint32_t format, width, height;
} hdi_replay_picture;

typedef struct hdi_replay {
    const hd_stream *s;
    const hd_replay_desc *desc;
    hd_allocator allocator;
    hd_replay_report report;
    hd_result result;
    hdi_arena arena;  /* of one call */
    uint32_t depth;   /* of creations in one another */
    bool takes_plain; /* an image or buffer may be one that has no memory yet */

    PFN_vkGetInstanceProcAddr get_instance_proc;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    uint32_t complaints; /* of the validation layer */
    VkPhysicalDevice physical;
    VkDevice device;
    bool has_debug_utils;
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label; /* null: no labels */
    PFN_vkCmdEndDebugUtilsLabelEXT end_label;
    struct {
#define HDI_REPLAY_MEMBER(name) PFN_##name name;
        HDI_REPLAY_INSTANCE_FUNCTIONS(HDI_REPLAY_MEMBER)
    } in;
    struct {
        HDI_REPLAY_DEVICE_FUNCTIONS(HDI_REPLAY_MEMBER)
#undef HDI_REPLAY_MEMBER
    } fn;
    VkPhysicalDeviceMemoryProperties captured_memory, memory;
    VkQueueFlags captured_flags[HDI_REPLAY_FAMILIES];
    uint32_t captured_family_count;
    uint32_t own_family[HDI_REPLAY_FAMILIES];        /* captured -> of this device */
    hdi_replay_family families[HDI_REPLAY_FAMILIES]; /* of this device */

    hdi_replay_object *objects;
    hdi_replay_name *names; /* by string */
    hdi_replay_semaphore *semaphores;
    uint64_t *values;               /* of the stream's syncs */
    hdi_replay_picture *pictures;   /* by resource; width 0: none */
    hdi_replay_event *events, *old; /* old: those that were set again since the device was idle */
    uint32_t event_count, event_room, old_count, old_room;
    VkCommandBufferSubmitInfo *buffers; /* of one submit */
    uint32_t buffer_room;
    uint32_t next[HDI_STREAM_MAX_QUEUES]; /* the first submit of each queue that was not handed on */
    uint64_t turn;                        /* times that the device was idle */
    uint32_t under_way;                   /* submits since */

    VkBuffer look; /* what is presented is copied to it */
    VkDeviceMemory look_memory;
    void *look_mapped;
    uint64_t look_bytes;
    bool look_coherent;
} hdi_replay;

/* ---- replay.c ---- */
/* The first one is kept; a sentence goes to desc->message. Always false. */
bool hdi_replay_fail(hdi_replay *p, hd_result result, const char *format, ...) HDI_PRINTF(3, 4);
/* A call's result; what: of the sentence "vkCreateImage of image 8 'bloom'". */
bool hdi_replay_check(hdi_replay *p, VkResult result, const char *format, ...) HDI_PRINTF(3, 4);
/* Data of the stream to be read; false: it is not there. limit: its objects must be before this one. */
bool hdi_replay_open(hdi_replay *p, uint32_t data, uint32_t limit, hdi_call_reader *out);
/* Waits for all that was handed on, and takes back what it needed. */
bool hdi_replay_idle(hdi_replay *p);

/* ---- replay_device.c ---- */
bool hdi_replay_make_device(hdi_replay *p);
void hdi_replay_destroy_device(hdi_replay *p);
/* The families of a list as those of this device, each once; returns how many. */
uint32_t hdi_replay_families(const hdi_replay *p, const uint32_t *families, uint32_t count, uint32_t *out);
/* Takes structures out of a chain of pNext. */
void hdi_replay_unchain(const void **chain, const VkStructureType *types, uint32_t count);

/* ---- replay_objects.c ---- */
/* The handle of an object, which is made where it was not yet, with all that it needs. 0: it failed, or is none.
 * user: the hdi_replay. */
uint64_t hdi_replay_handle(void *user, uint32_t type, uint32_t object);
void hdi_replay_destroy_objects(hdi_replay *p);
/* What the image of an object was made from, in the arena. Null: it is no image, or failed. */
const VkImageCreateInfo *hdi_replay_image(hdi_replay *p, uint32_t object);
const char *hdi_replay_name_of(const hdi_replay *p, uint32_t object, char *text, size_t bytes);
/* A type of memory that has all bits of wanted, or failing that only those of needed. UINT32_MAX: none. */
uint32_t hdi_replay_memory_type(const hdi_replay *p, uint32_t types, VkMemoryPropertyFlags wanted,
                                VkMemoryPropertyFlags needed);

/* ---- replay_commands.c ---- */
const hdi_replay_name *hdi_replay_function(hdi_replay *p, uint32_t string);
/* Records the commands of a submit into p->buffers. */
bool hdi_replay_record(hdi_replay *p, uint32_t submit, uint32_t *buffer_count);
VkCommandBuffer hdi_replay_begin(hdi_replay *p, uint32_t family);
/* "submit 3, command 5 (vkCmdDraw of 'lights')" */
const char *hdi_replay_place(const hdi_replay *p, uint32_t submit, uint32_t command, char *text, size_t bytes);

/* ---- replay_content.c ---- */
/* A command of a host queue. */
bool hdi_replay_host(hdi_replay *p, uint32_t submit, uint32_t command);
/* What is presented, by a command of a submit that was handed on. */
bool hdi_replay_present(hdi_replay *p, uint32_t submit, uint32_t command);

enum { HDI_REPLAY_TEXT = 256 };

#endif
