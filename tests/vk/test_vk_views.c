#include "vk_scene.h"

#include "checked.h"
#include "vk_device.h"

/* Images seen in other formats, views that the engine keeps in tables of its own, what it is told around passes, and
 * names that debuggers see. */

/* ---- what the engine is told ---- */

enum { MOST_VIEWS = 64 };

typedef struct table {
    hd_vk_view_info views[MOST_VIEWS];
    uint32_t made, dropped;
    char last[32];
} table;

static uint64_t made(const hd_vk_view_info *view, const char *name, void *user)
{
    table *t = user;
    cr_assert_lt(t->made, MOST_VIEWS);
    for (uint32_t i = 0; i < t->made; i++)
        cr_expect_lt(t->views[i].serial, view->serial);
    cr_expect(view->view && view->image);
    cr_expect_eq(view->number, 0);
    t->views[t->made++] = *view;
    snprintf(t->last, sizeof(t->last), "%s", name);
    return 100 + t->made;
}

static void dropped(const hd_vk_view_info *view, void *user)
{
    table *t = user;
    uint32_t i = (uint32_t)view->number - 101;
    cr_assert_lt(i, t->made);
    cr_expect_eq(t->views[i].serial, view->serial);
    cr_expect_eq(t->views[i].view, view->view);
    t->views[i].serial = 0;
    t->dropped++;
}

typedef struct looker {
    hd_resource resource;
    hd_vk_view_desc desc;
    hd_vk_view_info info;
    VkImageView plain;
} looker;

static void look(hd_recorder *recorder, void *user)
{
    looker *l = user;
    hd_vk_view_as(recorder, l->resource, &l->desc, &l->info);
    l->plain = hd_vk_view(recorder, l->resource, NULL);
}

static void run(scene *s)
{
    cr_assert_eq(hdt_frame(s->f.vk, s->graph), HD_OK, "%s", hd_graph_error(s->graph)->text);
    cr_assert_eq(hd_vk_wait(s->f.vk), HD_OK);
}

typedef struct texels {
    uint8_t bytes[PIXELS * 4];
} texels;

static void keep(const void *data, uint64_t bytes, void *user)
{
    memcpy(user, data, bytes < sizeof(texels) ? bytes : sizeof(texels));
}

/* An attachment that a pass sees as sRGB holds encoded colors: the same image as UNORM holds what was given. Frames
 * that differ in nothing else take turns: neither finds what was kept of the other. */
Test(vk_views, attachments_in_another_format)
{
    static texels back[2];
    scene s;
    open_scene(&s, NULL);
    for (uint32_t f = 0; f < 8; f++) {
        const uint32_t srgb = f % 2;
        memset(&back[srgb], 0, sizeof(back[srgb]));
        hd_graph_begin(s.graph);
        hd_resource a = image(&s, "a", VK_FORMAT_R8G8B8A8_UNORM);
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "clear",
                                               .uses = HD_USES({a, HD_COLOR_WRITE, .clear.color = {0.5f, 0, 1, 0.5f},
                                                                .format = srgb ? VK_FORMAT_R8G8B8A8_SRGB : 0})});
        hd_vk_readback(s.f.vk, s.graph, a, NULL, keep, &back[srgb], NULL);
        run(&s);
        uint8_t red = back[srgb].bytes[0];
        cr_expect(srgb ? red >= 187 && red <= 189 : red >= 127 && red <= 128, "frame %u: %u", f, red);
        cr_expect_eq(back[srgb].bytes[2], 255);
    }
    close_scene(&s);
}

