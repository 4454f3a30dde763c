/* Vectors and matrices of the sample: column-major, right-handed world with y up, Vulkan clip space, depth 1 near to 0
 * far. */
#ifndef DEFERRED_MATHS_H
#define DEFERRED_MATHS_H

#include <math.h>

#define PI 3.14159265358979f

typedef struct vec3 {
    float x, y, z;
} vec3;
typedef struct vec4 {
    float x, y, z, w;
} vec4;
typedef struct mat4 {
    float m[4][4]; /* [column][row] */
} mat4;

static inline vec3 v3(float x, float y, float z)
{
    return (vec3){x, y, z};
}
static inline vec3 v3_add(vec3 a, vec3 b)
{
    return v3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline vec3 v3_sub(vec3 a, vec3 b)
{
    return v3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline vec3 v3_scale(vec3 a, float s)
{
    return v3(a.x * s, a.y * s, a.z * s);
}
static inline float v3_dot(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline vec3 v3_cross(vec3 a, vec3 b)
{
    return v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline vec3 v3_normalize(vec3 a)
{
    float length = sqrtf(v3_dot(a, a));
    return length > 0.0f ? v3_scale(a, 1.0f / length) : a;
}

static inline mat4 m4_identity(void)
{
    return (mat4){{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
}

static inline mat4 m4_mul(mat4 a, mat4 b)
{
    mat4 r;
    for (int c = 0; c < 4; c++) {
        for (int row = 0; row < 4; row++) {
            float sum = 0.0f;
            for (int k = 0; k < 4; k++)
                sum += a.m[k][row] * b.m[c][k];
            r.m[c][row] = sum;
        }
    }
    return r;
}

/* Translation, then a turn about y, then scale: what almost every instance needs. */
static inline mat4 m4_place(vec3 at, float turn, vec3 scale)
{
    float c = cosf(turn), s = sinf(turn);
    return (mat4){{{c * scale.x, 0, -s * scale.x, 0},
                   {0, scale.y, 0, 0},
                   {s * scale.z, 0, c * scale.z, 0},
                   {at.x, at.y, at.z, 1}}};
}

static inline mat4 m4_rotate_x(float angle)
{
    float c = cosf(angle), s = sinf(angle);
    return (mat4){{{1, 0, 0, 0}, {0, c, s, 0}, {0, -s, c, 0}, {0, 0, 0, 1}}};
}

static inline mat4 m4_look_at(vec3 eye, vec3 target, vec3 up)
{
    vec3 back = v3_normalize(v3_sub(eye, target));
    vec3 right = v3_normalize(v3_cross(up, back));
    vec3 top = v3_cross(back, right);
    return (mat4){{{right.x, top.x, back.x, 0},
                   {right.y, top.y, back.y, 0},
                   {right.z, top.z, back.z, 0},
                   {-v3_dot(right, eye), -v3_dot(top, eye), -v3_dot(back, eye), 1}}};
}

/* Reverse depth: the near plane at 1, the far plane at 0. */
static inline mat4 m4_perspective(float tan_half_x, float tan_half_y, float near_z, float far_z)
{
    mat4 r = {{{0}}};
    r.m[0][0] = 1.0f / tan_half_x;
    r.m[1][1] = -1.0f / tan_half_y;
    r.m[2][2] = near_z / (far_z - near_z);
    r.m[2][3] = -1.0f;
    r.m[3][2] = near_z * far_z / (far_z - near_z);
    return r;
}

/* A box around the origin of view space, looking down -z; reverse depth as well. */
static inline mat4 m4_orthographic(float half_x, float half_y, float near_z, float far_z)
{
    mat4 r = {{{0}}};
    r.m[0][0] = 1.0f / half_x;
    r.m[1][1] = -1.0f / half_y;
    r.m[2][2] = 1.0f / (far_z - near_z);
    r.m[3][2] = far_z / (far_z - near_z);
    r.m[3][3] = 1.0f;
    return r;
}

/* Gauss-Jordan with pivots, in double: a view-projection matrix is badly scaled. Singular input gives the identity. */
static inline mat4 m4_inverse(mat4 a)
{
    double w[4][8];
    for (int r = 0; r < 4; r++) {
        for (int c = 0; c < 4; c++) {
            w[r][c] = a.m[c][r];
            w[r][c + 4] = r == c;
        }
    }
    for (int k = 0; k < 4; k++) {
        int pivot = k;
        for (int r = k + 1; r < 4; r++) {
            if (fabs(w[r][k]) > fabs(w[pivot][k]))
                pivot = r;
        }
        if (w[pivot][k] == 0.0)
            return m4_identity();
        for (int c = 0; c < 8; c++) {
            double t = w[k][c];
            w[k][c] = w[pivot][c];
            w[pivot][c] = t;
        }
        double scale = 1.0 / w[k][k];
        for (int c = 0; c < 8; c++)
            w[k][c] *= scale;
        for (int r = 0; r < 4; r++) {
            double f = w[r][k];
            for (int c = 0; c < 8 && r != k; c++)
                w[r][c] -= f * w[k][c];
        }
    }
    mat4 out;
    for (int r = 0; r < 4; r++) {
        for (int c = 0; c < 4; c++)
            out.m[c][r] = (float)w[r][c + 4];
    }
    return out;
}

#endif
