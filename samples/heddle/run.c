#include "run_state.h"
#include "fgt_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A graph as frames on a device: a pass that fills the externals, the frame as often as wanted, a pass that checks the
 * externals. Each is prepared on the CPU by the model, recorded by the passes' callbacks and, once it has finished,
 * looked at. */

hd_result run_fail(run *r, hd_result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (r->error_bytes && !r->error[0])
        vsnprintf(r->error, r->error_bytes, format, arguments);
    va_end(arguments);
    return result;
}

static void keep_error(hd_log_level level, const char *text, void *user)
{
    run *r = user;
    if (level == HD_LOG_ERROR)
        run_fail(r, HD_OK, "%s", text);
    if (r->desc->log.write)
        r->desc->log.write(level, text, r->desc->log.user);
}

/* ---- what the device can do ---- */

static hd_result open_device(run *r)
{
    static const VkPhysicalDeviceFeatures features = {.fullDrawIndexUint32 = VK_TRUE,
                                                      .drawIndirectFirstInstance = VK_TRUE,
                                                      .vertexPipelineStoresAndAtomics = VK_TRUE,
                                                      .fragmentStoresAndAtomics = VK_TRUE,
                                                      .shaderStorageImageExtendedFormats = VK_TRUE,
                                                      .shaderStorageImageWriteWithoutFormat = VK_TRUE};
    hd_vk_desc desc = r->desc->vk;
    desc.log = (hd_log){keep_error, r};
    desc.features = &features;
    desc.application = "heddle run";
    hd_result result = hd_vk_create(&desc, &r->vk);
    if (result != HD_OK)
        return run_fail(r, result, "%s", hd_result_text(result));
    return run_make_gpu(r);
}

/* What run has no programs and no model for. */
static hd_result check_abilities(run *r)
{
    const hdi_decl *decl = &r->decl;
    for (uint32_t i = 0; i < decl->res_count; i++) {
        const hdi_res_info *info = &decl->res_info[i];
        uint32_t f = 0;
        if (hdi_is_token(decl, i))
            return run_fail(r, HD_UNSUPPORTED, "buffer %u is an order token: run has no model of it", i);
        if (decl->res_flags[i] & HDI_RES_BUFFER)
            continue;
        if (info->samples > 1 || info->depth > 1)
            return run_fail(r, HD_UNSUPPORTED, "image %u has several %s: run executes flat images of one sample", i,
                            info->samples > 1 ? "samples" : "slices");
        while (f < HDI_FGT_FORMAT_COUNT && hdi_fgt_formats[f].format != info->format)
            f++;
        hdi_text room;
        if (f == HDI_FGT_FORMAT_COUNT)
            return run_fail(r, HD_UNSUPPORTED, "run has no programs for the format %s of image %u",
                            hdi_words_of(HDI_WORDS_FORMAT, info->format, &room), i);
    }
    for (uint32_t u = 0; u < decl->use_count; u++) {
        if (hdi_access_of(decl->use_access[u]) >= HD_ACCESS_COUNT)
            return run_fail(r, HD_UNSUPPORTED, "pass %u has a %s: run executes the named accesses", decl->use_pass[u],
                            hdi_access_of(decl->use_access[u]) == HD_ACCESS_CUSTOM ? "custom access" : "resolve");
    }
    for (uint32_t u = 0; u < decl->use_count; u++) {
        if (decl->use_exec[u].format)
            return run_fail(r, HD_UNSUPPORTED, "pass %u sees an image in another format: run has no programs for it",
                            decl->use_pass[u]);
    }
    if (decl->late_count)
        return run_fail(r, HD_UNSUPPORTED, "pass %u reads a version that an earlier pass ended: run has no model of it",
                        decl->use_pass[decl->late_use[0]]);
    return HD_OK;
}

