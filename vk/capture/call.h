/* Calls of Vulkan as bytes: what a command or a creation was given, with numbers of objects in place of handles, so
 * that it can be called again in another process. The descriptions of all structures and functions come from the
 * registry of the Vulkan headers (vk.xml) when heddle is built (registry.py).
 *
 * A structure becomes its own bytes and behind them what its pointers point to, in the order of its members, by the
 * same rule; elements of an array one after another. In its own bytes a pointer is 1 where such content follows, and 0
 * where none does: it is null or ignored, or its array is empty. A handle is the place, counted from 1, in the list of
 * objects that the data names (0: null, or an object that is not known). Bytes between members are 0. Of an array of
 * pointers the pointers come first, then the content of each. A string ends with its zero. Of a chain of pNext follows
 * what is known, each structure behind its sType, closed by a sType of UINT32_MAX. The bytes are of this machine:
 * little endian, 64-bit pointers. */
#ifndef HDI_CALL_H
#define HDI_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <heddle/vk.h>

#include "arena.h"

struct hdi_call_above; /* call_tables.h */
typedef struct hdi_call_field {
    uint32_t offset; /* in the structure */
    uint8_t kind;    /* HDI_CALL_* */
    uint8_t levels;  /* of pointers: 0, a member (or an array of count of them) that stands in the structure; 1; 2 */
    uint8_t text;    /* strings end with a zero */
    uint32_t bytes;  /* of an element */
    uint32_t object; /* VkObjectType of handles */
    const struct hdi_call_type *type; /* of structures */
    /* How many elements; null: 1. Reads nothing behind pointers. */
    uint64_t (*count)(const void *structure);
    /* False: Vulkan ignores the field, which may hold anything. Null: always valid. Asked of the program's own
     * structures only, with those that lead to them. */
    bool (*valid)(const void *structure, const struct hdi_call_above *above);
} hdi_call_field;
enum {
    HDI_CALL_PLAIN,    /* bytes without pointers */
    HDI_CALL_STRUCT,   /* of a type that has fields */
    HDI_CALL_HANDLE,   /* of an object */
    HDI_CALL_COMMANDS, /* the command buffer, device or queue that the call is for: 0 in the bytes */
    HDI_CALL_CHAIN,    /* pNext */
    HDI_CALL_DROPPED,  /* allocators, user data: null */
    HDI_CALL_PADDING,  /* between members, or behind the last: 0 in the bytes */
};

/* A structure, or the arguments of a function as one, in their order, arrays as pointers: then its name is that of the
 * function. fields: those that are more than their bytes. */
typedef struct hdi_call_type {
    const char *name;
    uint32_t bytes;
    uint32_t stype; /* UINT32_MAX: none */
    const hdi_call_field *fields;
    uint32_t field_count;
} hdi_call_type;

typedef struct hdi_call {
    const char *name;          /* the Vulkan function */
    const hdi_call_type *type; /* its arguments; of functions that make one object: the structure that they are given */
    PFN_vkVoidFunction hook;   /* tells hdi_call_recorded or hdi_call_made, and calls *next; null: vkResetQueryPool */
    PFN_vkVoidFunction *next;  /* other names of a function share it. hook null: null */
    void (*invoke)(PFN_vkVoidFunction function, const void *arguments); /* of commands; null: a creation */
    uint32_t makes;                                                     /* VkObjectType of creations */
} hdi_call;

/* Null: not known (among them: heddle was built without the registry). */
const hdi_call *hdi_call_find(const char *name);
const hdi_call_type *hdi_call_type_find(const char *name); /* of a structure, or of a command by any of its names */
const hdi_call_type *hdi_call_chain_find(uint32_t stype);

/* The device's function, by any of its names: one of the core may have been called by that of its extension. Null: the
 * device has none of them. */
PFN_vkVoidFunction hdi_call_function(const hdi_call *call, PFN_vkGetDeviceProcAddr get, VkDevice device);

