#include "scene.h"

#include <stdlib.h>
#include <string.h>

/* Blocks of houses between avenues and streets. All walls stand on a grid of MAP_CELL metres, so that the map, a height
 * field, holds the very same walls for rays that leave the screen (shaders/map.glsl). */

#define FLOOR 3.5f
#define SHOP_HEIGHT 4.5f

enum { BLOCKS_X = 16, BLOCKS_Z = 21, FIRST_BLOCK_X = -8, FIRST_BLOCK_Z = -19, MAX_HOUSES = 4096 };

struct house {
    float x0, x1, z0, z1, height; /* height: of the part that begins at base */
    float base;
    uint32_t seed, style, block;
};

struct houses {
    struct house items[MAX_HOUSES];
    uint32_t count;
    uint32_t begin[BLOCKS_X * BLOCKS_Z + 1];
};

static void box(struct build *b, vec3s lo, vec3s hi, uint32_t matter, vec3s paint, float shine)
{
    struct instance i = {.place = glms_vec3_scale(glms_vec3_add(lo, hi), 0.5f),
                         .size = glms_vec3_sub(hi, lo),
                         .matter = matter,
                         .paint = {paint.x, paint.y, paint.z},
                         .shine = shine};
    i.last_place = i.place;
    build_add(b, MESH_BOX, &i);
}

static void turned(struct build *b, enum mesh_id mesh, vec3s at, vec3s size, uint32_t matter, vec3s paint, float shine)
{
    struct instance i = {
        .place = at, .size = size, .matter = matter, .paint = {paint.x, paint.y, paint.z}, .shine = shine};
    i.last_place = at;
    build_add(b, mesh, &i);
}

static void mark_map(struct scene *scene, const struct house *h)
{
    uint32_t bits = h->seed << 2 | h->style;
    float packed;
    memcpy(&packed, &bits, sizeof packed);
    int x0 = (int)lroundf((h->x0 - scene->map_from.x) / MAP_CELL),
        x1 = (int)lroundf((h->x1 - scene->map_from.x) / MAP_CELL);
    int z0 = (int)lroundf((h->z0 - scene->map_from.z) / MAP_CELL),
        z1 = (int)lroundf((h->z1 - scene->map_from.z) / MAP_CELL);
    for (int z = z0 < 0 ? 0 : z0; z < z1 && z < MAP_SIZE; z++) {
        for (int x = x0 < 0 ? 0 : x0; x < x1 && x < MAP_SIZE; x++) {
            scene->map[z * MAP_SIZE + x][0] = h->height;
            scene->map[z * MAP_SIZE + x][1] = packed;
        }
    }
}

static void add_house(struct houses *all, struct house h)
{
    if (all->count < MAX_HOUSES)
        all->items[all->count++] = h;
}

/* Few and low near the camera's avenue, high ones far down it. */
static float height_at(float x, float z, uint32_t seed)
{
    float r = hash01(seed, 1, 9), far = fminf(fmaxf((-z - 140.0f) / 520.0f, 0.0f), 1.0f);
    float tall = hash01(seed, 2, 9);
    float height = 15.0f + 17.0f * r + (tall > 0.72f ? 14.0f : 0.0f);
    height += far * (tall > 0.45f ? 100.0f * tall * r : 14.0f);
    height += fabsf(x) > 120.0f && tall > 0.75f ? 50.0f * r : 0.0f;
    return SHOP_HEIGHT + FLOOR * floorf((height - SHOP_HEIGHT) / FLOOR);
}

