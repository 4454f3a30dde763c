#include "city.h"

/* Sky, rain, lights, mist and what they do to the scene. */

#define PROGRAM(f, id) (&(f)->city->programs[id])

static void dispatch_all(hd_recorder *recorder, const struct frame *f)
{
    kit_dispatch(recorder, f->width, f->height, 8);
}

static void dispatch_half(hd_recorder *recorder, const struct frame *f)
{
    kit_dispatch(recorder, (f->width + 1) / 2, (f->height + 1) / 2, 8);
}

void make_sky(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_SKY_TABLE), {f->constants}, {f->sky});
    kit_dispatch(recorder, SKY_WIDTH, SKY_HEIGHT, 8);
}

void make_sky_light(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_SKY_LIGHT), {f->constants}, {f->sky}, {f->sky_light});
    kit_dispatch(recorder, 32, 32, 8);
}

void make_ripples(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_RIPPLES), {f->constants}, {f->ripples});
    kit_dispatch(recorder, RIPPLES, RIPPLES, 8);
}

void move_rain(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_RAIN), {f->constants}, {f->drops_before}, {f->drops});
    vkCmdDispatch(hd_vk_commands(recorder), (f->city->drop_count + 63) / 64, 1, 1);
}

void assign_lights(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_CLUSTERS), {f->constants}, {f->lights}, {f->masks});
    vkCmdDispatch(hd_vk_commands(recorder), 16 * 9 * 24, 1, 1); /* the clusters of light.glsl */
}

void inject_fog(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_FOG_INJECT), {f->constants}, {f->lights}, {f->masks},
             {f->lamp_map}, {f->sky_light}, {f->volume_before}, {f->volume});
    vkCmdDispatch(hd_vk_commands(recorder), (f->view.volume[0] + 7) / 8, (f->view.volume[1] + 7) / 8,
                  f->view.volume[2]);
}

void integrate_fog(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_FOG_INTEGRATE), {f->constants}, {f->volume}, {f->fog});
    kit_dispatch(recorder, f->view.volume[0], f->view.volume[1], 8);
}

void trace_occlusion(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_OCCLUSION), {f->constants}, {f->depth}, {f->normal},
             {f->occlusion_noisy});
    dispatch_half(recorder, f);
}

static void blur_occlusion(hd_recorder *recorder, const struct frame *f, hd_resource from, hd_resource to, int x, int y)
{
    int32_t way[2] = {x, y};
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_OCCLUSION_BLUR), {f->constants}, {f->depth}, {from}, {to});
    kit_push(recorder, PROGRAM(f, PROGRAM_OCCLUSION_BLUR), way, sizeof way);
    dispatch_half(recorder, f);
}

void blur_occlusion_across(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    blur_occlusion(recorder, f, f->occlusion_noisy, f->occlusion_across, 1, 0);
}

void blur_occlusion_down(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    blur_occlusion(recorder, f, f->occlusion_across, f->occlusion, 0, 1);
}

void light_scene(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_LIGHT), {f->constants}, {f->lights}, {f->masks}, {f->depth},
             {f->albedo}, {f->normal}, {f->emission}, {f->occlusion}, {f->cascades}, {f->lamp_map}, {f->sky_light},
             {f->map}, {f->lit});
    dispatch_all(recorder, f);
}

void draw_sky(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_SKY), {f->constants}, {f->sky});
    vkCmdDraw(hd_vk_commands(recorder), 3, 1, 0, 0);
}

void trace_reflections(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_REFLECT), {f->constants}, {f->depth}, {f->normal}, {f->lit},
             {f->sky}, {f->sky_light}, {f->map}, {f->mirrored});
    dispatch_all(recorder, f);
}

void steady_reflections(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_REFLECT_TIME), {f->constants}, {f->mirrored}, {f->motion},
             {f->normal}, {f->mirrored_before}, {f->mirrored_steady});
    dispatch_all(recorder, f);
}

static void blur_reflections(hd_recorder *recorder, const struct frame *f, hd_resource from, hd_resource to, int x,
                             int y)
{
    int32_t way[2] = {x, y};
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_REFLECT_BLUR), {f->constants}, {f->depth}, {f->normal}, {from},
             {to});
    kit_push(recorder, PROGRAM(f, PROGRAM_REFLECT_BLUR), way, sizeof way);
    dispatch_all(recorder, f);
}

void blur_reflections_across(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    blur_reflections(recorder, f, f->mirrored_steady, f->mirrored_across, 1, 0);
}

void blur_reflections_down(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    blur_reflections(recorder, f, f->mirrored_across, f->mirrored_smooth, 0, 1);
}

void compose(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_COMPOSE), {f->constants}, {f->depth}, {f->albedo}, {f->normal},
             {f->occlusion}, {f->lit}, {f->mirrored_smooth}, {f->fog}, {f->scene});
    dispatch_all(recorder, f);
}

void draw_hologram(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    VkBuffer buffer = hd_vk_buffer(recorder, f->knot);
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_HOLOGRAM), {f->constants});
    vkCmdBindVertexBuffers(hd_vk_commands(recorder), 0, 1, &buffer, (const VkDeviceSize[]){0});
    vkCmdBindIndexBuffer(hd_vk_commands(recorder), hd_vk_buffer(recorder, f->knot_indices), 0, VK_INDEX_TYPE_UINT32);
    vkCmdDrawIndexed(hd_vk_commands(recorder), 6 * KNOT_ALONG * KNOT_AROUND, 1, 0, 0, 0);
}

void draw_steam(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_STEAM), {f->constants}, {f->lights}, {f->masks}, {f->depth});
    vkCmdDraw(hd_vk_commands(recorder), 4, 10 * 10, 0, 0); /* ten cards a vent: steam.vert */
}

void draw_rain(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_DROPS), {f->constants}, {f->drops}, {f->fog});
    vkCmdDraw(hd_vk_commands(recorder), 4, f->city->drop_count, 0, 0);
}
