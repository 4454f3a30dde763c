// The library itself: its functions come to life in one C++ file.
#define VMA_IMPLEMENTATION
#include <vk_mem_alloc.h>
