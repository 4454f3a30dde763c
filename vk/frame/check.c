#include "vk_device.h"
#include "vk_memory.h"

#include "alloc.h"

/* Whether a plan can be executed: that it fits what the graph declares, the device and its queues. A plan may come from
 * a file, or be of another graph; indices that lead nowhere must not be followed. Asked once for a plan that is kept.
 */

static hd_result refuse(hd_vk *vk, const char *why)
{
    return hdi_vk_fail(vk, HD_INVALID_ARGUMENT, HD_NONE, HD_NONE, "the plan cannot be executed: %s", why);
}

/* Plan queues are this device's queues of the same kind and family, each taken once. */
hd_result hdi_vk_match_queues(const hdi_vk_frame *frame, uint32_t *queue_of)
{
    hd_vk *vk = frame->vk;
    bool taken[HD_MAX_QUEUES] = {false};
    if (frame->plan.queue_count > HD_MAX_QUEUES)
        return refuse(vk, "it has too many queues");
    for (uint32_t p = 0; p < frame->plan.queue_count; p++) {
        const hd_plan_queue *plan = &frame->plan.queues[p];
        uint32_t found = HD_NONE;
        for (uint32_t q = 0; q <= vk->queue_count && found == HD_NONE; q++) {
            const hd_vk_queue_desc *queue = &vk->queues[q].desc;
            if (!taken[q] && (uint32_t)queue->kind == plan->kind &&
                (plan->kind == HD_QUEUE_HOST || queue->family == plan->family))
                found = q;
        }
        if (found == HD_NONE)
            return refuse(vk, "it was compiled for queues that this device does not have");
        taken[found] = true;
        queue_of[p] = found;
    }
    return HD_OK;
}

static uint32_t use_kind(const hdi_vk_frame *frame, uint32_t pass, uint32_t use)
{
    const uint32_t *uses = &frame->decl.pass_use_begin[pass];
    return use < uses[1] - uses[0] ? frame->decl.access[frame->decl.use_access[uses[0] + use]].attachment
                                   : HDI_ATTACHMENT_NONE;
}

/* Scopes come in the order of the commands, hold passes of one submit and name attachments that they have. */
static bool scopes_fit(const hdi_vk_frame *frame)
{
    const hd_plan_view *plan = &frame->plan;
    uint32_t submit = 0, end = 0;
    for (uint32_t s = 0; s < plan->scope_count; s++) {
        const hd_plan_scope *scope = &plan->scopes[s];
        if (scope->command_begin < end || scope->command_count == 0 || scope->command_begin >= plan->command_count)
            return false;
        while (submit < plan->submit_count &&
               plan->submits[submit].command_begin + plan->submits[submit].command_count <= scope->command_begin)
            submit++;
        if (submit == plan->submit_count || scope->command_begin < plan->submits[submit].command_begin)
            return false;
        uint32_t submit_end = plan->submits[submit].command_begin + plan->submits[submit].command_count;
        if (scope->command_count > submit_end - scope->command_begin ||
            scope->attachment_begin > plan->attachment_count ||
            scope->attachment_count > plan->attachment_count - scope->attachment_begin)
            return false;
        end = scope->command_begin + scope->command_count;
        for (uint32_t c = scope->command_begin; c < end; c++) {
            if (plan->commands[c].kind != HD_COMMAND_PASS ||
                frame->decl.pass_type[plan->commands[c].index] != HD_PASS_GFX)
                return false;
        }
        for (uint32_t a = scope->attachment_begin; a < scope->attachment_begin + scope->attachment_count; a++) {
            uint32_t resolve = plan->attachments[a].resolve;
            uint32_t kind = use_kind(frame, plan->commands[scope->command_begin].index, plan->attachments[a].use);
            if ((kind != HDI_ATTACHMENT_COLOR && kind != HDI_ATTACHMENT_DEPTH) ||
                (resolve != HD_NONE &&
                 use_kind(frame, plan->commands[end - 1].index, resolve) != HDI_ATTACHMENT_RESOLVE))
                return false;
        }
    }
    return true;
}

/* A use of a kept pass always has its resource in the plan; a plan from elsewhere may lack one. */
static bool uses_fit(const hdi_vk_frame *frame, uint32_t pass)
{
    for (uint32_t u = frame->decl.pass_use_begin[pass]; u < frame->decl.pass_use_begin[pass + 1]; u++) {
        if (frame->plan_index[frame->decl.use_res[u]] == HDI_NONE)
            return false;
    }
    return true;
}

