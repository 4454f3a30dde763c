#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pictures of frames without a window: read back each frame, so that all frames have one plan, and kept where they are
 * wanted. */

/* Fowler, Noll and Vo's hash, over words: enough to tell two pictures apart. */
static uint64_t hash_words(const uint32_t *words, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * 0x100000001b3u;
    return hash;
}

static void write_picture(struct kit *kit, const char *file, const uint8_t *pixels)
{
    char path[4096];
    kit_path(kit, file, path, sizeof path);
    errno = 0;
    if (!kit_png_write(path, pixels, kit->width, kit->height))
        kit_report_file(kit, path);
}

/* The last frame's is packed once all are done: that takes seconds at times, which are none of the frame's. */
static void picture_arrived(const void *data, uint64_t bytes, void *user)
{
    const struct kit_slot *slot = user;
    struct kit *kit = slot->kit;
    bool last = slot->number + 1 == kit->options.frames;
    if (bytes != 4 * (uint64_t)kit->width * kit->height || slot->number >= kit->options.frames)
        return; /* no picture of RGBA8; the frame of --thumbnails */
    if (last) {
        kit->picture_hash = hash_words(data, bytes / 4);
        kit->last_picture = malloc(bytes);
        if (kit->last_picture)
            memcpy(kit->last_picture, data, bytes);
    }
    if (kit->animation && !kit_animation_add(kit->animation, data, 33))
        atomic_store_explicit(&kit->file_failed, true, memory_order_relaxed);
    if (!last && kit->options.every && (slot->number + 1) % kit->options.every == 0) {
        char file[64];
        snprintf(file, sizeof file, "frame-%04u.png", slot->number);
        write_picture(kit, file, data);
    }
}

void kit_keep_picture(struct kit *kit, hd_resource picture)
{
    if (kit->options.animation && !kit->animation && kit->number == 0) {
        kit->animation = kit_animation_begin(kit->width, kit->height);
        if (!kit_check(kit, kit->animation ? HD_OK : HD_UNSUPPORTED))
            return;
    }
    hd_vk_readback(kit->vk, kit->graph, picture, NULL, picture_arrived, &kit->slots[kit->slot],
                   &(hd_vk_as){.name = "picture", .cost_us = 60});
}

void kit_write_pictures(struct kit *kit)
{
    char file[256], path[4096];
    if (kit->last_picture) {
        snprintf(file, sizeof file, "%s.png", kit->scene->name);
        write_picture(kit, file, kit->last_picture);
    }
    if (kit->animation) {
        snprintf(file, sizeof file, "%s.webp", kit->scene->name);
        kit_path(kit, file, path, sizeof path);
        errno = 0;
        if (!kit_animation_end(kit->animation, path))
            kit_report_file(kit, path);
        kit->animation = NULL;
    }
}
