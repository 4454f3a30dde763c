#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "stub_driver.h"
#include "vk_fixture.h"

/* Mistakes of an engine: each has a result and a sentence that names what it is about, and none reaches the driver. */

typedef struct world {
    hdt_vk f;
    hd_graph *graph;
    hd_jobs *jobs;
    hd_resource color, words, stranger, gone;
    atomic_uint runs;
} world;

static void open_world(world *w, uint32_t workers)
{
    memset(w, 0, sizeof(*w));
    memset(&hdt_vk_hooks, 0, sizeof(hdt_vk_hooks));
    if (workers)
        cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = workers}, &w->jobs), HD_OK);
    hd_result result = hdt_vk_open(&w->f, &(hd_vk_desc){.jobs = w->jobs, .get_instance_proc = hdt_vk_hooked});
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &w->graph), HD_OK);
}

static void close_world(world *w)
{
    cr_expect_eq(hdt_vk_close(&w->f), 0, "validation messages");
    hd_graph_destroy(w->graph);
    hd_jobs_destroy(w->jobs);
}

static hd_error error_of(hd_vk *vk)
{
    hd_error error;
    hd_vk_error_get(vk, &error);
    return error;
}

static void expect_text(const hd_error *error, const char *const *parts)
{
    for (uint32_t i = 0; parts[i]; i++)
        cr_expect(strstr(error->text, parts[i]), "'%s' is not in '%s'", parts[i], error->text);
}

/* ---- what record callbacks ask for ---- */

/* Uses what it got: a null handle would end in the driver, or in the validation layer. */
static void fill(world *w, hd_recorder *recorder, VkBuffer buffer)
{
    cr_expect(buffer != VK_NULL_HANDLE);
    HDT_FN(&w->f, vkCmdFillBuffer)(hd_vk_commands(recorder), buffer, 0, 64, 1);
}

static void buffer_of_another_pass(hd_recorder *recorder, void *user)
{
    world *w = user;
    fill(w, recorder, hd_vk_buffer(recorder, w->stranger));
}

static void buffer_of_an_image(hd_recorder *recorder, void *user)
{
    world *w = user;
    fill(w, recorder, hd_vk_buffer(recorder, w->color));
}

static void buffer_of_nothing(hd_recorder *recorder, void *user)
{
    world *w = user;
    fill(w, recorder, hd_vk_buffer(recorder, (hd_resource){0}));
}

static void buffer_of_an_earlier_frame(hd_recorder *recorder, void *user)
{
    world *w = user;
    fill(w, recorder, hd_vk_buffer(recorder, w->gone));
}

static void image_of_a_buffer(hd_recorder *recorder, void *user)
{
    cr_expect(hd_vk_image(recorder, ((world *)user)->words) != VK_NULL_HANDLE);
}

static void view_of_a_buffer(hd_recorder *recorder, void *user)
{
    cr_expect(hd_vk_view(recorder, ((world *)user)->words, NULL) != VK_NULL_HANDLE);
}

static void view_outside_of_the_image(hd_recorder *recorder, void *user)
{
    world *w = user;
    cr_expect(hd_vk_view(recorder, w->color, &(hd_range){.mip_base = 9}) != VK_NULL_HANDLE);
    cr_expect(hd_vk_view(recorder, w->color, &(hd_range){.mip_count = 5}) != VK_NULL_HANDLE);
}

static void view_of_another_aspect(hd_recorder *recorder, void *user)
{
    cr_expect(hd_vk_view(recorder, ((world *)user)->color, &(hd_range){.aspect = HD_ASPECT_STENCIL}));
}

/* The uses are levels 0 and 2. */
static void view_outside_of_the_uses(hd_recorder *recorder, void *user)
{
    cr_expect(hd_vk_view(recorder, ((world *)user)->color, &(hd_range){.mip_base = 3}) != VK_NULL_HANDLE);
}

static void view_of_a_gap_between_the_uses(hd_recorder *recorder, void *user)
{
    cr_expect(hd_vk_view(recorder, ((world *)user)->color, NULL) != VK_NULL_HANDLE);
}

static void mapped_on_the_gpu(hd_recorder *recorder, void *user)
{
    cr_expect(hd_vk_mapped(recorder, ((world *)user)->words) == NULL);
}

