/* Pictures as files. */
#ifndef KIT_PICTURE_H
#define KIT_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

/* RGBA pixels, written without alpha. False when the file cannot be written. */
bool kit_png_write(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height);

/* An animated WebP; null when there is no memory, or no library for it. */
struct kit_animation *kit_animation_begin(uint32_t width, uint32_t height);
/* All frames have the size of the first; each is shown for ms milliseconds. */
bool kit_animation_add(struct kit_animation *animation, const uint8_t *rgba, uint32_t ms);
/* Writes it to path (null: drops it) and frees it. */
bool kit_animation_end(struct kit_animation *animation, const char *path);

#endif
