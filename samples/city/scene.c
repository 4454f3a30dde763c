#include "scene.h"

#include <stdlib.h>
#include <string.h>

/* The scene is a function of its size, a frame a function of its number: 30 frames make a second. */

void build_add(struct build *build, enum mesh_id mesh, const struct instance *instance)
{
    struct instance_list *list = &build->list;
    if (list->count >= build->wanted || build->scene->failed)
        return;
    if (list->count == list->room) {
        uint32_t room = list->room ? list->room * 2 : 16384;
        struct instance *items = realloc(list->items, room * sizeof *items);
        uint8_t *meshes = realloc(list->meshes, room * sizeof *meshes);
        list->items = items ? items : list->items;
        list->meshes = meshes ? meshes : list->meshes;
        if (!items || !meshes) {
            build->scene->failed = true;
            return;
        }
        list->room = room;
    }
    list->meshes[list->count] = (uint8_t)mesh;
    list->items[list->count++] = *instance;
}

void build_light(struct build *build, vec3s at, float radius, vec3s color, vec3s direction, float edge)
{
    struct light_list *list = &build->scene->lights;
    if (list->count == list->room) {
        uint32_t room = list->room ? list->room * 2 : 1024;
        struct light *items = realloc(list->items, room * sizeof *items);
        if (!items) {
            build->scene->failed = true;
            return;
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = (struct light){{{at.x, at.y, at.z, radius}},
                                                {{color.x, color.y, color.z, -1.0f}},
                                                {{direction.x, direction.y, direction.z, edge}}};
}

void build_decal(struct build *build, vec3s at, vec3s half, float yaw, uint32_t kind)
{
    struct scene *scene = build->scene;
    if (scene->decal_count < MAX_DECALS)
        scene->decals[scene->decal_count++] =
            (struct decal){{{at.x, at.y, at.z, yaw}}, {{half.x, half.y, half.z, (float)kind}}};
}

static uint32_t chunks_of(uint32_t instances)
{
    return (instances + CHUNK - 1) / CHUNK;
}

static struct chunk *cut(struct chunk *chunks, const struct mesh *mesh, uint32_t first, uint32_t count)
{
    for (uint32_t at = 0; at < count; at += CHUNK)
        *chunks++ =
            (struct chunk){mesh->index_count, mesh->first_index, first + at, count - at < CHUNK ? count - at : CHUNK};
    return chunks;
}

/* Groups the instances by mesh and cuts each group into chunks. */
static void make_chunks(struct scene *scene, const struct instance_list *list)
{
    uint32_t counts[MESH_COUNT] = {0}, at[MESH_COUNT], total = 0;
    const uint32_t *mover = scene->mover_first;
    for (uint32_t i = 0; i < list->count; i++)
        counts[list->meshes[i]]++;
    for (uint32_t mesh = 0; mesh < MESH_COUNT; mesh++) {
        at[mesh] = total;
        total += counts[mesh];
        scene->chunk_count += chunks_of(counts[mesh]) + chunks_of(mover[mesh + 1] - mover[mesh]);
    }
    scene->static_count = total;
    scene->instance_count = total + mover[MESH_COUNT];
    scene->statics = calloc(total ? total : 1, sizeof *scene->statics);
    scene->chunks = calloc(scene->chunk_count ? scene->chunk_count : 1, sizeof *scene->chunks);
    if (!scene->statics || !scene->chunks) {
        scene->failed = true;
        return;
    }
    struct chunk *chunk = scene->chunks;
    for (uint32_t mesh = 0; mesh < MESH_COUNT; mesh++)
        chunk = cut(chunk, &scene->meshes[mesh], at[mesh], counts[mesh]);
    for (uint32_t mesh = 0; mesh < MESH_COUNT; mesh++)
        chunk = cut(chunk, &scene->meshes[mesh], total + mover[mesh], mover[mesh + 1] - mover[mesh]);
    for (uint32_t i = 0; i < list->count; i++)
        scene->statics[at[list->meshes[i]]++] = list->items[i];
}

bool scene_create(struct scene *scene, uint32_t instances)
{
    memset(scene, 0, sizeof *scene);
    scene->map_from = v3(-768.0f, 0.0f, -1392.0f);
    scene->map = calloc(MAP_SIZE * MAP_SIZE, sizeof *scene->map);
    struct build build = {.scene = scene, .wanted = instances};
    scene_meshes(scene);
    build_traffic(scene);
    if (scene->map && scene->mover_first[MESH_COUNT] <= MAX_MOVERS) {
        build_houses(&build);
        make_chunks(scene, &build.list);
    }
    free(build.list.items);
    free(build.list.meshes);
    if (scene->map && !scene->failed && !scene->store.failed && scene->mover_first[MESH_COUNT] <= MAX_MOVERS)
        return true;
    scene_destroy(scene);
    return false;
}

void scene_destroy(struct scene *scene)
{
    mesh_store_free(&scene->store);
    free(scene->map);
    free(scene->statics);
    free(scene->chunks);
    free(scene->lights.items);
    memset(scene, 0, sizeof *scene);
}

/* ---- the camera ---- */

struct camera {
    vec3s eye, target, eye_speed, target_speed; /* metres, metres a second */
    float angle;                                /* from top to bottom, degrees */
};

static const struct camera cameras[] = {
    {{{0.1f, 1.25f, -30.0f}}, {{0.6f, 6.3f, -90.0f}}, {{0.02f, 0.0f, -0.5f}}, {{0.0f, 0.0f, -0.5f}}, 52.0f},
    {{{-2.4f, 0.85f, -57.0f}}, {{6.8f, 4.7f, -92.0f}}, {{0.05f, 0.0f, -0.35f}}, {{0.0f, 0.0f, -0.3f}}, 56.0f},
    {{{5.5f, 24.0f, 14.0f}}, {{-3.5f, 10.5f, -90.0f}}, {{0.0f, 0.05f, -0.8f}}, {{0.0f, 0.0f, -0.8f}}, 48.0f},
};

static vec3s along(vec3s from, vec3s speed, float seconds)
{
    return glms_vec3_add(from, glms_vec3_scale(speed, seconds));
}

static mat4s view_at(const struct camera *camera, float seconds)
{
    return glms_lookat(along(camera->eye, camera->eye_speed, seconds),
                       along(camera->target, camera->target_speed, seconds), v3(0, 1, 0));
}

/* Each cascade holds a ball around its part of the view and moves by whole texels, so that shadows do not crawl. */
static void place_cascades(struct constants *c, const struct camera *camera, float seconds, float tan_x, float tan_y,
                           uint32_t size)
{
    static const float ends[CASCADES + 1] = {0.2f, 24.0f, 70.0f, 190.0f, 620.0f};
    vec3s eye = along(camera->eye, camera->eye_speed, seconds),
          target = along(camera->target, camera->target_speed, seconds);
    vec3s forward = glms_vec3_normalize(glms_vec3_sub(target, eye)), sun = v3(c->sun.x, c->sun.y, c->sun.z);
    float slope = tan_x * tan_x + tan_y * tan_y;
    for (int i = 0; i < CASCADES; i++) {
        float a = ends[i], b = ends[i + 1], middle = fminf(0.5f * (a + b) * (1.0f + slope), b);
        float radius = sqrtf((b - middle) * (b - middle) + b * b * slope), texel = 2.0f * radius / (float)size;
        vec3s centre = glms_vec3_add(eye, glms_vec3_scale(forward, middle));
        mat4s turn = glms_lookat(v3(0, 0, 0), glms_vec3_scale(sun, -1.0f), v3(0, 1, 0));
        float x = turn.raw[0][0] * centre.x + turn.raw[1][0] * centre.y + turn.raw[2][0] * centre.z;
        float y = turn.raw[0][1] * centre.x + turn.raw[1][1] * centre.y + turn.raw[2][1] * centre.z;
        float dx = floorf(x / texel) * texel - x, dy = floorf(y / texel) * texel - y;
        centre = glms_vec3_add(centre,
                               glms_vec3_add(glms_vec3_scale(v3(turn.raw[0][0], turn.raw[1][0], turn.raw[2][0]), dx),
                                             glms_vec3_scale(v3(turn.raw[0][1], turn.raw[1][1], turn.raw[2][1]), dy)));
        mat4s from_sun = glms_lookat(glms_vec3_add(centre, glms_vec3_scale(sun, 900.0f)), centre, v3(0, 1, 0));
        c->cascades[i] = glms_mat4_mul(kit_orthographic(radius, radius, 10.0f, 900.0f + 2.0f * radius), from_sun);
        (&c->cascade_end.x)[i] = b;
    }
}

/* ---- lights ---- */

struct ranked {
    float far;
    uint32_t index;
};

static int nearest_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->far != y->far)
        return (x->far > y->far) - (x->far < y->far);
    return (x->index > y->index) - (x->index < y->index);
}

