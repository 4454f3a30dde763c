#include <criterion/criterion.h>

#include <string.h>

#include "checked.h"
#include "vk_scene.h"

/* Rendering scopes on a device: what is resolved, loaded, stored and thrown away, checked by the pixels that come out.
 * Drawing is clearing rectangles inside the scope. */

static rect_pass color_rect(scene *s, int x, int y, uint32_t w, uint32_t h, float red, float green)
{
    return (rect_pass){
        s, {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .clearValue.color.float32 = {red, green, 0, 1}}, {{x, y}, {w, h}}};
}

static rect_pass depth_rect(scene *s, int x, int y, uint32_t w, uint32_t h, float depth)
{
    return (rect_pass){
        s, {.aspectMask = VK_IMAGE_ASPECT_DEPTH_BIT, .clearValue.depthStencil.depth = depth}, {{x, y}, {w, h}}};
}

static bool inside(const VkRect2D *r, int x, int y)
{
    return x >= r->offset.x && y >= r->offset.y && x < r->offset.x + (int)r->extent.width &&
           y < r->offset.y + (int)r->extent.height;
}

/* Copies an image out and hands it to words. */
static void read_back(scene *s, hd_resource from, uint32_t aspect, copy_pass *copy, word_check *check, uint32_t *words)
{
    *check = (word_check){.buffer = buffer(s, "pixels", PIXELS * 4), .count = PIXELS, .copy = words};
    *copy = (copy_pass){s, from, check->buffer, aspect, 0, 0};
    add_copy(copy);
    add_check(s, check);
}

static hd_resource multisampled(scene *s, const char *name, uint32_t format)
{
    return hd_graph_image(
        s->graph, &(hd_image_desc){.name = name, .width = SIZE, .height = SIZE, .format = format, .samples = 4});
}

static uint32_t depth_bits(float depth)
{
    uint32_t bits;
    memcpy(&bits, &depth, sizeof(bits));
    return bits;
}

Test(vk_attach, resolves)
{
    scene s;
    open_scene(&s, NULL);
    static uint32_t colors[PIXELS], depths[PIXELS];
    word_check checks[2];
    copy_pass copies[2];
    rect_pass first = color_rect(&s, 4, 8, 20, 30, 1, 0), second = depth_rect(&s, 16, 16, 40, 9, 0.75f);
    for (uint32_t frame = 0; frame < 3; frame++) {
        hd_graph_begin(s.graph);
        hd_resource many = multisampled(&s, "many", VK_FORMAT_R8G8B8A8_UNORM),
                    one = image(&s, "one", VK_FORMAT_R8G8B8A8_UNORM);
        hd_resource far = multisampled(&s, "far", VK_FORMAT_D32_SFLOAT), near = image(&s, "near", VK_FORMAT_D32_SFLOAT);
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "first",
                                               .record = clear_rect,
                                               .user = &first,
                                               .uses = HD_USES({many, HD_COLOR_WRITE, .clear.color = {0, 1, 0, 1}},
                                                               {far, HD_DEPTH_WRITE, .clear.depth = 0.25f})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "second",
                                               .record = clear_rect,
                                               .user = &second,
                                               .uses = HD_USES({many, HD_COLOR_RW}, {far, HD_DEPTH_RW},
                                                               {one, HD_RESOLVE_WRITE, .resolve_of = many},
                                                               {near, HD_RESOLVE_WRITE, .resolve_of = far})});
        read_back(&s, one, VK_IMAGE_ASPECT_COLOR_BIT, &copies[0], &checks[0], colors);
        read_back(&s, near, VK_IMAGE_ASPECT_DEPTH_BIT, &copies[1], &checks[1], depths);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        uint32_t bad = 0;
        for (int y = 0; y < SIZE; y++) {
            for (int x = 0; x < SIZE; x++) {
                bad += colors[y * SIZE + x] != (inside(&first.rect, x, y) ? 0xff0000ffu : 0xff00ff00u);
                bad += depths[y * SIZE + x] != depth_bits(inside(&second.rect, x, y) ? 0.75f : 0.25f);
            }
        }
        cr_expect_eq(bad, 0, "%u wrong pixels", bad);
        memset(colors, 0, sizeof(colors));
    }
    close_scene(&s);
}

