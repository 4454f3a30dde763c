/* A window system made of function pointers, between heddle and the loader: surfaces and swapchains whose images are
 * real images of the driver, acquired and presented by real submits. Any of its calls can be told to fail. It counts
 * what lives and what a real one would not bear. Process-wide; one thread. */
#ifndef HDT_VK_WINDOW_H
#define HDT_VK_WINDOW_H

#include <heddle/vk.h>

typedef enum hdt_window_call {
    HDT_SURFACE_SUPPORT,
    HDT_SURFACE_CAPS,
    HDT_SURFACE_FORMATS,
    HDT_SURFACE_MODES,
    HDT_SWAPCHAIN_CREATE,
    HDT_SWAPCHAIN_IMAGES,
    HDT_ACQUIRE,
    HDT_PRESENT,
    HDT_WINDOW_CALLS
} hdt_window_call;

typedef struct hdt_window {
    VkQueue queue; /* signals what is acquired */
    uint32_t width, height; /* of the window; a change makes swapchains out of date */
    bool open_size;         /* the surface leaves its size to the swapchain */
    bool only_drawn_to;     /* images of the surface can be color attachments alone */
    bool unreadable;        /* they cannot be copied from */
    bool suboptimal;        /* every acquire and present says so */
    uint32_t min_images, max_images;
    uint32_t present_families; /* bits; 0: all */
    uint32_t calls[HDT_WINDOW_CALLS];
    hdt_window_call fail_call;
    uint32_t fail_at; /* the so-manyth such call from 1; 0: none */
    uint32_t fail_count;
    VkResult failure;
    void (*on_present)(void); /* before a present does anything; null: none */
    uint32_t live_swapchains, live_surfaces, swapchains, presented;
    unsigned faults;
} hdt_window;
extern hdt_window hdt_the_window;

/* All as at first: 64 x 48 texels, two images at least, no failures. */
void hdt_window_reset(void);
VkSurfaceKHR hdt_window_surface(void);
void hdt_window_drop_surface(VkSurfaceKHR surface);
/* get_instance_proc for hd_vk_desc; goes on to hdt_faults_proc (vk_faults.h). */
PFN_vkVoidFunction VKAPI_PTR hdt_window_proc(VkInstance instance, const char *name);

#endif
