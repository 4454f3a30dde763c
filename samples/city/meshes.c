#include "scene.h"

#include <stdlib.h>

/* The meshes of the city. Each fills the unit box around the origin, so an instance's size is its size in metres. */

static void squeeze(struct mesh_store *store, uint32_t first_vertex)
{
    vec3s lo = v3(1e9f, 1e9f, 1e9f), hi = v3(-1e9f, -1e9f, -1e9f);
    for (uint32_t i = first_vertex; i < store->vertex_count; i++) {
        vec3s p = store->vertices[i].position;
        lo = v3(fminf(lo.x, p.x), fminf(lo.y, p.y), fminf(lo.z, p.z));
        hi = v3(fmaxf(hi.x, p.x), fmaxf(hi.y, p.y), fmaxf(hi.z, p.z));
    }
    for (uint32_t i = first_vertex; i < store->vertex_count; i++) {
        struct mesh_vertex *v = &store->vertices[i];
        vec3s span = v3(fmaxf(hi.x - lo.x, 1e-6f), fmaxf(hi.y - lo.y, 1e-6f), fmaxf(hi.z - lo.z, 1e-6f));
        v->position = v3((v->position.x - lo.x) / span.x - 0.5f, (v->position.y - lo.y) / span.y - 0.5f,
                         (v->position.z - lo.z) / span.z - 0.5f);
        v->normal = glms_vec3_normalize(v3(v->normal.x * span.x, v->normal.y * span.y, v->normal.z * span.z));
    }
}

/* A cross section of a vehicle at z: heights and half widths of sill, belt line and roof. */
struct section {
    float z, low, belt, roof, wide_low, wide_belt, wide_roof;
};

enum { RING = 12 };

static void ring_of(const struct section *s, vec3s ring[RING])
{
    float side = s->belt - s->low, top = s->roof - s->belt;
    vec3s right[RING / 2] = {v3(0.90f * s->wide_low, s->low, s->z),
                             v3(0.99f * s->wide_low, s->low + 0.16f * side, s->z),
                             v3(s->wide_belt, s->low + 0.62f * side, s->z),
                             v3(0.96f * s->wide_belt, s->belt, s->z),
                             v3(1.03f * s->wide_roof, s->belt + 0.86f * top, s->z),
                             v3(0.84f * s->wide_roof, s->roof, s->z)};
    for (int i = 0; i < RING / 2; i++) {
        ring[i] = right[i];
        ring[RING - 1 - i] = v3(-right[i].x, right[i].y, right[i].z);
    }
}

static void corner(struct mesh_store *store, vec3s at, vec3s normal)
{
    struct mesh_vertex *vertices = realloc(store->vertices, (store->vertex_count + 1) * sizeof *vertices);
    uint32_t *indices = realloc(store->indices, (store->index_count + 1) * sizeof *indices);
    store->vertices = vertices ? vertices : store->vertices;
    store->indices = indices ? indices : store->indices;
    if (!vertices || !indices) {
        store->failed = true;
        return;
    }
    store->vertex_room = store->vertex_count + 1;
    store->index_room = store->index_count + 1;
    store->indices[store->index_count++] = store->vertex_count;
    store->vertices[store->vertex_count++] = (struct mesh_vertex){at, normal};
}

static void triangle(struct mesh_store *store, vec3s a, vec3s b, vec3s c)
{
    vec3s normal = glms_vec3_cross(glms_vec3_sub(b, a), glms_vec3_sub(c, a));
    if (glms_vec3_dot(normal, normal) < 1e-14f)
        return;
    normal = glms_vec3_normalize(normal);
    corner(store, a, normal);
    corner(store, b, normal);
    corner(store, c, normal);
}

