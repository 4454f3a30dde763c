#include "app.h"

/* Compute passes between geometry and picture. */

static void dispatch(hd_recorder *recorder, const struct frame *f, uint32_t width, uint32_t height, uint32_t group)
{
    f->app->gpu.CmdDispatch(hd_vk_commands(recorder), (width + group - 1) / group, (height + group - 1) / group, 1);
}

static void dispatch_half(hd_recorder *recorder, const struct frame *f)
{
    dispatch(recorder, f, (f->app->width + 1) / 2, (f->app->height + 1) / 2, 8);
}

void cull_lights(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_CULL,
                 GPU_ARGS({f->constants}, {f->lights}, {f->depth}, {f->light_masks})))
        dispatch(recorder, f, f->app->width, f->app->height, TILE);
}

void trace_occlusion(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_OCCLUSION,
                 GPU_ARGS({f->constants}, {f->depth}, {f->normal}, {f->occlusion_noisy})))
        dispatch_half(recorder, f);
}

void blur_occlusion(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_OCCLUSION_BLUR,
                 GPU_ARGS({f->constants}, {f->depth}, {f->occlusion_noisy}, {f->occlusion})))
        dispatch_half(recorder, f);
}

void march_mist(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_MIST, GPU_ARGS({f->constants}, {f->depth}, {f->sun_map}, {f->mist})))
        dispatch_half(recorder, f);
}

void blur_mirror(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_GLOSS,
                 GPU_ARGS({f->constants}, {f->depth}, {f->normal}, {f->mirror_color}, {f->reflected})))
        dispatch_half(recorder, f);
}

void light_scene(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_LIGHTING,
                 GPU_ARGS({f->constants}, {f->lights}, {f->light_masks}, {f->depth}, {f->albedo}, {f->normal},
                          {f->occlusion}, {f->sun_map}, {f->reflected}, {f->mist}, {f->lit})))
        dispatch(recorder, f, f->app->width, f->app->height, 8);
}

void accumulate(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_TEMPORAL,
                 GPU_ARGS({f->constants}, {f->lit}, {f->depth}, {f->motion}, {f->history}, {f->resolved})))
        dispatch(recorder, f, f->app->width, f->app->height, 8);
}
