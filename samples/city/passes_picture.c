#include "city.h"

#include <string.h>

/* From the lit scene to the picture. */

#define PROGRAM(f, id) (&(f)->city->programs[id])

static void dispatch_out(hd_recorder *recorder, const struct frame *f)
{
    kit_dispatch(recorder, f->view.out_width, f->view.out_height, 8);
}

void upscale(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_UPSCALE), {f->constants}, {f->scene}, {f->depth}, {f->motion},
             {f->history}, {f->resolved});
    dispatch_out(recorder, f);
}

void motion_tiles(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_MOTION_TILES), {f->constants}, {f->motion}, {f->tiles});
    kit_dispatch(recorder, (f->width + 15) / 16, (f->height + 15) / 16, 8);
}

void motion_around(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_MOTION_AROUND), {f->constants}, {f->tiles}, {f->around});
    kit_dispatch(recorder, (f->width + 15) / 16, (f->height + 15) / 16, 8);
}

void motion_blur(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_MOTION_BLUR), {f->constants}, {f->resolved}, {f->depth},
             {f->motion}, {f->around}, {f->blurred});
    dispatch_out(recorder, f);
}

void bloom_down(hd_recorder *recorder, void *user)
{
    const struct step *step = user;
    const struct frame *f = step->frame;
    uint32_t first = step->index == 0;
    struct kit_arg above = {f->blurred};
    if (!first)
        above = (struct kit_arg){f->bloom, kit_mip(step->index - 1)};
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_BLOOM_DOWN), {f->constants}, above,
             {f->bloom, kit_mip(step->index)});
    kit_push(recorder, PROGRAM(f, PROGRAM_BLOOM_DOWN), &first, sizeof first);
    kit_dispatch(recorder, step->width, step->height, 8);
}

void bloom_up(hd_recorder *recorder, void *user)
{
    const struct step *step = user;
    const struct frame *f = step->frame;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_BLOOM_UP), {f->constants},
             {f->bloom, kit_mip(step->index + 1)}, {f->bloom, kit_mip(step->index)});
    kit_dispatch(recorder, step->width, step->height, 8);
}

void count_brightness(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_HISTOGRAM), {f->constants}, {f->bloom, kit_mip(1)}, {f->bins});
    kit_dispatch(recorder, f->bloom_steps[1].width, f->bloom_steps[1].height, 8);
}

void set_exposure(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_EXPOSURE), {f->constants}, {f->bins}, {f->exposure_before},
             {f->exposure});
    vkCmdDispatch(hd_vk_commands(recorder), 1, 1, 1);
}

void keep_exposure(const void *data, uint64_t bytes, void *user)
{
    struct city *city = user;
    if (bytes >= sizeof city->exposure)
        memcpy(city->exposure, data, sizeof city->exposure);
}

void tonemap(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_TONEMAP), {f->constants}, {f->blurred}, {f->bloom, kit_mip(0)},
             {f->exposure}, {f->picture});
    dispatch_out(recorder, f);
}

void lay_overlay(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_OVERLAY), {f->constants}, {f->sheet}, {f->picture});
    kit_dispatch(recorder, SHEET_WIDTH, SHEET_HEIGHT, 8);
}

void view_depth(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_VIEW_DEPTH), {f->constants}, {f->depth}, {f->view_depth});
    dispatch_out(recorder, f);
}

void view_lights(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_VIEW_LIGHTS), {f->constants}, {f->masks}, {f->depth},
             {f->view_lights});
    dispatch_out(recorder, f);
}

void view_normals(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    kit_bind(&f->city->kit, recorder, PROGRAM(f, PROGRAM_VIEW_NORMALS), {f->normal}, {f->view_normals});
    dispatch_out(recorder, f);
}
