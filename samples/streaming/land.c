#include "land.h"

#include <math.h>

/* Value noise with its slope, summed over octaves; each counts less where those before are steep, which leaves ridges
 * and smooth valleys (Quilez, "Elevated"). A second, coarse noise raises mountains and sinks lakes. */

#define WAVELENGTH 2900.0f
#define AMPLITUDE 1150.0f
#define WATER 0.44f /* of the sum: what is lower lies under water, at height 0 */

static float hash(int32_t x, int32_t z)
{
    uint32_t h = (uint32_t)x * 0x8da6b343u ^ (uint32_t)z * 0xd8163841u;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 12;
    h *= 0x297a2d39u;
    return (float)(h >> 8) * (1.0f / 16777216.0f);
}

/* Value in 0..1; its slopes in *dx, *dz. */
static float noise(float x, float z, float *dx, float *dz)
{
    float fx = floorf(x), fz = floorf(z), u = x - fx, v = z - fz;
    int32_t i = (int32_t)fx, j = (int32_t)fz;
    float a = hash(i, j), b = hash(i + 1, j), c = hash(i, j + 1), d = hash(i + 1, j + 1);
    float su = u * u * u * (u * (u * 6.0f - 15.0f) + 10.0f), sv = v * v * v * (v * (v * 6.0f - 15.0f) + 10.0f);
    float k = a - b - c + d;
    *dx = 30.0f * u * u * (u * (u - 2.0f) + 1.0f) * (b - a + k * sv);
    *dz = 30.0f * v * v * (v * (v - 2.0f) + 1.0f) * (c - a + k * su);
    return a + (b - a) * su + (c - a) * sv + k * su * sv;
}

float land_height(float x, float z, int octaves)
{
    float px = x / WAVELENGTH, pz = z / WAVELENGTH, sum = 0.0f, weight = 1.0f, sx = 0.0f, sz = 0.0f, dx, dz;
    for (int i = 0; i < octaves; i++) {
        float n = noise(px, pz, &dx, &dz);
        sx += dx;
        sz += dz;
        sum += weight * n / (1.0f + sx * sx + sz * sz);
        weight *= 0.5f;
        float t = 1.6f * px - 1.2f * pz;
        pz = 1.2f * px + 1.6f * pz;
        px = t;
    }
    float wide = noise(x / 9000.0f + 7.3f, z / 9000.0f + 2.1f, &dx, &dz);
    float height = (sum - WATER) * (0.35f + 1.05f * wide * wide) + 0.55f * (wide - 0.40f);
    /* Lake beds are flat, shores are not cliffs. */
    return AMPLITUDE * (height < 0.0f ? 0.35f * height : height);
}

/* Octaves whose waves are at least two texels long. */
static int octaves_for(float spacing)
{
    int octaves = 3;
    for (float wave = WAVELENGTH / 8.0f; wave > 2.0f * spacing && octaves < 11; wave *= 0.5f)
        octaves++;
    return octaves;
}

/* ---- vertices ---- */

static void make_heights(const struct place *place, struct tile_data *out)
{
    float size = land_size(place), step = size / QUADS, left = (float)place->x * size, far = (float)place->z * size;
    int octaves = octaves_for(step * 0.5f);
    static _Thread_local float height[QUADS + 1][QUADS + 1];
    for (int j = 0; j <= QUADS; j++)
        for (int i = 0; i <= QUADS; i++)
            height[j][i] = land_height(left + (float)i * step, far + (float)j * step, octaves);
    for (int j = 0; j < GRID; j++) {
        for (int i = 0; i < GRID; i++) {
            int x = i < 1 ? 0 : i > QUADS + 1 ? QUADS : i - 1, z = j < 1 ? 0 : j > QUADS + 1 ? QUADS : j - 1;
            int ox = x & 1, oz = z & 1;
            /* Odd vertices do not exist at twice the spacing: there the surface is between its neighbours, for those
             * that are odd twice on the diagonal of the quad. */
            float coarse = 0.5f * (height[z + oz][x - ox] + height[z - oz][x + ox]);
            float drop = i < 1 || j < 1 || i > QUADS + 1 || j > QUADS + 1 ? size * 0.04f : 0.0f;
            out->heights[j * GRID + i][0] = height[z][x] - drop;
            out->heights[j * GRID + i][1] = coarse - drop;
        }
    }
}

/* ---- light ---- */

/* How much of the sun arrives: the closest that its ray comes to the land, by the angle that is left. */
static float sunlight(float x, float y, float z, const float sun[3], int octaves)
{
    float lit = 1.0f, way = 24.0f;
    for (int i = 0; i < 18 && lit > 0.0f; i++, way *= 1.34f) {
        float above = y + sun[1] * way - land_height(x + sun[0] * way, z + sun[2] * way, octaves < 8 ? octaves : 8);
        float part = 0.5f + 14.0f * above / way;
        lit = part < lit ? part : lit;
    }
    return lit < 0.0f ? 0.0f : lit * lit * (3.0f - 2.0f * lit);
}

static uint8_t to_byte(float value)
{
    return (uint8_t)(255.0f * (value < 0.0f ? 0.0f : value > 1.0f ? 1.0f : value) + 0.5f);
}

enum { COARSE = TEXELS / 2 + 1 };

static void make_texels(const struct place *place, const float sun[3], struct tile_data *out)
{
    float size = land_size(place), step = size / (TEXELS - 1), left = (float)place->x * size,
          far = (float)place->z * size;
    int octaves = octaves_for(step * 0.8f);
    static _Thread_local float height[TEXELS + 2][TEXELS + 2], light[COARSE][COARSE], open[COARSE][COARSE];
    for (int j = 0; j < TEXELS + 2; j++)
        for (int i = 0; i < TEXELS + 2; i++)
            height[j][i] = land_height(left + (float)(i - 1) * step, far + (float)(j - 1) * step, octaves);
    for (int j = 0; j < COARSE; j++) { /* at half the resolution: it is soft, and dear */
        for (int i = 0; i < COARSE; i++) {
            float x = left + (float)(2 * i) * step, z = far + (float)(2 * j) * step;
            float y = land_height(x, z, octaves);
            light[j][i] = sunlight(x, y + 2.0f, z, sun, octaves);
            open[j][i] = 0.5f + (y - land_height(x, z, 4)) / 260.0f; /* valleys see less of the sky */
        }
    }
    for (int j = 0; j < TEXELS; j++) {
        for (int i = 0; i < TEXELS; i++) {
            float dx = (height[j + 1][i] - height[j + 1][i + 2]) / (2.0f * step),
                  dz = (height[j][i + 1] - height[j + 2][i + 1]) / (2.0f * step);
            float length = sqrtf(dx * dx + dz * dz + 1.0f);
            float u = (float)(i & 1) * 0.5f, v = (float)(j & 1) * 0.5f;
            int x = i / 2, z = j / 2;
            float top = light[z][x] + (light[z][x + 1] - light[z][x]) * u,
                  low = light[z + 1][x] + (light[z + 1][x + 1] - light[z + 1][x]) * u;
            uint8_t *texel = out->texels[j * TEXELS + i];
            texel[0] = to_byte(0.5f + 0.5f * dx / length);
            texel[1] = to_byte(0.5f + 0.5f * dz / length);
            texel[2] = to_byte(top + (low - top) * v);
            texel[3] = to_byte(open[z][x] + (open[z + 1][x + 1] - open[z][x]) * 0.5f * (u + v));
        }
    }
}

void land_make(const struct place *place, const float sun[3], struct tile_data *out)
{
    make_heights(place, out);
    make_texels(place, sun, out);
}