/* A house, or a tower over a base where it is high. */
static void raise_house(struct houses *all, float x0, float x1, float z0, float z1, uint32_t seed, uint32_t block)
{
    float height = height_at(0.5f * (x0 + x1), 0.5f * (z0 + z1), seed);
    uint32_t style = hash_bits(seed, 3, 9) % 3;
    if (height > 70.0f || hash01(seed, 4, 9) > 0.86f)
        style = 3;
    struct house h = {x0, x1, z0, z1, height, 0.0f, seed & 0xffffffu, style, block};
    if (height < 44.0f) {
        add_house(all, h);
        return;
    }
    float base = SHOP_HEIGHT + FLOOR * floorf((0.22f * height + 8.0f) / FLOOR);
    h.height = base;
    add_house(all, h);
    float inset = 3.0f;
    h = (struct house){x0 + inset, x1 - inset, z0 + inset, z1 - inset, height, base, seed & 0xffffffu, style, block};
    if (height > 90.0f) {
        float top = height;
        h.height = base + FLOOR * floorf((0.72f * (height - base)) / FLOOR);
        add_house(all, h);
        if (x1 - x0 > 20.0f && z1 - z0 > 20.0f)
            add_house(all,
                      (struct house){x0 + 6.0f, x1 - 6.0f, z0 + 6.0f, z1 - 6.0f, top, h.height, h.seed, style, block});
        return;
    }
    add_house(all, h);
}

static void plan_block(struct houses *all, int bx, int bz, uint32_t block)
{
    float x0 = AVENUE_PITCH * (float)bx + AVENUE_HALF, z0 = STREET_PITCH * (float)bz + STREET_HALF;
    for (int side = 0; side < 2; side++) {
        float left = x0 + 33.0f * (float)side;
        uint32_t seed = hash_bits((uint32_t)(bx + 64), (uint32_t)(bz + 64), (uint32_t)side + 1u);
        uint32_t cut = seed % 5;
        static const float cuts[5][5] = {
            {0, 18, 36, 54, -1}, {0, 27, 54, -1, -1}, {0, 15, 30, 54, -1}, {0, 24, 39, 54, -1}, {0, 54, -1, -1, -1}};
        if (z0 > -160.0f && cut == 4)
            cut = 0;
        for (int k = 0; cuts[cut][k + 1] > 0.0f; k++)
            raise_house(all, left, left + 33.0f, z0 + cuts[cut][k], z0 + cuts[cut][k + 1],
                        hash_bits(seed, (uint32_t)k, 77), block);
    }
}

static void body(struct build *b, const struct house *h)
{
    uint32_t facade = matter_of(FACADE, h->style, h->seed & 0xffffffu);
    vec3s grey = v3(0.12f, 0.12f, 0.125f);
    if (h->base == 0.0f) {
        box(b, v3(h->x0, -0.5f, h->z0), v3(h->x1, SHOP_HEIGHT, h->z1), matter_of(SHOP, h->style, h->seed & 0xffffffu),
            grey, 0.5f);
        box(b, v3(h->x0, SHOP_HEIGHT, h->z0), v3(h->x1, h->height, h->z1), facade, grey, 0.6f);
    } else
        box(b, v3(h->x0, h->base, h->z0), v3(h->x1, h->height, h->z1), facade, grey, 0.6f);
    vec3s stone = h->style == 3 ? v3(0.05f, 0.055f, 0.06f) : v3(0.20f, 0.185f, 0.17f);
    float out = h->style == 3 ? 0.1f : 0.45f;
    box(b, v3(h->x0 - out, h->height - 0.45f, h->z0 - out), v3(h->x1 + out, h->height + 0.55f, h->z1 + out),
        matter_of(ROOF, 0, 0), stone, 0.7f);
}