static void nothing_wrong(hd_recorder *recorder, void *user)
{
    world *w = user;
    const hd_range first = {.mip_count = 1}, third = {.mip_base = 2, .mip_count = 1};
    VkImageView views[2] = {hd_vk_view(recorder, w->color, &first), hd_vk_view(recorder, w->color, &third)};
    cr_expect(views[0] && views[1] && views[0] != views[1]);
    fill(w, recorder, hd_vk_buffer(recorder, w->words));
    atomic_fetch_add(&w->runs, 1);
}

static void declare(world *w, hd_record_fn ask)
{
    hd_graph *g = w->graph;
    const hd_range first = {.mip_count = 1}, third = {.mip_base = 2, .mip_count = 1};
    w->gone = w->words;
    hd_graph_begin(g);
    w->color = hd_graph_image(
        g, &(hd_image_desc){.name = "color", .width = 16, .height = 16, .mips = 4, .format = VK_FORMAT_R8G8B8A8_UNORM});
    w->words = hd_graph_buffer(g, &(hd_buffer_desc){.name = "words", .bytes = 256});
    w->stranger = hd_graph_buffer(g, &(hd_buffer_desc){.name = "stranger", .bytes = 256});
    hd_graph_pass(g, &(hd_pass_desc){.name = "other",
                                     .type = HD_PASS_TRANSFER,
                                     .root = true,
                                     .uses = HD_USES({w->stranger, HD_TRANSFER_DST})});
    hd_graph_pass(
        g, &(hd_pass_desc){.name = "ask",
                           .type = HD_PASS_COMPUTE,
                           .root = true,
                           .record = ask,
                           .user = w,
                           .uses = HD_USES({w->color, HD_STORAGE_WRITE_COMPUTE, first},
                                           {w->color, HD_STORAGE_WRITE_COMPUTE, third}, {w->words, HD_TRANSFER_DST})});
}

static const struct {
    hd_record_fn ask;
    hd_result result;
    uint32_t resource;
    const char *parts[6];
} asked[] = {
    {buffer_of_another_pass, HD_INVALID_ARGUMENT, 2, {"hd_vk_buffer", "'stranger'", "does not declare"}},
    {buffer_of_an_image, HD_INVALID_ARGUMENT, 0, {"hd_vk_buffer", "'color'", "is an image"}},
    {buffer_of_nothing, HD_BAD_HANDLE, HD_NONE, {"hd_vk_buffer", "none, stale"}},
    {buffer_of_an_earlier_frame, HD_BAD_HANDLE, HD_NONE, {"hd_vk_buffer", "none, stale"}},
    {image_of_a_buffer, HD_INVALID_ARGUMENT, 1, {"hd_vk_image", "'words'", "is a buffer"}},
    {view_of_a_buffer, HD_INVALID_ARGUMENT, 1, {"hd_vk_view", "'words'", "is a buffer"}},
    {view_outside_of_the_image, HD_BAD_RANGE, 0, {"hd_vk_view", "'color'", "outside of it"}},
    {view_of_another_aspect, HD_BAD_RANGE, 0, {"hd_vk_view", "'color'", "aspect"}},
    {view_outside_of_the_uses, HD_BAD_RANGE, 0, {"hd_vk_view", "'color'", "does not declare all"}},
    {view_of_a_gap_between_the_uses, HD_BAD_RANGE, 0, {"hd_vk_view", "'color'", "does not declare all"}},
    {mapped_on_the_gpu, HD_INVALID_ARGUMENT, 1, {"hd_vk_mapped", "'words'", "only host passes"}},
};

