#include <criterion/criterion.h>

#include <string.h>

#include "vk_scene.h"

/* What an engine asks about a pass before and while it is recorded, and options of compile. */

typedef struct asked {
    hd_vk_rendering got;
    bool points_inside;
    uint32_t runs;
} asked;

static void ask(hd_recorder *recorder, void *user)
{
    asked *a = user;
    hd_vk_rendering_get(recorder, &a->got);
    a->points_inside = a->got.info.pColorAttachmentFormats == a->got.colors;
    a->runs++;
}

static void expect_same(const hd_vk_rendering *a, const hd_vk_rendering *b)
{
    cr_expect_eq(a->info.sType, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    cr_expect_eq(a->info.viewMask, 0u);
    cr_expect_eq(a->info.colorAttachmentCount, b->info.colorAttachmentCount);
    cr_expect_eq(a->info.depthAttachmentFormat, b->info.depthAttachmentFormat);
    cr_expect_eq(a->info.stencilAttachmentFormat, b->info.stencilAttachmentFormat);
    cr_expect_eq(memcmp(a->colors, b->colors, sizeof(a->colors)), 0);
    cr_expect_eq(a->samples, b->samples);
}

Test(vk_pipelines, formats_of_a_pass)
{
    scene s;
    open_scene(&s, NULL);
    hd_image_desc desc = {.name = "a", .width = 32, .height = 32, .format = VK_FORMAT_R8G8B8A8_UNORM, .samples = 4};
    hd_resource a = hd_graph_image(s.graph, &desc);
    desc.format = VK_FORMAT_R16G16_SFLOAT;
    hd_resource b = hd_graph_image(s.graph, &desc);
    desc.format = VK_FORMAT_D32_SFLOAT;
    hd_resource depth = hd_graph_image(s.graph, &desc);
    desc.samples = 1;
    desc.format = VK_FORMAT_R8G8B8A8_UNORM;
    hd_resource single = hd_graph_image(s.graph, &desc);
    asked drawn = {0}, computed = {0}, hosted = {.got.samples = VK_SAMPLE_COUNT_64_BIT};
    hd_resource words = buffer(&s, "words", 64);
    hd_pass draw = hd_graph_pass(
        s.graph, &(hd_pass_desc){.name = "draw",
                                 .root = true,
                                 .record = ask,
                                 .user = &drawn,
                                 .uses = HD_USES({depth, HD_DEPTH_WRITE}, {a, HD_COLOR_WRITE}, {b, HD_COLOR_WRITE},
                                                 {single, HD_RESOLVE_WRITE, .resolve_of = a})});
    hd_pass compute = hd_graph_pass(s.graph, &(hd_pass_desc){.name = "compute",
                                                             .type = HD_PASS_COMPUTE,
                                                             .root = true,
                                                             .record = ask,
                                                             .user = &computed,
                                                             .uses = HD_USES({words, HD_STORAGE_WRITE_COMPUTE})});
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "host",
                                           .type = HD_PASS_HOST,
                                           .root = true,
                                           .record = ask,
                                           .user = &hosted,
                                           .uses = HD_USES({words, HD_HOST_READ})});
    hd_vk_rendering before, none;
    cr_expect_eq(hd_vk_rendering_of(s.graph, draw, &before), HD_OK);
    cr_expect_eq(before.info.pColorAttachmentFormats, before.colors);
    cr_expect_eq(before.info.colorAttachmentCount, 2u);
    cr_expect(before.colors[0] == VK_FORMAT_R8G8B8A8_UNORM && before.colors[1] == VK_FORMAT_R16G16_SFLOAT);
    cr_expect_eq(before.info.depthAttachmentFormat, VK_FORMAT_D32_SFLOAT);
    cr_expect_eq(before.info.stencilAttachmentFormat, VK_FORMAT_UNDEFINED);
    cr_expect_eq(before.samples, VK_SAMPLE_COUNT_4_BIT);
    cr_expect_eq(hd_vk_rendering_of(s.graph, compute, &none), HD_OK);
    cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK, "%s", hd_graph_error(s.graph)->text);
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    cr_expect(drawn.runs == 1 && computed.runs == 1 && hosted.runs == 1);
    cr_expect(drawn.points_inside && computed.points_inside);
    expect_same(&drawn.got, &before);
    expect_same(&computed.got, &none);
    cr_expect(none.info.colorAttachmentCount == 0 && none.samples == VK_SAMPLE_COUNT_1_BIT);
    cr_expect(hosted.got.samples == 0 && hosted.got.info.sType == 0, "zeros in a host pass");
    close_scene(&s);
}

Test(vk_pipelines, formats_of_depth_and_stencil)
{
    hd_graph *graph;
    hd_vk_rendering out;
    const uint32_t both = VK_FORMAT_D24_UNORM_S8_UINT;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint32_t aspect = 0; aspect <= (HD_ASPECT_DEPTH | HD_ASPECT_STENCIL); aspect += 2) {
        hd_graph_begin(graph);
        hd_resource d = hd_graph_image(graph, &(hd_image_desc){.width = 4, .height = 4, .format = both});
        hd_pass pass =
            hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({d, HD_DEPTH_WRITE, .range = {.aspect = aspect}})});
        cr_assert_eq(hd_vk_rendering_of(graph, pass, &out), HD_OK);
        bool depth = aspect != HD_ASPECT_STENCIL, stencil = aspect != HD_ASPECT_DEPTH;
        cr_expect_eq(out.info.depthAttachmentFormat, depth ? both : 0, "aspect %u", aspect);
        cr_expect_eq(out.info.stencilAttachmentFormat, stencil ? both : 0, "aspect %u", aspect);
    }
    hd_resource color =
        hd_graph_image(graph, &(hd_image_desc){.width = 4, .height = 4, .format = VK_FORMAT_R8G8B8A8_UNORM});
    hd_pass shown = hd_graph_pass(
        graph, &(hd_pass_desc){.uses = HD_USES({color, HD_COLOR_WRITE, .format = VK_FORMAT_R8G8B8A8_SRGB})});
    cr_assert_eq(hd_vk_rendering_of(graph, shown, &out), HD_OK);
    cr_expect_eq(out.colors[0], VK_FORMAT_R8G8B8A8_SRGB, "as the pass sees it");
    cr_expect_eq(hd_vk_rendering_of(graph, (hd_pass){0}, &out), HD_BAD_HANDLE);
    cr_expect_eq(out.samples, VK_SAMPLE_COUNT_1_BIT);
    hd_graph_destroy(graph);
}