/* Faces that meet at less than about 50 degrees share their normals where they meet. */
static void smooth(struct mesh_store *store, uint32_t first)
{
    uint32_t count = store->vertex_count - first;
    vec3s *normals = malloc(count * sizeof *normals);
    if (!normals) {
        store->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct mesh_vertex *a = &store->vertices[first + i];
        vec3s sum = v3(0, 0, 0);
        for (uint32_t k = 0; k < count; k++) {
            const struct mesh_vertex *b = &store->vertices[first + k];
            vec3s off = glms_vec3_sub(a->position, b->position);
            if (glms_vec3_dot(off, off) < 1e-8f && glms_vec3_dot(a->normal, b->normal) > 0.64f)
                sum = glms_vec3_add(sum, b->normal);
        }
        normals[i] = glms_vec3_normalize(sum);
    }
    for (uint32_t i = 0; i < count; i++)
        store->vertices[first + i].normal = normals[i];
    free(normals);
}

/* A skin over the sections, from front (-z) to back, smooth but for its edges. */
static struct mesh loft(struct mesh_store *store, const struct section *sections, uint32_t count)
{
    struct mesh mesh = {.first_index = store->index_count};
    uint32_t first = store->vertex_count;
    vec3s a[RING], b[RING];
    for (uint32_t i = 0; i + 1 < count; i++) {
        ring_of(&sections[i], a);
        ring_of(&sections[i + 1], b);
        for (int k = 0; k < RING; k++) {
            int n = (k + 1) % RING;
            triangle(store, a[k], a[n], b[n]);
            triangle(store, a[k], b[n], b[k]);
        }
    }
    ring_of(&sections[0], a);
    ring_of(&sections[count - 1], b);
    for (int k = 1; k + 1 < RING; k++) {
        triangle(store, a[0], a[k + 1], a[k]);
        triangle(store, b[0], b[k], b[k + 1]);
    }
    smooth(store, first);
    squeeze(store, first);
    mesh.index_count = store->index_count - mesh.first_index;
    return mesh;
}

static struct mesh car(struct mesh_store *store)
{
    static const struct section sections[] = {
        {-2.22f, 0.34f, 0.62f, 0.63f, 0.72f, 0.80f, 0.70f}, {-2.05f, 0.24f, 0.70f, 0.72f, 0.84f, 0.90f, 0.78f},
        {-1.35f, 0.20f, 0.80f, 0.84f, 0.88f, 0.93f, 0.76f}, {-0.85f, 0.20f, 0.86f, 0.95f, 0.88f, 0.94f, 0.72f},
        {-0.15f, 0.20f, 0.90f, 1.36f, 0.88f, 0.94f, 0.62f}, {0.35f, 0.20f, 0.91f, 1.43f, 0.88f, 0.94f, 0.62f},
        {0.95f, 0.20f, 0.92f, 1.37f, 0.88f, 0.94f, 0.62f},  {1.62f, 0.22f, 0.93f, 1.02f, 0.88f, 0.93f, 0.70f},
        {2.08f, 0.26f, 0.90f, 0.94f, 0.84f, 0.90f, 0.74f},  {2.22f, 0.36f, 0.80f, 0.82f, 0.74f, 0.82f, 0.68f}};
    return loft(store, sections, sizeof sections / sizeof sections[0]);
}

static struct mesh bus(struct mesh_store *store)
{
    static const struct section sections[] = {{-5.5f, 0.35f, 1.05f, 2.85f, 1.15f, 1.22f, 1.10f},
                                              {-5.3f, 0.30f, 1.10f, 3.05f, 1.22f, 1.27f, 1.18f},
                                              {5.3f, 0.30f, 1.10f, 3.05f, 1.22f, 1.27f, 1.18f},
                                              {5.5f, 0.35f, 1.05f, 2.85f, 1.15f, 1.22f, 1.10f}};
    return loft(store, sections, sizeof sections / sizeof sections[0]);
}

static struct mesh squeezed(struct mesh_store *store, struct mesh mesh, uint32_t first)
{
    squeeze(store, first);
    return mesh;
}

static struct mesh wheel(struct mesh_store *store)
{
    static const float profile[][2] = {{0.0f, -0.5f}, {0.44f, -0.5f}, {0.5f, -0.3f},
                                       {0.5f, 0.3f},  {0.44f, 0.5f},  {0.0f, 0.5f}};
    uint32_t first = store->vertex_count;
    struct mesh mesh = mesh_lathe(store, profile, 6, 14);
    for (uint32_t i = first; i < store->vertex_count; i++) {
        struct mesh_vertex *v = &store->vertices[i];
        v->position = v3(v->position.y, -v->position.x, v->position.z);
        v->normal = v3(v->normal.y, -v->normal.x, v->normal.z);
    }
    return mesh;
}

