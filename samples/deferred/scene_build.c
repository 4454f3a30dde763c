#include "scene.h"

/* Where everything stands: an arcaded court along -z, 9 m wide, a long pool in its middle, a knot on a dais at its end.
 * The left arcade is open to the evening sun, the right one has an aisle and a wall that catch the shadows. */

#define COUNT_OF(a) ((uint32_t)(sizeof(a) / sizeof(a)[0]))

#define HALF_WIDTH 4.5f
#define BAY 3.0f
#define BAYS 9
#define FIRST_Z 10.5f
#define LAST_Z (FIRST_Z - BAY * BAYS)
#define SPRING 3.54f /* where the arches start */
#define CROWN 1.75f  /* their panels' height */

struct material {
    float red, green, blue, roughness, metallic, emission;
    enum surface surface;
};

static const struct material limestone = {0.70f, 0.60f, 0.47f, 0.72f, 0, 0, SURFACE_STONE};
static const struct material pale_stone = {0.78f, 0.70f, 0.58f, 0.60f, 0, 0, SURFACE_STONE};
static const struct material ochre = {0.72f, 0.50f, 0.33f, 0.85f, 0, 0, SURFACE_WALL};
static const struct material bronze = {0.30f, 0.19f, 0.10f, 0.42f, 1, 0, SURFACE_PLAIN};
static const struct material gold = {1.00f, 0.72f, 0.29f, 0.22f, 1, 0, SURFACE_PLAIN};
static const struct material foliage = {0.050f, 0.085f, 0.030f, 0.9f, 0, 0, SURFACE_LEAVES};

static uint32_t put(struct scene *scene, enum mesh_id mesh, mat4s place, struct material material)
{
    if (scene->instance_count == MAX_INSTANCES)
        return MAX_INSTANCES - 1;
    uint32_t number = scene->instance_count++;
    struct instance *instance = &scene->rest[number];
    for (int row = 0; row < 3; row++) {
        instance->rows[row] = (vec4s){{place.raw[0][row], place.raw[1][row], place.raw[2][row], place.raw[3][row]}};
        instance->previous_rows[row] = instance->rows[row];
    }
    instance->red = material.red;
    instance->green = material.green;
    instance->blue = material.blue;
    instance->roughness = material.roughness;
    instance->metallic = material.metallic;
    instance->emission = material.emission;
    instance->surface = (float)material.surface;
    instance->number = (float)number;
    scene->mesh_of[number] = mesh;
    return number;
}

static void put_box(struct scene *scene, vec3s centre, vec3s size, struct material material)
{
    put(scene, MESH_BOX, kit_place(centre, 0.0f, size), material);
}

/* A light and the pearl that is seen for it. */
static void put_light(struct scene *scene, vec3s at, float pearl, vec3s color, float strength, float radius)
{
    if (scene->light_count == MAX_LIGHTS)
        return;
    scene->lights[scene->light_count++] =
        (struct light){at.x, at.y, at.z, radius, color.x * strength, color.y * strength, color.z * strength, 0.0f};
    struct material glow = {color.x, color.y, color.z, 1.0f, 0.0f, 9.0f + 0.8f * strength, SURFACE_PLAIN};
    put(scene, MESH_PEARL, kit_place(at, 0.0f, v3(pearl, pearl, pearl)), glow);
}

/* A smooth round of colours from teal over violet and rose to amber. */
static vec3s palette(float t)
{
    static const vec3s stops[] = {{{0.10f, 0.85f, 0.75f}}, {{0.18f, 0.45f, 1.0f}}, {{0.55f, 0.22f, 1.0f}},
                                  {{1.0f, 0.20f, 0.55f}},  {{1.0f, 0.42f, 0.20f}}, {{1.0f, 0.66f, 0.25f}}};
    float at = fminf(fmaxf(t, 0.0f), 0.9999f) * 5.0f;
    int i = (int)at;
    float f = at - (float)i;
    return glms_vec3_add(glms_vec3_scale(stops[i], 1.0f - f), glms_vec3_scale(stops[i + 1], f));
}

