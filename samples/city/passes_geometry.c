#include "city.h"

/* Culling and drawing. Culling leaves one indirect draw a chunk; a whole scene is then one call. */

#define PROGRAM(f, id) (&(f)->city->programs[id])

static void cull_chunks(hd_recorder *recorder, const struct frame *f)
{
    vkCmdDispatch(hd_vk_commands(recorder), f->city->scene.chunk_count, 1, 1);
}

void cull_early(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_CULL_EARLY), {f->constants}, {f->statics}, {f->movers},
             {f->chunks}, {f->early.list}, {f->early.draws}, {f->seen_before});
    cull_chunks(recorder, f);
}

void cull_late(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_CULL_LATE), {f->constants}, {f->statics}, {f->movers},
             {f->chunks}, {f->late.list}, {f->late.draws}, {f->seen_before}, {f->seen}, {f->pyramid});
    cull_chunks(recorder, f);
}

void cull_cascade(hd_recorder *recorder, void *user)
{
    const struct step *step = user;
    const struct frame *f = step->frame;
    const struct culled *c = &f->cascade[step->index];
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_CULL_CASCADE), {f->constants}, {f->statics}, {f->movers},
             {f->chunks}, {c->list}, {c->draws});
    kit_push(recorder, PROGRAM(f, PROGRAM_CULL_CASCADE), &step->index, sizeof step->index);
    cull_chunks(recorder, f);
}

void cull_lamps(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_CULL_LAMPS), {f->constants}, {f->statics}, {f->movers},
             {f->chunks}, {f->lamp.list}, {f->lamp.draws});
    cull_chunks(recorder, f);
}

static void bind_buffers(hd_recorder *recorder, const struct frame *f, hd_resource list)
{
    VkBuffer buffers[2] = {hd_vk_buffer(recorder, f->vertices), hd_vk_buffer(recorder, list)};
    vkCmdBindVertexBuffers(hd_vk_commands(recorder), 0, 2, buffers, (const VkDeviceSize[]){0, 0});
    vkCmdBindIndexBuffer(hd_vk_commands(recorder), hd_vk_buffer(recorder, f->indices), 0, VK_INDEX_TYPE_UINT32);
}

static void draw_chunks(hd_recorder *recorder, const struct frame *f, const struct culled *culled)
{
    vkCmdDrawIndexedIndirect(hd_vk_commands(recorder), hd_vk_buffer(recorder, culled->draws), 0,
                             f->city->scene.chunk_count, sizeof(VkDrawIndexedIndirectCommand));
}

static void bind_geometry(hd_recorder *recorder, const struct frame *f, hd_resource list)
{
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_GEOMETRY), {f->constants}, {f->statics}, {f->movers});
    bind_buffers(recorder, f, list);
}

void draw_early(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind_geometry(recorder, f, f->early.list);
    draw_chunks(recorder, f, &f->early);
}

void draw_late(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind_geometry(recorder, f, f->late.list);
    draw_chunks(recorder, f, &f->late);
}

/* --cpu-draws: a draw an instance, recorded in parts by all workers. The list is 0, 1, 2, ... */
void draw_on_workers(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    const struct scene *scene = &f->city->scene;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    uint32_t part = hd_vk_part(recorder), parts = hd_vk_part_count(recorder);
    uint32_t begin = scene->chunk_count * part / parts, end = scene->chunk_count * (part + 1) / parts;
    bind_geometry(recorder, f, f->identity);
    for (uint32_t c = begin; c < end; c++) {
        const struct chunk *chunk = &scene->chunks[c];
        for (uint32_t k = 0; k < chunk->instance_count; k++)
            vkCmdDrawIndexed(commands, chunk->index_count, 1, chunk->first_index, 0, chunk->first_instance + k);
    }
}

void build_pyramid(hd_recorder *recorder, void *user)
{
    const struct step *step = user;
    const struct frame *f = step->frame;
    if (step->index == 0)
        kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_PYRAMID_FIRST), {f->constants}, {f->depth},
                 {f->pyramid, kit_mip(0)});
    else
        kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_PYRAMID), {f->constants},
                 {f->pyramid, kit_mip(step->index - 1)}, {f->pyramid, kit_mip(step->index)});
    kit_dispatch(recorder, step->width, step->height, 8);
}

static void bind_shadow(hd_recorder *recorder, const struct frame *f, const struct culled *culled)
{
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_SHADOW), {f->constants}, {f->statics}, {f->movers});
    bind_buffers(recorder, f, culled->list);
}

void draw_cascade(hd_recorder *recorder, void *user)
{
    const struct step *step = user;
    const struct frame *f = step->frame;
    bind_shadow(recorder, f, &f->cascade[step->index]);
    kit_push(recorder, PROGRAM(f, PROGRAM_SHADOW), &step->index, sizeof step->index);
    draw_chunks(recorder, f, &f->cascade[step->index]);
}

/* The atlas has 4 x 2 tiles: the same draws into each, seen from another lamp. */
void draw_lamps(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    uint32_t size = f->city->lamp_size;
    bind_shadow(recorder, f, &f->lamp);
    for (uint32_t tile = 0; tile < LAMP_TILES; tile++) {
        uint32_t x = tile % 4 * size, y = tile / 4 * size, view = CASCADES + tile;
        vkCmdSetViewport(commands, 0, 1, &(VkViewport){(float)x, (float)y, (float)size, (float)size, 0.0f, 1.0f});
        vkCmdSetScissor(commands, 0, 1, &(VkRect2D){{(int32_t)x, (int32_t)y}, {size, size}});
        kit_push(recorder, PROGRAM(f, PROGRAM_SHADOW), &view, sizeof view);
        draw_chunks(recorder, f, &f->lamp);
    }
}

void fill_materials(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_MATERIALS), {f->constants}, {f->statics}, {f->movers},
             {f->depth}, {f->index}, {f->facing}, {f->page}, {f->ripples}, {f->albedo}, {f->normal}, {f->emission},
             {f->motion});
    kit_dispatch(recorder, f->width, f->height, 8);
}

void draw_decals(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_DECAL), {f->constants}, {f->decals}, {f->depth});
    vkCmdDraw(hd_vk_commands(recorder), 36, f->city->scene.decal_count, 0, 0);
}