hd_result hdi_vk_check_plan(const hdi_vk_frame *frame)
{
    const hd_plan_view *plan = &frame->plan;
    if (plan->pass_count != frame->decl.pass_count || plan->declared_resource_count != frame->decl.res_count)
        return refuse(frame->vk, "it is not of what the graph declares now");
    for (uint32_t i = 0; i < plan->resource_count; i++) {
        if (plan->resources[i].id >= frame->decl.res_count)
            return refuse(frame->vk, "it names a resource that is not declared");
    }
    for (uint32_t c = 0; c < plan->command_count; c++) {
        uint32_t count = plan->commands[c].kind == HD_COMMAND_PASS ? plan->pass_count : plan->batch_count;
        if (plan->commands[c].index >= count)
            return refuse(frame->vk, "a command names what does not exist");
        if (plan->commands[c].kind == HD_COMMAND_PASS && !uses_fit(frame, plan->commands[c].index))
            return refuse(frame->vk, "a pass uses a resource that is not in it");
    }
    for (uint32_t b = 0; b < plan->barrier_count; b++) {
        uint32_t res = plan->barriers[b].resource;
        if (res != HD_NONE && (res >= frame->decl.res_count || frame->plan_index[res] == HDI_NONE))
            return refuse(frame->vk, "a barrier names a resource that is not in it");
        if (res == HD_NONE || frame->decl.res_flags[res] & HDI_RES_BUFFER || !plan->barriers[b].range.aspect)
            continue;
        if (!frame->vk->aspects_apart)
            return hdi_vk_fail(frame->vk, HD_UNSUPPORTED, HD_NONE, res,
                               "depth and stencil apart need separateDepthStencilLayouts");
    }
    return scopes_fit(frame) ? HD_OK : refuse(frame->vk, "its rendering scopes do not fit its passes");
}

/* The schedule keeps copies and clears of depth and stencil on graphics queues, where it has one and no pin says
 * otherwise; elsewhere Vulkan has none. */
static hd_result check_copies(const hdi_vk_frame *frame, const hd_plan_submit *submit)
{
    const VkPipelineStageFlags2 copies = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT | VK_PIPELINE_STAGE_2_COPY_BIT |
                                         VK_PIPELINE_STAGE_2_BLIT_BIT | VK_PIPELINE_STAGE_2_RESOLVE_BIT |
                                         VK_PIPELINE_STAGE_2_CLEAR_BIT;
    for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
        const hd_plan_command *command = &frame->plan.commands[c];
        if (command->kind != HD_COMMAND_PASS)
            continue;
        const uint32_t *uses = &frame->decl.pass_use_begin[command->index];
        for (uint32_t u = uses[0]; u < uses[1]; u++) {
            uint32_t res = frame->decl.use_res[u];
            if (!(frame->decl.access[frame->decl.use_access[u]].stages & copies) ||
                frame->decl.res_flags[res] & HDI_RES_BUFFER ||
                hdi_vk_aspects(frame->decl.res_info[res].format) & VK_IMAGE_ASPECT_COLOR_BIT)
                continue;
            const char *pass_name = frame->decl.pass_exec[command->index].name, *name = frame->decl.res_info[res].name;
            return hdi_vk_fail(
                frame->vk, HD_UNSUPPORTED, command->index, res,
                "pass %u '%s' copies or clears depth or stencil of resource %u '%s' on a queue without graphics, where "
                "Vulkan cannot: the queue set needs a gfx queue, and the pass no pin to another",
                command->index, pass_name ? pass_name : "", res, name ? name : "");
        }
    }
    return HD_OK;
}

hd_result hdi_vk_check_queues(const hdi_vk_frame *frame)
{
    const hd_vk *vk = frame->vk;
    hd_result result = HD_OK;
    for (uint32_t s = 0; s < frame->plan.submit_count && result == HD_OK; s++) {
        uint32_t q = frame->queue_of[frame->plan.submits[s].queue];
        if (q != vk->queue_count && !(vk->queues[q].flags & VK_QUEUE_GRAPHICS_BIT))
            result = check_copies(frame, &frame->plan.submits[s]);
    }
    return result;
}
