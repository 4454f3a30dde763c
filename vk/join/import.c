#include "vk_device.h"
#include "vk_join.h"
#include "vk_words.h"

#include "alloc.h"

/* Imports that cannot be right: one object twice in a frame, as the compiler could not order the uses of both, and a
 * layout that is not the one in which heddle left the image. */

static const char *name_of(const hdi_vk_frame *frame, uint32_t res)
{
    const char *name = frame->decl.res_info[res].name;
    return name ? name : "";
}

/* The engine may have changed it, on the same queue or with semaphores of its own, so that this is a warning, and one
 * an image. */
static void check_layout(const hdi_vk_frame *frame, uint32_t res, hdi_vk_import *before)
{
    uint32_t layout = frame->decl.res_info[res].initial_layout;
    bool same_image = before->frame + frame->vk->slot_count > frame->vk->frame ||
                      (before->serial && before->serial == frame->decl.res_import[res].serial);
    if (!same_image || before->warned || !layout || !before->layout || layout == before->layout)
        return;
    before->warned = true;
    hdi_log(
        &frame->vk->log, HD_LOG_WARNING,
        "resource %u '%s' is imported in layout %s, an earlier frame left it in layout %s: right only if the engine "
        "changed it in between",
        res, name_of(frame, res), HDI_LAYOUT_TEXT(layout), HDI_LAYOUT_TEXT(before->layout));
}

hd_result hdi_vk_check_import(const hdi_vk_frame *frame, uint32_t res, hdi_vk_import *before)
{
    bool buffer = frame->decl.res_flags[res] & HDI_RES_BUFFER;
    if (!before->native)
        return HD_OK;
    if (before->frame == frame->vk->frame)
        return hdi_vk_fail(frame->vk, HD_INVALID_ARGUMENT, HD_NONE, res,
                           "resource %u '%s' and resource %u '%s' import the same %s: a frame imports it once",
                           before->resource, name_of(frame, before->resource), res, name_of(frame, res),
                           buffer ? "VkBuffer" : "VkImage");
    if (!buffer)
        check_layout(frame, res, before);
    return HD_OK;
}
