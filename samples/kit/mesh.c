#include "mesh.h"

#include <stdlib.h>

/* Every builder writes quads (a, b, c, d counter-clockwise from outside) or a grid of them. Normals are given by the
 * builders where the surface is smooth and by the face where it is flat. */

void mesh_store_free(struct mesh_store *store)
{
    free(store->vertices);
    free(store->indices);
    *store = (struct mesh_store){0};
}

static uint32_t add_vertex(struct mesh_store *store, vec3s position, vec3s normal)
{
    if (store->vertex_count == store->vertex_room) {
        uint32_t room = store->vertex_room ? store->vertex_room * 2 : 4096;
        struct mesh_vertex *grown = realloc(store->vertices, room * sizeof *grown);
        if (!grown) {
            store->failed = true;
            return 0;
        }
        store->vertices = grown;
        store->vertex_room = room;
    }
    store->vertices[store->vertex_count] = (struct mesh_vertex){position, glms_vec3_normalize(normal)};
    return store->vertex_count++;
}

static void add_index(struct mesh_store *store, uint32_t index)
{
    if (store->index_count == store->index_room) {
        uint32_t room = store->index_room ? store->index_room * 2 : 8192;
        uint32_t *grown = realloc(store->indices, room * sizeof *grown);
        if (!grown) {
            store->failed = true;
            return;
        }
        store->indices = grown;
        store->index_room = room;
    }
    store->indices[store->index_count++] = index;
}

static void add_triangle(struct mesh_store *store, uint32_t a, uint32_t b, uint32_t c)
{
    add_index(store, a);
    add_index(store, b);
    add_index(store, c);
}

static void flat_quad(struct mesh_store *store, vec3s a, vec3s b, vec3s c, vec3s d)
{
    vec3s normal = glms_vec3_cross(glms_vec3_sub(b, a), glms_vec3_sub(d, a));
    if (glms_vec3_dot(normal, normal) < 1e-12f)
        normal = glms_vec3_cross(glms_vec3_sub(c, b), glms_vec3_sub(d, b));
    uint32_t first = add_vertex(store, a, normal);
    add_vertex(store, b, normal);
    add_vertex(store, c, normal);
    add_vertex(store, d, normal);
    add_triangle(store, first, first + 1, first + 2);
    add_triangle(store, first, first + 2, first + 3);
}

/* Joins a grid of (columns + 1) * (rows + 1) vertices that starts at first; columns run to the right seen from outside.
 */
static void join_grid(struct mesh_store *store, uint32_t first, uint32_t columns, uint32_t rows)
{
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t column = 0; column < columns; column++) {
            uint32_t a = first + row * (columns + 1) + column, b = a + 1, d = a + columns + 1, c = d + 1;
            add_triangle(store, a, b, c);
            add_triangle(store, a, c, d);
        }
    }
}

static struct mesh begin(const struct mesh_store *store)
{
    return (struct mesh){.first_index = store->index_count};
}

static struct mesh end(const struct mesh_store *store, struct mesh mesh)
{
    mesh.index_count = store->index_count - mesh.first_index;
    return mesh;
}

static void add_box(struct mesh_store *store, vec3s lo, vec3s hi)
{
    vec3s p[8];
    for (int i = 0; i < 8; i++)
        p[i] = v3(i & 1 ? hi.x : lo.x, i & 2 ? hi.y : lo.y, i & 4 ? hi.z : lo.z);
    flat_quad(store, p[4], p[5], p[7], p[6]);
    flat_quad(store, p[1], p[0], p[2], p[3]);
    flat_quad(store, p[5], p[1], p[3], p[7]);
    flat_quad(store, p[0], p[4], p[6], p[2]);
    flat_quad(store, p[6], p[7], p[3], p[2]);
    flat_quad(store, p[0], p[1], p[5], p[4]);
}

struct mesh mesh_plane(struct mesh_store *store)
{
    struct mesh mesh = begin(store);
    flat_quad(store, v3(-0.5f, 0, 0.5f), v3(0.5f, 0, 0.5f), v3(0.5f, 0, -0.5f), v3(-0.5f, 0, -0.5f));
    return end(store, mesh);
}

