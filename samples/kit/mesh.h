/* Procedural meshes. Those of one store lie in one vertex and one index array. */
#ifndef KIT_MESH_H
#define KIT_MESH_H

#include <stdbool.h>
#include <stdint.h>

#include "maths.h"

struct mesh_vertex {
    vec3s position, normal;
};

struct mesh {
    uint32_t first_index, index_count;
};

/* Grows as meshes are added; failed is set, and stays set, when memory ran out. */
struct mesh_store {
    struct mesh_vertex *vertices;
    uint32_t *indices;
    uint32_t vertex_count, vertex_room, index_count, index_room;
    bool failed;
};

void mesh_store_free(struct mesh_store *store);

/* Each returns the range that it added. Faces are counter-clockwise from outside. */
struct mesh mesh_plane(struct mesh_store *store);                                /* 1 x 1 in xz, facing up */
struct mesh mesh_box(struct mesh_store *store);                                  /* 1 x 1 x 1 around the origin */
struct mesh mesh_sphere(struct mesh_store *store, uint32_t around, uint32_t up); /* radius 1 */
/* Turns the profile (x: radius, y: height, from bottom to top) about y. */
struct mesh mesh_lathe(struct mesh_store *store, const float (*profile)[2], uint32_t points, uint32_t around);
/* A shaft of height 1 and base radius 1 that swells and tapers, with flutes. */
struct mesh mesh_column(struct mesh_store *store, uint32_t flutes, float top_radius, float flute_depth);
/* A tube of radius tube around the (p, q) torus knot of radius 1. */
struct mesh mesh_knot(struct mesh_store *store, int p, int q, float tube, uint32_t along, uint32_t around);
/* A wall panel in the xy plane, from y 0 to height, x -width/2 to width/2, with a round arch of that radius cut out of
 * its foot, depth thick around z = 0. */
struct mesh mesh_arch(struct mesh_store *store, float width, float height, float radius, float depth,
                      uint32_t segments);
/* The half ring inner..outer around the arch, depth thick. */
struct mesh mesh_half_ring(struct mesh_store *store, float inner, float outer, float depth, uint32_t segments);

#endif
