#include "scene.h"

/* What moves: cars and buses in their lanes, people under umbrellas on the pavements. Where each is follows from the
 * time alone. */

static const float dyes[8][3] = {{0.02f, 0.02f, 0.025f}, {0.14f, 0.15f, 0.16f}, {0.25f, 0.012f, 0.02f},
                                 {0.015f, 0.04f, 0.13f}, {0.30f, 0.30f, 0.29f}, {0.42f, 0.24f, 0.015f},
                                 {0.04f, 0.05f, 0.05f},  {0.09f, 0.10f, 0.12f}};

static void add(struct scene *scene, struct traffic t, const float *dye)
{
    if (scene->traffic_count == MAX_TRAFFIC)
        return;
    for (int k = 0; k < 3; k++)
        t.dye[k] = dye[k];
    t.seed = hash_bits(scene->traffic_count, 5, 81);
    scene->traffic[scene->traffic_count++] = t;
}

static void lane_of_cars(struct scene *scene, float lane, bool along_x, bool away, float gap, uint32_t seed)
{
    float at = 0.0f, speed = 7.5f + 2.0f * hash01(seed, 1, 82);
    for (uint32_t k = 0; at < 640.0f; k++) {
        uint32_t here = hash_bits(seed, k, 83);
        bool bus = here % 23 == 7 && !along_x;
        /* In the first seconds no car comes close to the first two cameras. */
        float from = along_x ? -320.0f : -540.0f, place = away ? from + 640.0f - at : from + at, goes = 3.2f * speed;
        bool close = along_x ? place > -12.0f - goes && place < 12.0f + goes
                     : away  ? place > -68.0f && place < -21.0f + goes
                             : place > -68.0f - goes && place < -21.0f;
        if (!close)
            add(scene, (struct traffic){lane, at, speed, {0}, bus ? 1 : 0, 0, along_x, away}, dyes[(here >> 8) % 8]);
        at += gap * (0.55f + 1.1f * hash01(here, 2, 84)) + (bus ? 8.0f : 0.0f);
    }
}

void build_traffic(struct scene *scene)
{
    static const float coats[5][3] = {{0.03f, 0.03f, 0.035f},
                                      {0.07f, 0.045f, 0.03f},
                                      {0.04f, 0.06f, 0.10f},
                                      {0.20f, 0.02f, 0.02f},
                                      {0.10f, 0.10f, 0.09f}};
    lane_of_cars(scene, 1.95f, false, true, 19.0f, 1);
    lane_of_cars(scene, 5.55f, false, true, 24.0f, 2);
    lane_of_cars(scene, -1.95f, false, false, 20.0f, 3);
    lane_of_cars(scene, -5.55f, false, false, 27.0f, 4);
    for (int s = 0; s > -8; s--) {
        float z = STREET_PITCH * (float)s;
        lane_of_cars(scene, z - 1.9f, true, true, 90.0f, (uint32_t)(20 - s));
        lane_of_cars(scene, z + 1.9f, true, false, 90.0f, (uint32_t)(40 - s));
    }
    for (uint32_t k = 0; k < 200; k++) {
        float side = k & 1 ? 1.0f : -1.0f, lane = side * (11.6f + 2.6f * hash01(k, 1, 85));
        add(scene,
            (struct traffic){lane,
                             640.0f * hash01(k, 2, 85),
                             1.0f + 0.6f * hash01(k, 3, 85),
                             {0},
                             2,
                             0,
                             false,
                             hash_bits(k, 4, 85) % 2 == 0},
            coats[k % 5]);
    }
    uint32_t counts[MESH_COUNT] = {0};
    for (uint32_t i = 0; i < scene->traffic_count; i++) {
        uint32_t kind = scene->traffic[i].kind;
        counts[kind == 0 ? MESH_CAR : kind == 1 ? MESH_BUS : MESH_PERSON]++;
        counts[kind == 2 ? MESH_UMBRELLA : MESH_WHEEL] += kind == 2 ? 1 : 4;
    }
    uint32_t first = 0;
    for (uint32_t mesh = 0; mesh < MESH_COUNT; mesh++) {
        scene->mover_first[mesh] = first;
        first += counts[mesh];
    }
    scene->mover_first[MESH_COUNT] = first;
}

struct movers {
    struct instance *items;
    uint32_t at[MESH_COUNT];
    struct light *lights;
    uint32_t light_count, light_room;
};

static void move(struct movers *m, enum mesh_id mesh, vec3s at, vec3s last, float yaw, vec3s size, uint32_t matter,
                 const float *paint, float shine)
{
    m->items[m->at[mesh]++] = (struct instance){.place = at,
                                                .yaw = yaw,
                                                .size = size,
                                                .matter = matter,
                                                .last_place = last,
                                                .last_yaw = yaw,
                                                .paint = {paint[0], paint[1], paint[2]},
                                                .shine = shine};
}

