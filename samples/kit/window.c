#include "window.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef KIT_HAS_GLFW
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

struct kit_window {
    GLFWwindow *window;
    VkSurfaceKHR surface;
    hd_vk_swapchain *swapchain;
    bool wants_report;
    uint32_t titled_frame; /* when the title was set last */
    double titled_us;
};

enum { FRAMES_A_TITLE = 60 };

static void write_error(int code, const char *text)
{
    fprintf(stderr, "GLFW: %s (%x)\n", text, (unsigned)code);
}

bool kit_window_prepare(struct kit *kit, const char *const **extensions, uint32_t *count)
{
    glfwSetErrorCallback(write_error);
    if (!glfwInit() || !glfwVulkanSupported())
        return kit_check(kit, HD_UNSUPPORTED);
    *extensions = (const char *const *)glfwGetRequiredInstanceExtensions(count);
    return kit_check(kit, *extensions ? HD_OK : HD_UNSUPPORTED);
}

static void on_key(GLFWwindow *window, int key, int code, int action, int mods)
{
    struct kit *kit = glfwGetWindowUserPointer(window);
    (void)code, (void)mods;
    if (action == GLFW_PRESS && key == GLFW_KEY_ESCAPE)
        glfwSetWindowShouldClose(window, GLFW_TRUE);
    if (action == GLFW_PRESS && key == GLFW_KEY_R)
        kit->window->wants_report = true;
}

static void on_size(GLFWwindow *window, int width, int height)
{
    struct kit *kit = glfwGetWindowUserPointer(window);
    hd_vk_swapchain_resize(kit->window->swapchain, (uint32_t)width, (uint32_t)height);
}

bool kit_window_open(struct kit *kit)
{
    struct kit_window *w = calloc(1, sizeof *w);
    kit->window = w;
    if (!w)
        return kit_check(kit, HD_OUT_OF_MEMORY);
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    w->window = glfwCreateWindow((int)kit->width, (int)kit->height, kit->scene->name, NULL, NULL);
    if (!w->window || glfwCreateWindowSurface(kit->info.instance, w->window, NULL, &w->surface) != VK_SUCCESS)
        return kit_check(kit, HD_UNSUPPORTED);
    glfwSetWindowUserPointer(w->window, kit);
    glfwSetKeyCallback(w->window, on_key);
    int width, height;
    glfwGetFramebufferSize(w->window, &width, &height);
    hd_result result = hd_vk_swapchain_create(
        kit->vk,
        &(hd_vk_swapchain_desc){
            .surface = w->surface, .width = (uint32_t)width, .height = (uint32_t)height, .timeout_ns = 100000000},
        &w->swapchain);
    glfwSetFramebufferSizeCallback(w->window, on_size);
    return kit_check(kit, result);
}

/* The size, and how long a frame takes from one to the next. */
static void set_title(struct kit *kit, const char *note)
{
    struct kit_window *w = kit->window;
    uint32_t frames = kit->number - w->titled_frame;
    double now = kit_now_us(), each_ms = frames ? (now - w->titled_us) / frames * 1e-3 : 0.0;
    char title[256];
    int n = snprintf(title, sizeof title, "%s %ux%u%s", kit->scene->name, kit->width, kit->height, note);
    if (frames >= FRAMES_A_TITLE)
        snprintf(title + n, sizeof title - (size_t)n, ", %.1f ms a frame", each_ms);
    glfwSetWindowTitle(w->window, title);
    w->titled_frame = kit->number;
    w->titled_us = now;
}

bool kit_window_poll(struct kit *kit)
{
    GLFWwindow *window = kit->window->window;
    int width = 0, height = 0;
    bool waited = false;
    glfwPollEvents();
    for (;; waited = true) {
        glfwGetFramebufferSize(window, &width, &height);
        if (glfwWindowShouldClose(window))
            return false;
        if (width > 0 && height > 0 && !glfwGetWindowAttrib(window, GLFW_ICONIFIED))
            break;
        if (!waited)
            glfwSetWindowTitle(window, kit->scene->name);
        glfwWaitEvents();
    }
    bool resized = kit->width != (uint32_t)width || kit->height != (uint32_t)height;
    kit->width = (uint32_t)width;
    kit->height = (uint32_t)height;
    if (waited || resized || kit->number == 0 || kit->number - kit->window->titled_frame == FRAMES_A_TITLE)
        set_title(kit, "");
    return true;
}

void kit_window_show(struct kit *kit, hd_resource picture)
{
    hd_resource target = {0};
    if (!kit_check(kit, hd_vk_swapchain_acquire(kit->window->swapchain, kit->graph, &target)))
        return;
    if (target.id && picture.id)
        hd_vk_swapchain_show(kit->window->swapchain, kit->graph, picture, NULL);
}

void kit_window_present(struct kit *kit)
{
    kit_check(kit, hd_vk_swapchain_present(kit->window->swapchain));
}

void kit_window_report(struct kit *kit)
{
    char folder[4096];
    if (!kit->window->wants_report)
        return;
    snprintf(folder, sizeof folder, "%s-%u", kit->options.report ? kit->options.report : "report", kit->number);
    set_title(kit, kit_report(kit, folder) ? ", report written" : ", no report");
    kit->window->wants_report = false;
}

void kit_window_close(struct kit *kit)
{
    if (kit->window) {
        hd_vk_swapchain_destroy(kit->window->swapchain);
        if (kit->window->surface)
            vkDestroySurfaceKHR(kit->info.instance, kit->window->surface, NULL);
        if (kit->window->window)
            glfwDestroyWindow(kit->window->window);
        free(kit->window);
        kit->window = NULL;
    }
    if (kit->options.window)
        glfwTerminate();
}
#else
bool kit_window_prepare(struct kit *kit, const char *const **extensions, uint32_t *count)
{
    (void)extensions, (void)count;
    fprintf(stderr, "%s: --window: built without GLFW\n", kit->scene->name);
    return kit_check(kit, HD_UNSUPPORTED);
}
bool kit_window_open(struct kit *kit)
{
    return kit_check(kit, HD_UNSUPPORTED);
}
bool kit_window_poll(struct kit *kit)
{
    (void)kit;
    return false;
}
void kit_window_show(struct kit *kit, hd_resource picture)
{
    (void)kit, (void)picture;
}
void kit_window_present(struct kit *kit)
{
    (void)kit;
}
void kit_window_report(struct kit *kit)
{
    (void)kit;
}
void kit_window_close(struct kit *kit)
{
    (void)kit;
}
#endif