static hd_result check_formats(run *r)
{
    PFN_vkGetPhysicalDeviceImageFormatProperties get =
        (PFN_vkGetPhysicalDeviceImageFormatProperties)r->info.get_instance_proc(
            r->info.instance, "vkGetPhysicalDeviceImageFormatProperties");
    for (uint32_t i = 0; i < r->decl.res_count; i++) {
        const run_res *res = &r->res[i];
        VkImageFormatProperties can;
        if (res->buffer)
            continue;
        if (!get || get(r->info.physical_device, (VkFormat)res->format, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL,
                        res->usage ? res->usage : VK_IMAGE_USAGE_TRANSFER_DST_BIT, 0, &can) != VK_SUCCESS)
        {
            hdi_text room;
            return run_fail(r, HD_UNSUPPORTED, "%s makes no image of format %s for all that is done with resource %u",
                            r->info.device_name, hdi_words_of(HDI_WORDS_FORMAT, res->format, &room), i);
        }
        if (res->width > can.maxExtent.width || res->height > can.maxExtent.height || res->layers > can.maxArrayLayers)
            return run_fail(r, HD_UNSUPPORTED, "resource %u is larger than images can be on %s", i,
                            r->info.device_name);
    }
    for (uint32_t u = 0; u < r->decl.use_count; u++) {
        const hdi_access_info *access = &r->decl.access[r->decl.use_access[u]];
        if (!r->res[r->decl.use_res[u]].buffer && access->stages == VK_PIPELINE_STAGE_2_HOST_BIT)
            return run_fail(r, HD_UNSUPPORTED, "a host pass uses image %u: no device maps images of optimal tiling",
                            r->decl.use_res[u]);
    }
    return HD_OK;
}

/* ---- the plan ---- */

static void read_timestamps(run *r, const hd_plan_view *plan)
{
    PFN_vkGetPhysicalDeviceQueueFamilyProperties get =
        (PFN_vkGetPhysicalDeviceQueueFamilyProperties)r->info.get_instance_proc(
            r->info.instance, "vkGetPhysicalDeviceQueueFamilyProperties");
    VkQueueFamilyProperties families[16];
    uint32_t count = 16;
    if (get)
        get(r->info.physical_device, &count, families);
    for (uint32_t q = 0; get && q < plan->queue_count; q++) {
        if (plan->queues[q].family < count)
            r->timestamp_bits[q] = families[plan->queues[q].family].timestampValidBits;
    }
}

static void read_plan(run *r)
{
    hd_plan_view plan = hd_plan_read(r->plan);
    r->report->queue_count = plan.queue_count;
    for (uint32_t q = 0; q < plan.queue_count; q++)
        r->report->queue_kind[q] = plan.queues[q].kind;
    for (uint32_t p = 0; p < r->decl.pass_count; p++)
        r->pass_queue[p] = HD_NONE;
    for (uint32_t s = 0; s < plan.submit_count; s++) {
        const hd_plan_submit *submit = &plan.submits[s];
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            if (plan.commands[c].kind != HD_COMMAND_PASS)
                continue;
            r->pass_queue[plan.commands[c].index] = submit->queue;
            r->queue_kind[plan.commands[c].index] = plan.queues[submit->queue].kind;
        }
    }
    read_timestamps(r, &plan);
}

static void keep_violation(const char *text, void *user)
{
    run_fail(user, HD_PLAN_INVALID, "%s", text);
}

/* With the check, a plan that does not hold is not executed. */
static hd_result compile(run *r, hd_graph *graph, const hd_plan **plan)
{
    hd_compile_desc desc = {.order = r->desc->order, .jobs = r->desc->vk.jobs};
    hd_result result = hd_vk_compile(r->vk, graph, &desc, plan);
    if (result != HD_OK)
        return run_fail(r, result, "%s", hd_graph_error(graph)->text);
    hd_verify_desc verify = {.message = keep_violation, .user = r, .size = hd_vk_size, .size_user = r->vk};
    result = r->desc->check ? hd_plan_verify(graph, *plan, &verify) : HD_OK;
    return result == HD_OK ? HD_OK : run_fail(r, result, "%s", hd_result_text(result));
}

static hd_result make_tables(run *r)
{
    size_t passes = (size_t)r->decl.pass_count + 1;
    r->pass_queue = calloc(passes, sizeof(*r->pass_queue));
    r->queue_kind = calloc(passes, sizeof(*r->queue_kind));
    r->us_sum = calloc(passes, sizeof(*r->us_sum));
    r->us_count = calloc(passes, sizeof(*r->us_count));
    r->report->pass_us = calloc(passes, sizeof(double));
    r->report->pass_queue = calloc(passes, sizeof(uint32_t));
    if (!r->pass_queue || !r->queue_kind || !r->us_sum || !r->us_count || !r->report->pass_us ||
        !r->report->pass_queue)
        return run_fail(r, HD_OUT_OF_MEMORY, "no memory");
    return HD_OK;
}

/* ---- frames ---- */

static hd_result execute(run *r, run_slot *slot, const hd_graph *graph, const hd_plan *plan)
{
    hd_result result = run_prepare_slot(r, slot);
    if (result == HD_OK)
        result = hd_vk_execute(r->vk, graph, plan);
    slot->used = result == HD_OK; /* nothing is looked at that did not run */
    return result == HD_OK ? HD_OK : run_fail(r, result, "%s", hd_result_text(result));
}

