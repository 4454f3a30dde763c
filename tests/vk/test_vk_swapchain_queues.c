/* The tests of swapchains once more, on a device that pretends to have three queue families. */
#define HDT_THREE_FAMILIES
#include "test_vk_swapchain.c"
#include "test_vk_swapchain_faults.c"
#include "test_vk_behind_host.c"
