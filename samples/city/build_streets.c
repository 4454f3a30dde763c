#include "scene.h"

/* What stands in the streets: the ground, lamps, trees, parked cars, strings of light, marks on the road. */

static void put(struct build *b, enum mesh_id mesh, vec3s at, vec3s size, float yaw, uint32_t matter, vec3s paint,
                float shine)
{
    struct instance i = {.place = at,
                         .yaw = yaw,
                         .size = size,
                         .matter = matter,
                         .last_place = at,
                         .last_yaw = yaw,
                         .paint = {paint.x, paint.y, paint.z},
                         .shine = shine};
    build_add(b, mesh, &i);
}

static const vec3s iron = {{0.035f, 0.036f, 0.04f}};

/* A lamp whose arm reaches over the road, towards `way`. */
static void lamp(struct build *b, vec3s foot, vec3s way, bool warm)
{
    const float high = 8.0f, reach = 2.6f;
    vec3s paint = warm ? v3(1.0f, 0.56f, 0.22f) : v3(0.80f, 0.90f, 1.0f);
    vec3s head = glms_vec3_add(glms_vec3_add(foot, glms_vec3_scale(way, reach)), v3(0, high, 0));
    float yaw = fabsf(way.x) > 0.5f ? 0.0f : 0.5f * PI;
    put(b, MESH_CYLINDER, glms_vec3_add(foot, v3(0, 0.5f * high, 0)), v3(0.17f, high, 0.17f), 0, matter_of(PLAIN, 0, 0),
        iron, 0.45f);
    put(b, MESH_CYLINDER, glms_vec3_add(foot, v3(0, 0.5f, 0)), v3(0.36f, 1.0f, 0.36f), 0, matter_of(PLAIN, 0, 0), iron,
        0.45f);
    put(b, MESH_BOX, glms_vec3_add(glms_vec3_add(foot, glms_vec3_scale(way, 0.5f * reach)), v3(0, high + 0.05f, 0)),
        v3(reach, 0.09f, 0.09f), yaw, matter_of(PLAIN, 0, 0), iron, 0.45f);
    put(b, MESH_CYLINDER, glms_vec3_add(head, v3(0, -0.02f, 0)), v3(0.62f, 0.16f, 0.62f), 0, matter_of(PLAIN, 0, 0),
        iron, 0.45f);
    put(b, MESH_BALL, glms_vec3_add(head, v3(0, -0.24f, 0)), v3(0.56f, 0.46f, 0.56f), 0, matter_of(GLOW, 0, 0), paint,
        26.0f);
    build_light(b, glms_vec3_add(head, v3(0, -0.52f, 0)), 24.0f, glms_vec3_scale(paint, warm ? 150.0f : 90.0f),
                v3(0, -1, 0), 0.12f);
}

static void tree(struct build *b, vec3s at, uint32_t seed)
{
    float high = 4.6f + 1.8f * hash01(seed, 1, 51);
    put(b, MESH_CYLINDER, glms_vec3_add(at, v3(0, 0.35f * high, 0)), v3(0.24f, 0.7f * high, 0.24f), 0,
        matter_of(PLAIN, 0, 0), v3(0.06f, 0.045f, 0.035f), 0.8f);
    for (uint32_t k = 0; k < 10; k++) {
        vec3s off = v3(1.5f * (hash01(seed, k, 52) - 0.5f) * 2.0f, 1.9f * hash01(seed, k, 53) - 0.5f,
                       1.45f * (hash01(seed, k, 54) - 0.5f) * 2.0f);
        float s = 1.5f + 0.9f * hash01(seed, k, 55);
        put(b, MESH_TREE, glms_vec3_add(glms_vec3_add(at, v3(0, 0.78f * high, 0)), off), v3(s, 0.85f * s, s),
            6.0f * hash01(seed, k, 56), matter_of(CLOTH, 1, 0), v3(0.060f, 0.075f, 0.026f), 0.7f);
    }
}

static void signal_mast(struct build *b, vec3s foot, float yaw, bool green)
{
    put(b, MESH_CYLINDER, glms_vec3_add(foot, v3(0, 1.9f, 0)), v3(0.14f, 3.8f, 0.14f), 0, matter_of(PLAIN, 0, 0), iron,
        0.5f);
    put(b, MESH_BOX, glms_vec3_add(foot, v3(0, 3.6f, 0)), v3(0.36f, 1.05f, 0.3f), yaw, matter_of(PLAIN, 0, 0),
        v3(0.02f, 0.02f, 0.02f), 0.5f);
    vec3s paint = green ? v3(0.05f, 1.0f, 0.45f) : v3(1.0f, 0.05f, 0.03f);
    float s = sinf(yaw), c = cosf(yaw), y = green ? 3.28f : 3.92f;
    for (int side = -1; side <= 1; side += 2)
        put(b, MESH_BALL, glms_vec3_add(foot, v3(0.16f * (float)side * s, y, 0.16f * (float)side * c)),
            v3(0.22f, 0.22f, 0.12f), yaw, matter_of(GLOW, 0, 0), paint, 14.0f);
    build_light(b, glms_vec3_add(foot, v3(0.5f * s, y, 0.5f * c)), 6.0f, glms_vec3_scale(paint, 2.2f), v3(0, -1, 0),
                -2.0f);
}

