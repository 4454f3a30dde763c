#include "scene.h"

#include <string.h>

/* A frame is a function of its number: 30 frames make a second, and the last frame's places are computed again rather
 * than kept, so frames may be made in any order, at once, and come out the same. */

#define KNOT_AT v3(0.0f, 2.75f, -11.2f)

/* Orders the instances by mesh, keeping their order otherwise: one draw a mesh. */
static void group_by_mesh(struct scene *scene)
{
    static struct instance grouped[MAX_INSTANCES];
    uint32_t at = 0;
    for (uint32_t mesh = 0; mesh < MESH_COUNT; mesh++) {
        scene->first_instance[mesh] = at;
        for (uint32_t i = 0; i < scene->instance_count; i++) {
            if (scene->mesh_of[i] == mesh)
                grouped[at++] = scene->rest[i];
        }
    }
    scene->first_instance[MESH_COUNT] = at;
    memcpy(scene->rest, grouped, at * sizeof grouped[0]);
}

bool scene_create(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    if (!scene_layout(scene)) {
        mesh_store_free(&scene->store);
        return false;
    }
    group_by_mesh(scene);
    return true;
}

void scene_destroy(struct scene *scene)
{
    mesh_store_free(&scene->store);
}

static vec3s light_place(const struct scene *scene, uint32_t i, float seconds)
{
    const struct light *light = &scene->lights[i];
    vec3s at = v3(light->x, light->y, light->z);
    if (i - scene->first_orbiting < scene->orbiting_count) {
        float turn = 2.0f * PI * (float)(i - scene->first_orbiting) / (float)scene->orbiting_count + 0.5f * seconds;
        float swing = sinf(3.0f * turn + seconds);
        return glms_vec3_add(KNOT_AT, v3(2.15f * cosf(turn), 0.7f * swing, 2.15f * sinf(turn)));
    }
    if (at.y < 0.12f) /* afloat in the pool */
        return glms_vec3_add(
            at, v3(0.03f * sinf(0.7f * seconds + (float)i), 0.008f * sinf(2.1f * seconds + 1.7f * (float)i), 0.0f));
    if (light->radius < 3.0f) /* fireflies */
        return glms_vec3_add(at,
                             v3(0.3f * sinf(seconds + (float)i), 0.2f * sinf(1.3f * seconds + 2.0f * (float)i), 0.0f));
    return at;
}

static mat4s knot_place(float seconds)
{
    mat4s turn = kit_place(KNOT_AT, 0.0f + 0.35f * seconds, v3(1.45f, 1.45f, 1.45f));
    return glms_mat4_mul(turn, kit_rotate_x(1.15f));
}

static void set_rows(vec4s rows[3], mat4s m)
{
    for (int row = 0; row < 3; row++)
        rows[row] = (vec4s){{m.raw[0][row], m.raw[1][row], m.raw[2][row], m.raw[3][row]}};
}

static void animate(const struct scene *scene, float seconds, float last_seconds, struct frame_data *out)
{
    memcpy(out->instances, scene->rest, scene->instance_count * sizeof out->instances[0]);
    struct instance *knot = &out->instances[scene->first_instance[MESH_KNOT]];
    set_rows(knot->rows, knot_place(seconds));
    set_rows(knot->previous_rows, knot_place(last_seconds));
    for (uint32_t i = 0; i < scene->light_count; i++) {
        vec3s now = light_place(scene, i, seconds), before = light_place(scene, i, last_seconds);
        struct instance *pearl = &out->instances[scene->first_instance[MESH_PEARL] + i];
        out->lights[i] = scene->lights[i];
        out->lights[i].x = pearl->rows[0].w = now.x;
        out->lights[i].y = pearl->rows[1].w = now.y;
        out->lights[i].z = pearl->rows[2].w = now.z;
        pearl->previous_rows[0].w = before.x;
        pearl->previous_rows[1].w = before.y;
        pearl->previous_rows[2].w = before.z;
    }
}

static struct kit_camera camera_at(float seconds)
{
    return (struct kit_camera){.eye = v3(-1.25f + 0.12f * seconds, 1.70f + 0.02f * seconds, 9.65f - 0.14f * seconds),
                               .target = v3(0.15f + 0.02f * seconds, 1.95f, -8.0f),
                               .up = v3(0, 1, 0),
                               .degrees = 50.0f,
                               .near_z = 0.1f,
                               .far_z = 320.0f};
}

void scene_frame(const struct scene *scene, const struct scene_view *view, struct frame_data *out)
{
    struct constants *c = &out->constants;
    float seconds = (float)view->frame / 30.0f, last = view->frame ? (float)(view->frame - 1) / 30.0f : 0.0f;
    float width = (float)view->width, height = (float)view->height;
    struct kit_camera camera = camera_at(seconds), last_camera = camera_at(last);
    vec3s eye = camera.eye;

    mat4s mirror = kit_place(v3(0, 0, 0), 0.0f, v3(1, -1, 1));
    c->view_projection = kit_camera_matrix(&camera, view->width, view->height, view->frame % 16 + 1);
    c->clean_view_projection = kit_camera_matrix(&camera, view->width, view->height, 0);
    c->last_view_projection = kit_camera_matrix(&last_camera, view->width, view->height, 0);
    c->inverse_view_projection = glms_mat4_inv(c->view_projection);
    c->mirror_view_projection = glms_mat4_mul(c->view_projection, mirror);

    vec3s sun = glms_vec3_normalize(v3(-0.78f, 0.285f, -0.58f)), centre = v3(0, 2.0f, -3.0f);
    mat4s from_sun = glms_lookat(glms_vec3_add(centre, glms_vec3_scale(sun, 40.0f)), centre, v3(0, 1, 0));
    c->sun_view_projection = glms_mat4_mul(kit_orthographic(19.0f, 12.5f, 1.0f, 80.0f), from_sun);

    c->eye = (vec4s){{eye.x, eye.y, eye.z, seconds}};
    c->sun = (vec4s){{sun.x, sun.y, sun.z, 1.0f / (float)view->shadow_size}};
    c->sun_color = (vec4s){{5.4f, 2.55f, 0.98f, 0.74f}};
    c->size = (vec4s){{width, height, 1.0f / width, 1.0f / height}};
    c->planes =
        (vec4s){{camera.near_z, camera.far_z, view->frame ? 0.92f : 0.0f, height / (2.0f * kit_camera_tan(&camera))}};
    c->counts[0] = scene->light_count;
    c->counts[1] = view->frame;
    c->counts[2] = view->tiles_x;
    c->counts[3] = view->tiles_y;
    c->detail[0] = view->detail;
    animate(scene, seconds, last, out);
}
