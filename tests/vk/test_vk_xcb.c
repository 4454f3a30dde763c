#include <criterion/criterion.h>

#if defined(__has_include)
#if __has_include(<xcb/xcb.h>)
#define HDT_XCB
#endif
#endif

/* A swapchain on a real window system: windows of an X server without a screen (Xvfb), where that is installed. */

#ifdef HDT_XCB
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xcb/xcb.h>

#include "vk_fixture.h"

#include <vulkan/vulkan_xcb.h>

#define XCB_FUNCTIONS(X)                                                                                               \
    X(xcb_connect)                                                                                                     \
    X(xcb_connection_has_error)                                                                                        \
    X(xcb_disconnect)                                                                                                  \
    X(xcb_get_setup)                                                                                                   \
    X(xcb_setup_roots_iterator)                                                                                        \
    X(xcb_generate_id)                                                                                                 \
    X(xcb_create_window)                                                                                               \
    X(xcb_map_window)                                                                                                  \
    X(xcb_destroy_window)                                                                                              \
    X(xcb_configure_window)                                                                                            \
    X(xcb_get_input_focus)                                                                                             \
    X(xcb_get_input_focus_reply)
static struct {
#define MEMBER(name) __typeof__(name) *name;
    XCB_FUNCTIONS(MEMBER)
} x;

static bool load_xcb(void)
{
    void *library = dlopen("libxcb.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool all = library != NULL;
#define LOAD(name)                                                                                                     \
    x.name = library ? (__typeof__(name) *)(uintptr_t)dlsym(library, #name) : NULL;                                    \
    all &= x.name != NULL;
    XCB_FUNCTIONS(LOAD)
    return all;
}

/* Starts a server on a display that it chooses; 0: there is none. */
static pid_t start_server(char *display)
{
    int ends[2];
    if (pipe(ends) != 0)
        return 0;
    pid_t server = fork();
    if (server == 0) {
        char fd[16];
        snprintf(fd, sizeof(fd), "%d", ends[1]);
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* a test that crashes leaves no server behind */
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        execlp("Xvfb", "Xvfb", "-displayfd", fd, "-screen", "0", "640x480x24", "-nolisten", "tcp", (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    char number[16] = {0};
    size_t got = 0;
    ssize_t more = 0;
    while (server > 0 && got < sizeof(number) - 1 && !strchr(number, '\n') &&
           (more = read(ends[0], number + got, sizeof(number) - 1 - got)) > 0)
        got += (size_t)more;
    close(ends[0]);
    number[strcspn(number, "\n")] = 0;
    if (server > 0 && got == 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
        return 0;
    }
    snprintf(display, 20, ":%s", number);
    return server > 0 ? server : 0;
}

typedef struct desk {
    pid_t server;
    xcb_connection_t *connection;
    xcb_window_t window;
    hdt_vk f;
    hd_graph *graph;
    VkSurfaceKHR surface;
    hd_vk_swapchain *swapchain;
    uint32_t shown;
} desk;

/* The server has done all that it was asked for. */
static void settle(desk *d)
{
    free(x.xcb_get_input_focus_reply(d->connection, x.xcb_get_input_focus(d->connection), NULL));
}

static void resize(desk *d, uint32_t width, uint32_t height)
{
    const uint32_t values[] = {width, height};
    x.xcb_configure_window(d->connection, d->window, XCB_CONFIG_WINDOW_WIDTH | XCB_CONFIG_WINDOW_HEIGHT, values);
    settle(d);
}

static void make_window(desk *d)
{
    const xcb_screen_t *screen = x.xcb_setup_roots_iterator(x.xcb_get_setup(d->connection)).data;
    d->window = x.xcb_generate_id(d->connection);
    x.xcb_create_window(d->connection, screen->root_depth, d->window, screen->root, 0, 0, 64, 48, 0,
                        XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual, 0, NULL);
    x.xcb_map_window(d->connection, d->window);
    settle(d);
    VkXcbSurfaceCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_XCB_SURFACE_CREATE_INFO_KHR, .connection = d->connection, .window = d->window};
    cr_assert_eq(HDT_FN(&d->f, vkCreateXcbSurfaceKHR)(d->f.info.instance, &info, NULL, &d->surface), VK_SUCCESS);
}

static void open_desk(desk *d)
{
    static const char *const instance_extensions[] = {"VK_KHR_surface", "VK_KHR_xcb_surface"},
                             *const device_extensions[] = {"VK_KHR_swapchain"};
    char display[20];
    memset(d, 0, sizeof(*d));
    if (!load_xcb() || !(d->server = start_server(display)))
        cr_skip_test("no X server to test with");
    d->connection = x.xcb_connect(display, NULL);
    hd_result result = HD_NO_DEVICE;
    if (x.xcb_connection_has_error(d->connection) == 0)
        result = hdt_vk_open(&d->f, &(hd_vk_desc){.instance_extensions = instance_extensions,
                                                  .instance_extension_count = 2,
                                                  .device_extensions = device_extensions,
                                                  .device_extension_count = 1});
    if (result != HD_OK) {
        kill(d->server, SIGTERM);
        waitpid(d->server, NULL, 0);
        cr_assert(hdt_vk_none(result));
        cr_skip_test("no Vulkan 1.3 device with windows");
    }
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = hdt_log()}, &d->graph), HD_OK);
    make_window(d);
}

static void close_desk(desk *d)
{
    hd_vk_swapchain_destroy(d->swapchain);
    HDT_FN(&d->f, vkDestroySurfaceKHR)(d->f.info.instance, d->surface, NULL);
    hd_graph_destroy(d->graph);
    unsigned messages = hdt_vk_close(&d->f);
    cr_expect_eq(messages, 0, "%u validation messages", messages);
    x.xcb_disconnect(d->connection);
    kill(d->server, SIGTERM);
    waitpid(d->server, NULL, 0);
}

static hd_result frame(desk *d)
{
    hd_resource target;
    hd_graph_begin(d->graph);
    hd_result result = hd_vk_swapchain_acquire(d->swapchain, d->graph, &target);
    if (result != HD_OK)
        return result;
    if (target.id)
        hd_graph_pass(d->graph,
                      &(hd_pass_desc){.name = "draw",
                                      .type = HD_PASS_GFX,
                                      .uses = HD_USES({target, HD_COLOR_WRITE, .clear.color = {0, 1, 0, 1}})});
    result = hd_vk_frame(d->f.vk, d->graph);
    d->shown += result == HD_OK && target.id;
    return result == HD_OK ? hd_vk_swapchain_present(d->swapchain) : result;
}

/* Mesa 25 sees what became of a window in a thread of its own, some time behind a present. */
static hd_result late_frame(desk *d)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return frame(d);
}

