#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include <vulkan/vulkan.h>

/* volk finds the Vulkan loader. It lives in this object alone, and the build makes its symbols local to it: they have
 * the names of Vulkan's functions, so they would clash with an engine's own volk, and break one that links the loader
 * and calls those functions directly. Everything else goes through the tables of each hd_vk. */
#pragma GCC visibility push(hidden)
#define VOLK_IMPLEMENTATION
#include <volk.h>
#pragma GCC visibility pop

PFN_vkGetInstanceProcAddr hdi_vk_find_loader(void);

PFN_vkGetInstanceProcAddr hdi_vk_find_loader(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* two threads may make devices at once */
    pthread_mutex_lock(&lock);
    PFN_vkGetInstanceProcAddr get = volkInitialize() == VK_SUCCESS ? vkGetInstanceProcAddr : NULL;
    pthread_mutex_unlock(&lock);
    return get;
}