/* A layer of a multisampled array of integers into a level and layer of a plain one. The first layers: the lavapipe of
 * Mesa 22.3 resolves those, whichever ones the views show. */
Test(vk_attach, resolves_a_layer_of_integers)
{
    scene s;
    open_scene(&s, NULL);
    static uint32_t words[PIXELS];
    word_check check;
    rect_pass draw = {
        &s, {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .clearValue.color.uint32 = {7}}, {{1, 2}, {30, 40}}};
    hd_image_desc desc = {.width = SIZE, .height = SIZE, .format = VK_FORMAT_R32_UINT, .layers = 3, .samples = 4};
    hd_resource many = hd_graph_image(s.graph, &desc);
    desc.samples = 1;
    desc.mips = 2;
    hd_resource one = hd_graph_image(s.graph, &desc);
    const hd_range layer = {.mip_count = 1, .layer_count = 1};
    hd_graph_pass(s.graph,
                  &(hd_pass_desc){.name = "draw",
                                  .record = clear_rect,
                                  .user = &draw,
                                  .uses = HD_USES({many, HD_COLOR_WRITE, .range = layer},
                                                  {one, HD_RESOLVE_WRITE, .range = layer, .resolve_of = many})});
    check = (word_check){.buffer = buffer(&s, "pixels", PIXELS * 4), .count = PIXELS, .copy = words};
    copy_pass copy = {&s, one, check.buffer, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "copy",
                                           .type = HD_PASS_TRANSFER,
                                           .record = copy_to_buffer,
                                           .user = &copy,
                                           .uses = HD_USES({one, HD_TRANSFER_SRC, .range = layer},
                                                           {check.buffer, HD_TRANSFER_DST})});
    add_check(&s, &check);
    cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    uint32_t bad = 0;
    for (int i = 0; i < PIXELS; i++)
        bad += words[i] != (inside(&draw.rect, i % SIZE, i / SIZE) ? 7u : 0u);
    cr_expect_eq(bad, 0, "%u wrong pixels", bad);
    close_scene(&s);
}

/* A depth buffer thrown away behind its last pass, in a frame that comes again and again; the colors stay right. */
Test(vk_attach, what_is_thrown_away_is_not_missed)
{
    scene s;
    open_scene(&s, NULL);
    static uint32_t words[PIXELS];
    for (uint32_t frame = 0; frame < 4; frame++) {
        word_check check;
        copy_pass copy;
        rect_pass draw = color_rect(&s, (int)frame, 3, 30, 20, 1, 1);
        hd_graph_begin(s.graph);
        hd_resource color = image(&s, "color", VK_FORMAT_R8G8B8A8_UNORM),
                    depth = image(&s, "depth", VK_FORMAT_D32_SFLOAT);
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "depth", .uses = HD_USES({depth, HD_DEPTH_WRITE})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "test",
                                               .uses = HD_USES({color, HD_COLOR_WRITE, .clear.color = {1, 0, 0, 1}},
                                                               {depth, HD_DEPTH_READ})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "draw",
                                               .record = clear_rect,
                                               .user = &draw,
                                               .uses = HD_USES({color, HD_COLOR_RW}, {depth, HD_DEPTH_RW})});
        read_back(&s, color, VK_IMAGE_ASPECT_COLOR_BIT, &copy, &check, words);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        uint32_t bad = 0;
        for (int i = 0; i < PIXELS; i++)
            bad += words[i] != (inside(&draw.rect, i % SIZE, i / SIZE) ? 0xff00ffffu : 0xff0000ffu);
        cr_expect_eq(bad, 0, "%u wrong pixels", bad);
    }
    close_scene(&s);
}

/* Five passes in one scope, the last resolves; each starts with the whole area as its scissor and draws over what the
 * ones before it left. On several workers and on one. */