/* The MAX_LIGHTS lights that matter most: near the eye, rather before it than behind. The nearest lamps get tiles of
 * the shadow atlas. */
static uint32_t choose_lights(const struct scene *scene, const struct light *moving, uint32_t moving_count, vec3s eye,
                              vec3s forward, struct frame_data *out)
{
    enum { MOST = 8192 };
    static _Thread_local struct ranked ranks[MOST];
    uint32_t count = 0, all = scene->lights.count + moving_count;
    for (uint32_t i = 0; i < all && count < MOST; i++) {
        const struct light *l = i < scene->lights.count ? &scene->lights.items[i] : &moving[i - scene->lights.count];
        vec3s to = glms_vec3_sub(v3(l->place.x, l->place.y, l->place.z), eye);
        float before = glms_vec3_dot(to, forward), far = sqrtf(glms_vec3_dot(to, to));
        if (before < -l->place.w || far > 460.0f)
            continue;
        ranks[count++] = (struct ranked){far - 2.0f * l->place.w, i};
    }
    qsort(ranks, count, sizeof ranks[0], nearest_first);
    count = count < MAX_LIGHTS ? count : MAX_LIGHTS;
    uint32_t tiles = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = ranks[k].index;
        out->lights[k] = i < scene->lights.count ? scene->lights.items[i] : moving[i - scene->lights.count];
        struct light *l = &out->lights[k];
        bool street_lamp = l->direction.w > 0.0f && l->direction.y < -0.9f;
        if (!street_lamp || tiles == LAMP_TILES)
            continue;
        vec3s at = v3(l->place.x, l->place.y, l->place.z);
        mat4s down = glms_lookat(at, glms_vec3_add(at, v3(0, -1, 0)), v3(0, 0, -1));
        out->constants.lamps[tiles] = glms_mat4_mul(kit_perspective(2.6f, 2.6f, 0.3f, l->place.w), down);
        l->color.w = (float)tiles++;
    }
    return count;
}

