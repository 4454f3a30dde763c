/* The courtyard: instances of procedural meshes, lights, sun and camera, all a pure function of the frame number. */
#ifndef DEFERRED_SCENE_H
#define DEFERRED_SCENE_H

#include "maths.h"
#include "mesh.h"

#define MAX_INSTANCES 768
#define MAX_LIGHTS 128 /* four words of bits in the light masks */

enum mesh_id {
    MESH_GROUND, /* the floor plane alone: left out of the mirrored view */
    MESH_BOX,
    MESH_COLUMN,
    MESH_PLINTH,
    MESH_CAPITAL,
    MESH_ARCH,
    MESH_RING,
    MESH_SPHERE,
    MESH_PEARL, /* a sphere with fewer triangles, for lights */
    MESH_KNOT,
    MESH_URN,
    MESH_PEDESTAL,
    MESH_LANTERN,
    MESH_CYPRESS,
    MESH_COUNT
};

enum surface { SURFACE_PLAIN, SURFACE_STONE, SURFACE_FLOOR, SURFACE_WATER, SURFACE_WALL, SURFACE_LEAVES };

/* As the shaders read them: vertex attributes at instance rate. */
struct instance {
    vec4s rows[3], previous_rows[3]; /* object to world, this frame and the last */
    float red, green, blue, roughness;
    float metallic, emission, surface, number;
};

struct light {
    float x, y, z, radius;
    float red, green, blue, pad;
};

/* std140; shaders/frame.glsl has the same. */
struct constants {
    mat4s view_projection;       /* with this frame's jitter */
    mat4s clean_view_projection; /* without */
    mat4s last_view_projection;  /* of the last frame, without */
    mat4s inverse_view_projection;
    mat4s mirror_view_projection; /* of the courtyard under the floor */
    mat4s sun_view_projection;
    vec4s eye;          /* w: seconds */
    vec4s sun;          /* direction to the sun; w: texel of the shadow map in uv */
    vec4s sun_color;    /* w: exposure */
    vec4s size;         /* width, height, 1 / width, 1 / height */
    vec4s planes;       /* near, far, history weight (0 in the first frame), pixels a metre at distance 1 */
    uint32_t counts[4]; /* lights, frame, tiles across, tiles down */
    uint32_t detail[4]; /* how many times as many samples of occlusion, mist and soft shadows; the rest unused */
};

/* What one frame uploads. */
struct frame_data {
    struct constants constants;
    struct light lights[MAX_LIGHTS];
    struct instance instances[MAX_INSTANCES];
};

struct scene {
    struct mesh_store store;
    struct mesh meshes[MESH_COUNT];
    uint32_t first_instance[MESH_COUNT + 1]; /* instances lie grouped by mesh */
    uint32_t instance_count, light_count;

    /* private: how instances and lights move */
    struct instance rest[MAX_INSTANCES];
    uint32_t mesh_of[MAX_INSTANCES];
    struct light lights[MAX_LIGHTS];         /* the pearl of light i is instance i of MESH_PEARL */
    uint32_t first_orbiting, orbiting_count; /* lights that circle the knot */
};

/* Private: scene_build.c's part of scene_create. */
bool scene_layout(struct scene *scene);

/* False when memory ran out. */
bool scene_create(struct scene *scene);
void scene_destroy(struct scene *scene);

struct scene_view {
    uint32_t frame, width, height, shadow_size, tiles_x, tiles_y, detail;
};
void scene_frame(const struct scene *scene, const struct scene_view *view, struct frame_data *out);

#endif