/* The frame fails and nothing of it is submitted; the next one works. */
static void ask_all(uint32_t workers)
{
    world w;
    open_world(&w, workers);
    declare(&w, nothing_wrong);
    cr_assert_eq(hd_vk_frame(w.f.vk, w.graph), HD_OK);
    cr_expect_eq(error_of(w.f.vk).result, HD_OK);
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        unsigned submits = atomic_load(&hdt_vk_hooks.submits);
        declare(&w, asked[i].ask);
        hd_result result = hd_vk_frame(w.f.vk, w.graph);
        hd_error error = error_of(w.f.vk);
        cr_expect(result == asked[i].result && error.result == result, "%s: %s", hd_result_name(result), error.text);
        cr_expect(error.pass == 1 && error.resource == asked[i].resource, "%u, %u: %s", error.pass, error.resource,
                  error.text);
        expect_text(&error, (const char *[]){"'ask'", NULL});
        expect_text(&error, asked[i].parts);
        cr_expect_eq(atomic_load(&hdt_vk_hooks.submits), submits, "%s", error.text);
    }
    declare(&w, nothing_wrong);
    cr_expect_eq(hd_vk_frame(w.f.vk, w.graph), HD_OK);
    cr_expect_eq(hd_vk_wait(w.f.vk), HD_OK);
    cr_expect_eq(atomic_load(&w.runs), 2);
    close_world(&w);
}

Test(vk_mistakes, asked_for)
{
    ask_all(0);
    ask_all(3);
}

/* ---- host passes ---- */

static void mapped_of_another_pass(hd_recorder *recorder, void *user)
{
    world *w = user;
    cr_expect(hd_vk_mapped(recorder, w->stranger) == NULL);
    cr_expect(hd_vk_image(recorder, w->words) != VK_NULL_HANDLE);
    cr_expect(hd_vk_view(recorder, w->color, NULL) != VK_NULL_HANDLE);
    cr_expect(hd_vk_mapped(recorder, w->words) != NULL);
    atomic_fetch_add(&w->runs, 1);
}

/* asks: what the pass gets, as it is now; what is declared later is not its own. */
static void declare_host(world *w, hd_record_fn record, world *asks)
{
    static char name[8]; /* another one by the time at which the pass runs */
    memcpy(name, "host", sizeof("host"));
    hd_graph_begin(w->graph);
    w->words = hd_graph_buffer(w->graph, &(hd_buffer_desc){.name = "words", .bytes = 256});
    w->stranger = hd_graph_buffer(w->graph, &(hd_buffer_desc){.name = "stranger", .bytes = 256});
    hd_graph_pass(w->graph, &(hd_pass_desc){.name = name,
                                            .type = HD_PASS_HOST,
                                            .root = true,
                                            .record = record,
                                            .user = asks,
                                            .uses = HD_USES({w->words, HD_HOST_WRITE})});
    *asks = *w;
    cr_expect_eq(hd_vk_frame(w->f.vk, w->graph), HD_OK, "%s", error_of(w->f.vk).text);
    memset(name, 'x', sizeof(name) - 1);
}

static void nothing_wrong_on_the_host(hd_recorder *recorder, void *user)
{
    world *w = user;
    cr_expect(hd_vk_mapped(recorder, w->words) != NULL);
    atomic_fetch_add(&w->runs, 1);
}

/* They come to light with the next wait, once, or with the frame that waits for one. */
Test(vk_mistakes, asked_for_by_host_passes)
{
    world w, asks[2];
    open_world(&w, 0);
    declare_host(&w, mapped_of_another_pass, &asks[0]);
    cr_expect_eq(hd_vk_wait(w.f.vk), HD_INVALID_ARGUMENT);
    hd_error error = error_of(w.f.vk);
    cr_expect(error.result == HD_INVALID_ARGUMENT && error.pass == 0, "%s", error.text);
    expect_text(&error, (const char *[]){"pass 0 'host'", "hd_vk_mapped", "does not declare", NULL});
    cr_expect_eq(hd_vk_wait(w.f.vk), HD_OK);
    cr_expect_eq(atomic_load(&asks[0].runs), 1);

    declare_host(&w, mapped_of_another_pass, &asks[0]);
    declare_host(&w, nothing_wrong_on_the_host, &asks[1]); /* two frames in flight */
    cr_expect_eq(hd_vk_frame(w.f.vk, w.graph), HD_INVALID_ARGUMENT);
    error = error_of(w.f.vk);
    expect_text(&error, (const char *[]){"'host'", "hd_vk_mapped", NULL});
    cr_expect_eq(hd_vk_frame(w.f.vk, w.graph), HD_OK);
    cr_expect_eq(hd_vk_wait(w.f.vk), HD_OK);
    cr_expect_eq(atomic_load(&asks[0].runs), 1);
    cr_expect_eq(atomic_load(&asks[1].runs), 2);
    close_world(&w);
}

