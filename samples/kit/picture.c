#include "picture.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>

/* libpng reports errors by a long jump: everything that must be freed is held outside of it. */
static bool write_rows(FILE *file, const uint8_t **rows, uint32_t width, uint32_t height)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_init_io(png, file);
    png_set_compression_level(png, 9);
    png_set_filter(png, 0, PNG_ALL_FILTERS);
    png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    png_set_filler(png, 0, PNG_FILLER_AFTER);
    png_write_image(png, (png_bytepp)rows);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return true;
}

bool kit_png_write(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height)
{
    const uint8_t **rows = malloc(height * sizeof *rows);
    FILE *file = fopen(path, "wb");
    bool written = rows && file;
    for (uint32_t y = 0; written && y < height; y++)
        rows[y] = rgba + (size_t)y * width * 4;
    written = written && write_rows(file, rows, width, height);
    if (file && fclose(file) != 0)
        written = false;
    free(rows);
    return written;
}

#ifdef KIT_HAS_WEBP
#include <webp/encode.h>
#include <webp/mux.h>

struct kit_animation {
    WebPAnimEncoder *encoder;
    WebPConfig config;
    int width, height, ms;
};

struct kit_animation *kit_animation_begin(uint32_t width, uint32_t height)
{
    struct kit_animation *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    *a = (struct kit_animation){.width = (int)width, .height = (int)height};
    WebPAnimEncoderOptions options;
    if (WebPAnimEncoderOptionsInit(&options) && WebPConfigPreset(&a->config, WEBP_PRESET_PICTURE, 82.0f))
        a->encoder = WebPAnimEncoderNew(a->width, a->height, &options);
    a->config.method = 3;
    if (a->encoder)
        return a;
    free(a);
    return NULL;
}

bool kit_animation_add(struct kit_animation *a, const uint8_t *rgba, uint32_t ms)
{
    WebPPicture picture;
    if (!WebPPictureInit(&picture))
        return false;
    picture.use_argb = 1;
    picture.width = a->width;
    picture.height = a->height;
    bool added = WebPPictureImportRGBX(&picture, rgba, a->width * 4) &&
                 WebPAnimEncoderAdd(a->encoder, &picture, a->ms, &a->config);
    a->ms += (int)ms;
    WebPPictureFree(&picture);
    return added;
}

bool kit_animation_end(struct kit_animation *a, const char *path)
{
    WebPData data = {0};
    bool written = false;
    if (!a)
        return false;
    if (path && WebPAnimEncoderAdd(a->encoder, NULL, a->ms, NULL) && WebPAnimEncoderAssemble(a->encoder, &data)) {
        FILE *file = fopen(path, "wb");
        written = file && fwrite(data.bytes, 1, data.size, file) == data.size;
        if (file && fclose(file) != 0)
            written = false;
    }
    WebPDataClear(&data);
    WebPAnimEncoderDelete(a->encoder);
    free(a);
    return written;
}
#else
struct kit_animation *kit_animation_begin(uint32_t width, uint32_t height)
{
    (void)width, (void)height;
    fputs("an animation needs libwebp, which was not found when this was built\n", stderr);
    return NULL;
}
bool kit_animation_add(struct kit_animation *animation, const uint8_t *rgba, uint32_t ms)
{
    (void)animation, (void)rgba, (void)ms;
    return false;
}
bool kit_animation_end(struct kit_animation *animation, const char *path)
{
    (void)animation, (void)path;
    return false;
}
#endif
