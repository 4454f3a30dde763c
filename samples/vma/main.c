/* heddle with the engine's own device memory, here from Vulkan Memory Allocator: two callbacks. */
#include <stdio.h>
#include <string.h>

#include <heddle/vk.h>
#include <vk_mem_alloc.h>

/* heddle has chosen the memory type already; what VMA decides is where in its blocks the piece lies. */
static VkResult allocate(const hd_vk_memory_request *request, hd_vk_memory *out, void *user)
{
    VkMemoryRequirements needs = {request->bytes, request->alignment, 1u << request->type};
    VmaAllocationCreateInfo how = {.flags = request->mapped ? VMA_ALLOCATION_CREATE_MAPPED_BIT : 0u};
    VmaAllocation allocation;
    VmaAllocationInfo info;
    VkResult result = vmaAllocateMemory((VmaAllocator)user, &needs, &how, &allocation, &info);
    if (result == VK_SUCCESS)
        *out = (hd_vk_memory){info.deviceMemory, info.offset, info.pMappedData, allocation};
    return result;
}

static void release(const hd_vk_memory *memory, void *user)
{
    vmaFreeMemory((VmaAllocator)user, (VmaAllocation)memory->handle);
}

static void show(const void *data, uint64_t bytes, void *user)
{
    (void)user;
    printf("the GPU wrote %llu bytes, the first word is %x\n", (unsigned long long)bytes, *(const uint32_t *)data);
}

static hd_result frame(hd_vk *vk, hd_graph *graph)
{
    hd_resource words = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "words", .bytes = 1 << 20});
    hd_vk_fill(vk, graph, words, NULL, 0xc0ffee, NULL);
    hd_vk_readback(vk, graph, words, NULL, show, NULL, NULL);
    return hd_vk_frame(vk, graph);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        const bool help = strcmp(argv[1], "--help") == 0;
        fprintf(help ? stdout : stderr, "usage: vma, without options%s%s\n", help ? "" : ": not ", help ? "" : argv[1]);
        return help && fflush(stdout) == 0 ? 0 : 1;
    }
    hd_vk *device, *vk = NULL; /* an engine has made its device itself; here heddle makes one to play that */
    hd_graph *graph = NULL;
    hd_result r = hd_vk_create(&(hd_vk_desc){.application = "vma"}, &device);
    if (r != HD_OK)
        return fprintf(stderr, "vma: %s\n", hd_result_text(r)), 2;
    hd_vk_info info;
    hd_vk_info_get(device, &info);

    VmaVulkanFunctions functions = {
        .vkGetInstanceProcAddr = info.get_instance_proc,
        .vkGetDeviceProcAddr =
            (PFN_vkGetDeviceProcAddr)info.get_instance_proc(info.instance, "vkGetDeviceProcAddr"),
    };
    VmaAllocator allocator;
    VkResult made = vmaCreateAllocator(&(VmaAllocatorCreateInfo){.instance = info.instance,
                                                                 .physicalDevice = info.physical_device,
                                                                 .device = info.device,
                                                                 .pVulkanFunctions = &functions,
                                                                 .vulkanApiVersion = VK_API_VERSION_1_3},
                                       &allocator);
    if (made != VK_SUCCESS) {
        fprintf(stderr, "vma: no allocator, VkResult %d\n", (int)made);
        hd_vk_destroy(device);
        return 2;
    }
    r = hd_vk_create(&(hd_vk_desc){.memory = {allocate, release, allocator},
                                   .instance = info.instance,
                                   .physical_device = info.physical_device,
                                   .device = info.device,
                                   .queues = info.queues,
                                   .queue_count = info.queue_count},
                     &vk);
    if (r == HD_OK)
        r = hd_graph_create(NULL, &graph);
    if (r == HD_OK)
        r = frame(vk, graph);
    if (r == HD_OK)
        r = hd_vk_wait(vk); /* for what is shown */
    if (r == HD_OK && (fflush(stdout) != 0 || ferror(stdout)))
        r = HD_IO;
    if (r != HD_OK)
        fprintf(stderr, "vma: %s\n", hd_result_text(r));
    hd_vk_destroy(vk); /* gives all memory back */
    hd_graph_destroy(graph);
    vmaDestroyAllocator(allocator);
    hd_vk_destroy(device);
    return r == HD_OK ? 0 : 2;
}