struct mesh mesh_box(struct mesh_store *store)
{
    struct mesh mesh = begin(store);
    add_box(store, v3(-0.5f, -0.5f, -0.5f), v3(0.5f, 0.5f, 0.5f));
    return end(store, mesh);
}

struct mesh mesh_sphere(struct mesh_store *store, uint32_t around, uint32_t up)
{
    struct mesh mesh = begin(store);
    uint32_t first = store->vertex_count;
    for (uint32_t row = 0; row <= up; row++) {
        float v = PI * (float)row / (float)up;
        for (uint32_t column = 0; column <= around; column++) {
            float u = 2.0f * PI * (float)column / (float)around;
            vec3s p = v3(sinf(v) * sinf(u), -cosf(v), sinf(v) * cosf(u));
            add_vertex(store, p, p);
        }
    }
    join_grid(store, first, around, up);
    return end(store, mesh);
}

struct mesh mesh_lathe(struct mesh_store *store, const float (*profile)[2], uint32_t points, uint32_t around)
{
    struct mesh mesh = begin(store);
    /* Each stretch of the profile has its own normals: mouldings keep their edges, and turn smoothly around the axis.
     */
    for (uint32_t i = 0; i + 1 < points; i++) {
        float dr = profile[i + 1][0] - profile[i][0], dy = profile[i + 1][1] - profile[i][1];
        uint32_t first = store->vertex_count;
        for (uint32_t row = 0; row < 2; row++) {
            for (uint32_t column = 0; column <= around; column++) {
                float u = 2.0f * PI * (float)column / (float)around, r = profile[i + row][0];
                add_vertex(store, v3(r * sinf(u), profile[i + row][1], r * cosf(u)),
                           v3(dy * sinf(u), -dr, dy * cosf(u)));
            }
        }
        join_grid(store, first, around, 1);
    }
    return end(store, mesh);
}

/* Radius of a fluted, slightly swelling shaft at angle u and height y. */
static float shaft_radius(float u, float y, uint32_t flutes, float top_radius, float flute_depth)
{
    float taper = 1.0f + (top_radius - 1.0f) * y + 0.045f * sinf(PI * y);
    float wave = fabsf(sinf(0.5f * u * (float)flutes));
    float ends = fminf(1.0f, fminf(y, 1.0f - y) * 14.0f);
    return taper * (1.0f - flute_depth * wave * sqrtf(ends));
}

struct mesh mesh_column(struct mesh_store *store, uint32_t flutes, float top_radius, float flute_depth)
{
    static const float heights[] = {0.0f,  0.012f, 0.035f, 0.07f,  0.2f,   0.35f, 0.5f,
                                    0.65f, 0.8f,   0.93f,  0.965f, 0.988f, 1.0f};
    const uint32_t rows = sizeof heights / sizeof heights[0] - 1, around = flutes * 5;
    struct mesh mesh = begin(store);
    uint32_t first = store->vertex_count;
    for (uint32_t row = 0; row <= rows; row++) {
        for (uint32_t column = 0; column <= around; column++) {
            float u = 2.0f * PI * (float)column / (float)around, y = heights[row], step = 0.01f;
            float r = shaft_radius(u, y, flutes, top_radius, flute_depth);
            float slope = (shaft_radius(u + step, y, flutes, top_radius, flute_depth) -
                           shaft_radius(u - step, y, flutes, top_radius, flute_depth)) /
                          (2.0f * step);
            vec3s out = v3(sinf(u), 0.0f, cosf(u)), side = v3(cosf(u), 0.0f, -sinf(u));
            add_vertex(store, v3(r * out.x, y, r * out.z),
                       glms_vec3_sub(glms_vec3_scale(out, r), glms_vec3_scale(side, slope)));
        }
    }
    join_grid(store, first, around, rows);
    return end(store, mesh);
}

static vec3s knot_point(int p, int q, float t)
{
    float r = 0.72f + 0.30f * cosf((float)q * t);
    return v3(r * cosf((float)p * t), 0.46f * sinf((float)q * t), r * sinf((float)p * t));
}

