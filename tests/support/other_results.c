#include "other_results.h"

#include <criterion/criterion.h>
#include <heddle/vk.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_page.h"
#include "limited.h"
#include "stub_driver.h"
#include "vk_device.h"

typedef struct line {
    uint32_t count; /* of errors */
    char text[512]; /* the newest */
} line;

static void keep_line(hd_log_level level, const char *text, void *user)
{
    line *kept = user;
    kept->count += level == HD_LOG_ERROR;
    snprintf(kept->text, sizeof(kept->text), "%s", text);
}

/* A frame that is in order. */
static void declare(hd_graph *graph)
{
    hd_resource made = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "made", .bytes = 64});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "good",
                                         .type = HD_PASS_COMPUTE,
                                         .root = true,
                                         .uses = HD_USES({made, HD_STORAGE_WRITE_COMPUTE})});
}

static hd_result done(hd_graph *graph)
{
    declare(graph);
    const hd_plan *plan;
    return hd_graph_compile(graph, NULL, &plan);
}

static hd_result out_of_memory(hd_graph *graph)
{
    (void)graph;
    hdt_limited limited = {.fail_at = 1};
    hd_graph *none;
    hd_result result = hd_graph_create(&(hd_graph_desc){.allocator = hdt_limited_allocator(&limited)}, &none);
    cr_assert_null(none);
    return result;
}

static hd_result full_device(hd_graph *graph)
{
    const hd_plan *plan;
    declare(graph);
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK);
    FILE *full = fopen("/dev/full", "w");
    hd_result result = hd_plan_write_json(graph, plan, full);
    fclose(full);
    return result;
}

static hd_result no_graph_in_it(hd_graph *graph)
{
    static const char text[] = "graph g\nimage 0 1 1 rgba8 1 1\nnonsense\n";
    char error[128];
    hd_result result = hd_graph_read_fgt(graph, text, strlen(text), "f.fgt", error, sizeof(error));
    cr_assert(strstr(error, "f.fgt:3: ") && strstr(error, "nonsense"), "%s", error);
    return result;
}

static hd_result a_plan_that_does_nothing(hd_graph *graph)
{
    static const char text[] =
        "{\"plan\": 1, \"queues\": [], \"culled\": [], \"heaps\": [], \"resources\": [], \"submits\": []}";
    hd_plan *plan;
    declare(graph);
    cr_assert_eq(hd_plan_read_json(graph, text, strlen(text), NULL, &plan, NULL, 0), HD_OK);
    hd_result result = hd_plan_verify(graph, plan, NULL);
    hd_plan_free(plan, NULL);
    return result;
}

/* What a build without d3 has. */
static hd_result no_page(hd_graph *graph)
{
    const hd_plan *plan;
    const hdi_page none = {0};
    declare(graph);
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK);
    return hdi_plan_write_page(graph, plan, NULL, &none, stderr);
}

static PFN_vkVoidFunction VKAPI_PTR empty_loader(VkInstance instance, const char *name)
{
    (void)instance;
    (void)name;
    return NULL;
}

static hd_result no_loader(hd_graph *graph)
{
    (void)graph;
    hd_vk *vk;
    return hd_vk_create(&(hd_vk_desc){.get_instance_proc = empty_loader}, &vk);
}

/* What a driver says becomes one of heddle's results, and a line that names the call. */
static hd_result driver_says(VkResult code)
{
    hd_vk *vk = calloc(1, sizeof(*vk));
    line logged = {0};
    vk->log = (hd_log){keep_line, &logged};
    hd_result result = hdi_vk_result(vk, code, "vkDoSomething");
    cr_assert_eq(logged.count, 1u);
    cr_assert(strstr(logged.text, "vkDoSomething") && strstr(logged.text, hd_result_text(result)), "%s", logged.text);
    free(vk);
    return result;
}

#define DRIVER_SAYS(name, code)                                                                                        \
    static hd_result name(hd_graph *graph)                                                                             \
    {                                                                                                                  \
        (void)graph;                                                                                                   \
        return driver_says(code);                                                                                      \
    }
DRIVER_SAYS(incompatible_driver, VK_ERROR_INCOMPATIBLE_DRIVER)
DRIVER_SAYS(missing_feature, VK_ERROR_FEATURE_NOT_PRESENT)
DRIVER_SAYS(out_of_device_memory, VK_ERROR_OUT_OF_DEVICE_MEMORY)
DRIVER_SAYS(device_lost, VK_ERROR_DEVICE_LOST)
DRIVER_SAYS(surface_lost, VK_ERROR_SURFACE_LOST_KHR)
DRIVER_SAYS(another_failure, VK_ERROR_FRAGMENTED_POOL)

/* Staging memory of one upload, which no frame has taken. */
static hd_result full_staging(hd_graph *graph)
{
    (void)graph;
    static const uint32_t data[64];
    hd_vk *vk;
    hd_vk_token token;
    hd_vk_desc desc = hdb_stub_desc(1);
    desc.upload_bytes = sizeof(data);
    cr_assert_eq(hd_vk_create(&desc, &vk), HD_OK);
    const hd_vk_upload_desc upload = {
        .target = {.buffer = (void *)vk, .bytes = sizeof(data)}, .data = data, .bytes = sizeof(data)};
    cr_assert_eq(hd_vk_upload_async(vk, &upload, &token), HD_OK);
    hd_result result = hd_vk_upload_async(vk, &upload, &token);
    hd_vk_destroy(vk);
    return result;
}

const hdt_other_result hdt_other_results[HDT_OTHER_RESULTS] = {
    {HD_OK, done},
    {HD_OUT_OF_MEMORY, out_of_memory},
    {HD_BUSY, full_staging},
    {HD_IO, full_device},
    {HD_PARSE, no_graph_in_it},
    {HD_PLAN_INVALID, a_plan_that_does_nothing},
    {HD_NO_PAGE, no_page},
    {HD_NO_LOADER, no_loader},
    {HD_NO_DEVICE, incompatible_driver},
    {HD_MISSING_FEATURE, missing_feature},
    {HD_OUT_OF_DEVICE_MEMORY, out_of_device_memory},
    {HD_DEVICE_LOST, device_lost},
    {HD_SURFACE_LOST, surface_lost},
    {HD_VULKAN, another_failure},
};