/* One option is changed: queues, sizes and jobs stay those of the device. */
Test(vk_pipelines, compile_with_one_option)
{
    scene s;
    open_scene(&s, NULL);
    word_check check = {.buffer = buffer(&s, "words", 256), .count = 64, .expect = 5};
    hd_vk_fill(s.f.vk, s.graph, check.buffer, NULL, 5, NULL);
    add_check(&s, &check);
    const hd_plan *plan;
    hd_vk_info info;
    hd_vk_info_get(s.f.vk, &info);
    cr_assert_eq(hd_vk_compile(s.f.vk, s.graph, &(hd_compile_desc){.order = HD_ORDER_DECLARED}, &plan), HD_OK);
    hd_plan_view view = hd_plan_read(plan);
    cr_expect_eq(view.queue_count, info.queue_count + 1, "those of the device, and the host's");
    cr_expect_eq(hd_plan_verify(s.graph, plan, &(hd_verify_desc){.size = hd_vk_size, .size_user = s.f.vk}), HD_OK);
    cr_assert_eq(hd_vk_execute(s.f.vk, s.graph, plan), HD_OK);
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    expect_check(&check, 1);
    close_scene(&s);
}

/* One VkQueue for all kinds. */
Test(vk_pipelines, one_queue_of_several_kinds)
{
    scene s;
    open_scene(&s, NULL);
    hd_vk_info info;
    hd_vk *vk;
    hd_vk_info_get(s.f.vk, &info);
    hd_vk_queue_desc queues[3] = {info.queues[0], info.queues[0], info.queues[0]};
    queues[1].kind = HD_QUEUE_COMPUTE;
    queues[2].kind = HD_QUEUE_TRANSFER;
    cr_assert_eq(queues[0].kind, HD_QUEUE_GFX);
    hd_vk_desc desc = {.get_instance_proc = info.get_instance_proc,
                       .instance = info.instance,
                       .physical_device = info.physical_device,
                       .device = info.device,
                       .queues = queues,
                       .queue_count = 3};
    cr_assert_eq(hd_vk_create(&desc, &vk), HD_OK);
    for (uint32_t frame = 0; frame < 6; frame++) {
        hd_graph_begin(s.graph);
        word_check check = {.buffer = buffer(&s, "words", 256), .count = 64, .expect = frame};
        hd_resource first = buffer(&s, "first", 256), second = buffer(&s, "second", 256);
        hd_vk_fill(vk, s.graph, first, NULL, frame, &(hd_vk_as){.pin = HD_PIN_TRANSFER});
        hd_vk_copy(vk, s.graph, first, NULL, second, NULL, &(hd_vk_as){.pin = HD_PIN_COMPUTE});
        hd_vk_copy(vk, s.graph, second, NULL, check.buffer, NULL, &(hd_vk_as){.pin = HD_PIN_GFX});
        add_check(&s, &check);
        cr_assert_eq(hd_vk_frame(vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(vk), HD_OK);
        expect_check(&check, 1);
    }
    hd_vk_destroy(vk);
    close_scene(&s);
}

/* heddle's own images are not mapped: a host pass that uses one is refused, by name. */
Test(vk_pipelines, images_in_host_passes)
{
    scene s;
    open_scene(&s, NULL);
    const hd_plan *plan;
    hd_error error;
    hd_resource picture = image(&s, "picture", VK_FORMAT_R8G8B8A8_UNORM), words = buffer(&s, "words", 64);
    hd_vk_clear(s.f.vk, s.graph, picture, NULL, &(VkClearValue){0}, NULL);
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "peek",
                                           .type = HD_PASS_HOST,
                                           .root = true,
                                           .uses = HD_USES({words, HD_HOST_WRITE}, {picture, HD_HOST_READ})});
    cr_expect_eq(hd_vk_frame(s.f.vk, s.graph), HD_UNSUPPORTED);
    hd_vk_error_get(s.f.vk, &error);
    cr_expect(error.result == HD_UNSUPPORTED && error.pass == 1 && error.resource == 0 && error.use == 1);
    cr_expect(strstr(error.text, "picture") && strstr(error.text, "peek") && strstr(error.text, "host passes use"),
              "%s", error.text);
    hd_graph_begin(s.graph);
    picture = hd_graph_import(s.graph, &(hd_import_desc){.name = "theirs",
                                                         .width = 4,
                                                         .height = 4,
                                                         .format = VK_FORMAT_R8G8B8A8_UNORM,
                                                         .initial_layout = VK_IMAGE_LAYOUT_GENERAL});
    hd_graph_pass(s.graph,
                  &(hd_pass_desc){.type = HD_PASS_HOST, .root = true, .uses = HD_USES({picture, HD_HOST_READ})});
    cr_expect_eq(hd_vk_compile(s.f.vk, s.graph, NULL, &plan), HD_OK, "the engine may have mapped it");
    close_scene(&s);
}
