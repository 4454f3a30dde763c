#include "vk_device.h"
#include "vk_frame.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A frame for a bug report, as files in a folder: what was declared, the plan, the page, kept times, the device. They
 * are written into a folder of another name beside it, which gets its own name when all of them are there. */

typedef struct report {
    hd_vk *vk;
    const hd_graph *graph;
    const hd_plan *plan;
    const hd_compile_desc *desc;
} report;

static hd_result write_frame(const report *r, FILE *stream)
{
    hd_queue_desc queues[HD_MAX_QUEUES];
    const hd_compile_desc desc = hdi_vk_complete_desc(r->vk, r->desc, queues);
    return hd_graph_write_fgt_with(r->graph, &desc, stream);
}

static hd_result write_plan(const report *r, FILE *stream)
{
    return hd_plan_write_json(r->graph, r->plan, stream);
}

static hd_result write_page(const report *r, FILE *stream)
{
    return hd_plan_write_html(r->graph, r->plan, stream);
}

static hd_result write_trace(const report *r, FILE *stream)
{
    return hd_vk_write_trace(r->vk, stream);
}

static json_t *describe_queues(const hd_vk *vk)
{
    static const char *const kinds[] = {"gfx", "compute", "transfer"};
    json_t *queues = json_array();
    for (uint32_t q = 0; q < vk->queue_count; q++)
        json_array_append_new(queues, json_pack("{s:s, s:i, s:i}", "kind", kinds[vk->queues[q].desc.kind], "family",
                                                (int)vk->queues[q].desc.family, "flags", (int)vk->queues[q].flags));
    return queues;
}

static json_t *describe_memory(const hd_vk *vk)
{
    json_t *types = json_array();
    for (uint32_t t = 0; t < vk->memory.memoryTypeCount; t++) {
        const VkMemoryType *type = &vk->memory.memoryTypes[t];
        json_array_append_new(types, json_pack("{s:i, s:i, s:I}", "flags", (int)type->propertyFlags, "heap",
                                               (int)type->heapIndex, "heap_bytes",
                                               (json_int_t)vk->memory.memoryHeaps[type->heapIndex].size));
    }
    return types;
}

static hd_result write_device(const report *r, FILE *stream)
{
    hd_vk *vk = r->vk;
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    vk->in.vkGetPhysicalDeviceProperties2(vk->physical_device, &all);
    const VkPhysicalDeviceProperties *p = &all.properties;
    char version[32];
    snprintf(version, sizeof(version), "%u.%u.%u", VK_API_VERSION_MAJOR(p->apiVersion),
             VK_API_VERSION_MINOR(p->apiVersion), VK_API_VERSION_PATCH(p->apiVersion));
    json_t *root = json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:i, s:i, s:o, s:o, s:s}", "device",
                             p->deviceName, "vulkan", version, "vendor_id", (json_int_t)p->vendorID, "device_id",
                             (json_int_t)p->deviceID, "driver", driver.driverName, "driver_info", driver.driverInfo,
                             "driver_version", (json_int_t)p->driverVersion, "frame", (json_int_t)vk->frame,
                             "frames_in_flight", (int)vk->slot_count, "memory_copies", (int)vk->copy_count, "queues",
                             describe_queues(vk), "memory_types", describe_memory(vk), "last_error", vk->error.text);
    hd_result result = root ? HD_OK : HD_OUT_OF_MEMORY;
    if (root && json_dumpf(root, stream, JSON_INDENT(1)) != 0)
        result = HD_IO;
    json_decref(root);
    return result;
}

typedef struct part {
    const char *name;
    hd_result (*write)(const report *r, FILE *stream);
} part;
static const part parts[] = {{"frame.fgt", write_frame},
                             {"plan.json", write_plan},
                             {"plan.html", write_page},
                             {"trace.json", write_trace},
                             {"device.json", write_device}};
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

static hd_result fail(hd_vk *vk, hd_result result, const char *path)
{
    return hdi_vk_fail(vk, result, HD_NONE, HD_NONE, "the report cannot be written: %s: %s", path,
                       result == HD_IO && errno ? strerror(errno) : hd_result_text(result));
}

/* path: room for the folder's name, in which it stands, and that of a part. */
static hd_result write_part(const report *r, const part *p, char *path, size_t length)
{
    sprintf(path + length, "/%s", p->name);
    errno = 0;
    FILE *stream = fopen(path, "w");
    hd_result result = stream ? p->write(r, stream) : HD_IO;
    if (stream && (ferror(stream) | fclose(stream)) && result == HD_OK)
        result = HD_IO;
    if (result == HD_NO_PAGE)
        result = remove(path) == 0 ? HD_OK : HD_IO;
    return result == HD_OK ? HD_OK : fail(r->vk, result, path);
}

static void remove_all(char *path, size_t length)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        sprintf(path + length, "/%s", parts[i].name);
        unlink(path);
    }
    path[length] = 0;
    rmdir(path);
}

/* A new folder beside the one that is asked for, whose name has `length` bytes. Returns how long its own is; 0: none.
 */
static size_t make_folder(const char *folder, size_t length, char *path, size_t bytes)
{
    enum { TRIES = 1000 };
    int made = -1, own = 0;
    for (unsigned i = 0; i < TRIES && made != 0; i++) {
        own = snprintf(path, bytes, "%.*s.%ld.%u", (int)length, folder, (long)getpid(), i);
        made = mkdir(path, 0777);
        if (made != 0 && errno != EEXIST)
            break;
    }
    return made == 0 ? (size_t)own : 0;
}

static hd_result write_all(const report *r, const char *folder)
{
    hd_vk *vk = r->vk;
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    const size_t bytes = length + 64;
    char *path = hdi_alloc(&vk->allocator, bytes, 16);
    if (!path)
        return HD_OUT_OF_MEMORY;
    const size_t own = make_folder(folder, length, path, bytes);
    hd_result result = own ? HD_OK : fail(vk, HD_IO, folder);
    for (uint32_t i = 0; i < PARTS && result == HD_OK; i++)
        result = parts[i].write != write_trace || vk->times ? write_part(r, &parts[i], path, own) : HD_OK;
    if (own)
        path[own] = 0;
    if (result == HD_OK && rename(path, folder) != 0)
        result = fail(vk, HD_IO, folder);
    if (result != HD_OK && own)
        remove_all(path, own);
    hdi_free(&vk->allocator, path, bytes);
    return result;
}

hd_result hd_vk_report_frame(hd_vk *vk, hd_graph *graph, const hd_compile_desc *desc, const char *folder)
{
    if (!vk || !graph || !folder || !*folder)
        return HD_INVALID_ARGUMENT;
    const hd_plan *plan;
    hd_result result = hd_vk_compile(vk, graph, desc, &plan);
    if (result == HD_OK)
        result = hdi_vk_enter(vk, "hd_vk_report_frame");
    return result == HD_OK ? hdi_vk_leave(vk, write_all(&(report){vk, graph, plan, desc}, folder), NULL) : result;
}
