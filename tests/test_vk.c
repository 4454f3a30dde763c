#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <heddle/graph.h>
#include <heddle/vk.h>
#include <vulkan/vulkan_core.h>

/* The executor on whatever Vulkan device there is. Where the Khronos validation layer is installed it is switched on, with
 * synchronization validation, and any message fails the test. */

/* ---- a device under validation ---- */

typedef struct fixture {
    hd_vk *vk;
    hd_vk_info info;
    VkDebugUtilsMessengerEXT messenger;
    uint32_t messages;
} fixture;

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    fixture *f = user;
    (void)types;
    if (severity & (VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)) {
        f->messages++;
        fprintf(stderr, "%s\n", data->pMessage);
    }
    return VK_FALSE;
}

static void on_log(hd_log_level level, const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "heddle %d: %s\n", (int)level, text);
}

static void use_validation(void)
{
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation", 0);
    setenv("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT", 0);
}

static bool has_validation_layer(void)
{
    hd_vk *probe;
    unsetenv("VK_INSTANCE_LAYERS");
    if (hd_vk_create(NULL, &probe) != HD_OK)
        return false;
    hd_vk_info info;
    hd_vk_info_get(probe, &info);
    PFN_vkEnumerateInstanceLayerProperties enumerate =
        (PFN_vkEnumerateInstanceLayerProperties)info.get_instance_proc(NULL, "vkEnumerateInstanceLayerProperties");
    VkLayerProperties layers[64];
    uint32_t count = 64;
    bool found = false;
    if (enumerate && enumerate(&count, layers) >= VK_SUCCESS) {
        for (uint32_t i = 0; i < count; i++)
            found |= strcmp(layers[i].layerName, "VK_LAYER_KHRONOS_validation") == 0;
    }
    hd_vk_destroy(probe);
    return found;
}

static void open_fixture(fixture *f, const hd_vk_desc *desc)
{
    memset(f, 0, sizeof(*f));
    if (has_validation_layer())
        use_validation();
    hd_vk_desc mine = desc ? *desc : (hd_vk_desc){0};
    if (!mine.log.write)
        mine.log.write = on_log;
    hd_result result = hd_vk_create(&mine, &f->vk);
    if (result == HD_NO_LOADER || result == HD_NO_DEVICE || result == HD_MISSING_FEATURE)
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK, "%s", hd_result_text(result));
    hd_vk_info_get(f->vk, &f->info);
    PFN_vkCreateDebugUtilsMessengerEXT create = (PFN_vkCreateDebugUtilsMessengerEXT)f->info.get_instance_proc(
        f->info.instance, "vkCreateDebugUtilsMessengerEXT");
    if (create) {
        VkDebugUtilsMessengerCreateInfoEXT info = {
            .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
            .messageSeverity =
                VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
            .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
            .pfnUserCallback = on_message,
            .pUserData = f,
        };
        create(f->info.instance, &info, NULL, &f->messenger);
    }
}

static void close_fixture(fixture *f)
{
    cr_expect_eq(hd_vk_wait(f->vk), HD_OK);
    if (f->messenger) {
        PFN_vkDestroyDebugUtilsMessengerEXT destroy = (PFN_vkDestroyDebugUtilsMessengerEXT)f->info.get_instance_proc(
            f->info.instance, "vkDestroyDebugUtilsMessengerEXT");
        destroy(f->info.instance, f->messenger, NULL);
    }
    hd_vk_destroy(f->vk);
    cr_expect_eq(f->messages, 0, "%u validation messages", f->messages);
}

#define FN(f, name) ((PFN_##name)(f)->info.get_instance_proc((f)->info.instance, #name))

/* ---- clear, copy, check ---- */

enum { SIZE = 64 };

typedef struct clear_check {
    fixture *f;
    hd_resource image, buffer;
    uint32_t expect, bad, runs;
} clear_check;

static void record_copy(hd_recorder *recorder, void *user)
{
    clear_check *c = user;
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {SIZE, SIZE, 1}};
    FN(c->f, vkCmdCopyImageToBuffer)
    (hd_vk_commands(recorder), hd_vk_image(recorder, c->image), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
     hd_vk_buffer(recorder, c->buffer), 1, &region);
}

static void check_pixels(hd_recorder *recorder, void *user)
{
    clear_check *c = user;
    const uint32_t *pixels = hd_vk_mapped(recorder, c->buffer);
    c->runs++;
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        c->bad += !pixels || pixels[i] != c->expect;
}

Test(vk, clear_copy_check)
{
    fixture f;
    open_fixture(&f, NULL);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = {on_log, NULL}}, &graph), HD_OK);
    clear_check c = {.f = &f, .expect = 0xff00ff80u};
    for (uint32_t frame = 0; frame < 5; frame++) {
        hd_graph_begin(graph);
        c.image = hd_graph_image(graph, &(hd_image_desc){.name = "image", .width = SIZE, .height = SIZE,
                                                         .format = VK_FORMAT_R8G8B8A8_UNORM});
        c.buffer = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "pixels", .bytes = SIZE * SIZE * 4});
        hd_graph_pass(graph, &(hd_pass_desc){.name = "clear", .type = HD_PASS_GFX,
                                             .uses = HD_USES({c.image, HD_COLOR_WRITE,
                                                              .clear.color = {128.0f / 255.0f, 1.0f, 0.0f, 1.0f}})});
        hd_graph_pass(graph,
                      &(hd_pass_desc){.name = "copy", .type = HD_PASS_TRANSFER, .record = record_copy, .user = &c,
                                      .uses = HD_USES({c.image, HD_TRANSFER_SRC}, {c.buffer, HD_TRANSFER_DST})});
        hd_graph_pass(graph, &(hd_pass_desc){.name = "check", .type = HD_PASS_HOST, .root = true, .record = check_pixels,
                                             .user = &c, .uses = HD_USES({c.buffer, HD_HOST_READ})});
        cr_assert_eq(hd_vk_frame(f.vk, graph), HD_OK);
        cr_assert_eq(hd_vk_wait(f.vk), HD_OK);
    }
    cr_expect_eq(c.runs, 5);
    cr_expect_eq(c.bad, 0, "%u wrong pixels", c.bad);
    close_fixture(&f);
    hd_graph_destroy(graph);
}