static void roof(struct build *b, const struct house *h)
{
    float w = h->x1 - h->x0, d = h->z1 - h->z0, y = h->height + 0.5f;
    uint32_t count = 2 + h->seed % 4;
    for (uint32_t i = 0; i < count; i++) {
        float sx = 1.2f + 3.0f * hash01(h->seed, i, 21), sz = 1.2f + 2.4f * hash01(h->seed, i, 22);
        float x = h->x0 + 2.0f + (w - 4.0f - sx) * hash01(h->seed, i, 23),
              z = h->z0 + 2.0f + (d - 4.0f - sz) * hash01(h->seed, i, 24);
        box(b, v3(x, y, z), v3(x + sx, y + 0.9f + 1.6f * hash01(h->seed, i, 25), z + sz), matter_of(PLAIN, 0, 0),
            v3(0.10f, 0.105f, 0.11f), 0.55f);
    }
    if (h->height < 46.0f && hash01(h->seed, 5, 21) > 0.45f) { /* a water tank on legs */
        float x = h->x0 + 4.0f + (w - 8.0f) * hash01(h->seed, 6, 21),
              z = h->z0 + 4.0f + (d - 8.0f) * hash01(h->seed, 7, 21);
        for (int k = 0; k < 4; k++)
            box(b, v3(x - 1.2f + 2.2f * (float)(k & 1), y, z - 1.2f + 2.2f * (float)(k >> 1)),
                v3(x - 1.0f + 2.2f * (float)(k & 1), y + 2.4f, z - 1.0f + 2.2f * (float)(k >> 1)),
                matter_of(PLAIN, 0, 0), v3(0.05f, 0.05f, 0.05f), 0.6f);
        turned(b, MESH_CYLINDER, v3(x, y + 3.9f, z), v3(3.4f, 3.2f, 3.4f), matter_of(PLAIN, 0, 0),
               v3(0.13f, 0.08f, 0.05f), 0.7f);
        turned(b, MESH_UMBRELLA, v3(x, y + 6.0f, z), v3(3.7f, 1.1f, 3.7f), matter_of(PLAIN, 0, 0),
               v3(0.08f, 0.07f, 0.065f), 0.6f);
    }
    if (h->height > 60.0f) {
        float x = 0.5f * (h->x0 + h->x1), z = 0.5f * (h->z0 + h->z1), mast = 8.0f + 14.0f * hash01(h->seed, 8, 21);
        turned(b, MESH_CYLINDER, v3(x, y + 0.5f * mast, z), v3(0.35f, mast, 0.35f), matter_of(PLAIN, 0, 0),
               v3(0.1f, 0.1f, 0.1f), 0.4f);
        turned(b, MESH_BALL, v3(x, y + mast, z), v3(0.7f, 0.7f, 0.7f), matter_of(GLOW, 0, 0), v3(1.0f, 0.05f, 0.03f),
               9.0f);
    }
}

/* One face of a house: along the wall from `from`, `out` away from it. */
struct face {
    vec3s from, along, out;
    float length;
};

static void on_face(struct build *b, const struct face *f, float u0, float u1, float y0, float y1, float thick,
                    float off, uint32_t matter, vec3s paint, float shine)
{
    vec3s a = glms_vec3_add(glms_vec3_add(f->from, glms_vec3_scale(f->along, u0)), glms_vec3_scale(f->out, off));
    vec3s c =
        glms_vec3_add(glms_vec3_add(f->from, glms_vec3_scale(f->along, u1)), glms_vec3_scale(f->out, off + thick));
    box(b, v3(fminf(a.x, c.x), y0, fminf(a.z, c.z)), v3(fmaxf(a.x, c.x), y1, fmaxf(a.z, c.z)), matter, paint, shine);
}

static void faces_of(const struct house *h, struct face faces[4])
{
    float w = h->x1 - h->x0, d = h->z1 - h->z0;
    faces[0] = (struct face){v3(h->x1, 0, h->z0), v3(0, 0, 1), v3(1, 0, 0), d};
    faces[1] = (struct face){v3(h->x0, 0, h->z0), v3(0, 0, 1), v3(-1, 0, 0), d};
    faces[2] = (struct face){v3(h->x0, 0, h->z1), v3(1, 0, 0), v3(0, 0, 1), w};
    faces[3] = (struct face){v3(h->x0, 0, h->z0), v3(1, 0, 0), v3(0, 0, -1), w};
}

/* Neon in pinks, blues and greens. */
static vec3s neon_paint(uint32_t seed)
{
    static const float colors[7][3] = {{1.0f, 0.08f, 0.35f}, {0.05f, 0.75f, 1.0f}, {1.0f, 0.28f, 0.05f},
                                       {0.75f, 0.12f, 1.0f}, {0.10f, 1.0f, 0.55f}, {1.0f, 0.62f, 0.10f},
                                       {1.0f, 0.10f, 0.08f}};
    const float *c = colors[seed % 7];
    return v3(c[0], c[1], c[2]);
}

