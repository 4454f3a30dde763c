/* The city: what stands in it, what moves, and what the shaders must know of it in one frame. */
#ifndef CITY_SCENE_H
#define CITY_SCENE_H

#include "maths.h"
#include "mesh.h"

enum mesh_id {
    MESH_BOX,
    MESH_PLANE,
    MESH_CYLINDER, /* upright */
    MESH_WHEEL,    /* its axis along x */
    MESH_BALL,
    MESH_CAR,
    MESH_BUS,
    MESH_PERSON,
    MESH_UMBRELLA,
    MESH_TREE,
    MESH_COUNT
};

/* What things are made of; frame.glsl has the same numbers. */
enum matter { PLAIN, FACADE, GROUND, NEON, GLOW, CAR, SHOP, SCREEN, ROOF, CLOTH };

enum {
    MAX_LIGHTS = 1024,
    MAX_DECALS = 512,
    LAMP_TILES = 8, /* street lamps that cast shadows */
    CASCADES = 4,
    CHUNK = 4096, /* instances that are culled by one workgroup and drawn by one indirect draw */
    MAP_SIZE = 512,
    MAX_MOVERS = 4096
};
#define MAP_CELL 3.0f
#define AVENUE_PITCH 96.0f
#define STREET_PITCH 72.0f
#define AVENUE_HALF 15.0f
#define STREET_HALF 9.0f
#define PAVEMENT 4.5f

/* A mesh of the unit box, put somewhere. The shaders read it as four vec4s. */
struct instance {
    vec3s place;
    float yaw;
    vec3s size;
    uint32_t matter;  /* enum matter | style << 4 | seed << 8 */
    vec3s last_place; /* in the frame before */
    float last_yaw;
    float paint[3];
    float shine; /* roughness; of what glows: its strength */
};

/* A run of instances of one mesh. */
struct chunk {
    uint32_t index_count, first_index, first_instance, instance_count;
};

struct light {
    vec4s place;     /* w: radius */
    vec4s color;     /* w: tile of the shadow atlas, or -1 */
    vec4s direction; /* w: cosine of the cone's edge; -2: all around */
};

struct decal {
    vec4s place; /* w: yaw */
    vec4s size;  /* half of it; w: kind */
};

/* std140; frame.glsl has the same block. */
struct constants {
    mat4s view_projection, clean_view_projection, last_view_projection, inverse_view_projection;
    mat4s cascades[CASCADES], lamps[LAMP_TILES];
    vec4s cascade_end, eye, sun, sun_color, size, out_size, planes, jitter;
    uint32_t counts[4], detail[4], pyramid[4], volume[4];
};

/* What one frame uploads, in this order. */
struct frame_data {
    struct constants constants;
    struct light lights[MAX_LIGHTS];
    struct instance movers[MAX_MOVERS];
};

struct instance_list {
    struct instance *items;
    uint8_t *meshes;
    uint32_t count, room;
};

struct light_list {
    struct light *items;
    uint32_t count, room;
};

struct traffic {
    float lane, start, speed, dye[3];
    uint32_t kind, seed; /* 0 car, 1 bus, 2 a person under an umbrella */
    bool along_x, away;  /* away: towards -z or -x */
};

enum { MAX_TRAFFIC = 768 };

struct scene {
    struct mesh_store store;
    struct mesh meshes[MESH_COUNT];
    float (*map)[2]; /* MAP_SIZE * MAP_SIZE cells: height, seed << 2 | style as bits */
    vec3s map_from;

    struct instance *statics; /* grouped by mesh */
    struct chunk *chunks;     /* of the statics, then of the movers */
    uint32_t static_count, static_chunks, chunk_count, instance_count;
    uint32_t shown;           /* instances that are something, of statics and movers */
    struct light_list lights; /* those that stay where they are */
    struct decal decals[MAX_DECALS];
    uint32_t decal_count;

    struct traffic traffic[MAX_TRAFFIC];
    uint32_t traffic_count;
    uint32_t mover_first[MESH_COUNT + 1]; /* in frame_data.movers */
    bool failed;                          /* memory ran out while it was built */
};

/* instances: about how many are wanted. False when memory ran out. */
bool scene_create(struct scene *scene, uint32_t instances);
void scene_destroy(struct scene *scene);

/* For the builders (build_*.c): adds an instance; the first ones are kept when there are too many. */
struct build {
    struct scene *scene;
    struct instance_list list;
    uint32_t wanted;
};
void build_add(struct build *build, enum mesh_id mesh, const struct instance *instance);
void build_light(struct build *build, vec3s at, float radius, vec3s color, vec3s direction, float cone);
void build_decal(struct build *build, vec3s at, vec3s half, float yaw, uint32_t kind);
void build_houses(struct build *build);
void build_streets(struct build *build);
void build_traffic(struct scene *scene);
/* meshes.c */
void scene_meshes(struct scene *scene);

/* A number in 0 .. 1 that depends on nothing but a, b and c. */
static inline uint32_t hash_bits(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t n = a * 73856093u ^ b * 19349663u ^ c * 83492791u;
    n = (n ^ (n >> 15)) * 0x2c1b3c6du;
    n = (n ^ (n >> 12)) * 0x297a2d39u;
    return n ^ (n >> 15);
}

static inline float hash01(uint32_t a, uint32_t b, uint32_t c)
{
    return (float)(hash_bits(a, b, c) & 0xffffffu) / 16777215.0f;
}

static inline uint32_t matter_of(enum matter matter, uint32_t style, uint32_t seed)
{
    return (uint32_t)matter | style << 4 | seed << 8;
}

struct scene_view {
    uint32_t frame, camera, width, height, out_width, out_height;
    uint32_t volume[3], pyramid[3], detail[3];
    uint32_t shadow_size;
};
/* What the frame uploads: a function of the scene and the view alone. */
void scene_frame(const struct scene *scene, const struct scene_view *view, struct frame_data *out);
/* animate.c: the moving instances and their lights. */
uint32_t scene_movers(const struct scene *scene, float seconds, float last, struct instance *movers,
                      struct light *lights, uint32_t room);

#endif