static void shared_scope(uint32_t workers)
{
    scene s;
    hd_jobs *jobs = NULL;
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = workers}, &jobs), HD_OK);
    open_scene(&s, &(hd_vk_desc){.jobs = jobs});
    static uint32_t words[PIXELS], depths[PIXELS];
    for (uint32_t frame = 0; frame < 3; frame++) {
        word_check checks[2];
        copy_pass copies[2];
        rect_pass draws[5];
        hd_graph_begin(s.graph);
        hd_resource many = multisampled(&s, "many", VK_FORMAT_R8G8B8A8_UNORM),
                    depth = multisampled(&s, "depth", VK_FORMAT_D32_SFLOAT);
        hd_resource one = image(&s, "one", VK_FORMAT_R8G8B8A8_UNORM), near = image(&s, "near", VK_FORMAT_D32_SFLOAT);
        for (uint32_t i = 0; i < 5; i++) {
            draws[i] = i == 2 ? depth_rect(&s, 9, 9, 30, 10, 0.5f)
                              : color_rect(&s, 3 * (int)i, 2 * (int)i, 40, 50 - 7 * i, (float)i / 5, (float)(i % 2));
            hd_use uses[4] = {{many, i ? HD_COLOR_RW : HD_COLOR_WRITE, .clear.color = {1, 1, 1, 1}},
                              {depth, i ? HD_DEPTH_RW : HD_DEPTH_WRITE, .clear.depth = 1.0f},
                              {one, HD_RESOLVE_WRITE, .resolve_of = many},
                              {near, HD_RESOLVE_WRITE, .resolve_of = depth}};
            hd_graph_pass(s.graph, &(hd_pass_desc){.name = "draw",
                                                   .record = clear_rect,
                                                   .user = &draws[i],
                                                   .uses = uses,
                                                   .use_count = i == 4 ? 4 : 2});
        }
        read_back(&s, one, VK_IMAGE_ASPECT_COLOR_BIT, &copies[0], &checks[0], words);
        read_back(&s, near, VK_IMAGE_ASPECT_DEPTH_BIT, &copies[1], &checks[1], depths);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        const hd_plan *plan;
        cr_assert_eq(hd_vk_compile(s.f.vk, s.graph, NULL, &plan), HD_OK);
        hd_plan_view view = hd_plan_read(plan);
        cr_assert_eq(view.scope_count, 1);
        cr_assert_eq(view.scopes[0].command_count, 5);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        uint32_t bad = 0;
        for (int i = 0; i < PIXELS; i++) {
            uint32_t expect = UINT32_MAX;
            for (uint32_t d = 0; d < 5; d++) {
                const float *c = draws[d].clear.clearValue.color.float32;
                if (d != 2 && inside(&draws[d].rect, i % SIZE, i / SIZE))
                    expect = 0xff000000u | (uint32_t)(c[1] * 255.0f) << 8 | (uint32_t)(c[0] * 255.0f + 0.5f);
            }
            bad += words[i] != expect;
            bad += depths[i] != depth_bits(inside(&draws[2].rect, i % SIZE, i / SIZE) ? 0.5f : 1.0f);
        }
        cr_expect_eq(bad, 0, "%u wrong pixels", bad);
    }
    close_scene(&s);
    hd_jobs_destroy(jobs);
}

Test(vk_attach, a_shared_scope)
{
    shared_scope(1);
}

Test(vk_attach, a_shared_scope_on_several_workers)
{
    shared_scope(4);
}

typedef struct aspect_copy {
    scene *s;
    hd_resource image, buffer;
    uint32_t aspect;
    VkImageView views[2];
} aspect_copy;

static void copy_aspect(hd_recorder *recorder, void *user)
{
    aspect_copy *c = user;
    VkBufferImageCopy region = {.imageSubresource = {c->aspect, 0, 0, 1}, .imageExtent = {SIZE, SIZE, 1}};
    HDT_FN(&c->s->f, vkCmdCopyImageToBuffer)
    (hd_vk_commands(recorder), hd_vk_image(recorder, c->image), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
     hd_vk_buffer(recorder, c->buffer), 1, &region);
}

/* Views of one aspect each, for a shader of the pass. */
static void look_at_both(hd_recorder *recorder, void *user)
{
    aspect_copy *c = user;
    c->views[0] = hd_vk_view(recorder, c->image, NULL);
    c->views[1] = hd_vk_view(recorder, c->image, &(hd_range){.aspect = HD_ASPECT_STENCIL});
}