static vec3s at_face(const struct face *f, float u, float y, float off)
{
    vec3s p = glms_vec3_add(glms_vec3_add(f->from, glms_vec3_scale(f->along, u)), glms_vec3_scale(f->out, off));
    p.y = y;
    return p;
}

static void signs(struct build *b, const struct house *h, const struct face *f, uint32_t side)
{
    uint32_t seed = hash_bits(h->seed, side, 31);
    vec3s dark = v3(0.03f, 0.03f, 0.035f);
    if (hash01(seed, 1, 31) > 0.22f) { /* a blade sign that stands out from the wall */
        float u = 1.2f + (f->length - 2.4f) * hash01(seed, 2, 31), y = 5.2f + 2.0f * hash01(seed, 3, 31);
        float tall = 4.0f + 6.5f * hash01(seed, 4, 31);
        tall = fminf(tall, h->height - y - 1.0f);
        if (tall > 2.0f) {
            vec3s paint = neon_paint(seed);
            on_face(b, f, u - 0.17f, u + 0.17f, y - 0.15f, y + tall + 0.15f, 1.5f, 0.35f, matter_of(PLAIN, 0, 0), dark,
                    0.4f);
            on_face(b, f, u - 0.21f, u + 0.21f, y, y + tall, 1.2f, 0.5f, matter_of(NEON, 0, seed & 0xffffffu), paint,
                    8.0f);
            build_light(b, at_face(f, u, y + 0.3f * tall, 2.6f), 13.0f, glms_vec3_scale(paint, 8.5f), v3(0, -1, 0),
                        -2.0f);
        }
    }
    if (hash01(seed, 5, 31) > 0.55f && f->length > 14.0f) { /* a word along the wall */
        float width = 4.0f + 4.0f * hash01(seed, 6, 31), u = 1.0f + (f->length - width - 2.0f) * hash01(seed, 7, 31);
        vec3s paint = neon_paint(seed / 7);
        float y = 4.75f;
        on_face(b, f, u - 0.1f, u + width + 0.1f, y - 0.1f, y + 1.2f, 0.16f, 0.02f, matter_of(PLAIN, 0, 0), dark, 0.5f);
        on_face(b, f, u, u + width, y, y + 1.1f, 0.1f, 0.2f, matter_of(NEON, 1, seed & 0xffffffu), paint, 6.2f);
        build_light(b, at_face(f, u + 0.5f * width, y + 0.4f, 1.6f), 10.0f, glms_vec3_scale(paint, 6.0f), v3(0, -1, 0),
                    -2.0f);
    }
    for (float u = 1.0f; u + 5.0f < f->length; u += 6.0f) { /* light of the shop windows, awnings over some */
        uint32_t shop = hash_bits(seed, (uint32_t)u, 32);
        if (hash01(shop, 1, 33) > 0.45f)
            build_light(b, at_face(f, u + 2.0f, 2.2f, 1.5f), 8.0f, v3(1.7f, 1.0f, 0.48f), v3(0, -1, 0), -2.0f);
        if (hash01(shop, 2, 33) > 0.62f)
            on_face(b, f, u + 0.2f, u + 4.8f, 3.32f, 3.45f, 1.3f, 0.05f, matter_of(CLOTH, 0, 0),
                    v3(0.02f + 0.25f * hash01(shop, 3, 33), 0.03f + 0.05f * hash01(shop, 4, 33), 0.05f), 0.6f);
    }
    if (hash01(seed, 8, 31) > 0.86f && h->height > 20.0f && f->length > 16.0f) { /* a screen */
        float width = 9.0f, y = 9.0f, u = 0.5f * (f->length - width);
        on_face(b, f, u - 0.25f, u + width + 0.25f, y - 0.25f, y + 5.35f, 0.4f, 0.05f, matter_of(PLAIN, 0, 0), dark,
                0.4f);
        on_face(b, f, u, u + width, y, y + 5.1f, 0.1f, 0.45f, matter_of(SCREEN, side, seed & 0xffffffu), v3(1, 1, 1),
                3.2f);
        build_light(b, at_face(f, u + 0.5f * width, y + 1.0f, 3.5f), 17.0f, v3(6.0f, 4.0f, 9.0f), v3(0, -1, 0), -2.0f);
    }
}

