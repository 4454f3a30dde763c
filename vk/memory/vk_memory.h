/* The door of vk/memory: memory needs, heaps, objects, views. */
#ifndef HDI_VK_MEMORY_H
#define HDI_VK_MEMORY_H

#include "state.h"

/* ---- piece.c ---- */
/* Device memory, of the engine or the driver. What fails is not logged. */
VkResult hdi_vk_piece_allocate(hd_vk *vk, const hd_vk_memory_request *request, hd_vk_memory *out);
/* What fails is logged. */
hd_result hdi_vk_piece_result(hd_vk *vk, VkResult result);
void hdi_vk_piece_free(hd_vk *vk, const hd_vk_memory *piece);

/* ---- memory.c ---- */
hdi_vk_key hdi_vk_key_of(const hd_resource_info *info);
typedef struct hdi_vk_image_room {
    VkImageCreateInfo info;
    VkImageFormatListCreateInfo list;
    VkFormat formats[2];
} hdi_vk_image_room;
const VkImageCreateInfo *hdi_vk_image_info(const hd_vk *vk, const hdi_vk_key *key, hdi_vk_image_room *room);
VkBufferCreateInfo hdi_vk_buffer_info(const hd_vk *vk, const hdi_vk_key *key);
hd_result hdi_vk_size_of(const hd_resource_info *info, hd_memory_need *need, void *vk); /* an hd_size_fn */
/* An image that the device cannot make: names the first use that it can do nothing for, if one alone is at fault. */
void hdi_vk_blame_use(hd_vk *vk, const hd_graph *graph);
/* A memory type that the host maps; UINT32_MAX: none. */
uint32_t hdi_vk_host_type(const hd_vk *vk, uint32_t allowed);
/* The needs of a key, by its usage and flags as they are. Any thread. */
hd_result hdi_vk_need_of(hd_vk *vk, const hdi_vk_key *key, hd_memory_need *need);
/* Whether all families share what is made from a key. */
bool hdi_vk_shares(const hd_vk *vk, const hdi_vk_key *key);
/* Memory for what like says, which is all of a heap but its place. */
hd_result hdi_vk_make_heap(const hdi_vk_frame *frame, const hdi_vk_heap *like, hdi_vk_heap **out);
hd_result hdi_vk_realise_heaps(hdi_vk_frame *frame);
/* Frees heaps that the last `age` frames did not use; age is at least the number of frames in flight. 0: all. */
void hdi_vk_sweep_heaps(hd_vk *vk, uint64_t age);
/* Heaps of which the next frame needs less than half make way for smaller ones then. */
void hdi_vk_shrink_soon(hd_vk *vk);
void hdi_vk_free_sizes(hd_vk *vk);

/* ---- resource.c ---- */
hd_result hdi_vk_realise_resources(hdi_vk_frame *frame);
/* Makes an image or a buffer at a place; name may be null. It stands in no cache. res: for messages. */
hd_result hdi_vk_make_object(hd_vk *vk, const hdi_vk_key *key, const hdi_vk_heap *heap, uint64_t offset, uint32_t res,
                             const char *name, hdi_vk_object **out);
void hdi_vk_destroy_object(hd_vk *vk, hdi_vk_object *object);
/* Destroys the objects in a heap; the objects that the last `age` frames did not use (0: all). */
void hdi_vk_drop_heap_objects(hd_vk *vk, uint64_t heap_serial);
void hdi_vk_sweep_objects(hd_vk *vk, uint64_t age);
/* Forgets a kept import; no frame uses it any more. */
void hdi_vk_drop_import(hd_vk *vk, uint64_t serial);

/* ---- view.c ---- */
VkImageAspectFlags hdi_vk_aspects(uint32_t format);
/* Any worker. VK_NULL_HANDLE: failed; the slot notes why. name (may be null): where it has to be made. out: may be
 * null.
 */
VkImageView hdi_vk_view_get(hd_vk *vk, hdi_vk_slot *slot, hdi_vk_object *object, const hdi_vk_shape *shape,
                            const char *name, hd_vk_view_info *out);
void hdi_vk_free_views(hd_vk *vk, hdi_vk_object *object);

/* ---- spare.c ---- */
/* Any worker. Handles are null where there is no memory. */
const hdi_vk_spare *hdi_vk_spare_get(hd_vk *vk);
void hdi_vk_spare_free(hd_vk *vk);

#endif
