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

enum { RING = 8 };

static void ring_of(const struct section *s, vec3s ring[RING])
{
    const float shoulder = 0.82f;
    vec3s right[RING / 2] = {v3(s->wide_low, s->low, s->z), v3(s->wide_belt, s->low + (s->belt - s->low) * 0.55f, s->z),
                             v3(s->wide_belt * 0.97f, s->belt, s->z),
                             v3(s->wide_roof, s->belt + (s->roof - s->belt) * 1.0f, s->z)};
    right[3].x *= s->roof > s->belt + 0.02f ? 1.0f : shoulder;
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

/* A skin over the sections, from front (-z) to back, with flat faces. */
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

/* A crown of leaves: a ball with lumps. */
static struct mesh tree(struct mesh_store *store)
{
    uint32_t first = store->vertex_count;
    struct mesh mesh = mesh_sphere(store, 14, 10);
    for (uint32_t i = first; i < store->vertex_count; i++) {
        struct mesh_vertex *v = &store->vertices[i];
        vec3s p = v->position;
        float lump =
            1.0f + 0.16f * sinf(5.1f * p.x + 2.0f) * sinf(4.3f * p.y + 1.0f) + 0.13f * sinf(6.7f * p.z + 3.1f * p.x);
        v->position = glms_vec3_scale(p, lump);
    }
    squeeze(store, first);
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
