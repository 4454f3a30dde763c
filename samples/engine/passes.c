#include "engine.h"

/* Record callbacks: any worker of the pool runs them, several at a time. They read the frame that they belong to and
 * ask the recorder for what heddle made. Barriers, layouts, rendering scopes, viewport and scissor are set already. */

static void draw_columns(struct frame *f, hd_recorder *recorder, enum program_id program, uint32_t matrix)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    const VkBuffer buffers[] = {hd_vk_buffer(recorder, f->prism), hd_vk_buffer(recorder, f->columns)};
    const VkDeviceSize offsets[] = {0, 0};
    program_push(f->engine, recorder, program, &matrix, sizeof matrix);
    vkCmdBindVertexBuffers(commands, 0, 2, buffers, offsets);
    vkCmdDraw(commands, f->engine->prism_vertices, f->engine->side * f->engine->side, 0, 0);
}

void record_waves(hd_recorder *recorder, void *user)
{
    struct frame *f = user;
    program_bind(f->engine, recorder, PROGRAM_WAVES, f->constants, f->columns, f->old_columns);
    uint32_t groups = (f->engine->side + 7) / 8;
    vkCmdDispatch(hd_vk_commands(recorder), groups, groups, 1);
}

void record_shadow(hd_recorder *recorder, void *user)
{
    struct frame *f = user;
    program_bind(f->engine, recorder, PROGRAM_SHADOW, f->constants);
    draw_columns(f, recorder, PROGRAM_SHADOW, VIEWS);
}

void record_scene(hd_recorder *recorder, void *user)
{
    struct view_frame *v = user;
    struct frame *f = v->frame;
    enum program_id columns = f->sampled ? PROGRAM_COLUMNS_SAMPLED : PROGRAM_COLUMNS,
                    sky = f->sampled ? PROGRAM_SKY_SAMPLED : PROGRAM_SKY;
    program_bind(f->engine, recorder, columns, f->constants, f->texture, f->shadow);
    draw_columns(f, recorder, columns, v->index);
    program_bind(f->engine, recorder, sky, f->constants);
    program_push(f->engine, recorder, sky, &v->index, sizeof v->index);
    vkCmdDraw(hd_vk_commands(recorder), 3, 1, 0, 0);
}

static void dispatch_over(hd_recorder *recorder, uint32_t width, uint32_t height)
{
    vkCmdDispatch(hd_vk_commands(recorder), (width + 7) / 8, (height + 7) / 8, 1);
}

void record_glow(hd_recorder *recorder, void *user)
{
    struct view_frame *v = user;
    program_bind(v->frame->engine, recorder, PROGRAM_GLOW, v->resolved, v->old_glow, v->glow);
    dispatch_over(recorder, (v->width + 3) / 4, (v->height + 3) / 4);
}

void record_meter(hd_recorder *recorder, void *user)
{
    struct view_frame *v = user;
    program_bind(v->frame->engine, recorder, PROGRAM_METER, v->resolved, v->light);
    vkCmdDispatch(hd_vk_commands(recorder), 1, 1, 1);
}

void record_tone(hd_recorder *recorder, void *user)
{
    struct view_frame *v = user;
    struct frame *f = v->frame;
    const struct {
        uint32_t view;
        float glow;
    } push = {v->index, f->glow ? 1.0f : 0.0f};
    program_bind(f->engine, recorder, PROGRAM_TONE, f->constants, v->resolved, f->glow ? v->glow : v->resolved,
                 v->picture);
    program_push(f->engine, recorder, PROGRAM_TONE, &push, sizeof push);
    dispatch_over(recorder, v->width, v->height);
}
