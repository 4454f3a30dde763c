#include <criterion/criterion.h>

#include <string.h>

#include <heddle/vk.h>

#include "arena.h"
#include "capture/call.h"

/* Structures of Vulkan as bytes, and back. A handle of the tests is its object times 16 plus 5, so that a handle that
 * was not translated shows; those that end otherwise are not known. */

#define HANDLE(object) ((void *)(uintptr_t)((object)*16 + 5))
#define GARBAGE ((void *)(uintptr_t)0xdeadbeef00) /* what nothing may follow */

static uint32_t object_of(void *user, uint32_t type, uint64_t handle)
{
    (void)user;
    cr_expect_neq(type, 0, "a handle has a type");
    return handle % 16 == 5 ? (uint32_t)(handle / 16) : 0;
}

static uint64_t handle_of(void *user, uint32_t type, uint32_t object)
{
    (void)user;
    cr_expect_neq(type, 0);
    return (uint64_t)object * 16 + 5;
}

static hdi_call_writer writer;
static hdi_arena arena;

static void begin(void)
{
    if (!hdi_call_find("vkCmdDraw"))
        cr_skip_test("built without vk.xml");
    writer = (hdi_call_writer){.object = object_of};
    hdi_arena_init(&arena, &(hd_allocator){0});
}

static void end(void)
{
    hdi_call_writer_free(&writer);
    hdi_arena_free(&arena);
}

TestSuite(capture_call, .init = begin, .fini = end);

static const hdi_call_type *type_of(const char *name)
{
    const hdi_call_type *type = hdi_call_type_find(name);
    cr_assert(type, "%s", name);
    return type;
}

static void *read_from(const hdi_call_writer *w, const hdi_call_type *type)
{
    hdi_call_reader reader = {.bytes = w->bytes,
                              .refs = w->refs,
                              .byte_count = w->byte_count,
                              .ref_count = w->ref_count,
                              .arena = &arena,
                              .handle = handle_of,
                              .commands = 77};
    void *value = hdi_call_read(&reader, type);
    cr_assert(value && !reader.failed, "%s is read", type->name);
    cr_expect_eq(reader.at, w->byte_count, "%s to its end", type->name);
    return value;
}

/* Writes, reads, writes again: the same bytes. What was read. */
static void *round_trip(const char *name, const void *value)
{
    const hdi_call_type *type = type_of(name);
    hdi_call_writer again = {.object = object_of};
    writer.byte_count = writer.ref_count = 0;
    writer.unknown = false;
    hdi_call_write(&writer, type, value);
    cr_assert_not(writer.failed);
    void *back = read_from(&writer, type);
    hdi_call_write(&again, type, back);
    cr_assert_eq(again.byte_count, writer.byte_count, "%s: %u bytes, then %u", name, writer.byte_count,
                 again.byte_count);
    cr_expect_arr_eq(again.bytes, writer.bytes, writer.byte_count);
    cr_assert_eq(again.ref_count, writer.ref_count);
    cr_expect_arr_eq(again.refs, writer.refs, writer.ref_count * sizeof(*writer.refs));
    cr_expect_not(again.unknown);
    hdi_call_writer_free(&again);
    return back;
}

Test(capture_call, rendering)
{
    const VkRenderingAttachmentInfo colors[2] = {
        {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
         .imageView = HANDLE(3),
         .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
         .resolveImageView = GARBAGE,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .clearValue.color.float32 = {0.25f, 0.5f, 0.75f, 1}},
        {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
         .imageView = HANDLE(4),
         .resolveMode = VK_RESOLVE_MODE_AVERAGE_BIT,
         .resolveImageView = HANDLE(3)},
    };
    const VkRenderingFragmentShadingRateAttachmentInfoKHR rate = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR, .imageView = HANDLE(9)};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .pNext = &rate,
                                  .renderArea.extent = {64, 32},
                                  .layerCount = 1,
                                  .colorAttachmentCount = 2,
                                  .pColorAttachments = colors};
    struct {
        VkCommandBuffer commands;
        const VkRenderingInfo *info;
    } arguments = {GARBAGE, &info}, *back = round_trip("vkCmdBeginRendering", &arguments);
    cr_expect_eq((uintptr_t)back->commands, 77);
    cr_expect_not(writer.unknown);
    cr_expect_eq(writer.ref_count, 3, "each object once");
    cr_expect_eq(back->info->renderArea.extent.height, 32);
    cr_expect_null(back->info->pDepthAttachment);
    const VkRenderingFragmentShadingRateAttachmentInfoKHR *next = back->info->pNext;
    cr_assert_eq(next->sType, VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);
    cr_expect_eq(next->imageView, HANDLE(9));
    cr_expect_null(next->pNext);
    cr_expect_eq(back->info->pColorAttachments[0].imageView, HANDLE(3));
    cr_expect_null(back->info->pColorAttachments[0].resolveImageView, "ignored without a mode");
    cr_expect_eq(back->info->pColorAttachments[0].clearValue.color.float32[2], 0.75f);
    cr_expect_eq(back->info->pColorAttachments[1].imageView, HANDLE(4));
    cr_expect_eq(back->info->pColorAttachments[1].resolveImageView, HANDLE(3));
}

Test(capture_call, device)
{
    const char *extensions[] = {"VK_KHR_swapchain", "VK_EXT_mesh_shader"};
    const float priorities[] = {1, 0.5f};
    const VkDeviceQueueCreateInfo queues[] = {{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                               .queueFamilyIndex = 1,
                                               .queueCount = 2,
                                               .pQueuePriorities = priorities}};
    VkPhysicalDeviceVulkan13Features features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                   .dynamicRendering = VK_TRUE};
    VkBaseOutStructure unknown = {.sType = (VkStructureType)2000000001, .pNext = (void *)&features13};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &unknown,
                                          .features.samplerAnisotropy = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = queues,
                                     .ppEnabledLayerNames = GARBAGE,
                                     .enabledExtensionCount = 2,
                                     .ppEnabledExtensionNames = extensions};
    const VkDeviceCreateInfo *back = round_trip("VkDeviceCreateInfo", &info);
    cr_expect(writer.unknown, "a structure of the chain");
    cr_expect_null(back->ppEnabledLayerNames, "there are none");
    cr_expect_str_eq(back->ppEnabledExtensionNames[0], "VK_KHR_swapchain");
    cr_expect_str_eq(back->ppEnabledExtensionNames[1], "VK_EXT_mesh_shader");
    cr_expect_eq(back->pQueueCreateInfos[0].pQueuePriorities[1], 0.5f);
    const VkPhysicalDeviceFeatures2 *first = back->pNext;
    cr_assert_eq(first->sType, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    cr_expect(first->features.samplerAnisotropy);
    const VkPhysicalDeviceVulkan13Features *second = first->pNext;
    cr_assert_eq(second->sType, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, "the unknown one is left out");
    cr_expect(second->dynamicRendering);
    cr_expect_null(second->pNext);
}