struct mesh mesh_knot(struct mesh_store *store, int p, int q, float tube, uint32_t along, uint32_t around)
{
    struct mesh mesh = begin(store);
    uint32_t first = store->vertex_count;
    for (uint32_t row = 0; row <= along; row++) {
        float t = 2.0f * PI * (float)row / (float)along;
        vec3s centre = knot_point(p, q, t);
        vec3s ahead = glms_vec3_normalize(glms_vec3_sub(knot_point(p, q, t + 0.01f), knot_point(p, q, t - 0.01f)));
        vec3s side = glms_vec3_normalize(glms_vec3_cross(ahead, glms_vec3_add(centre, v3(0.0f, 0.001f, 0.0f)))),
              top = glms_vec3_cross(ahead, side);
        for (uint32_t column = 0; column <= around; column++) {
            float u = 2.0f * PI * (float)column / (float)around;
            vec3s out = glms_vec3_add(glms_vec3_scale(side, cosf(u)), glms_vec3_scale(top, sinf(u)));
            add_vertex(store, glms_vec3_add(centre, glms_vec3_scale(out, tube)), out);
        }
    }
    join_grid(store, first, around, along);
    return end(store, mesh);
}

struct mesh mesh_arch(struct mesh_store *store, float width, float height, float radius, float depth, uint32_t segments)
{
    struct mesh mesh = begin(store);
    float front = depth * 0.5f, edge = width * 0.5f;
    add_box(store, v3(-edge, 0.0f, -front), v3(-radius, height, front));
    add_box(store, v3(radius, 0.0f, -front), v3(edge, height, front));
    uint32_t soffit = store->vertex_count;
    for (uint32_t i = 0; i <= segments; i++) { /* the curved underside */
        float u = PI * (float)i / (float)segments;
        vec3s in = v3(cosf(u), -sinf(u), 0.0f);
        add_vertex(store, v3(-radius * in.x, -radius * in.y, front), in);
        add_vertex(store, v3(-radius * in.x, -radius * in.y, -front), in);
    }
    for (uint32_t i = 0; i < segments; i++) {
        uint32_t a = soffit + 2 * i;
        add_triangle(store, a, a + 3, a + 2);
        add_triangle(store, a, a + 1, a + 3);
    }
    for (uint32_t i = 0; i < segments; i++) { /* the faces over it, and the top */
        float u = PI * (float)i / (float)segments, next = PI * (float)(i + 1) / (float)segments;
        float x0 = -radius * cosf(u), y0 = radius * sinf(u), x1 = -radius * cosf(next), y1 = radius * sinf(next);
        flat_quad(store, v3(x0, y0, front), v3(x1, y1, front), v3(x1, height, front), v3(x0, height, front));
        flat_quad(store, v3(x1, y1, -front), v3(x0, y0, -front), v3(x0, height, -front), v3(x1, height, -front));
    }
    flat_quad(store, v3(-radius, height, front), v3(radius, height, front), v3(radius, height, -front),
              v3(-radius, height, -front));
    return end(store, mesh);
}

struct mesh mesh_half_ring(struct mesh_store *store, float inner, float outer, float depth, uint32_t segments)
{
    struct mesh mesh = begin(store);
    float front = depth * 0.5f;
    for (uint32_t i = 0; i < segments; i++) {
        float u = PI * (float)i / (float)segments, next = PI * (float)(i + 1) / (float)segments;
        float c0 = -cosf(u), s0 = sinf(u), c1 = -cosf(next), s1 = sinf(next);
        vec3s a = v3(inner * c0, inner * s0, front), b = v3(inner * c1, inner * s1, front);
        vec3s c = v3(outer * c1, outer * s1, front), d = v3(outer * c0, outer * s0, front);
        vec3s away = v3(0.0f, 0.0f, -depth);
        flat_quad(store, a, b, c, d);
        flat_quad(store, glms_vec3_add(b, away), glms_vec3_add(a, away), glms_vec3_add(d, away),
                  glms_vec3_add(c, away));
        flat_quad(store, d, c, glms_vec3_add(c, away), glms_vec3_add(d, away));
        flat_quad(store, b, a, glms_vec3_add(a, away), glms_vec3_add(b, away));
    }
    return end(store, mesh);
}
