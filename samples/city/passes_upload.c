#include "city.h"

#include <stddef.h>
#include <string.h>

/* What the CPU makes each frame. Host passes write into staging memory on heddle's host thread, the transfer queue
 * brings it over: the thread that declares does none of it. */

static void copy(hd_recorder *recorder, hd_resource from, hd_resource to, size_t offset, size_t bytes)
{
    vkCmdCopyBuffer(hd_vk_commands(recorder), hd_vk_buffer(recorder, from), hd_vk_buffer(recorder, to), 1,
                    &(VkBufferCopy){offset, 0, bytes});
}

static void copy_image(hd_recorder *recorder, hd_resource from, hd_resource to, uint32_t width, uint32_t height)
{
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {width, height, 1}};
    vkCmdCopyBufferToImage(hd_vk_commands(recorder), hd_vk_buffer(recorder, from), hd_vk_image(recorder, to),
                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

static size_t mover_bytes(const struct frame *f)
{
    return f->city->scene.mover_first[MESH_COUNT] * sizeof(struct instance);
}

void upload_frame_data(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    copy(recorder, f->staging, f->constants, offsetof(struct frame_data, constants), sizeof f->data.constants);
    copy(recorder, f->staging, f->lights, offsetof(struct frame_data, lights), sizeof f->data.lights);
    copy(recorder, f->staging, f->movers, offsetof(struct frame_data, movers), mover_bytes(f));
}

void upload_page(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    copy_image(recorder, f->page_staging, f->page, PAGE_WIDTH, PAGE_HEIGHT);
}

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

/* Camera, lights and all that moves (reading mapped memory is slow on some devices: they are put together elsewhere); a
 * page of texture, which the screens show, and one of mesh. */
void write_frame_data(hd_recorder *recorder, void *user)
{
    struct frame *f = user;
    float seconds = (float)f->view.frame / 30.0f;
    scene_frame(&f->city->scene, &f->view, &f->data);
    memcpy(hd_vk_mapped(recorder, f->staging), &f->data, offsetof(struct frame_data, movers) + mover_bytes(f));
    page_draw(hd_vk_mapped(recorder, f->page_staging), seconds);
    bend_knot(hd_vk_mapped(recorder, f->knot_staging), seconds);
}

void upload_knot(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    copy(recorder, f->knot_staging, f->knot, 0, KNOT_VERTICES * sizeof(struct mesh_vertex));
}

void write_sheet(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    memcpy(hd_vk_mapped(recorder, f->sheet_staging), f->sheet_pixels, sizeof f->sheet_pixels);
}

void upload_sheet(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    copy_image(recorder, f->sheet_staging, f->sheet, SHEET_WIDTH, SHEET_HEIGHT);
}