/* What an image is for stays with the formats that can do it: storage with UNORM, whichever the image's own is. */
Test(vk_views, formats_and_usages)
{
    static const uint32_t own[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_SRGB};
    scene s;
    open_scene(&s, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        hd_graph_begin(s.graph);
        looker write = {.resource = image(&s, "a", own[i])}, read = {.resource = write.resource};
        read.desc.swizzle = (VkComponentMapping){VK_COMPONENT_SWIZZLE_B, VK_COMPONENT_SWIZZLE_G, VK_COMPONENT_SWIZZLE_R,
                                                 VK_COMPONENT_SWIZZLE_ONE};
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "write",
                                               .type = HD_PASS_COMPUTE,
                                               .record = look,
                                               .user = &write,
                                               .uses = HD_USES({write.resource, HD_STORAGE_WRITE_COMPUTE,
                                                                .format = VK_FORMAT_R8G8B8A8_UNORM})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "read",
                                               .type = HD_PASS_COMPUTE,
                                               .root = true,
                                               .record = look,
                                               .user = &read,
                                               .uses = HD_USES({write.resource, HD_SAMPLED_COMPUTE,
                                                                .format = VK_FORMAT_R8G8B8A8_SRGB})});
        run(&s);
        cr_expect_eq(write.info.format, VK_FORMAT_R8G8B8A8_UNORM);
        cr_expect_eq(write.info.usage, VK_IMAGE_USAGE_STORAGE_BIT);
        cr_expect_eq(write.info.view, write.plain, "the same view");
        cr_expect_eq(read.info.format, VK_FORMAT_R8G8B8A8_SRGB);
        cr_expect_eq(read.info.usage, VK_IMAGE_USAGE_SAMPLED_BIT);
        cr_expect_eq(read.info.swizzle.r, VK_COMPONENT_SWIZZLE_B);
        cr_expect_neq(read.info.view, read.plain, "without swizzle");
        cr_expect_eq(read.info.image, write.info.image);
    }
    close_scene(&s);
}

static hd_resource declare_look(scene *s, looker *l, uint32_t side)
{
    hd_graph_begin(s->graph);
    hd_resource a = hd_graph_image(
        s->graph, &(hd_image_desc){.name = "a", .width = side, .height = side, .format = VK_FORMAT_R8G8B8A8_UNORM});
    l->resource = a;
    hd_graph_pass(s->graph, &(hd_pass_desc){.name = "draw", .uses = HD_USES({a, HD_COLOR_WRITE})});
    hd_graph_pass(s->graph, &(hd_pass_desc){.name = "look",
                                            .type = HD_PASS_COMPUTE,
                                            .root = true,
                                            .record = look,
                                            .user = l,
                                            .uses = HD_USES({a, HD_SAMPLED_COMPUTE})});
    return a;
}

/* A view is the same one, with its serial and the engine's number, as long as its image stays; another image has
 * another. What was made is dropped once. */
Test(vk_views, table_of_the_engine)
{
    static table t;
    scene s;
    looker l = {{0}};
    open_scene(&s, &(hd_vk_desc){.views = {made, dropped, &t}});
    declare_look(&s, &l, SIZE);
    run(&s);
    hd_vk_view_info first = l.info;
    cr_expect(first.serial && first.number > 100);
    cr_expect_str_eq(t.last, "a");
    uint32_t count = t.made;
    for (uint32_t f = 0; f < 5; f++) {
        declare_look(&s, &l, SIZE);
        run(&s);
        cr_expect_eq(l.info.view, first.view);
        cr_expect_eq(l.info.serial, first.serial);
        cr_expect_eq(l.info.number, first.number);
    }
    cr_expect_eq(t.made, count);
    for (uint32_t f = 0; f < 40; f++) {
        declare_look(&s, &l, SIZE / 2);
        run(&s);
        cr_expect_neq(l.info.serial, first.serial);
    }
    cr_expect_geq(t.dropped, 1);
    cr_expect_eq(t.views[first.number - 101].serial, 0, "the first image's are gone");
    close_scene(&s);
    cr_expect_eq(t.dropped, t.made);
}

static void ask_for_sint(hd_recorder *recorder, void *user)
{
    looker *l = user;
    hd_vk_view_as(recorder, l->resource, &(hd_vk_view_desc){.format = VK_FORMAT_R8G8B8A8_SINT}, &l->info);
}

Test(vk_views, mistakes)
{
    scene s;
    open_scene(&s, NULL);
    looker l = {{0}};
    hd_resource a = declare_look(&s, &l, SIZE);
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "asks",
                                           .type = HD_PASS_COMPUTE,
                                           .root = true,
                                           .record = ask_for_sint,
                                           .user = &l,
                                           .uses = HD_USES({a, HD_SAMPLED_COMPUTE})});
    cr_expect_eq(hd_vk_frame(s.f.vk, s.graph), HD_INVALID_ARGUMENT);
    hd_error error;
    hd_vk_error_get(s.f.vk, &error);
    cr_expect(strstr(error.text, "format") && strstr(error.text, "asks"), "%s", error.text);
    cr_expect_eq(l.info.serial, 0);
    for (uint32_t fault = 0; fault < 4; fault++) {
        hd_graph_begin(s.graph);
        hd_import_desc own = {
            .name = "own", .image = (VkImage)(void *)&s, .width = 4, .height = 4, .format = VK_FORMAT_R8G8B8A8_UNORM};
        hd_resource to = fault == 0   ? image(&s, "d", VK_FORMAT_D32_SFLOAT)
                         : fault == 1 ? hd_graph_import(s.graph, &own)
                         : fault == 2 ? buffer(&s, "b", 64)
                                      : image(&s, "c", VK_FORMAT_R8_UNORM);
        hd_pass pass = hd_graph_pass(
            s.graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER,
                                     .uses = HD_USES({to, HD_TRANSFER_DST, .format = VK_FORMAT_R8G8B8A8_SRGB})});
        cr_expect_eq(pass.id, 0);
        cr_expect_eq(hd_graph_error(s.graph)->result, HD_INVALID_ARGUMENT, "fault %u", fault);
        cr_expect(strstr(hd_graph_error(s.graph)->text, "its format"), "%s", hd_graph_error(s.graph)->text);
    }
    close_scene(&s);
}