/* A tuft of leaves: small quads all over a ball, seen from both sides, with the ball's normals. */
static struct mesh tree(struct mesh_store *store)
{
    enum { LEAVES = 64 };
    uint32_t first = store->vertex_count;
    struct mesh mesh = {.first_index = store->index_count};
    for (uint32_t i = 0; i < LEAVES; i++) {
        float y = 1.0f - 2.0f * ((float)i + 0.5f) / (float)LEAVES, around = 2.39996323f * (float)i,
              r = sqrtf(1.0f - y * y);
        vec3s out = v3(r * cosf(around), y, r * sinf(around));
        vec3s loose = v3(hash01(i, 1, 91) - 0.5f, hash01(i, 2, 91) - 0.5f, hash01(i, 3, 91) - 0.5f);
        vec3s facing = glms_vec3_normalize(glms_vec3_add(out, glms_vec3_scale(loose, 2.2f)));
        vec3s side = glms_vec3_normalize(glms_vec3_cross(facing, v3(0.31f, 0.87f, 0.38f))),
              up = glms_vec3_cross(side, facing);
        vec3s at = glms_vec3_scale(out, 0.62f + 0.38f * hash01(i, 4, 91));
        vec3s a = glms_vec3_scale(side, 0.21f), b = glms_vec3_scale(up, 0.30f);
        vec3s quad[4] = {glms_vec3_sub(at, a), glms_vec3_sub(at, b), glms_vec3_add(at, a), glms_vec3_add(at, b)};
        static const int order[12] = {0, 1, 2, 0, 2, 3, 0, 2, 1, 0, 3, 2};
        for (int k = 0; k < 12; k++)
            corner(store, quad[order[k]], out);
    }
    squeeze(store, first);
    mesh.index_count = store->index_count - mesh.first_index;
    return mesh;
}

void scene_meshes(struct scene *scene)
{
    static const float rod[][2] = {{0.0f, -0.5f}, {0.5f, -0.5f}, {0.5f, -0.49f},
                                   {0.5f, 0.49f}, {0.5f, 0.5f},  {0.0f, 0.5f}};
    static const float coat[][2] = {{0.10f, 0.0f},  {0.13f, 0.05f},  {0.12f, 0.45f}, {0.27f, 0.55f},
                                    {0.25f, 0.95f}, {0.27f, 1.32f},  {0.17f, 1.45f}, {0.07f, 1.49f},
                                    {0.11f, 1.56f}, {0.125f, 1.66f}, {0.09f, 1.76f}, {0.0f, 1.79f}};
    static const float brolly[][2] = {{0.0f, 0.20f},  {0.02f, 0.20f}, {0.5f, 0.0f},   {0.505f, 0.01f},
                                      {0.40f, 0.14f}, {0.22f, 0.24f}, {0.02f, 0.29f}, {0.0f, 0.34f}};
    struct mesh_store *store = &scene->store;
    uint32_t first;
    scene->meshes[MESH_BOX] = mesh_box(store);
    scene->meshes[MESH_PLANE] = mesh_plane(store);
    scene->meshes[MESH_CYLINDER] = mesh_lathe(store, rod, 6, 12);
    scene->meshes[MESH_WHEEL] = wheel(store);
    first = store->vertex_count;
    scene->meshes[MESH_BALL] = squeezed(store, mesh_sphere(store, 14, 10), first);
    scene->meshes[MESH_CAR] = car(store);
    scene->meshes[MESH_BUS] = bus(store);
    first = store->vertex_count;
    scene->meshes[MESH_PERSON] = squeezed(store, mesh_lathe(store, coat, 12, 10), first);
    first = store->vertex_count;
    scene->meshes[MESH_UMBRELLA] = squeezed(store, mesh_lathe(store, brolly, 8, 9), first);
    scene->meshes[MESH_TREE] = tree(store);
}