static float hash01(uint32_t n)
{
    n = (n ^ 61u ^ (n >> 16)) * 9u;
    n = (n ^ (n >> 4)) * 0x27d4eb2du;
    return (float)((n ^ (n >> 15)) & 0xffffffu) / 16777216.0f;
}

static void put_column(struct scene *scene, float x, float z)
{
    put(scene, MESH_PLINTH, kit_place(v3(x, 0.0f, z), 0.0f, v3(1, 1, 1)), pale_stone);
    put(scene, MESH_COLUMN, kit_place(v3(x, 0.36f, z), 0.0f, v3(0.27f, 2.64f, 0.27f)), limestone);
    put(scene, MESH_CAPITAL, kit_place(v3(x, 3.0f, z), 0.0f, v3(1, 1, 1)), pale_stone);
    put_box(scene, v3(x, 0.06f, z), v3(0.84f, 0.12f, 0.84f), pale_stone);
    put_box(scene, v3(x, 3.46f, z), v3(0.74f, 0.16f, 0.74f), pale_stone);
    put(scene, MESH_URN, kit_place(v3(x, 5.80f, z), 0.0f, v3(1, 1, 1)), pale_stone);
}

static void put_arch(struct scene *scene, float x, float z, float turn)
{
    put(scene, MESH_ARCH, kit_place(v3(x, SPRING, z), turn, v3(1, 1, 1)), limestone);
    put(scene, MESH_RING, kit_place(v3(x, SPRING, z), turn, v3(1, 1, 1)), pale_stone);
    put_box(scene, v3(x, 4.43f, z), v3(0.018f, 0.55f, 0.018f), bronze);
    put(scene, MESH_LANTERN, kit_place(v3(x, 3.98f, z), 0.4f, v3(1, 1, 1)), bronze);
    put_light(scene, v3(x, 3.94f, z), 0.10f, v3(1.0f, 0.56f, 0.22f), 8.0f, 5.5f);
}

static void put_arcades(struct scene *scene)
{
    for (int side = -1; side <= 1; side += 2) {
        float x = HALF_WIDTH * (float)side, middle = 0.5f * (FIRST_Z + LAST_Z), length = FIRST_Z - LAST_Z;
        for (int i = 0; i <= BAYS; i++)
            put_column(scene, x, FIRST_Z - BAY * (float)i);
        for (int i = 0; i < BAYS; i++)
            put_arch(scene, x, FIRST_Z - BAY * ((float)i + 0.5f), PI * 0.5f);
        put_box(scene, v3(x, SPRING + CROWN + 0.10f, middle), v3(0.72f, 0.20f, length + 0.7f), pale_stone);
        put_box(scene, v3(x, SPRING + CROWN + 0.30f, middle), v3(0.98f, 0.20f, length + 0.96f), limestone);
    }
    for (int i = 0; i < 3; i++)
        put_arch(scene, -BAY + BAY * (float)i, LAST_Z, 0.0f);
    put_column(scene, -BAY * 0.5f, LAST_Z);
    put_column(scene, BAY * 0.5f, LAST_Z);
    put_box(scene, v3(0, SPRING + CROWN + 0.10f, LAST_Z), v3(9.0f, 0.20f, 0.72f), pale_stone);
    put_box(scene, v3(0, SPRING + CROWN + 0.301f, LAST_Z), v3(8.1f, 0.20f, 0.98f), limestone);
}