/* ---- around passes ---- */

typedef struct event {
    hd_vk_pass_info info;
    bool after;
} event;

typedef struct events {
    event of[32];
    atomic_uint count;
} events;

static void note(events *e, const hd_vk_pass_info *info, bool after)
{
    uint32_t at = atomic_fetch_add(&e->count, 1);
    cr_assert_lt(at, 32);
    e->of[at] = (event){*info, after};
}

static void before_pass(const hd_vk_pass_info *info, void *user)
{
    note(user, info, false);
}

static void after_pass(const hd_vk_pass_info *info, void *user)
{
    note(user, info, true);
}

static void nothing(hd_recorder *recorder, void *user)
{
    (void)recorder, (void)user;
}

Test(vk_views, around_each_pass)
{
    static events e;
    scene s;
    word_check check = {.count = 16, .expect = 7};
    open_scene(&s, &(hd_vk_desc){.passes = {before_pass, after_pass, &e}});
    hd_resource a = image(&s, "a", VK_FORMAT_R8G8B8A8_UNORM);
    check.buffer = buffer(&s, "words", 64);
    hd_graph_pass(
        s.graph,
        &(hd_pass_desc){
            .name = "draw", .root = true, .record = nothing, .splits = 3, .uses = HD_USES({a, HD_COLOR_WRITE})});
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "empty", .root = true, .uses = HD_USES({a, HD_COLOR_RW})});
    hd_vk_fill(s.f.vk, s.graph, check.buffer, NULL, 7, NULL);
    add_check(&s, &check);
    run(&s);
    expect_check(&check, 1);
    uint32_t count = atomic_load(&e.count), draws = 0, hosts = 0, fills = 0, empties = 0, depth = 0;
    cr_expect_eq(count, 2 * (3 + 1 + 1 + 1));
    for (uint32_t i = 0; i < count; i++) {
        const hd_vk_pass_info *info = &e.of[i].info;
        depth += e.of[i].after ? 0 : 1;
        if (e.of[i].after)
            continue;
        cr_expect_eq(info->frame, 0);
        cr_expect_eq(info->commands == VK_NULL_HANDLE, info->worker == HD_NONE);
        draws += strcmp(info->name, "draw") == 0 && info->pass == 0 && info->part_count == 3 && info->part < 3;
        empties += strcmp(info->name, "empty") == 0 && info->pass == 1 && info->part_count == 1;
        fills += strcmp(info->name, "fill") == 0 && info->queue < s.f.info.queue_count;
        hosts += strcmp(info->name, "check") == 0 && info->pass == 3 && info->queue == s.f.info.queue_count;
    }
    cr_expect(draws == 3 && empties == 1 && fills == 1 && hosts == 1 && depth == 6, "%u %u %u %u", draws, empties,
              fills, hosts);
    close_scene(&s);
}

/* ---- names ---- */

static PFN_vkSetDebugUtilsObjectNameEXT real_name;
static PFN_vkGetDeviceProcAddr real_proc;
static char names[256][32];
static VkObjectType types[256];
static uint32_t name_count;

static PFN_vkCreateImage real_image;
static uint32_t listed; /* images that were made with a list of two formats */

static VkResult VKAPI_PTR note_image(VkDevice device, const VkImageCreateInfo *info,
                                     const VkAllocationCallbacks *memory, VkImage *out)
{
    const VkImageFormatListCreateInfo *list = info->pNext;
    listed += list && list->sType == VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO && list->viewFormatCount == 2 &&
              list->pViewFormats[0] == info->format && list->pViewFormats[1] == VK_FORMAT_R8G8B8A8_SRGB;
    return real_image(device, info, memory, out);
}