/* The slot of the frame that comes next: what it held has finished, since fewer frames are in flight than there are
 * slots. */
static run_slot *next_slot(run *r, uint64_t number, uint64_t frame)
{
    run_slot *slot = &r->slots[number % RUN_SLOTS];
    run_collect(r, slot);
    slot->frame = frame;
    return slot;
}

static hd_result run_externals(run *r, hd_graph *graph, uint64_t number, bool write)
{
    const hd_plan *plan;
    run_slot *slot = next_slot(r, number, UINT64_MAX);
    hd_result result = compile(r, graph, &plan);
    if (result == HD_OK)
        result = run_model_externals(r, slot, write);
    if (result == HD_OK)
        result = execute(r, slot, graph, plan);
    return result;
}

static hd_result run_frames(run *r)
{
    hd_result result = run_externals(r, r->before, 0, true);
    if (result == HD_OK)
        result = compile(r, r->graph, &r->plan);
    if (result != HD_OK)
        return result;
    if (r->desc->replace) {
        hd_verify_desc verify = {.size = hd_vk_size, .size_user = r->vk};
        r->plan = r->desc->replace(r->graph, r->plan, &verify, r->desc->user);
    }
    if (!r->plan)
        return run_fail(r, HD_INVALID_ARGUMENT, "no plan in place of the plan");
    read_plan(r);
    for (uint64_t f = 0; f < r->desc->frames && result == HD_OK; f++) {
        run_slot *slot = next_slot(r, 1 + f, f);
        result = run_model_frame(r, slot, f);
        if (result == HD_OK)
            result = execute(r, slot, r->graph, r->plan);
    }
    if (result == HD_OK && r->desc->check)
        result = run_externals(r, r->after, 1 + r->desc->frames, false);
    hd_result waited = hd_vk_wait(r->vk);
    if (waited != HD_OK)
        return run_fail(r, waited, "%s", hd_result_text(waited));
    for (uint64_t f = 0; f < RUN_SLOTS; f++)
        run_collect(r, &r->slots[(2 + r->desc->frames + f) % RUN_SLOTS]);
    return result;
}

static void finish(run *r)
{
    run_report *report = r->report;
    snprintf(report->device, sizeof(report->device), "%s", r->info.device_name);
    report->pass_count = r->decl.pass_count;
    for (uint32_t p = 0; p < r->decl.pass_count; p++) {
        report->pass_queue[p] = r->pass_queue[p];
        report->pass_us[p] = r->us_count[p] ? r->us_sum[p] / r->us_count[p] : -1;
        if (r->us_count[p])
            report->queue_us[r->pass_queue[p]] += report->pass_us[p];
    }
}

static void close_all(run *r)
{
    if (r->vk)
        hd_vk_wait(r->vk);
    if (r->info.device) {
        run_free_programs(r);
        run_free_imports(r);
    }
    run_free_gpu(r);
    hd_vk_destroy(r->vk);
    hd_graph_destroy(r->graph);
    hd_graph_destroy(r->before);
    hd_graph_destroy(r->after);
    run_free_model(r);
    free(r->res);
    free(r->uses);
    free(r->passes);
    free(r->pass_queue);
    free(r->queue_kind);
    free(r->us_sum);
    free(r->us_count);
    free(r);
}

hd_result run_graph(const run_desc *desc, run_report *report, char *error, size_t error_bytes)
{
    static hd_result (*const steps[])(run *) = {check_abilities, run_scale, make_tables, open_device, check_formats,
                                                run_make_imports, run_make_programs, run_make_model, run_declare,
                                                run_frames};
    *report = (run_report){0};
    if (error_bytes)
        error[0] = 0;
    run *r = calloc(1, sizeof(*r));
    if (!r)
        return HD_OUT_OF_MEMORY;
    r->desc = desc;
    r->report = report;
    r->error = error;
    r->error_bytes = error_bytes;
    r->decl = hdi_graph_decl(desc->graph);
    hd_result result = HD_OK;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && result == HD_OK; i++)
        result = steps[i](r);
    if (result == HD_OK)
        finish(r);
    close_all(r);
    if (result != HD_OK)
        run_report_free(report);
    return result;
}

void run_report_free(run_report *report)
{
    free(report->pass_us);
    free(report->pass_queue);
    report->pass_us = NULL;
    report->pass_queue = NULL;
}
