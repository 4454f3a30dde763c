#include "app.h"

#include <math.h>
#include <string.h>

/* Small pictures of what passes wrote, for the page that shows the plan. A frame that has them has more passes than
 * others, so one is declared for them, and its pictures are shown with the plan of a frame without. */

/* Where an image stands among the frame's, and how large; of what is no image that can be shown: false. */
static bool find_image(const struct frame *f, const hd_use *use, uint32_t *width, uint32_t *height, bool *depth)
{
    const struct app *app = f->app;
    const struct {
        hd_resource image;
        uint32_t width, height;
        bool depth;
    } images[] = {{f->sun_map, SHADOW_SIZE, SHADOW_SIZE, true},
                  {f->depth, app->width, app->height, true},
                  {f->mirror_depth, (app->width + 1) / 2, (app->height + 1) / 2, true},
                  {f->albedo, 0, 0, false},
                  {f->normal, 0, 0, false},
                  {f->motion, 0, 0, false},
                  {f->occlusion_noisy, 0, 0, false},
                  {f->occlusion, 0, 0, false},
                  {f->mirror_color, 0, 0, false},
                  {f->reflected, 0, 0, false},
                  {f->mist, 0, 0, false},
                  {f->lit, 0, 0, false},
                  {f->resolved, 0, 0, false},
                  {f->bloom, 0, 0, false},
                  {f->picture, 0, 0, false}};
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        if (images[i].image.id != use->resource.id)
            continue;
        *width = images[i].width;
        *height = images[i].height;
        *depth = images[i].depth;
        return true;
    }
    return false;
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
    for (uint32_t i = 0; i < THUMBNAIL_WIDTH * THUMBNAIL_HEIGHT * 4; i++) {
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
    float values[THUMBNAIL_WIDTH * THUMBNAIL_HEIGHT * 4];
    for (uint64_t i = 0; i < bytes / sizeof *depth; i++)
        note(t, depth[i], i == 0);
    float room = fmaxf(t->most - t->least, 1e-6f);
    for (uint32_t y = 0; y < THUMBNAIL_HEIGHT; y++) {
        for (uint32_t x = 0; x < THUMBNAIL_WIDTH; x++) {
            float here = depth[(size_t)(y * t->height / THUMBNAIL_HEIGHT) * t->width + x * t->width / THUMBNAIL_WIDTH];
            for (uint32_t c = 0; c < 4; c++)
                values[(y * THUMBNAIL_WIDTH + x) * 4 + c] = (here - t->least) / room;
        }
    }
    float least = t->least, most = t->most;
    t->least = 0.0f;
    t->most = 1.0f;
    show(t, values);
    t->least = least;
    t->most = most;
}

void thumbnails_add(struct frame *f, hd_pass pass, const hd_pass_desc *desc)
{
    struct app *app = f->app;
    hd_graph *g = app->graph;
    uint32_t index = hd_graph_pass_index(g, pass) - app->thumbnail_passes; /* in a frame without thumbnails */
    for (uint32_t u = 0; u < desc->use_count; u++) {
        const hd_use *use = &desc->uses[u];
        uint32_t width, height, before = hd_graph_pass_count(g);
        bool depth;
        if (!writes(use->access) || !find_image(f, use, &width, &height, &depth) ||
            app->thumbnail_count == MAX_THUMBNAILS)
            continue;
        struct thumbnail *t = &app->thumbnail[app->thumbnail_count++];
        *t = (struct thumbnail){.pass = index,
                                .resource = hd_graph_resource_index(g, use->resource),
                                .width = width,
                                .height = height};
        if (depth) {
            hd_vk_readback(app->vk, g, use->resource, NULL, keep_depth, t);
        } else {
            hd_resource small = hd_graph_image(g, &(hd_image_desc){.name = "thumbnail",
                                                                   .width = THUMBNAIL_WIDTH,
                                                                   .height = THUMBNAIL_HEIGHT,
                                                                   .format = VK_FORMAT_R32G32B32A32_SFLOAT});
            hd_range level = {.mip_base = use->range.mip_base, .mip_count = 1};
            hd_vk_blit(app->vk, g, use->resource, &level, small, NULL, VK_FILTER_LINEAR);
            hd_vk_readback(app->vk, g, small, NULL, keep_color, t);
        }
        app->thumbnail_passes += hd_graph_pass_count(g) - before;
    }
}