static void parked_car(struct build *b, vec3s at, float yaw, uint32_t seed)
{
    static const float dyes[6][3] = {{0.02f, 0.02f, 0.025f}, {0.13f, 0.14f, 0.15f}, {0.22f, 0.015f, 0.02f},
                                     {0.015f, 0.04f, 0.13f}, {0.28f, 0.28f, 0.27f}, {0.05f, 0.055f, 0.05f}};
    const float *dye = dyes[seed % 6];
    put(b, MESH_CAR, glms_vec3_add(at, v3(0, 0.80f, 0)), v3(1.86f, 1.24f, 4.4f), yaw, matter_of(CAR, 0, seed & 0xffffu),
        v3(dye[0], dye[1], dye[2]), 0.22f);
    for (int k = 0; k < 4; k++) {
        float x = k & 1 ? 0.82f : -0.82f, z = k & 2 ? 1.35f : -1.40f, s = sinf(yaw), c = cosf(yaw);
        put(b, MESH_WHEEL, glms_vec3_add(at, v3(c * x + s * z, 0.33f, -s * x + c * z)), v3(0.24f, 0.66f, 0.66f), yaw,
            matter_of(PLAIN, 0, 0), v3(0.018f, 0.018f, 0.02f), 0.6f);
    }
}

/* Bulbs on a wire across the avenue. */
static void light_string(struct build *b, float z)
{
    const uint32_t bulbs = 25;
    for (uint32_t i = 0; i < bulbs; i++) {
        float t = (float)i / (float)(bulbs - 1), x = (t * 2.0f - 1.0f) * (AVENUE_HALF - 0.3f);
        float y = 8.9f - 1.9f * (1.0f - (t * 2.0f - 1.0f) * (t * 2.0f - 1.0f));
        put(b, MESH_BALL, v3(x, y - 0.12f, z), v3(0.17f, 0.2f, 0.17f), 0, matter_of(GLOW, 0, 0), v3(1.0f, 0.60f, 0.25f),
            15.0f);
        if (i % 6 == 3)
            build_light(b, v3(x, y - 0.4f, z), 9.0f, v3(2.6f, 1.5f, 0.65f), v3(0, -1, 0), -2.0f);
        if (i + 1 < bulbs)
            put(b, MESH_BOX, v3(x + (AVENUE_HALF - 0.3f) / (float)(bulbs - 1), y, z),
                v3(2.0f * (AVENUE_HALF - 0.3f) / (float)(bulbs - 1), 0.025f, 0.025f), 0, matter_of(PLAIN, 0, 0), iron,
                0.7f);
    }
}

static void furniture(struct build *b, float x, float z, float side, uint32_t seed)
{
    uint32_t kind = seed % 5;
    if (kind == 0) { /* a bin */
        put(b, MESH_CYLINDER, v3(x, 0.5f, z), v3(0.5f, 1.0f, 0.5f), 0, matter_of(PLAIN, 0, 0), v3(0.03f, 0.05f, 0.04f),
            0.5f);
    } else if (kind == 1) { /* a bench */
        put(b, MESH_BOX, v3(x, 0.45f, z), v3(0.5f, 0.07f, 1.8f), 0, matter_of(PLAIN, 0, 0), v3(0.13f, 0.07f, 0.035f),
            0.5f);
        put(b, MESH_BOX, v3(x + 0.24f * side, 0.75f, z), v3(0.06f, 0.4f, 1.8f), 0, matter_of(PLAIN, 0, 0),
            v3(0.13f, 0.07f, 0.035f), 0.5f);
        put(b, MESH_BOX, v3(x, 0.22f, z - 0.75f), v3(0.4f, 0.44f, 0.08f), 0, matter_of(PLAIN, 0, 0), iron, 0.5f);
        put(b, MESH_BOX, v3(x, 0.22f, z + 0.75f), v3(0.4f, 0.44f, 0.08f), 0, matter_of(PLAIN, 0, 0), iron, 0.5f);
    } else if (kind == 2) { /* a hydrant */
        put(b, MESH_CYLINDER, v3(x, 0.35f, z), v3(0.26f, 0.7f, 0.26f), 0, matter_of(PLAIN, 0, 0),
            v3(0.35f, 0.03f, 0.02f), 0.4f);
        put(b, MESH_BALL, v3(x, 0.74f, z), v3(0.28f, 0.22f, 0.28f), 0, matter_of(PLAIN, 0, 0), v3(0.35f, 0.03f, 0.02f),
            0.4f);
    } else if (kind == 3) { /* a lit post of advertisements */
        put(b, MESH_BOX, v3(x, 1.35f, z), v3(0.26f, 2.4f, 1.5f), 0, matter_of(PLAIN, 0, 0), iron, 0.4f);
        put(b, MESH_BOX, v3(x, 1.45f, z), v3(0.30f, 1.9f, 1.25f), 0, matter_of(SCREEN, 4, seed & 0xffffffu),
            v3(1, 1, 1), 2.2f);
        build_light(b, v3(x - 1.1f * side, 1.4f, z), 6.0f, v3(1.6f, 1.6f, 2.0f), v3(0, -1, 0), -2.0f);
    }
}