/* What hooks tell; vk/capture has them. hdi_call_recorded before the command is handed on, hdi_call_made after the
 * object was made. */
void hdi_call_recorded(VkCommandBuffer commands, const hdi_call *call, const void *arguments);
void hdi_call_made(const hdi_call *call, uint64_t handle, const void *info);
/* A function that cannot be carried to another process; commands is null for one of the host. */
void hdi_call_missed(VkCommandBuffer commands, const char *name);

typedef struct hdi_call_writer {
    hd_allocator allocator;
    uint8_t *bytes;
    uint32_t *refs;
    uint32_t byte_count, ref_count, byte_room, ref_room;
    /* The object of a handle; 0: not known. */
    uint32_t (*object)(void *user, uint32_t type, uint64_t handle);
    void *user;
    bool failed;  /* no memory */
    bool unknown; /* an object, a structure of a chain or a union that was not known is left out */
} hdi_call_writer;
void hdi_call_writer_free(hdi_call_writer *w);
/* Appends to what stands in the writer; a caller empties it by byte_count and ref_count. */
void hdi_call_write(hdi_call_writer *w, const hdi_call_type *type, const void *value);
void hdi_call_write_bytes(hdi_call_writer *w, const void *bytes, uint32_t count);
/* Its place, counted from 1; one of the last 32 that is the same object keeps its place. */
uint32_t hdi_call_write_ref(hdi_call_writer *w, uint32_t object);

typedef struct hdi_call_reader {
    const uint8_t *bytes;
    const uint32_t *refs;
    uint32_t byte_count, ref_count, at;
    hdi_arena *arena; /* of what is read */
    /* The handle of an object. type: the VkObjectType that the field has; an object of another one is none (0). */
    uint64_t (*handle)(void *user, uint32_t type, uint32_t object);
    void *user;
    uint64_t commands; /* for HDI_CALL_COMMANDS */
    uint32_t depth;    /* of structures that are being read */
    bool failed;       /* no memory, or the bytes are not those of the type; nothing beyond them is touched */
} hdi_call_reader;
/* Null: failed. Lives as long as the arena. */
void *hdi_call_read(hdi_call_reader *r, const hdi_call_type *type);
/* Null: there are not so many. */
const void *hdi_call_read_bytes(hdi_call_reader *r, uint32_t count);

/* ---- calls whose data is not one structure ----
 *
 * vkCreateInstance          VkInstanceCreateInfo
 * vkCreateDevice            refs: the instance; VkDeviceCreateInfo; VkPhysicalDeviceMemoryProperties;
 *                           u32 families, VkQueueFlags of each
 * vkAllocateMemory          VkMemoryAllocateInfo
 * vkBindImageMemory,
 * vkBindBufferMemory        refs: the image or buffer as it was made, the memory; u64 offset. The object that has
 *                           memory: its handle is that of the first one
 * vkGetSwapchainImagesKHR   refs: the swapchain; u32 index. An image of it
 * vkCreateSwapchainKHR      VkSwapchainCreateInfoKHR, without its surface and the older swapchain
 * vkCreate*Pipelines        the VkGraphics- or VkComputePipelineCreateInfo of the one, without a cache
 * vkAllocateDescriptorSets  VkDescriptorSetAllocateInfo of the one set
 *
 * Commands of a host queue:
 *
 * vkUpdateDescriptorSets    changes the set: u32 count, and as many VkWriteDescriptorSet; u32 count, VkCopyDescriptorSet
 * vkResetQueryPool          its arguments
 * "host write"              refs: the memory; u64 offset in it, then the bytes. Accesses: all that share them, OBSERVED
 * "host read"               refs: the memory; u64 offset, bytes, hash (hdi_hash_bytes, seed 0). Accesses as above
 *
 * And of a submit:
 *
 * vkQueuePresentKHR         u64 hash of the texels of the image that its access names, tightly packed by rows
 *
 * Barriers, events and vkCmdExecuteCommands have no data: the stream's own lists say it all, and what secondary command
 * buffers hold stands in the primary ones. */

#endif
