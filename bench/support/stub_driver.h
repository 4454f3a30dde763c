/* A Vulkan driver that does nothing: three queue families (graphics, compute, transfer), everything succeeds,
 * everything has finished at once. It counts what is made, and on request writes down what is submitted. Process-wide;
 * submits and captures by one thread at a time. */
#ifndef HDB_STUB_DRIVER_H
#define HDB_STUB_DRIVER_H

#include <stdatomic.h>

#include <heddle/vk.h>

/* HDB_HOST_WAIT: the submitting thread waited until a semaphore had a value; queue: HDB_HOST. */
typedef enum hdb_event_kind { HDB_BARRIER, HDB_WAIT, HDB_SIGNAL, HDB_MARK, HDB_HOST_WAIT } hdb_event_kind;
#define HDB_HOST UINT32_MAX

/* In the order of submission. The elements of one barrier command have one number. */
typedef struct hdb_event {
    hdb_event_kind kind;
    uint32_t queue, frame;                                   /* frame: hdb_stub.frame when it was submitted */
    uint32_t command;                                        /* barriers */
    uint64_t src_stages, dst_stages, src_access, dst_access; /* waits, signals: stages in dst, src */
    uint64_t object;                                         /* VkImage, VkBuffer, or semaphore; 0: a global barrier */
    uint64_t value;                                          /* semaphores */
    uint32_t old_layout, new_layout, src_family, dst_family;
    uint32_t mip_base, mip_count, layer_count;
    bool writes; /* marks */
} hdb_event;

typedef struct hdb_place {
    uint64_t object, memory, offset, bytes;
} hdb_place;

typedef struct hdb_stub {
    atomic_uint creations, submits, waits; /* waits: of semaphores, on the GPU */
    atomic_uint color_clears;
    bool capture;
    uint32_t frame; /* for the events that are captured */
    hdb_event *events;
    uint32_t event_count, event_capacity;
    hdb_place *places; /* of images and buffers */
    uint32_t place_count, place_capacity;
} hdb_stub;
extern hdb_stub hdb_stub_state;

/* Describes the device for hd_vk_create, to be adopted: all queues or the graphics queue alone. */
hd_vk_desc hdb_stub_desc(uint32_t queue_count);
/* While captured, notes in a command buffer that an access happens here. */
void hdb_stub_mark(VkCommandBuffer commands, const hdb_event *mark);
/* Frees what was captured. */
void hdb_stub_clear(void);

#endif