static void shine_light(struct movers *m, vec3s at, float radius, vec3s color, vec3s direction, float edge)
{
    if (m->light_count < m->light_room)
        m->lights[m->light_count++] = (struct light){{{at.x, at.y, at.z, radius}},
                                                     {{color.x, color.y, color.z, -1.0f}},
                                                     {{direction.x, direction.y, direction.z, edge}}};
}

static vec3s place_of(const struct traffic *t, float seconds)
{
    const float span = 640.0f, from = t->along_x ? -320.0f : -540.0f;
    float along = t->start + t->speed * seconds;
    along -= span * floorf(along / span);
    float at = t->away ? from + span - along : from + along;
    return t->along_x ? v3(at, 0, t->lane) : v3(t->lane, 0, at);
}

static void drive(struct movers *m, const struct traffic *t, vec3s at, vec3s last)
{
    static const float rubber[3] = {0.018f, 0.018f, 0.02f};
    bool bus = t->kind == 1;
    float yaw = t->along_x ? (t->away ? 0.5f * PI : -0.5f * PI) : t->away ? 0.0f : PI;
    vec3s size = bus ? v3(2.54f, 2.75f, 11.0f) : v3(1.86f, 1.24f, 4.4f);
    vec3s up = v3(0, bus ? 1.68f : 0.80f, 0), front = v3(-sinf(yaw), 0, -cosf(yaw));
    move(m, bus ? MESH_BUS : MESH_CAR, glms_vec3_add(at, up), glms_vec3_add(last, up), yaw, size,
         matter_of(CAR, bus ? 3u : 1u, t->seed & 0xffffu), t->dye, 0.2f);
    for (int k = 0; k < 4; k++) {
        float x = (k & 1 ? 0.44f : -0.44f) * size.x, z = (k & 2 ? 0.307f : -0.318f) * size.z, s = sinf(yaw),
              c = cosf(yaw);
        float wide = bus ? 0.95f : 0.66f;
        vec3s off = v3(c * x + s * z, 0.5f * wide, -s * x + c * z);
        move(m, MESH_WHEEL, glms_vec3_add(at, off), glms_vec3_add(last, off), yaw, v3(0.26f, wide, wide),
             matter_of(PLAIN, 0, 0), rubber, 0.6f);
    }
    float half = 0.5f * size.z;
    shine_light(m, glms_vec3_add(at, glms_vec3_add(glms_vec3_scale(front, half + 0.1f), v3(0, 0.72f, 0))), 24.0f,
                v3(15.0f, 13.5f, 11.0f), glms_vec3_normalize(glms_vec3_add(front, v3(0, -0.16f, 0))), 0.80f);
    shine_light(m, glms_vec3_add(at, glms_vec3_add(glms_vec3_scale(front, -half - 0.5f), v3(0, 0.8f, 0))), 6.5f,
                v3(2.6f, 0.09f, 0.05f), v3(0, -1, 0), -2.0f);
}

static void walk(struct movers *m, const struct traffic *t, vec3s at, vec3s last, float seconds)
{
    static const float hues[6][3] = {{0.03f, 0.03f, 0.03f}, {0.35f, 0.02f, 0.03f}, {0.02f, 0.08f, 0.20f},
                                     {0.40f, 0.28f, 0.03f}, {0.05f, 0.05f, 0.06f}, {0.03f, 0.16f, 0.12f}};
    float bob = 0.025f * sinf(7.0f * seconds + (float)(t->seed % 64u)), tall = 1.62f + 0.22f * hash01(t->seed, 1, 86);
    vec3s up = v3(0, 0.5f * tall + bob, 0), over = v3(0.08f, tall + 0.22f + bob, 0.0f);
    move(m, MESH_PERSON, glms_vec3_add(at, up), glms_vec3_add(last, up), 0.0f, v3(0.56f, tall, 0.46f),
         matter_of(CLOTH, 2, 0), t->dye, 0.8f);
    move(m, MESH_UMBRELLA, glms_vec3_add(at, over), glms_vec3_add(last, over), 0.3f * (float)(t->seed % 8u),
         v3(1.15f, 0.42f, 1.15f), matter_of(CLOTH, 3, 0), hues[(t->seed >> 6) % 6], 0.35f);
}

uint32_t scene_movers(const struct scene *scene, float seconds, float last, struct instance *movers,
                      struct light *lights, uint32_t room)
{
    struct movers m = {.items = movers, .lights = lights, .light_room = room};
    for (uint32_t mesh = 0; mesh < MESH_COUNT; mesh++)
        m.at[mesh] = scene->mover_first[mesh];
    for (uint32_t i = 0; i < scene->traffic_count; i++) {
        const struct traffic *t = &scene->traffic[i];
        vec3s at = place_of(t, seconds), before = place_of(t, last);
        if (fabsf(at.x - before.x) + fabsf(at.z - before.z) > 20.0f)
            before = at; /* it came round */
        if (t->kind == 2)
            walk(&m, t, at, before, seconds);
        else
            drive(&m, t, at, before);
    }
    return m.light_count;
}