static void put_aisle(struct scene *scene)
{
    float middle = 0.5f * (FIRST_Z + LAST_Z), length = FIRST_Z - LAST_Z;
    put_box(scene, v3(8.3f, 2.85f, middle), v3(0.4f, 5.7f, length + 2.0f), ochre);
    put_box(scene, v3(6.4f, 5.55f, middle), v3(3.9f, 0.16f, length + 2.0f), ochre);
    for (int i = 0; i <= BAYS; i++) {
        float z = FIRST_Z - BAY * (float)i;
        put_box(scene, v3(8.02f, 2.2f, z), v3(0.22f, 4.4f, 0.5f), limestone);
        put_box(scene, v3(8.0f, 4.45f, z), v3(0.32f, 0.14f, 0.62f), pale_stone);
        put_box(scene, v3(6.4f, 5.36f, z), v3(3.6f, 0.22f, 0.26f), bronze);
        if (i == BAYS)
            break;
        put(scene, MESH_LANTERN, kit_place(v3(7.92f, 2.44f, z - 0.5f * BAY), 0.0f, v3(0.9f, 0.9f, 0.9f)), bronze);
        put_light(scene, v3(7.9f, 2.4f, z - 0.5f * BAY), 0.085f, v3(1.0f, 0.42f, 0.16f), 5.0f, 4.4f);
    }
    put_box(scene, v3(-7.6f, 0.42f, middle), v3(0.45f, 0.84f, length + 2.0f), limestone);
    put_box(scene, v3(-7.6f, 0.89f, middle), v3(0.6f, 0.1f, length + 2.1f), pale_stone);
}

static void put_pool(struct scene *scene)
{
    const float half = 1.5f, near_z = 6.2f, far_z = -6.8f, middle = 0.5f * (near_z + far_z), length = near_z - far_z;
    struct material water = {0.018f, 0.085f, 0.095f, 0.04f, 0, 0, SURFACE_WATER};
    struct material tiles = {0.62f, 0.53f, 0.43f, 0.30f, 0, 0, SURFACE_FLOOR};
    put(scene, MESH_GROUND, kit_place(v3(0, 0, 0), 0.0f, v3(400, 1, 400)), tiles);
    put(scene, MESH_GROUND, kit_place(v3(0, 0.012f, middle), 0.0f, v3(2 * half, 1, length)), water);
    for (int side = -1; side <= 1; side += 2) {
        put_box(scene, v3((half + 0.14f) * (float)side, 0.05f, middle), v3(0.3f, 0.14f, length + 0.6f), pale_stone);
        for (int i = 0; i < 13; i++) {
            float z = near_z - 0.7f - 1.0f * (float)i,
                  drift = 0.22f * (hash01(7u * (uint32_t)i + (uint32_t)(side + 2)) - 0.5f);
            put_light(scene, v3((half - 0.28f + drift) * (float)side, 0.075f, z + 0.3f * drift), 0.072f,
                      palette((float)i / 13.0f), 1.5f, 2.4f);
        }
    }
    for (int end = -1; end <= 1; end += 2)
        put_box(scene, v3(0, 0.049f, middle + (0.5f * length + 0.14f) * (float)end), v3(2 * half, 0.14f, 0.3f),
                pale_stone);
    for (uint32_t i = 0; i < 8; i++)
        put_light(scene, v3(1.3f * (hash01(i + 40u) - 0.5f), 0.07f, near_z - 1.5f - 1.6f * (float)i), 0.055f,
                  palette(hash01(i * 3u + 90u)), 0.9f, 1.9f);
}

static void put_spheres(struct scene *scene)
{
    static const struct material kinds[8] = {
        {0.95f, 0.93f, 0.90f, 0.06f, 1, 0, SURFACE_PLAIN}, {0.86f, 0.84f, 0.80f, 0.14f, 0, 0, SURFACE_PLAIN},
        {0.02f, 0.32f, 0.20f, 0.16f, 0, 0, SURFACE_PLAIN}, {0.96f, 0.52f, 0.36f, 0.26f, 1, 0, SURFACE_PLAIN},
        {1.00f, 0.74f, 0.33f, 0.16f, 1, 0, SURFACE_PLAIN}, {0.55f, 0.03f, 0.05f, 0.12f, 0, 0, SURFACE_PLAIN},
        {0.03f, 0.06f, 0.30f, 0.10f, 0, 0, SURFACE_PLAIN}, {0.62f, 0.66f, 0.72f, 0.34f, 1, 0, SURFACE_PLAIN}};
    for (int i = 0; i < 8; i++) {
        float x = i & 1 ? 2.85f : -2.85f, z = 4.5f - 3.0f * (float)(i / 2);
        put(scene, MESH_PEDESTAL, kit_place(v3(x, 0, z), 0, v3(1, 1, 1)), pale_stone);
        put(scene, MESH_SPHERE, kit_place(v3(x, 1.28f, z), 0, v3(0.38f, 0.38f, 0.38f)), kinds[i]);
    }
}

