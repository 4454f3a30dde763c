#include "engine.h"

#include <string.h>

#ifdef HAS_GLFW
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#endif

#include "picture.h"

/* Step 7: windows. With --window the engine makes windows and surfaces, heddle their swapchains. Without, a "window" is
 * two images of the engine's that take turns, imported as a swapchain's are: the frame is the same. */

static bool open_image_pair(struct engine *engine, struct window *window)
{
    for (uint32_t i = 0; i < 2; i++)
        if (!image_create(engine,
                          &(hd_image_desc){.name = window->name,
                                           .width = window->width,
                                           .height = window->height,
                                           .format = VK_FORMAT_R8G8B8A8_UNORM,
                                           .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT},
                          &window->images[i]))
            return false;
    return true;
}

static void write_picture(const void *data, uint64_t bytes, void *user) /* on the host queue's thread */
{
    struct window *window = user;
    char path[4096];
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    atomic_fetch_xor(&window->engine->picture_hash, hash);
    snprintf(path, sizeof path, "%s/%s.png", window->engine->out, window->name);
    if (!kit_png_write(path, data, window->width, window->height))
        atomic_store(&window->engine->failed, true);
}

static void show_in_image(struct engine *engine, struct window *window, hd_resource picture)
{
    struct image *image = &window->images[engine->number % 2];
    hd_resource target = hd_graph_import(engine->graph, &image->import);
    hd_vk_copy(engine->vk, engine->graph, picture, NULL, target, NULL, &(hd_vk_as){.name = window->name});
    if (engine->last)
        hd_vk_readback(engine->vk, engine->graph, target, NULL, write_picture, window, NULL);
    /* A frame leaves an import in the layout of its last use; the next one is told so. UNDEFINED would do as well here:
     * the copy writes the whole image. */
    image->import.initial_layout =
        engine->last ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
}

#ifdef HAS_GLFW
/* 1 to 4 switch passes, R writes a report of the frame, Esc closes. */
static void on_key(GLFWwindow *glfw, int key, int code, int action, int mods)
{
    struct window *window = glfwGetWindowUserPointer(glfw);
    struct engine *engine = window->engine;
    (void)code;
    (void)mods;
    if (action != GLFW_PRESS)
        return;
    bool *const switches[] = {&engine->waves, &engine->shadows, &engine->glow, &engine->sampled};
    if (key >= GLFW_KEY_1 && key <= GLFW_KEY_4)
        *switches[key - GLFW_KEY_1] = !*switches[key - GLFW_KEY_1];
    if (key == GLFW_KEY_R)
        engine->report_wanted = true;
    if (key == GLFW_KEY_ESCAPE)
        glfwSetWindowShouldClose(glfw, GLFW_TRUE);
}

static void on_error(int code, const char *text)
{
    fprintf(stderr, "engine: GLFW: %s (%d)\n", text, code);
}

static bool open_glfw(struct engine *engine)
{
    glfwSetErrorCallback(on_error);
    if (!glfwInit() || !glfwVulkanSupported())
        return engine_check(engine, HD_UNSUPPORTED);
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    for (uint32_t i = 0; i < VIEWS; i++) {
        struct window *window = &engine->windows[i];
        window->glfw = glfwCreateWindow((int)window->width, (int)window->height, window->name, NULL, NULL);
        if (!window->glfw)
            return engine_check(engine, HD_UNSUPPORTED);
        glfwSetWindowUserPointer(window->glfw, window);
        glfwSetKeyCallback(window->glfw, on_key);
    }
    return true;
}

static bool attach_glfw(struct engine *engine, struct window *window)
{
    if (glfwCreateWindowSurface(engine->device.instance, window->glfw, NULL, &window->surface) != VK_SUCCESS)
        return engine_check(engine, HD_UNSUPPORTED);
    const VkPresentModeKHR modes[] = {VK_PRESENT_MODE_MAILBOX_KHR};
    return engine_check(engine, hd_vk_swapchain_create(engine->vk,
                                                       &(hd_vk_swapchain_desc){.surface = window->surface,
                                                                               .width = window->width,
                                                                               .height = window->height,
                                                                               .present_modes = modes,
                                                                               .present_mode_count = 1},
                                                       &window->swapchain));
}