/* ---- calls within calls ---- */

static void call_all(world *w, hd_recorder *recorder)
{
    hd_vk *vk = w->f.vk;
    const hd_plan *plan;
    (void)recorder;
    cr_expect_eq(hd_vk_frame(vk, w->graph), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_vk_compile(vk, w->graph, NULL, &plan), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_vk_wait(vk), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_vk_sync_import(vk, w->graph, w->words, &(hd_vk_sync){0}), HD_INVALID_ARGUMENT);
    hd_vk_swapchain *swapchain;
    cr_expect_eq(hd_vk_swapchain_create(vk, &(hd_vk_swapchain_desc){0}, &swapchain), HD_INVALID_ARGUMENT);
    hd_vk_trim(vk);
    hd_vk_destroy(vk);
    atomic_fetch_add(&w->runs, 1);
}

static void calls(hd_recorder *recorder, void *user)
{
    call_all(user, recorder);
    fill(user, recorder, hd_vk_buffer(recorder, ((world *)user)->words));
}

static void calls_on_the_host(hd_recorder *recorder, void *user)
{
    call_all(user, recorder);
    cr_expect(hd_vk_mapped(recorder, ((world *)user)->words) != NULL);
}

/* Refused without harm; what they stand in goes on. */
Test(vk_mistakes, calls_within_calls)
{
    for (uint32_t workers = 0; workers < 2; workers++) {
        world w, asks;
        open_world(&w, workers);
        declare(&w, calls);
        cr_expect_eq(hd_vk_frame(w.f.vk, w.graph), HD_OK, "%s", error_of(w.f.vk).text);
        declare_host(&w, calls_on_the_host, &asks);
        cr_expect_eq(hd_vk_wait(w.f.vk), HD_OK);
        declare(&w, nothing_wrong);
        cr_expect_eq(hd_vk_frame(w.f.vk, w.graph), HD_OK);
        cr_expect_eq(hd_vk_wait(w.f.vk), HD_OK);
        cr_expect_eq(atomic_load(&w.runs) + atomic_load(&asks.runs), 4, "the copy counts the first one, too");
        close_world(&w);
    }
}

/* ---- errors of execution ---- */