/* Depth is read while stencil is drawn, then depth is drawn while stencil is read, then alone; both come out. */
Test(vk_attach, depth_and_stencil_apart)
{
    scene s;
    open_scene(&s, NULL);
    static uint32_t depths[PIXELS], stencils[PIXELS / 4];
    const hd_range depth = {.aspect = HD_ASPECT_DEPTH}, stencil = {.aspect = HD_ASPECT_STENCIL};
    rect_pass first = {
        &s, {.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT, .clearValue.depthStencil.stencil = 9}, {{4, 5}, {33, 21}}};
    rect_pass second = depth_rect(&s, 10, 2, 20, 40, 0.5f), third = depth_rect(&s, 50, 50, 10, 10, 0.75f);
    for (uint32_t frame = 0; frame < 3; frame++) {
        hd_graph_begin(s.graph);
        hd_resource both = image(&s, "both", VK_FORMAT_D32_SFLOAT_S8_UINT);
        hd_resource color = image(&s, "color", VK_FORMAT_R8G8B8A8_UNORM);
        aspect_copy copies[3] = {{&s, both, buffer(&s, "depths", PIXELS * 4), VK_IMAGE_ASPECT_DEPTH_BIT},
                                 {&s, both, buffer(&s, "stencils", PIXELS), VK_IMAGE_ASPECT_STENCIL_BIT},
                                 {.s = &s, .image = both}};
        word_check checks[2] = {{.buffer = copies[0].buffer, .count = PIXELS, .copy = depths},
                                {.buffer = copies[1].buffer, .count = PIXELS / 4, .copy = stencils}};
        hd_graph_pass(
            s.graph, &(hd_pass_desc){.name = "clear",
                                     .uses = HD_USES({both, HD_DEPTH_WRITE, .clear = {.depth = 0.25f, .stencil = 3}})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "stencil",
                                               .record = clear_rect,
                                               .user = &first,
                                               .uses = HD_USES({both, HD_DEPTH_READ, .range = depth},
                                                               {both, HD_DEPTH_RW, .range = stencil})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "look",
                                               .record = look_at_both,
                                               .user = &copies[2],
                                               .root = true,
                                               .uses = HD_USES({both, HD_SAMPLED_GRAPHICS}, {color, HD_COLOR_WRITE})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "depth over stencil",
                                               .record = clear_rect,
                                               .user = &second,
                                               .uses = HD_USES({both, HD_DEPTH_RW, .range = depth},
                                                               {both, HD_DEPTH_READ, .range = stencil})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "depth beside stencil",
                                               .record = clear_rect,
                                               .user = &third,
                                               .uses = HD_USES({both, HD_DEPTH_RW, .range = depth},
                                                               {both, HD_SAMPLED_GRAPHICS, .range = stencil})});
        for (uint32_t i = 0; i < 2; i++) {
            hd_graph_pass(s.graph,
                          &(hd_pass_desc){.name = "copy",
                                          .record = copy_aspect,
                                          .user = &copies[i],
                                          .uses = HD_USES({both, HD_TRANSFER_SRC, .range = i ? stencil : depth},
                                                          {copies[i].buffer, HD_TRANSFER_DST})});
            add_check(&s, &checks[i]);
        }
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        cr_expect(copies[2].views[0] && copies[2].views[1] && copies[2].views[0] != copies[2].views[1]);
        uint32_t bad = 0;
        const unsigned char *bytes = (const unsigned char *)stencils;
        for (int i = 0; i < PIXELS; i++) {
            int x = i % SIZE, y = i / SIZE;
            bad += bytes[i] != (inside(&first.rect, x, y) ? 9 : 3);
            bad += depths[i] != depth_bits(inside(&third.rect, x, y)    ? 0.75f
                                           : inside(&second.rect, x, y) ? 0.5f
                                                                        : 0.25f);
        }
        cr_expect_eq(bad, 0, "%u wrong pixels", bad);
    }
    close_scene(&s);
}

