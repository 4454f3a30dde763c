#include <math.h>
#include <png.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <webp/encode.h>

/* compare_pictures A.png B.png LEAST: the structural similarity of two pictures (SSIM of libwebp, all channels), from 0
 * to
 * 1. Exit status: 0 at least LEAST, 1 less, 2 no two pictures of like size. */

static bool read_picture(const char *path, WebPPicture *out)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    if (!WebPPictureInit(out) || !png_image_begin_read_from_file(&png, path))
        return false;
    png.format = PNG_FORMAT_RGBA;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(png));
    out->use_argb = 1;
    out->width = (int)png.width;
    out->height = (int)png.height;
    bool read = pixels && png_image_finish_read(&png, NULL, pixels, 0, NULL) &&
                WebPPictureImportRGBA(out, pixels, out->width * 4);
    free(pixels);
    png_image_free(&png);
    return read;
}

int main(int argc, char **argv)
{
    WebPPicture a, b;
    float decibels[5]; /* of 1 - SSIM: blue, green, red, alpha, all */
    if (argc == 2 && argv[1][0] == '-') {
        const bool help = strcmp(argv[1], "--help") == 0;
        fprintf(help ? stdout : stderr, "usage: compare_pictures A.png B.png LEAST%s%s\n", help ? "" : ", not ",
                help ? "" : argv[1]);
        return !help;
    }
    if (argc != 4 || !read_picture(argv[1], &a) || !read_picture(argv[2], &b) ||
        !WebPPictureDistortion(&a, &b, 1, decibels)) {
        fprintf(stderr, "compare_pictures: %s and %s are no two pictures of like size\n", argc > 1 ? argv[1] : "",
                argc > 2 ? argv[2] : "");
        return 2;
    }
    double similarity = 1.0 - pow(10.0, -0.1 * (double)decibels[4]), least = atof(argv[3]);
    printf("similarity %.4f\n", similarity);
    WebPPictureFree(&a);
    WebPPictureFree(&b);
    return similarity >= least ? 0 : 1;
}
