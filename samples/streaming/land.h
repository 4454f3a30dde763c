/* The land: how high it is, and what a tile of it holds. Pure functions of a place: any thread. */
#ifndef LAND_H
#define LAND_H

#include <stdint.h>

/* A tile is a grid of QUADS x QUADS, and a skirt around it that hides cracks between tiles of different sizes. */
enum { QUADS = 32, GRID = QUADS + 3, TEXELS = 128, LEVELS = 6, LEAF_METRES = 256 };
enum { TILE_HEIGHT_BYTES = GRID * GRID * 2 * 4, TILE_TEXEL_BYTES = TEXELS * TEXELS * 4 };

struct place { /* of a tile: its size is LEAF_METRES << level, its corner x, z times that */
    int32_t level, x, z;
};

struct tile_data {
    /* Of the vertex, and of the surface of twice the spacing at its place; the skirt is lower. */
    float heights[GRID * GRID][2];
    /* Normal x and z, sunlight that arrives, open sky. */
    uint8_t texels[TEXELS * TEXELS][4];
};

/* octaves: how fine; 11 for all. */
float land_height(float x, float z, int octaves);
void land_make(const struct place *place, const float sun[3], struct tile_data *out);
static inline float land_size(const struct place *place)
{
    return (float)(LEAF_METRES << place->level);
}

#endif