/* Each window's sill and lintel, some with a box that cools the room; fins on slim-windowed walls. */
static void windows(struct build *b, const struct house *h, const struct face *f)
{
    vec3s stone = v3(0.24f, 0.225f, 0.205f);
    float bottom = h->base > 0.0f ? h->base : SHOP_HEIGHT;
    if (h->style == 1) {
        for (float u = 0.0f; u <= f->length + 0.01f; u += 1.5f)
            on_face(b, f, u - 0.09f, u + 0.09f, bottom, h->height - 0.4f, 0.22f, 0.0f, matter_of(PLAIN, 1, 0), stone,
                    0.7f);
    }
    for (float y = bottom; y + 1.0f < h->height; y += FLOOR) {
        if (h->style == 3 || h->style == 1)
            on_face(b, f, 0.0f, f->length, y - 0.09f, y + 0.09f, h->style == 3 ? 0.07f : 0.25f, 0.0f,
                    matter_of(PLAIN, 1, 0), h->style == 3 ? v3(0.06f, 0.065f, 0.07f) : stone, 0.5f);
        for (float u = 0.0f; u + 2.9f < f->length && (h->style == 0 || h->style == 2); u += 3.0f) {
            float side = h->style == 2 ? 0.3f : 0.55f, low = h->style == 2 ? 0.95f : 0.9f;
            uint32_t seed =
                hash_bits(h->seed + (uint32_t)(f->out.x * 3.0f + f->out.z * 5.0f + 8.0f), (uint32_t)u, (uint32_t)y);
            on_face(b, f, u + side - 0.06f, u + 3.06f - side, y + low - 0.14f, y + low, 0.17f, 0.0f,
                    matter_of(PLAIN, 1, 0), stone, 0.7f);
            if (h->style == 0)
                on_face(b, f, u + side - 0.06f, u + 3.06f - side, y + 2.9f, y + 3.12f, 0.10f, 0.0f,
                        matter_of(PLAIN, 1, 0), stone, 0.7f);
            if (seed % 9 == 0)
                on_face(b, f, u + 1.05f, u + 1.95f, y + low, y + low + 0.55f, 0.45f, 0.02f, matter_of(PLAIN, 1, 0),
                        v3(0.20f, 0.20f, 0.20f), 0.5f);
            if (h->style == 2 && seed % 3 == 1) { /* a balcony with a rail */
                on_face(b, f, u + 0.2f, u + 2.8f, y - 0.05f, y + 0.1f, 1.0f, 0.0f, matter_of(PLAIN, 1, 0), stone, 0.7f);
                on_face(b, f, u + 0.2f, u + 2.8f, y + 1.0f, y + 1.06f, 0.06f, 0.94f, matter_of(PLAIN, 1, 0),
                        v3(0.03f, 0.03f, 0.03f), 0.4f);
                for (int k = 0; k < 9; k++)
                    on_face(b, f, u + 0.2f + 0.32f * (float)k, u + 0.23f + 0.32f * (float)k, y + 0.1f, y + 1.0f, 0.03f,
                            0.955f, matter_of(PLAIN, 1, 0), v3(0.03f, 0.03f, 0.03f), 0.4f);
            }
        }
    }
}