static void avenue(struct build *b, int index, float near, float far)
{
    float middle = AVENUE_PITCH * (float)index;
    bool main_one = index == 0;
    for (float z = near; z > far; z -= 12.0f) {
        float in_block = z - STREET_PITCH * floorf(z / STREET_PITCH);
        if (in_block < STREET_HALF + 1.0f || in_block > STREET_PITCH - STREET_HALF - 1.0f)
            continue;
        for (int side = -1; side <= 1; side += 2) {
            float kerb = middle + (float)side * (AVENUE_HALF - PAVEMENT + 0.7f);
            uint32_t seed = hash_bits((uint32_t)(z + 4096.0f), (uint32_t)(index + 64), (uint32_t)(side + 4));
            bool lamps = (((int)floorf(z / 12.0f) + (side > 0)) & 1) == 0; /* staggered */
            if (lamps)
                lamp(b, v3(kerb, 0, z), v3((float)-side, 0, 0), true);
            else
                tree(b, v3(kerb + 0.2f * (float)side, 0, z), seed);
            if (main_one) {
                furniture(b, kerb + 0.3f * (float)side, z + 4.0f, (float)side, seed / 11);
                furniture(b, kerb + 0.3f * (float)side, z + 8.0f, (float)side, seed / 61);
            }
            for (float k = 0.0f; k < 11.0f; k += 5.6f) {
                uint32_t here = hash_bits(seed, (uint32_t)k, 61);
                if (here % 100 < 62)
                    parked_car(b, v3(middle + (float)side * 9.35f, 0, z + k), side > 0 ? 0.0f : PI, here >> 8);
            }
        }
    }
}

static void crossing(struct build *b, float x, float z)
{
    for (int k = 0; k < 4; k++) {
        float sx = k & 1 ? 1.0f : -1.0f, sz = k & 2 ? 1.0f : -1.0f;
        signal_mast(b, v3(x + sx * (AVENUE_HALF - PAVEMENT + 0.6f), 0, z + sz * (STREET_HALF - PAVEMENT + 0.6f)), 0.0f,
                    k == 0 || k == 3);
    }
    /* Stripes to walk over, arrows to drive by, covers and stains. */
    for (int side = -1; side <= 1; side += 2) {
        build_decal(b, v3(x, 0, z + (float)side * 6.6f), v3(10.0f, 0.3f, 1.6f), 0.0f, 0);
        build_decal(b, v3(x + (float)side * 12.4f, 0, z), v3(1.6f, 0.3f, 4.2f), 0.0f, 1);
        build_decal(b, v3(x + (float)side * 5.5f, 0, z + (float)side * 15.5f), v3(0.75f, 0.3f, 2.4f),
                    side > 0 ? 0.0f : PI, 2);
        build_decal(b, v3(x + (float)side * 1.9f, 0, z + (float)side * 13.5f), v3(0.75f, 0.3f, 2.4f),
                    side > 0 ? 0.0f : PI, 2);
    }
}

void build_streets(struct build *b)
{
    put(b, MESH_PLANE, v3(0, 0, -400.0f), v3(4000.0f, 1.0f, 4000.0f), 0, matter_of(GROUND, 0, 0),
        v3(0.05f, 0.05f, 0.05f), 0.3f);
    avenue(b, 0, 96.0f, b->wanted > 100000 ? -1200.0f : -420.0f);
    for (int k = 0; k < 12; k++)
        light_string(b, -34.0f - 24.0f * (float)k - (k % 3 == 0 ? 5.0f : 0.0f));
    for (int s = 1; s > -14; s--) {
        float z = STREET_PITCH * (float)s;
        crossing(b, 0.0f, z);
        for (int side = -1; side <= 1; side += 2) {
            for (float x = 27.0f; x < 84.0f; x += 24.0f)
                lamp(b, v3((float)side * x, 0, z + (float)side * (STREET_HALF - PAVEMENT + 0.7f)),
                     v3(0, 0, (float)-side), false);
        }
    }
    for (uint32_t k = 0; k < 90; k++) { /* covers of the sewers, stains of oil, leaves */
        float z = 80.0f - 6.3f * (float)k, x = -9.0f + 18.0f * hash01(k, 1, 71);
        build_decal(b, v3(x, 0, z),
                    k % 3 == 0 ? v3(0.38f, 0.3f, 0.38f) : v3(1.0f + hash01(k, 2, 71), 0.3f, 0.7f + hash01(k, 3, 71)),
                    6.0f * hash01(k, 4, 71), k % 3 == 0 ? 3 : 4);
    }
    uint32_t avenues = b->wanted > 100000 ? 5 : 2;
    for (uint32_t k = 1; k <= avenues; k++) {
        avenue(b, (int)k, 96.0f, b->wanted > 100000 ? -800.0f : -160.0f);
        avenue(b, -(int)k, 96.0f, b->wanted > 100000 ? -800.0f : -160.0f);
    }
}
