/* Vectors and matrices: cglm's structures (vec3s, mat4s, glms_...), and what it lacks. Column-major, right-handed, y
 * up, Vulkan's clip space, depth from 1 (near) to 0 (far). */
#ifndef KIT_MATHS_H
#define KIT_MATHS_H

#define CGLM_ALL_UNALIGNED /* a scene lays them out as its shaders do */
#include <cglm/struct.h>

#define PI 3.14159265358979f

static inline vec3s v3(float x, float y, float z)
{
    return (vec3s){{x, y, z}};
}

/* Translation, then a turn about y, then scale: what almost every instance needs. */
static inline mat4s kit_place(vec3s at, float turn, vec3s scale)
{
    float c = cosf(turn), s = sinf(turn);
    return (mat4s){.raw = {{c * scale.x, 0, -s * scale.x, 0},
                           {0, scale.y, 0, 0},
                           {s * scale.z, 0, c * scale.z, 0},
                           {at.x, at.y, at.z, 1}}};
}

static inline mat4s kit_rotate_x(float angle)
{
    float c = cosf(angle), s = sinf(angle);
    return (mat4s){.raw = {{1, 0, 0, 0}, {0, c, s, 0}, {0, -s, c, 0}, {0, 0, 0, 1}}};
}

/* tan_half: of half the angle of view, across and down. */
static inline mat4s kit_perspective(float tan_half_x, float tan_half_y, float near_z, float far_z)
{
    mat4s r = {.raw = {{0}}};
    r.raw[0][0] = 1.0f / tan_half_x;
    r.raw[1][1] = -1.0f / tan_half_y;
    r.raw[2][2] = near_z / (far_z - near_z);
    r.raw[2][3] = -1.0f;
    r.raw[3][2] = near_z * far_z / (far_z - near_z);
    return r;
}

/* A box around the origin of view space, looking down -z. */
static inline mat4s kit_orthographic(float half_x, float half_y, float near_z, float far_z)
{
    mat4s r = {.raw = {{0}}};
    r.raw[0][0] = 1.0f / half_x;
    r.raw[1][1] = -1.0f / half_y;
    r.raw[2][2] = 1.0f / (far_z - near_z);
    r.raw[3][2] = far_z / (far_z - near_z);
    r.raw[3][3] = 1.0f;
    return r;
}

/* Element `index` (from 1 on) of Halton's sequence: jitter of temporal filters, points that are spread well. */
static inline float kit_halton(uint32_t index, uint32_t base)
{
    float fraction = 1.0f, value = 0.0f;
    for (; index > 0; index /= base) {
        fraction /= (float)base;
        value += fraction * (float)(index % base);
    }
    return value;
}

struct kit_camera {
    vec3s eye, target, up;
    float degrees; /* angle of view, down */
    float near_z, far_z;
};

static inline float kit_camera_tan(const struct kit_camera *camera)
{
    return tanf(0.5f * camera->degrees * PI / 180.0f);
}

/* World to clip space, for a picture of width x height. jitter: 0, or which of the points of Halton's sequence within
 * the pixel is in its middle. */
static inline mat4s kit_camera_matrix(const struct kit_camera *camera, uint32_t width, uint32_t height, uint32_t jitter)
{
    float tan_y = kit_camera_tan(camera), across = (float)width, down = (float)height;
    mat4s projection = kit_perspective(tan_y * across / down, tan_y, camera->near_z, camera->far_z);
    if (jitter > 0) {
        projection.raw[2][0] += (kit_halton(jitter, 2) - 0.5f) * 2.0f / across;
        projection.raw[2][1] += (kit_halton(jitter, 3) - 0.5f) * 2.0f / down;
    }
    return glms_mat4_mul(projection, glms_lookat(camera->eye, camera->target, camera->up));
}

#endif
