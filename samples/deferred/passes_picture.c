#include "app.h"

#include <stdlib.h>
#include <string.h>

/* From light to pixels on disk. */

static hd_range one_mip(uint32_t mip)
{
    return (hd_range){.mip_base = mip, .mip_count = 1};
}

static void dispatch_level(hd_recorder *recorder, const struct bloom_level *level)
{
    level->frame->app->gpu.CmdDispatch(hd_vk_commands(recorder), (level->width + 7) / 8, (level->height + 7) / 8, 1);
}

void bloom_down(hd_recorder *recorder, void *user)
{
    const struct bloom_level *level = user;
    const struct frame *f = level->frame;
    struct gpu *gpu = &f->app->gpu;
    uint32_t first = level->mip == 0;
    struct gpu_arg above = {f->resolved};
    if (!first)
        above = (struct gpu_arg){f->bloom, one_mip(level->mip - 1)};
    if (!gpu_bind(gpu, recorder, PROGRAM_BLOOM_DOWN, GPU_ARGS({f->constants}, above, {f->bloom, one_mip(level->mip)})))
        return;
    gpu->CmdPushConstants(hd_vk_commands(recorder), gpu->programs[PROGRAM_BLOOM_DOWN].layout,
                          VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof first, &first);
    dispatch_level(recorder, level);
}

void bloom_up(hd_recorder *recorder, void *user)
{
    const struct bloom_level *level = user;
    const struct frame *f = level->frame;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_BLOOM_UP,
                 GPU_ARGS({f->constants}, {f->bloom, one_mip(level->mip + 1)}, {f->bloom, one_mip(level->mip)})))
        dispatch_level(recorder, level);
}

void tonemap(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    struct gpu *gpu = &f->app->gpu;
    if (gpu_bind(gpu, recorder, PROGRAM_TONEMAP,
                 GPU_ARGS({f->constants}, {f->resolved}, {f->bloom, one_mip(0)}, {f->picture})))
        gpu->CmdDispatch(hd_vk_commands(recorder), (f->app->width + 7) / 8, (f->app->height + 7) / 8, 1);
}

void read_back(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {f->app->width, f->app->height, 1}};
    f->app->gpu.CmdCopyImageToBuffer(hd_vk_commands(recorder), hd_vk_image(recorder, f->picture),
                                     VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, hd_vk_buffer(recorder, f->readback), 1,
                                     &region);
}

/* Fowler, Noll and Vo's hash, over words: enough to tell two pictures apart. */
static uint64_t hash_words(const uint32_t *words, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * 0x100000001b3u;
    return hash;
}

static void write_picture(struct app *app, const char *file, const uint8_t *pixels)
{
    char path[4096];
    report_path(app, file, path, sizeof path);
    if (png_write(path, pixels, app->width, app->height))
        return;
    report_file(path);
    atomic_store_explicit(&app->png_failed, true, memory_order_relaxed);
}

void keep_picture(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    struct app *app = f->app;
    const void *pixels = hd_vk_mapped(recorder, f->readback);
    app->picture_hashes[f->number] = hash_words(pixels, (size_t)app->width * app->height);
    if (!f->write_png)
        return;
    if (f->number + 1 == app->frame_count) { /* to pack it takes seconds, which are none of the frame's */
        size_t bytes = 4 * (size_t)app->width * app->height;
        app->last_picture = malloc(bytes);
        if (app->last_picture)
            memcpy(app->last_picture, pixels, bytes);
        else
            atomic_store_explicit(&app->png_failed, true, memory_order_relaxed);
        return;
    }
    char file[64];
    snprintf(file, sizeof file, "frame-%04u.png", f->number);
    write_picture(app, file, pixels);
}

void write_last_picture(struct app *app)
{
    if (app->last_picture)
        write_picture(app, "deferred.png", app->last_picture);
    free(app->last_picture);
    app->last_picture = NULL;
}
