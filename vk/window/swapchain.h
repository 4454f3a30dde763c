/* What a swapchain is made of; chain.c makes and retires the VkSwapchainKHR, swapchain.c uses it. */
#ifndef HDI_VK_SWAPCHAIN_H
#define HDI_VK_SWAPCHAIN_H

#include "state.h"

/* Wishes that count, of formats and of present modes. */
#define HDI_VK_WISHES 16
/* Semaphores of acquires: more than frames can be in flight. */
#define HDI_VK_ACQUIRES (HDI_VK_MAX_FRAMES + 1)

#define HDI_VK_SURFACE_FUNCTIONS(X)                                                                                    \
    X(vkGetPhysicalDeviceSurfaceSupportKHR)                                                                            \
    X(vkGetPhysicalDeviceSurfaceCapabilitiesKHR)                                                                       \
    X(vkGetPhysicalDeviceSurfaceFormatsKHR)                                                                            \
    X(vkGetPhysicalDeviceSurfacePresentModesKHR)

#define HDI_VK_SWAPCHAIN_FUNCTIONS(X)                                                                                  \
    X(vkCreateSwapchainKHR)                                                                                            \
    X(vkDestroySwapchainKHR)                                                                                           \
    X(vkGetSwapchainImagesKHR)                                                                                         \
    X(vkAcquireNextImageKHR)                                                                                           \
    X(vkQueuePresentKHR)

typedef struct hdi_vk_shown {
    VkImage image;
    VkSemaphore written; /* signalled by the frame, waited for by the present; free again once the image is acquired */
    uint64_t serial;
    bool presented;
} hdi_vk_shown;

/* One VkSwapchainKHR. */
typedef struct hdi_vk_chain {
    struct hdi_vk_chain *next; /* of the retired ones */
    VkSwapchainKHR swapchain;
    VkSurfaceCapabilitiesKHR caps; /* when it was made */
    VkExtent2D extent;
    VkSurfaceFormatKHR format;
    VkPresentModeKHR mode;
    hdi_vk_shown *images;
    uint32_t image_count, image_room;
    struct {
        VkSemaphore semaphore;
        uint64_t frame; /* 1 + the last one that waited for it; 0: none did */
    } acquires[HDI_VK_ACQUIRES];
    uint64_t cycled;        /* 1 + the first frame that used an image which had been presented before; 0: none did */
    uint64_t last_frame;    /* retired: frames before it may use the images */
    uint32_t queues;        /* bits: which of hd_vk presented its images */
    bool accept_suboptimal; /* the one before was suboptimal at the same surface: making another would not help */
} hdi_vk_chain;

struct hd_vk_swapchain {
    hd_vk *vk;             /* null: it was destroyed */
    hd_vk_swapchain *next; /* of the hd_vk's */
    hd_allocator allocator;
    VkSurfaceKHR surface;
    uint32_t width, height, image_count, usage;
    hd_sharing sharing;
    uint64_t timeout_ns;
    VkSurfaceFormatKHR formats[HDI_VK_WISHES];
    VkPresentModeKHR modes[HDI_VK_WISHES];
    uint32_t format_count, mode_count;
#define HDI_VK_MEMBER(name) PFN_##name name;
    HDI_VK_SURFACE_FUNCTIONS(HDI_VK_MEMBER)
    HDI_VK_SWAPCHAIN_FUNCTIONS(HDI_VK_MEMBER)
#undef HDI_VK_MEMBER
    uint32_t can_present; /* bits: queues of hd_vk */

    hdi_vk_chain *chain;   /* null: none */
    hdi_vk_chain *retired; /* newest first */
    bool stale;            /* another one shall take its place */
    bool suboptimal;       /* likewise, unless the surface is as it was */
    bool surface_lost;

    /* The image that is acquired and not presented. */
    bool held, held_again; /* again: it had been presented before */
    uint32_t index;   /* in chain->images */
    uint32_t acquire; /* in chain->acquires */
    hdi_vk_told told;
    hd_resource import; /* where it was last declared */

    uint64_t made, presented;
};

/* The surface's queues; HD_UNSUPPORTED where none can present. */
hd_result hdi_vk_chain_look_at_surface(hd_vk_swapchain *s);
/* A chain for the surface as it is now, the one before is retired. HD_OK without a chain: the window is minimised. */
hd_result hdi_vk_chain_make(hd_vk_swapchain *s);
/* Frees retired chains that nothing uses any more. */
void hdi_vk_chain_sweep(hd_vk_swapchain *s);
/* Frees all, after waiting for what uses them. */
void hdi_vk_chain_drop_all(hd_vk_swapchain *s);
/* A result of a call about the surface. */
hd_result hdi_vk_chain_result(hd_vk_swapchain *s, VkResult result, const char *what);

#endif
