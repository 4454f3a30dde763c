/* Any order that the semaphores allow: submits are held and handed to the one real queue from a random one of the made-up
 * queues, those whose timeline waits are met. What runs too early because a wait is missing then runs too early. Used by
 * vk_families.c. Process-wide. */
#ifndef HDT_VK_ORDER_H
#define HDT_VK_ORDER_H

#include <heddle/vk.h>

/* seed 0: submits go on at once, in the order in which they come (as it is without a call). */
void hdt_vk_order(uint64_t seed);
/* Submits that were handed on before one of another queue that came earlier. */
unsigned hdt_vk_order_overtaken(void);
/* Submits that are still held: they wait for what never comes. */
unsigned hdt_vk_order_held(void);

bool hdt_vk_order_on(void);
VkResult hdt_vk_order_submit(PFN_vkQueueSubmit2 real, VkQueue queue, uint32_t family, uint32_t count,
                             const VkSubmitInfo2 *submits);
/* The function to use instead of real, or real. */
PFN_vkVoidFunction hdt_vk_order_device(const char *name, PFN_vkVoidFunction real);

#endif
