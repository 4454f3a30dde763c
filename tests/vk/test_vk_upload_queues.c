/* Uploads on a device that pretends to have three queue families. */
#define HDT_THREE_FAMILIES
#include "test_vk_upload.c"
