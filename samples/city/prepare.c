#include "city.h"

#include <stddef.h>
#include <string.h>

/* What the CPU works out for a frame before it is declared: camera, lights and all that moves, a page of texture and
 * one of mesh. An engine calls it simulation. hd_vk_upload then copies it while the frame is
 * declared, and a pass on the transfer queue puts each part where it belongs. */

/* A knot of light that turns above the avenue, bent anew each frame. */
static void bend_knot(struct mesh_vertex *vertices, float seconds)
{
    for (uint32_t i = 0; i <= KNOT_ALONG; i++) {
        vec3s at[3];
        for (int k = 0; k < 3; k++) {
            float t = 2.0f * PI * ((float)i + 0.5f * (float)(k - 1)) / (float)KNOT_ALONG;
            float r = 2.6f + 0.9f * cosf(3.0f * t + 0.6f * seconds);
            at[k] = v3(r * cosf(2.0f * t + 0.5f * seconds), 1.15f * r * sinf(2.0f * t + 0.5f * seconds),
                       1.5f * sinf(3.0f * t + 0.6f * seconds));
        }
        vec3s along = glms_vec3_normalize(glms_vec3_sub(at[2], at[0]));
        vec3s side = glms_vec3_normalize(glms_vec3_cross(along, v3(0, 0, 1))), up = glms_vec3_cross(side, along);
        for (uint32_t k = 0; k <= KNOT_AROUND; k++) {
            float a = 2.0f * PI * (float)k / (float)KNOT_AROUND;
            vec3s out = glms_vec3_add(glms_vec3_scale(side, cosf(a)), glms_vec3_scale(up, sinf(a)));
            *vertices++ = (struct mesh_vertex){glms_vec3_add(at[1], glms_vec3_scale(out, 0.34f)), out};
        }
    }
}

enum { PAGE_ROWS = 16, PAGE_PARTS = PAGE_HEIGHT / PAGE_ROWS, PARTS = PAGE_PARTS + 2 };

static void prepare_part(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    struct city *city = user;
    struct prepared *p = &city->prepared;
    float seconds = (float)p->view.frame / 30.0f;
    (void)worker;
    for (uint32_t i = begin; i < end; i++) {
        if (i == 0)
            scene_frame(&city->scene, &p->view, &p->data.frame);
        else if (i == 1)
            bend_knot(p->data.knot, seconds);
        else
            page_draw(p->data.page, (i - 2) * PAGE_ROWS, PAGE_ROWS, seconds);
    }
}

void city_prepare(struct city *city, const struct scene_view *view)
{
    if (city->prepared.made && memcmp(view, &city->prepared.view, sizeof *view) == 0)
        return;
    city->prepared.view = *view;
    city->prepared.made = true;
    hd_jobs_parallel_for(city->kit.jobs, PARTS, 1, prepare_part, city);
}

uint64_t prepared_bytes(const struct city *city)
{
    return offsetof(struct prepared, data.frame.movers) - offsetof(struct prepared, data) +
           city->scene.mover_first[MESH_COUNT] * sizeof(struct instance);
}

void unpack(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    const struct prepared *p = &f->city->prepared;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkBuffer from = hd_vk_buffer(recorder, f->staging);
#define OFFSET(part) (offsetof(struct prepared, data.part) - offsetof(struct prepared, data))
    const struct {
        hd_resource to;
        size_t offset, bytes;
    } parts[] = {{f->constants, OFFSET(frame.constants), sizeof p->data.frame.constants},
                 {f->lights, OFFSET(frame.lights), sizeof p->data.frame.lights},
                 {f->movers, OFFSET(frame.movers), f->city->scene.mover_first[MESH_COUNT] * sizeof(struct instance)},
                 {f->knot, OFFSET(knot), sizeof p->data.knot}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        vkCmdCopyBuffer(commands, from, hd_vk_buffer(recorder, parts[i].to), 1,
                        &(VkBufferCopy){parts[i].offset, 0, parts[i].bytes});
    VkBufferImageCopy page = {.bufferOffset = OFFSET(page),
                              .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                              .imageExtent = {PAGE_WIDTH, PAGE_HEIGHT, 1}};
    vkCmdCopyBufferToImage(commands, from, hd_vk_image(recorder, f->page), VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                           &page);
}
