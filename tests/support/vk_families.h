/* Pretends that the device has three queue families; used by vk_fixture.c between heddle and the loader. Process-wide.
 */
#ifndef HDT_VK_FAMILIES_H
#define HDT_VK_FAMILIES_H

#include <heddle/vk.h>

/* The function to use instead of real, or real. */
PFN_vkVoidFunction hdt_vk_family_instance(const char *name, PFN_vkVoidFunction real);
PFN_vkVoidFunction hdt_vk_family_device(const char *name, PFN_vkVoidFunction real);
/* Uses that a device with these families would not bear. */
unsigned hdt_vk_family_faults(void);
unsigned hdt_vk_family_submits(uint32_t family);
unsigned hdt_vk_family_transfers(void);

#endif