Test(vk_mistakes, errors_that_can_be_read)
{
    world w;
    open_world(&w, 0);
    hd_vk *vk = w.f.vk;
    const hd_plan *plan;
    cr_expect(error_of(vk).result == HD_OK && error_of(vk).text[0] == 0);
    cr_expect_eq(error_of(NULL).result, HD_OK);

    hd_graph_begin(w.graph); /* of the device: the graph says what for, the device why not */
    hd_resource odd = hd_graph_image(
        w.graph, &(hd_image_desc){.name = "odd", .width = 40000, .height = 1, .format = VK_FORMAT_R8_UNORM});
    hd_graph_pass(w.graph,
                  &(hd_pass_desc){.type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({odd, HD_TRANSFER_DST})});
    cr_expect_eq(hd_vk_frame(vk, w.graph), HD_UNSUPPORTED);
    hd_error error = error_of(vk);
    cr_expect(error.result == HD_UNSUPPORTED && error.resource == 0);
    expect_text(&error, (const char *[]){"'odd'", "images of this size", NULL});

    for (uint32_t i = 0; i < 3; i++) { /* a use that the format is not for; it is said again, and sticks in the graph */
        if (i < 2)
            hd_graph_begin(w.graph);
        odd = hd_graph_image(w.graph,
                             &(hd_image_desc){.name = "odd", .width = 16, .height = 16, .format = VK_FORMAT_D16_UNORM});
        hd_graph_pass(w.graph, &(hd_pass_desc){.name = "copies",
                                               .type = HD_PASS_TRANSFER,
                                               .root = true,
                                               .uses = HD_USES({odd, HD_TRANSFER_DST})});
        hd_graph_pass(w.graph, &(hd_pass_desc){.name = "stores",
                                               .type = HD_PASS_COMPUTE,
                                               .root = true,
                                               .uses = HD_USES({odd, HD_STORAGE_RW_COMPUTE})});
        cr_expect_eq(hd_vk_frame(vk, w.graph), HD_UNSUPPORTED);
        error = error_of(vk);
        cr_expect(error.resource == 0 && error.pass == 1 && error.use == 0, "%u: %s", error.pass, error.text);
        expect_text(&error, (const char *[]){"'odd'", "pass 1 'stores'", "VK_FORMAT_D16_UNORM",
                                             "VK_IMAGE_USAGE_STORAGE_BIT", NULL});
    }

    hd_graph_begin(w.graph); /* of executing */
    hd_resource import = hd_graph_import(w.graph, &(hd_import_desc){.name = "empty", .bytes = 64});
    hd_graph_pass(w.graph,
                  &(hd_pass_desc){.type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({import, HD_TRANSFER_DST})});
    cr_expect_eq(hd_vk_frame(vk, w.graph), HD_INVALID_ARGUMENT);
    error = error_of(vk);
    cr_expect(error.result == HD_INVALID_ARGUMENT && error.resource == 0 && error.pass == HD_NONE);
    expect_text(&error, (const char *[]){"'empty'", "without a VkBuffer", NULL});

    declare(&w, nothing_wrong);
    cr_assert_eq(hd_vk_compile(vk, w.graph, NULL, &plan), HD_OK);
    hd_graph_begin(w.graph); /* of the plan, which is of another frame */
    cr_expect_eq(hd_vk_execute(vk, w.graph, plan), HD_INVALID_ARGUMENT);
    error = error_of(vk);
    expect_text(&error, (const char *[]){"not of what the graph declares now", NULL});

    cr_expect_eq(hd_vk_sync_import(vk, w.graph, (hd_resource){0}, &(hd_vk_sync){0}), HD_BAD_HANDLE);
    error = error_of(vk); /* where nothing else is known, the result's own sentence */
    cr_expect(error.result == HD_BAD_HANDLE && strcmp(error.text, hd_result_text(HD_BAD_HANDLE)) == 0);

    declare(&w, nothing_wrong);
    cr_expect_eq(hd_vk_frame(vk, w.graph), HD_OK);
    cr_expect_eq(error_of(vk).result, HD_BAD_HANDLE, "it stays until another call gives an error");
    close_world(&w);
}

/* ---- imports ---- */

typedef struct own_image {
    VkImage image;
    VkDeviceMemory memory;
} own_image;

