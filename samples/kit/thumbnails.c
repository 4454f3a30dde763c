#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --thumbnails: small pictures of what passes wrote, for the page that shows the plan. A frame that has them has more
 * passes than others, so one is declared for them behind the last, and its pictures are shown with the plan of a frame
 * without. */

enum { MOST = 96, WIDTH = 128, HEIGHT = 72, VALUES = WIDTH * HEIGHT * 4 };

/* An image as a pass left it, small. */
struct thumbnail {
    uint32_t pass, resource;
    uint32_t width, height; /* of the image, where all of it comes to the CPU */
    float least, most;
    uint8_t rgba[VALUES];
};

struct kit_thumbnails {
    struct noted {
        hd_resource resource;
        hd_image_desc desc;
    } images[MOST];
    uint32_t image_count;
    struct thumbnail all[MOST];
    uint32_t count;
    uint32_t passes; /* that were declared for them so far */
    hd_page_picture pictures[MOST];
};

void kit_thumbnails_note(struct kit *kit, hd_resource image, const hd_image_desc *desc)
{
    if (!kit->small)
        kit->small = calloc(1, sizeof *kit->small);
    if (kit->small && kit->small->image_count < MOST)
        kit->small->images[kit->small->image_count++] = (struct noted){image, *desc};
}

void kit_thumbnails_free(struct kit *kit)
{
    free(kit->small);
    kit->small = NULL;
}

void kit_thumbnails_show(const struct kit *kit, hd_page_desc *page)
{
    struct kit_thumbnails *small = kit->small;
    for (uint32_t i = 0; small && i < small->count; i++) {
        const struct thumbnail *t = &small->all[i];
        small->pictures[i] = (hd_page_picture){t->pass, t->resource, WIDTH, HEIGHT, t->rgba, t->least, t->most};
    }
    page->pictures = small ? small->pictures : NULL;
    page->picture_count = small ? small->count : 0;
}

static bool writes(hd_access access)
{
    return access == HD_COLOR_WRITE || access == HD_COLOR_RW || access == HD_DEPTH_WRITE || access == HD_DEPTH_RW ||
           access == HD_STORAGE_WRITE_COMPUTE || access == HD_STORAGE_RW_COMPUTE;
}

/* Values from the least to the most, at least from 0 to 1, as bytes; brightened as eyes want it. */
static void show(struct thumbnail *t, const float *values)
{
    float low = fminf(t->least, 0.0f), high = fmaxf(t->most, 1.0f);
    for (uint32_t i = 0; i < VALUES; i++) {
        float share = (values[i] - low) / (high - low);
        t->rgba[i] = i % 4 == 3 ? 255 : (uint8_t)(powf(fminf(fmaxf(share, 0.0f), 1.0f), 1.0f / 2.2f) * 255.0f + 0.5f);
    }
}

static void note(struct thumbnail *t, float value, bool first)
{
    if (!isfinite(value))
        return;
    t->least = first || value < t->least ? value : t->least;
    t->most = first || value > t->most ? value : t->most;
}

/* Colors were scaled down on the GPU, to four floats. */
static void keep_color(const void *data, uint64_t bytes, void *user)
{
    struct thumbnail *t = user;
    const float *values = data;
    for (uint32_t i = 0; i < bytes / sizeof *values; i++) {
        if (i % 4 != 3)
            note(t, values[i], i == 0);
    }
    show(t, values);
}

/* Depth cannot be scaled to another format: all of it comes, and one value a pixel of the picture is taken. */
static void keep_depth(const void *data, uint64_t bytes, void *user)
{
    struct thumbnail *t = user;
    const float *depth = data;
    float values[VALUES];
    for (uint64_t i = 0; i < bytes / sizeof *depth; i++)
        note(t, depth[i], i == 0);
    float room = fmaxf(t->most - t->least, 1e-6f);
    for (uint32_t y = 0; y < HEIGHT; y++) {
        for (uint32_t x = 0; x < WIDTH; x++) {
            float here = depth[(size_t)(y * t->height / HEIGHT) * t->width + x * t->width / WIDTH];
            for (uint32_t c = 0; c < 4; c++)
                values[(y * WIDTH + x) * 4 + c] = (here - t->least) / room;
        }
    }
    float least = t->least, most = t->most;
    t->least = 0.0f;
    t->most = 1.0f;
    show(t, values);
    t->least = least;
    t->most = most;
}

static bool can_be_blitted(const struct kit *kit, uint32_t format)
{
    const VkFormatFeatureFlags needed =
        VK_FORMAT_FEATURE_BLIT_SRC_BIT | VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT;
    VkFormatProperties properties;
    vkGetPhysicalDeviceFormatProperties(kit->info.physical_device, (VkFormat)format, &properties);
    return (properties.optimalTilingFeatures & needed) == needed;
}

static const struct noted *find_image(const struct kit *kit, hd_resource resource)
{
    for (uint32_t i = 0; kit->small && i < kit->small->image_count; i++) {
        if (kit->small->images[i].resource.id == resource.id)
            return &kit->small->images[i];
    }
    return NULL;
}

/* One pass of blits to float a color, one of copies for depth; the image's first layer. */
static void add(struct kit *kit, uint32_t pass, const hd_use *use)
{
    struct kit_thumbnails *small = kit->small;
    const struct noted *image = find_image(kit, use->resource);
    hd_graph *g = kit->graph;
    if (!image || image->desc.depth > 1 || image->desc.samples > 1 || small->count == MOST)
        return;
    bool depth = image->desc.format == VK_FORMAT_D32_SFLOAT;
    if (!depth && !can_be_blitted(kit, image->desc.format))
        return;
    hd_range one = {
        .mip_base = use->range.mip_base, .mip_count = 1, .layer_base = use->range.layer_base, .layer_count = 1};
    struct thumbnail *t = &small->all[small->count++];
    uint32_t before = hd_graph_pass_count(g), width = image->desc.width >> one.mip_base;
    uint32_t height = image->desc.height >> one.mip_base;
    *t = (struct thumbnail){.pass = pass,
                            .resource = hd_graph_resource_index(g, use->resource),
                            .width = width ? width : 1,
                            .height = height ? height : 1};
    if (depth) {
        hd_vk_readback(kit->vk, g, use->resource, &one, keep_depth, t, NULL);
    } else {
        hd_resource copy = hd_graph_image(
            g, &(hd_image_desc){
                   .name = "thumbnail", .width = WIDTH, .height = HEIGHT, .format = VK_FORMAT_R32G32B32A32_SFLOAT});
        hd_vk_blit(kit->vk, g, use->resource, &one, copy, NULL, VK_FILTER_LINEAR, NULL);
        hd_vk_readback(kit->vk, g, copy, NULL, keep_color, t, NULL);
    }
    small->passes += hd_graph_pass_count(g) - before;
}

hd_pass kit_pass(struct kit *kit, const hd_pass_desc *desc)
{
    hd_pass pass = hd_graph_pass(kit->graph, desc);
    if (!kit->thumbnails || !kit->small)
        return pass;
    uint32_t index = hd_graph_pass_index(kit->graph, pass) - kit->small->passes; /* in a frame without them */
    for (uint32_t u = 0; u < desc->use_count; u++) {
        if (writes(desc->uses[u].access))
            add(kit, index, &desc->uses[u]);
    }
    return pass;
}