Test(vk_xcb, resized_and_lost, .timeout = 60)
{
    desk d;
    open_desk(&d);
    hd_result result = hd_vk_swapchain_create(
        d.f.vk, &(hd_vk_swapchain_desc){.surface = d.surface, .timeout_ns = 2000000000}, &d.swapchain);
    cr_assert_eq(result, HD_OK, "%s", hd_result_name(result));
    hd_vk_swapchain_info info;
    for (uint32_t i = 0; i < 120; i++) {
        uint32_t width = 40 + i / 3 * 13 % 100, height = 30 + i / 3 * 7 % 80;
        if (i % 3 == 0)
            resize(&d, width, height);
        cr_assert_eq(frame(&d), HD_OK);
        hd_vk_swapchain_info_get(d.swapchain, &info);
        for (uint32_t more = 0; i % 3 == 2 && more < 500 && (info.width != width || info.height != height); more++) {
            cr_assert_eq(late_frame(&d), HD_OK);
            hd_vk_swapchain_info_get(d.swapchain, &info);
        }
        if (i % 3 == 2)
            cr_expect(info.width == width && info.height == height, "%ux%u, not %ux%u", info.width, info.height, width,
                      height);
    }
    cr_expect_geq(d.shown, 80);
    cr_expect_geq(info.made, 40);

    VkSurfaceKHR old = d.surface;
    x.xcb_destroy_window(d.connection, d.window);
    settle(&d);
    for (uint32_t i = 0; i < 500 && result == HD_OK; i++)
        result = late_frame(&d);
    cr_expect_eq(result, HD_SURFACE_LOST, "%s", hd_result_name(result));
    make_window(&d);
    cr_expect_eq(hd_vk_swapchain_set_surface(d.swapchain, d.surface), HD_OK);
    HDT_FN(&d.f, vkDestroySurfaceKHR)(d.f.info.instance, old, NULL);
    uint32_t shown = d.shown;
    for (uint32_t i = 0; i < 6; i++)
        cr_expect_eq(frame(&d), HD_OK);
    cr_expect_eq(d.shown, shown + 6);
    close_desk(&d);
}
#else
Test(vk_xcb, left_out)
{
    cr_skip_test("no headers of xcb");
}
#endif