static void put_dais(struct scene *scene)
{
    const float z = -11.2f;
    for (int i = 0; i < 4; i++) {
        float size = 6.6f - 0.9f * (float)i;
        put_box(scene, v3(0, 0.09f + 0.17f * (float)i, z), v3(size, 0.18f, size), i & 1 ? pale_stone : limestone);
    }
    put(scene, MESH_PLINTH, kit_place(v3(0, 0.68f, z), 0, v3(1.7f, 1.5f, 1.7f)), pale_stone);
    for (int i = 0; i < 4; i++) { /* fire bowls at the corners of the lowest step */
        vec3s at = v3(i & 1 ? 2.95f : -2.95f, 0.18f, z + (i & 2 ? 2.95f : -2.95f));
        put(scene, MESH_PEDESTAL, kit_place(at, 0, v3(0.8f, 1.35f, 0.8f)), bronze);
        put_light(scene, v3(at.x, 1.56f, at.z), 0.17f, v3(1.0f, 0.50f, 0.16f), 12.0f, 6.5f);
    }
    put(scene, MESH_KNOT, GLMS_MAT4_IDENTITY, gold);
    put_light(scene, v3(0, 2.75f, z), 0.15f, v3(1.0f, 0.74f, 0.42f), 16.0f, 6.5f); /* its burning heart */
    scene->first_orbiting = scene->light_count;
    scene->orbiting_count = 12;
    for (int i = 0; i < 12; i++)
        put_light(scene, v3(0, 2.5f, z), 0.075f, palette(i & 1 ? 0.06f : 0.62f), 2.6f, 3.6f);
}

static void put_garden(struct scene *scene)
{
    for (uint32_t i = 0; i < 16; i++) {
        float x = -11.5f - 4.5f * hash01(i) - (float)(i & 1) * 3.0f, z = 8.0f - 2.6f * (float)i - hash01(i + 50u);
        float tall = 0.75f + 0.55f * hash01(i + 11u);
        put(scene, MESH_CYPRESS, kit_place(v3(x, 0, z), 6.0f * hash01(i + 5u), v3(tall, tall, tall)), foliage);
    }
    for (uint32_t i = 0; i < 9; i++) {
        float x = -16.0f + 4.4f * (float)i + 2.0f * hash01(i + 70u), z = -26.0f - 9.0f * hash01(i + 80u);
        float tall = 0.7f + 0.6f * hash01(i + 31u);
        put(scene, MESH_CYPRESS, kit_place(v3(x, 0, z), 6.0f * hash01(i), v3(tall, tall, tall)), foliage);
    }
    for (uint32_t i = 0; i < 7; i++) {
        struct material hill = {0.07f, 0.09f, 0.05f, 1.0f, 0, 0, SURFACE_LEAVES};
        vec3s at = v3(-120.0f + 40.0f * (float)i, -3.0f, -110.0f - 40.0f * hash01(i + 20u));
        put(scene, MESH_SPHERE, kit_place(at, 0, v3(34.0f + 20.0f * hash01(i), 5.0f + 6.0f * hash01(i + 3u), 30.0f)),
            hill);
    }
    for (uint32_t i = 0; i < 12; i++)
        put_light(scene, v3(-8.6f - 2.4f * hash01(i + 100u), 0.5f + 1.6f * hash01(i + 120u), 7.0f - 2.1f * (float)i),
                  0.03f, v3(0.85f, 0.95f, 0.30f), 1.1f, 2.6f);
}