static bool poll_glfw(struct engine *engine)
{
    glfwPollEvents();
    bool open = true;
    for (uint32_t i = 0; i < VIEWS; i++) {
        struct window *window = &engine->windows[i];
        int width, height;
        glfwGetFramebufferSize(window->glfw, &width, &height);
        hd_vk_swapchain_resize(window->swapchain, (uint32_t)width, (uint32_t)height);
        if (width > 0 && height > 0) { /* a minimised window keeps the size of its picture */
            window->width = (uint32_t)width;
            window->height = (uint32_t)height;
        }
        open = open && !glfwWindowShouldClose(window->glfw);
    }
    return open;
}
#endif

const char *const *windows_extensions(const struct engine *engine, uint32_t *count)
{
    *count = 0;
#ifdef HAS_GLFW
    if (engine->windowed)
        return glfwGetRequiredInstanceExtensions(count);
#endif
    (void)engine;
    return NULL;
}

bool windows_open(struct engine *engine)
{
    static const char *const names[VIEWS] = {"engine", "engine map"};
    for (uint32_t i = 0; i < VIEWS; i++)
        engine->windows[i] = (struct window){.engine = engine,
                                             .name = names[i],
                                             .width = i == 0 ? engine->width : engine->height,
                                             .height = engine->height};
    if (!engine->windowed)
        return true;
#ifdef HAS_GLFW
    return open_glfw(engine);
#else
    journal_say(&engine->journal, HD_LOG_ERROR, "engine", "built without GLFW: there is no --window");
    return false;
#endif
}

bool windows_attach(struct engine *engine)
{
    bool attached = true;
    for (uint32_t i = 0; i < VIEWS && attached; i++) {
#ifdef HAS_GLFW
        if (engine->windowed)
            attached = attach_glfw(engine, &engine->windows[i]);
#endif
        if (!engine->windowed)
            attached = open_image_pair(engine, &engine->windows[i]);
    }
    return attached;
}

bool windows_poll(struct engine *engine)
{
#ifdef HAS_GLFW
    if (engine->windowed)
        return poll_glfw(engine);
#endif
    (void)engine;
    return true;
}

/* Windows get other sizes; images are made anew: the old ones go when the frames that import them have finished. */
bool windows_resize(struct engine *engine, uint32_t percent)
{
    uint32_t width = engine->width * percent / 100, height = engine->height * percent / 100;
#ifdef HAS_GLFW
    if (engine->windowed) {
        for (uint32_t i = 0; i < VIEWS; i++)
            glfwSetWindowSize(engine->windows[i].glfw, (int)(i == 0 ? width : height), (int)height);
        return true;
    }
#endif
    if (!engine_check(engine, hd_vk_wait(engine->vk)))
        return false;
    for (uint32_t i = 0; i < VIEWS; i++) {
        struct window *window = &engine->windows[i];
        image_destroy(engine, &window->images[0]);
        image_destroy(engine, &window->images[1]);
        window->width = i == 0 ? width : height;
        window->height = height;
        if (!open_image_pair(engine, window))
            return false;
    }
    return true;
}

void window_show(struct engine *engine, struct window *window, hd_resource picture)
{
    if (!window->swapchain) {
        show_in_image(engine, window, picture);
        return;
    }
    hd_resource target; /* none: minimised, or no image in time; the frame goes without */
    engine_check(engine, hd_vk_swapchain_acquire(window->swapchain, engine->graph, &target));
    if (target.id)
        hd_vk_swapchain_show(window->swapchain, engine->graph, picture, &(hd_vk_as){.name = window->name});
    if (engine->last)
        hd_vk_readback(engine->vk, engine->graph, picture, NULL, write_picture, window, NULL);
}

void window_present(struct engine *engine, struct window *window)
{
    if (window->swapchain)
        engine_check(engine, hd_vk_swapchain_present(window->swapchain));
}

void windows_detach(struct engine *engine)
{
    for (uint32_t i = 0; i < VIEWS; i++) {
        struct window *window = &engine->windows[i];
        hd_vk_swapchain_destroy(window->swapchain);
        window->swapchain = NULL;
        image_destroy(engine, &window->images[0]);
        image_destroy(engine, &window->images[1]);
        if (window->surface)
            vkDestroySurfaceKHR(engine->device.instance, window->surface, NULL);
    }
}

void windows_close(struct engine *engine)
{
#ifdef HAS_GLFW
    if (engine->windowed)
        glfwTerminate();
#endif
    (void)engine;
}