/* Fire escapes zigzag down some of the brick walls. */
static void escape(struct build *b, const struct house *h, const struct face *f)
{
    float u = 3.0f + 3.0f * floorf((f->length - 9.0f) / 3.0f * hash01(h->seed, 3, 41));
    vec3s iron = v3(0.03f, 0.028f, 0.028f);
    if (f->length < 12.0f)
        return;
    for (float y = SHOP_HEIGHT + FLOOR; y + 1.0f < h->height; y += FLOOR) {
        on_face(b, f, u, u + 4.5f, y, y + 0.08f, 1.1f, 0.05f, matter_of(PLAIN, 1, 0), iron, 0.5f);
        on_face(b, f, u, u + 4.5f, y + 0.95f, y + 1.0f, 0.05f, 1.1f, matter_of(PLAIN, 1, 0), iron, 0.5f);
        for (int k = 0; k <= 10; k++)
            on_face(b, f, u + 0.45f * (float)k, u + 0.03f + 0.45f * (float)k, y + 0.08f, y + 0.95f, 0.03f, 1.11f,
                    matter_of(PLAIN, 1, 0), iron, 0.5f);
        for (int k = 0; k < 9; k++)
            on_face(b, f, u + 0.4f + 0.36f * (float)k, u + 0.7f + 0.36f * (float)k, y - FLOOR + 0.35f * (float)(k + 1),
                    y - FLOOR + 0.35f * (float)(k + 1) + 0.04f, 0.5f, 0.5f, matter_of(PLAIN, 1, 0), iron, 0.5f);
    }
}

static void detail(struct build *b, const struct house *h)
{
    struct face faces[4];
    faces_of(h, faces);
    if (h->base == 0.0f)
        box(b, v3(h->x0 - 0.22f, SHOP_HEIGHT - 0.2f, h->z0 - 0.22f),
            v3(h->x1 + 0.22f, SHOP_HEIGHT + 0.16f, h->z1 + 0.22f), matter_of(PLAIN, 0, 0), v3(0.15f, 0.145f, 0.14f),
            0.6f);
    roof(b, h);
    for (uint32_t i = 0; i < 4; i++) {
        if (h->base == 0.0f && (i >= 2 || fabsf(0.5f * (h->x0 + h->x1)) < 40.0f || i == h->seed % 2))
            signs(b, h, &faces[i], i);
    }
    for (uint32_t i = 0; i < 4; i++) {
        windows(b, h, &faces[i]);
        if (h->style == 0 && h->base == 0.0f && i < 2)
            escape(b, h, &faces[i]);
    }
}

static int by_distance(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* All bodies first, then what makes them rich, nearest blocks first (what is drawn first hides the rest), until as many
 * instances are there as are wanted. */
void build_houses(struct build *b)
{
    struct houses *all = calloc(1, sizeof *all);
    float(*order)[2] = calloc(BLOCKS_X * BLOCKS_Z, sizeof *order);
    for (uint32_t block = 0; all && order && block < BLOCKS_X * BLOCKS_Z; block++) {
        int bx = FIRST_BLOCK_X + (int)(block % BLOCKS_X), bz = FIRST_BLOCK_Z + (int)(block / BLOCKS_X);
        all->begin[block] = all->count;
        plan_block(all, bx, bz, block);
        float x = AVENUE_PITCH * ((float)bx + 0.5f), z = STREET_PITCH * ((float)bz + 0.5f) + 40.0f;
        order[block][0] = sqrtf(x * x + z * z);
        order[block][1] = (float)block;
    }
    if (all && order) {
        all->begin[BLOCKS_X * BLOCKS_Z] = all->count;
        for (uint32_t i = 0; i < all->count; i++)
            mark_map(b->scene, &all->items[i]);
        qsort(order, BLOCKS_X * BLOCKS_Z, sizeof *order, by_distance);
        for (int pass = 0; pass < 2; pass++) {
            for (uint32_t k = 0; k < BLOCKS_X * BLOCKS_Z; k++) {
                uint32_t block = (uint32_t)order[k][1];
                for (uint32_t i = all->begin[block]; i < all->begin[block + 1]; i++)
                    (pass == 0 ? body : detail)(b, &all->items[i]);
            }
            if (pass == 0)
                build_streets(b);
        }
    } else
        b->scene->failed = true;
    free(order);
    free(all);
}