static own_image make_image(world *w)
{
    own_image own;
    VkDevice device = w->f.info.device;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8A8_UNORM,
                              .extent = {16, 16, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
    VkMemoryRequirements needs;
    cr_assert_eq(HDT_FN(&w->f, vkCreateImage)(device, &info, NULL, &own.image), VK_SUCCESS);
    HDT_FN(&w->f, vkGetImageMemoryRequirements)(device, own.image, &needs);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
    cr_assert_eq(HDT_FN(&w->f, vkAllocateMemory)(device, &memory, NULL, &own.memory), VK_SUCCESS);
    cr_assert_eq(HDT_FN(&w->f, vkBindImageMemory)(device, own.image, own.memory, 0), VK_SUCCESS);
    return own;
}

static void free_image(world *w, own_image own)
{
    cr_expect_eq(hd_vk_wait(w->f.vk), HD_OK);
    HDT_FN(&w->f, vkDestroyImage)(w->f.info.device, own.image, NULL);
    HDT_FN(&w->f, vkFreeMemory)(w->f.info.device, own.memory, NULL);
}

/* A frame that clears the images. */
static hd_result clear_imports(world *w, const hd_import_desc *descs, uint32_t count)
{
    hd_graph_begin(w->graph);
    for (uint32_t i = 0; i < count; i++)
        hd_vk_clear(w->f.vk, w->graph, hd_graph_import(w->graph, &descs[i]), NULL, &(VkClearValue){0}, NULL);
    return hd_vk_frame(w->f.vk, w->graph);
}

static hd_import_desc import_of(const own_image *own, const char *name, uint64_t serial)
{
    return (hd_import_desc){.name = name,
                            .image = (void *)own->image,
                            .width = 16,
                            .height = 16,
                            .format = VK_FORMAT_R8G8B8A8_UNORM,
                            .final_layout = VK_IMAGE_LAYOUT_GENERAL,
                            .serial = serial};
}

Test(vk_mistakes, one_image_twice_in_a_frame)
{
    world w;
    open_world(&w, 0);
    own_image own = make_image(&w), other = make_image(&w);
    for (uint64_t serial = 0; serial < 2; serial++) {
        hd_import_desc twice[] = {import_of(&own, "one", serial), import_of(&other, "other", 2 * serial),
                                  import_of(&own, "again", serial)};
        cr_expect_eq(clear_imports(&w, twice, 2), HD_OK, "%s", error_of(w.f.vk).text);
        unsigned submits = atomic_load(&hdt_vk_hooks.submits);
        cr_expect_eq(clear_imports(&w, twice, 3), HD_INVALID_ARGUMENT);
        cr_expect_eq(atomic_load(&hdt_vk_hooks.submits), submits);
        hd_error error = error_of(w.f.vk);
        cr_expect_eq(error.resource, 2);
        expect_text(&error, (const char *[]){"'one'", "'again'", "the same VkImage", NULL});
        cr_expect_eq(clear_imports(&w, twice, 2), HD_OK);
    }
    free_image(&w, own);
    free_image(&w, other);
    close_world(&w);
}

Test(vk_mistakes, one_serial_for_two_descriptions)
{
    world w;
    open_world(&w, 0);
    own_image own = make_image(&w), other = make_image(&w);
    hd_import_desc first = import_of(&own, "first", 7), second = import_of(&other, "second", 7), larger = first;
    larger.width = 32;
    cr_expect_eq(clear_imports(&w, &first, 1), HD_OK);
    cr_expect_eq(clear_imports(&w, &second, 1), HD_OK, "serials are of each handle");
    cr_expect_eq(clear_imports(&w, &larger, 1), HD_INVALID_ARGUMENT);
    hd_error error = error_of(w.f.vk);
    expect_text(&error, (const char *[]){"'first'", "serial 7", "another size", NULL});
    cr_expect_eq(clear_imports(&w, &first, 1), HD_OK);
    free_image(&w, own);
    free_image(&w, other);
    close_world(&w);
}

typedef struct warned {
    char text[512];
    uint32_t count;
} warned;

static void keep_warning(hd_log_level level, const char *text, void *user)
{
    warned *to = user;
    to->count += level == HD_LOG_WARNING;
    if (level == HD_LOG_WARNING)
        snprintf(to->text, sizeof(to->text), "%s", text);
}

/* Warned of once an image, and not where its content is discarded. By a driver that does nothing. */
Test(vk_mistakes, layouts_of_imports)
{
    static const struct {
        uint32_t initial_layout, warnings; /* the sum so far; frames leave it in GENERAL */
    } frames[] = {
        {VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, 0}, /* heddle sees it for the first time */
        {VK_IMAGE_LAYOUT_UNDEFINED, 0},
        {VK_IMAGE_LAYOUT_GENERAL, 0},
        {VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, 1},
        {VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, 1},
        {VK_IMAGE_LAYOUT_GENERAL, 1},
    };
    world w = {.runs = 0};
    warned seen = {.count = 0};
    hd_vk_desc desc = hdb_stub_desc(1);
    desc.log = (hd_log){keep_warning, &seen};
    cr_assert_eq(hd_vk_create(&desc, &w.f.vk), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &w.graph), HD_OK);
    const own_image own = {.image = (VkImage)(uintptr_t)1000000};
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        hd_import_desc import = import_of(&own, "target", 0);
        import.initial_layout = frames[i].initial_layout;
        cr_expect_eq(clear_imports(&w, &import, 1), HD_OK);
        cr_expect_eq(seen.count, frames[i].warnings, "frame %zu: %u", i, seen.count);
    }
    cr_expect(strstr(seen.text, "'target' is imported in layout TRANSFER_SRC_OPTIMAL") &&
                  strstr(seen.text, "left it in layout GENERAL"), "%s",
              seen.text);
    hd_graph_destroy(w.graph);
    hd_vk_destroy(w.f.vk);
}