void scene_frame(const struct scene *scene, const struct scene_view *view, struct frame_data *out)
{
    static _Thread_local struct light moving[2 * MAX_TRAFFIC];
    struct constants *c = &out->constants;
    const struct camera *camera = &cameras[view->camera % (sizeof cameras / sizeof cameras[0])];
    float seconds = (float)view->frame / 30.0f, last = view->frame ? (float)(view->frame - 1) / 30.0f : 0.0f;
    float width = (float)view->width, height = (float)view->height;
    const float near_z = 0.1f, far_z = 2400.0f, tan_y = tanf(0.5f * camera->angle * PI / 180.0f);
    float tan_x = tan_y * (float)view->out_width / (float)view->out_height;
    vec3s eye = along(camera->eye, camera->eye_speed, seconds);
    vec3s target = along(camera->target, camera->target_speed, seconds),
          forward = glms_vec3_normalize(glms_vec3_sub(target, eye));

    mat4s projection = kit_perspective(tan_x, tan_y, near_z, far_z), jittered = projection,
          looking = view_at(camera, seconds);
    float jx = kit_halton(view->frame % 16 + 1, 2) - 0.5f, jy = kit_halton(view->frame % 16 + 1, 3) - 0.5f;
    jittered.raw[2][0] += jx * 2.0f / width;
    jittered.raw[2][1] += jy * 2.0f / height;
    c->view_projection = glms_mat4_mul(jittered, looking);
    c->clean_view_projection = glms_mat4_mul(projection, looking);
    c->last_view_projection = glms_mat4_mul(projection, view_at(camera, last));
    c->inverse_view_projection = glms_mat4_inv(c->view_projection);

    vec3s sun = glms_vec3_normalize(v3(-0.24f, 0.055f, -0.97f));
    c->sun = (vec4s){{sun.x, sun.y, sun.z, 0.0f}};
    c->sun_color = (vec4s){{3.4f, 1.25f, 0.42f, 1.0f}};
    c->eye = (vec4s){{eye.x, eye.y, eye.z, seconds}};
    c->size = (vec4s){{width, height, 1.0f / width, 1.0f / height}};
    c->out_size = (vec4s){{(float)view->out_width, (float)view->out_height, 1.0f / (float)view->out_width,
                           1.0f / (float)view->out_height}};
    c->planes = (vec4s){{near_z, far_z, view->frame ? 1.0f : 0.0f, height / (2.0f * tan_y)}};
    /* m[2][0] moves clip space by -jitter * z, and w is -z: the picture moves by minus the jitter. */
    c->jitter = (vec4s){{-jx / width, -jy / height, scene->map_from.x, scene->map_from.z}};
    place_cascades(c, camera, seconds, tan_x, tan_y, view->shadow_size);

    uint32_t moving_count = scene_movers(scene, seconds, last, out->movers, moving, 2 * MAX_TRAFFIC);
    for (int i = 0; i < LAMP_TILES; i++)
        c->lamps[i] = glms_mat4_identity();
    c->counts[0] = choose_lights(scene, moving, moving_count, eye, forward, out);
    c->counts[1] = view->frame;
    c->counts[2] = scene->static_count;
    c->counts[3] = scene->instance_count;
    for (int k = 0; k < 3; k++) {
        c->detail[k] = view->detail[k];
        c->pyramid[k] = view->pyramid[k];
        c->volume[k] = view->volume[k];
    }
    c->detail[3] = scene->chunk_count;
}