static VkResult VKAPI_PTR note_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
    if (name_count < 256) {
        types[name_count] = info->objectType;
        snprintf(names[name_count++], sizeof(names[0]), "%s", info->pObjectName);
    }
    return real_name(device, info);
}

static PFN_vkVoidFunction VKAPI_PTR naming_device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction real = real_proc(device, name);
    if (strcmp(name, "vkCreateImage") == 0) {
        real_image = (PFN_vkCreateImage)real;
        return (PFN_vkVoidFunction)note_image;
    }
    if (strcmp(name, "vkSetDebugUtilsObjectNameEXT") != 0 || !real)
        return real;
    real_name = (PFN_vkSetDebugUtilsObjectNameEXT)real;
    return (PFN_vkVoidFunction)note_name;
}

static PFN_vkVoidFunction VKAPI_PTR naming_proc(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction real = hdi_vk_find_loader()(instance, name);
    if (strcmp(name, "vkGetDeviceProcAddr") != 0 || !real)
        return real;
    real_proc = (PFN_vkGetDeviceProcAddr)real;
    return (PFN_vkVoidFunction)naming_device_proc;
}

static bool has_name(VkObjectType type, const char *name)
{
    for (uint32_t i = 0; i < name_count; i++) {
        if (types[i] == type && strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

/* All that heddle makes has a name, and a frame that makes nothing names nothing. */
Test(vk_views, names_of_objects)
{
    static const uint8_t data[256];
    scene s;
    looker l = {{0}};
    word_check check = {.count = 64, .expect = 0};
    open_scene(&s, &(hd_vk_desc){.get_instance_proc = naming_proc, .timed_frames = 2});
    if (name_count == 0)
        cr_skip_test("no VK_EXT_debug_utils");
    uint32_t before = 0;
    for (uint32_t f = 0; f < 6; f++) {
        before = name_count;
        declare_look(&s, &l, SIZE);
        check.buffer = buffer(&s, "words", 256);
        hd_vk_upload(s.f.vk, s.graph, check.buffer, NULL, data, sizeof(data), NULL);
        add_check(&s, &check);
        run(&s);
    }
    cr_expect_eq(name_count, before, "%u names in a frame that came before", name_count - before);
    cr_expect(has_name(VK_OBJECT_TYPE_IMAGE, "a") && has_name(VK_OBJECT_TYPE_IMAGE_VIEW, "a"));
    cr_expect(has_name(VK_OBJECT_TYPE_BUFFER, "words") && has_name(VK_OBJECT_TYPE_BUFFER, "staging"));
    cr_expect(has_name(VK_OBJECT_TYPE_SEMAPHORE, "gfx queue 0") && has_name(VK_OBJECT_TYPE_SEMAPHORE, "host queue"));
    cr_expect(has_name(VK_OBJECT_TYPE_COMMAND_POOL, "command pool"));
    cr_expect(has_name(VK_OBJECT_TYPE_COMMAND_BUFFER, "commands"));
    cr_expect(has_name(VK_OBJECT_TYPE_DEVICE_MEMORY, "heap") && has_name(VK_OBJECT_TYPE_QUERY_POOL, "times of passes"));
    close_scene(&s);
}

/* The driver is told of one other format, and of none where there are several. */
Test(vk_views, lists_of_formats)
{
    scene s;
    open_scene(&s, &(hd_vk_desc){.get_instance_proc = naming_proc});
    for (uint32_t several = 0; several < 2; several++) {
        hd_graph_begin(s.graph);
        looker l = {.resource = image(&s, "a", VK_FORMAT_R8G8B8A8_UNORM)};
        const uint32_t formats[] = {VK_FORMAT_R8G8B8A8_SRGB,
                                    several ? VK_FORMAT_R8G8B8A8_UINT : VK_FORMAT_R8G8B8A8_SRGB};
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "draw", .uses = HD_USES({l.resource, HD_COLOR_WRITE})});
        for (uint32_t i = 0; i < 2; i++)
            hd_graph_pass(s.graph,
                          &(hd_pass_desc){.name = "look",
                                          .type = HD_PASS_COMPUTE,
                                          .root = true,
                                          .record = look,
                                          .user = &l,
                                          .uses = HD_USES({l.resource, HD_SAMPLED_COMPUTE, .format = formats[i]})});
        run(&s);
        cr_expect_eq(listed, 1, "frame %u", several);
    }
    close_scene(&s);
}