/* Both aspects are resolved by one use; and each by one of its own. */
Test(vk_attach, resolves_depth_and_stencil)
{
    scene s;
    open_scene(&s, NULL);
    VkPhysicalDeviceDepthStencilResolveProperties resolves = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEPTH_STENCIL_RESOLVE_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &resolves};
    HDT_FN(&s.f, vkGetPhysicalDeviceProperties2)(s.f.info.physical_device, &properties);
    static uint32_t depths[PIXELS], stencils[PIXELS / 4];
    const hd_range depth = {.aspect = HD_ASPECT_DEPTH}, stencil = {.aspect = HD_ASPECT_STENCIL};
    rect_pass draw = {
        &s,
        {.aspectMask = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT, .clearValue.depthStencil = {0.5f, 200}},
        {{7, 6}, {33, 21}}};
#ifdef HDT_THREE_FAMILIES
    const uint32_t ways =
        2; /* a frame that is refused while it is recorded looks to the hooks as if it had lost a half */
#else
    const uint32_t ways = 3;
#endif
    for (uint32_t way = 0; way < ways; way++) {
        hd_graph_begin(s.graph);
        hd_resource many = multisampled(&s, "many", VK_FORMAT_D32_SFLOAT_S8_UINT),
                    one = image(&s, "one", VK_FORMAT_D32_SFLOAT_S8_UINT);
        aspect_copy copies[2] = {{&s, one, buffer(&s, "depths", PIXELS * 4), VK_IMAGE_ASPECT_DEPTH_BIT},
                                 {&s, one, buffer(&s, "stencils", PIXELS), VK_IMAGE_ASPECT_STENCIL_BIT}};
        word_check checks[2] = {{.buffer = copies[0].buffer, .count = PIXELS, .copy = depths},
                                {.buffer = copies[1].buffer, .count = PIXELS / 4, .copy = stencils}};
        hd_graph_pass(
            s.graph, &(hd_pass_desc){.name = "clear",
                                     .uses = HD_USES({many, HD_DEPTH_WRITE, .clear = {.depth = 0.25f, .stencil = 3}})});
        const hd_use whole[] = {{many, HD_DEPTH_RW}, {one, HD_RESOLVE_WRITE, .resolve_of = many}};
        const hd_use each[] = {{many, HD_DEPTH_RW, .range = depth},
                               {many, HD_DEPTH_RW, .range = stencil},
                               {one, HD_RESOLVE_WRITE, .range = depth, .resolve_of = many},
                               {one, HD_RESOLVE_WRITE, .range = stencil, .resolve_of = many}};
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "draw",
                                               .record = clear_rect,
                                               .user = &draw,
                                               .uses = way ? each : whole,
                                               .use_count = way == 2 ? 3
                                                            : way    ? 4
                                                                     : 2});
        for (uint32_t i = 0; i < (way == 2 ? 1u : 2u); i++) {
            hd_graph_pass(s.graph, &(hd_pass_desc){.name = "copy",
                                                   .record = copy_aspect,
                                                   .user = &copies[i],
                                                   .uses = HD_USES({one, HD_TRANSFER_SRC, .range = i ? stencil : depth},
                                                                   {copies[i].buffer, HD_TRANSFER_DST})});
            add_check(&s, &checks[i]);
        }
        hd_result result = hdt_frame(s.f.vk, s.graph);
        if (way == 2 && !resolves.independentResolve && !resolves.independentResolveNone) {
            cr_expect_eq(result, HD_UNSUPPORTED, "depth alone cannot be resolved by this device");
            break;
        }
        cr_assert_eq(result, HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        uint32_t bad = 0;
        const unsigned char *bytes = (const unsigned char *)stencils;
        for (int i = 0; i < PIXELS; i++) {
            bool drawn = inside(&draw.rect, i % SIZE, i / SIZE);
            bad += depths[i] != depth_bits(drawn ? 0.5f : 0.25f);
            bad += way < 2 && bytes[i] != (drawn ? 200 : 3);
        }
        cr_expect_eq(bad, 0, "way %u: %u wrong pixels", way, bad);
        memset(depths, 0, sizeof(depths));
        memset(stencils, 0, sizeof(stencils));
    }
    close_scene(&s);
}

