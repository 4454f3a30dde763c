/* Every call fails once more, on a device that pretends to have three queue families: frames of several submits. */
#define HDT_THREE_FAMILIES
#include "test_vk_faults.c"
