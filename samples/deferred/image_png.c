#include "app.h"

#include <png.h>
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

bool png_write(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height)
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