static void count_warnings(hd_log_level level, const char *text, void *user)
{
    *(uint32_t *)user += level == HD_LOG_WARNING && strstr(text, "levels of resource 0 'pyramid'");
}

/* A pass that means one level and names none overwrites all of them by its declaration, and draws to the first one. */
Test(vk_attach, several_levels_are_warned_of)
{
    scene s;
    uint32_t warnings = 0, before = 0;
    open_scene(&s, &(hd_vk_desc){.log = {count_warnings, &warnings}});
    for (uint32_t frame = 0; frame < 4; frame++) {
        hd_graph_begin(s.graph);
        hd_resource pyramid = hd_graph_image(
            s.graph,
            &(hd_image_desc){
                .name = "pyramid", .width = SIZE, .height = SIZE, .mips = 3, .format = VK_FORMAT_R8G8B8A8_UNORM});
        hd_range range = {.mip_count = frame < 2 ? 0 : 1};
        hd_graph_pass(
            s.graph,
            &(hd_pass_desc){.name = "draw", .root = true, .uses = HD_USES({pyramid, HD_COLOR_WRITE, .range = range})});
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        /* When its scopes are made, and when they are made to be kept. */
        cr_expect_eq(warnings > before, frame < 2, "frame %u: %u", frame, warnings - before);
        before = warnings;
    }
    close_scene(&s);
}

static void count_mixed(hd_log_level level, const char *text, void *user)
{
    *(uint32_t *)user += level == HD_LOG_WARNING && strstr(text, "resource 1 'thin' has 1 samples, another one 4");
}

/* The warning comes where the scope is made: before the driver sees it. */
Test(vk_attach, mixed_samples_are_warned_of)
{
    scene s;
    uint32_t warnings = 0;
    open_scene(&s, &(hd_vk_desc){.log = {count_mixed, &warnings}});
    if (s.f.layer >= VK_MAKE_API_VERSION(0, 1, 4, 0)) {
        close_scene(&s);
        cr_skip_test("what the validation layer says of mixed samples counts as a failure under --debian13");
    }
    for (uint32_t samples = 4; samples; samples = samples == 4 ? 1 : 0) {
        hd_graph_begin(s.graph);
        hd_image_desc desc = {
            .name = "thick", .width = SIZE, .height = SIZE, .format = VK_FORMAT_R8G8B8A8_UNORM, .samples = samples};
        hd_resource thick = hd_graph_image(s.graph, &desc);
        desc.name = "thin";
        desc.samples = 1;
        hd_resource thin = hd_graph_image(s.graph, &desc);
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "draw",
                                               .root = true,
                                               .uses = HD_USES({thick, HD_COLOR_WRITE}, {thin, HD_COLOR_WRITE})});
        uint32_t before = warnings;
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_expect_eq(warnings > before, samples == 4, "%u samples: %u", samples, warnings - before);
    }
    cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
    hdt_vk_close(&s.f); /* the validation layer has its own word on mixed samples */
    hd_graph_destroy(s.graph);
}

static void count_unlike(hd_log_level level, const char *text, void *user)
{
    *(uint32_t *)user += level == HD_LOG_WARNING && strstr(text, "pass 0 'draw'") &&
                         strstr(text, "'second' has 32x64 texels in 1 layers");
}

Test(vk_attach, unlike_sizes_are_warned_of)
{
    scene s;
    uint32_t warnings = 0;
    open_scene(&s, &(hd_vk_desc){.log = {count_unlike, &warnings}});
    for (uint32_t width = SIZE; width >= SIZE / 2; width /= 2) {
        hd_graph_begin(s.graph);
        hd_resource first = image(&s, "first", VK_FORMAT_R8G8B8A8_UNORM);
        hd_resource second = hd_graph_image(
            s.graph,
            &(hd_image_desc){.name = "second", .width = width, .height = SIZE, .format = VK_FORMAT_R8G8B8A8_UNORM});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "draw",
                                               .root = true,
                                               .uses = HD_USES({first, HD_COLOR_WRITE}, {second, HD_COLOR_WRITE})});
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_expect_eq(warnings, width < SIZE);
    }
    close_scene(&s);
}
