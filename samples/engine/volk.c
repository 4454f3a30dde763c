/* The engine's own Vulkan loader: its pointers are the engine's, heddle has others. */
#define VOLK_IMPLEMENTATION
#include <volk.h>