static bool build_meshes(struct scene *scene)
{
    static const float plinth[][2] = {{0.40f, 0.10f},  {0.40f, 0.17f},  {0.37f, 0.21f}, {0.31f, 0.23f}, {0.31f, 0.26f},
                                      {0.345f, 0.29f}, {0.345f, 0.32f}, {0.29f, 0.36f}, {0.20f, 0.36f}};
    static const float capital[][2] = {{0.235f, 0.0f}, {0.27f, 0.02f}, {0.27f, 0.05f}, {0.235f, 0.07f}, {0.245f, 0.18f},
                                       {0.30f, 0.30f}, {0.36f, 0.36f}, {0.36f, 0.40f}, {0.20f, 0.40f}};
    static const float urn[][2] = {{0.16f, -0.12f}, {0.16f, 0.0f},  {0.07f, 0.05f}, {0.06f, 0.12f},
                                   {0.17f, 0.22f},  {0.22f, 0.34f}, {0.19f, 0.46f}, {0.10f, 0.52f},
                                   {0.14f, 0.58f},  {0.02f, 0.72f}, {0.0f, 0.72f}};
    static const float pedestal[][2] = {{0.36f, 0.0f},   {0.36f, 0.09f}, {0.31f, 0.12f}, {0.235f, 0.20f},
                                        {0.215f, 0.68f}, {0.25f, 0.78f}, {0.32f, 0.82f}, {0.32f, 0.89f},
                                        {0.25f, 0.91f},  {0.0f, 0.91f}};
    static const float lantern[][2] = {{0.0f, -0.17f}, {0.09f, -0.16f}, {0.12f, -0.13f}, {0.09f, -0.12f},
                                       {0.0f, -0.12f}, {0.0f, 0.075f},  {0.15f, 0.08f},  {0.15f, 0.10f},
                                       {0.06f, 0.19f}, {0.02f, 0.23f},  {0.0f, 0.24f}};
    static const float cypress[][2] = {{0.16f, 0.0f}, {0.16f, 0.5f}, {0.62f, 0.7f}, {0.86f, 1.5f}, {0.92f, 2.6f},
                                       {0.84f, 4.0f}, {0.66f, 5.4f}, {0.42f, 6.6f}, {0.18f, 7.5f}, {0.0f, 8.0f}};
    struct mesh_store *store = &scene->store;
    struct mesh *meshes = scene->meshes;
    meshes[MESH_GROUND] = mesh_plane(store);
    meshes[MESH_BOX] = mesh_box(store);
    meshes[MESH_COLUMN] = mesh_column(store, 16, 0.84f, 0.075f);
    meshes[MESH_PLINTH] = mesh_lathe(store, plinth, COUNT_OF(plinth), 32);
    meshes[MESH_CAPITAL] = mesh_lathe(store, capital, COUNT_OF(capital), 32);
    meshes[MESH_ARCH] = mesh_arch(store, BAY, CROWN, 1.15f, 0.56f, 28);
    meshes[MESH_RING] = mesh_half_ring(store, 1.15f, 1.34f, 0.66f, 28);
    meshes[MESH_SPHERE] = mesh_sphere(store, 64, 32);
    meshes[MESH_PEARL] = mesh_sphere(store, 14, 8);
    meshes[MESH_KNOT] = mesh_knot(store, 2, 3, 0.17f, 224, 18);
    meshes[MESH_URN] = mesh_lathe(store, urn, COUNT_OF(urn), 20);
    meshes[MESH_PEDESTAL] = mesh_lathe(store, pedestal, COUNT_OF(pedestal), 32);
    meshes[MESH_LANTERN] = mesh_lathe(store, lantern, COUNT_OF(lantern), 6);
    meshes[MESH_CYPRESS] = mesh_lathe(store, cypress, COUNT_OF(cypress), 18);
    return !store->failed;
}

bool scene_layout(struct scene *scene)
{
    put_arcades(scene);
    put_aisle(scene);
    put_pool(scene);
    put_spheres(scene);
    put_dais(scene);
    put_garden(scene);
    return build_meshes(scene);
}
