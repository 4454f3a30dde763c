#include <heddle/heddle.hpp>
#include <heddle/vk.h>

#include <cstdio>

/* An engine in C++20: passes in one expression, callbacks that are lambdas without captures. */

struct frame {
    hd_resource words, next;
    uint32_t seen;
};

static hd_resource image(hd_graph *graph, const char *name, uint32_t samples)
{
    hd_image_desc desc = {};
    desc.name = name;
    desc.width = desc.height = 64;
    desc.format = 37;
    desc.samples = samples;
    return hd_graph_image(graph, &desc);
}

/* All that a use can say, compiled and verified. */
static bool compiles(hd_graph *graph)
{
    hd_custom_access sampled = {};
    sampled.stages = 0x80;
    sampled.access = UINT64_C(0x100000000);
    sampled.layout = 5;
    sampled.reads = true;
    hd_graph_begin(graph);
    hd_resource many = image(graph, "many", 4), one = image(graph, "one", 1), shown = image(graph, "shown", 1),
                next = {};
    hd::pass("draw", HD_PASS_GFX,
             {hd::use(many, HD_COLOR_WRITE).cleared(0.5f, 0, 0, 1), hd::use(one, HD_RESOLVE_WRITE).resolves(many)})
        .costs(50)
        .declare(graph);
    hd::pass("show", HD_PASS_GFX,
             {hd::use(one, HD_ACCESS_CUSTOM).with(sampled).mips(0).layers(0),
              hd::use(shown, HD_COLOR_WRITE).not_loaded().starts(next)})
        .never_culled()
        .pinned_to(HD_PIN_GFX)
        .renders_itself()
        .declare(graph);
    const hd_plan *plan = nullptr;
    return next.id != 0 && hd_graph_compile(graph, nullptr, &plan) == HD_OK &&
           hd_plan_verify(graph, plan, nullptr) == HD_OK && hd_plan_read(plan).culled_count == 0;
}

int main()
{
    hd_graph *graph = nullptr;
    hd_vk *vk = nullptr;
    frame f = {};
    if (hd_graph_create(nullptr, &graph) != HD_OK || !compiles(graph))
        return 1;
    hd_graph_begin(graph);
    hd_buffer_desc buffer = {};
    buffer.name = "words";
    buffer.bytes = 64;
    f.words = hd_graph_buffer(graph, &buffer);
    hd::pass("write", HD_PASS_HOST, {hd::use(f.words, HD_HOST_WRITE).starts(f.next)})
        .recorded_by(
            [](hd_recorder *recorder, void *user) {
                *static_cast<uint32_t *>(hd_vk_mapped(recorder, static_cast<frame *>(user)->words)) = 42;
            },
            &f)
        .declare(graph);
    hd::pass("read", HD_PASS_HOST, {hd::use(f.next, HD_HOST_READ).bytes(0, 4)})
        .recorded_by(
            [](hd_recorder *recorder, void *user) {
                frame *of = static_cast<frame *>(user);
                of->seen = *static_cast<uint32_t *>(hd_vk_mapped(recorder, of->words));
            },
            &f)
        .never_culled()
        .declare(graph);
    hd_result result = hd_vk_create(nullptr, &vk);
    if (result == HD_OK)
        result = hd_vk_frame(vk, graph);
    if (result == HD_OK)
        result = hd_vk_wait(vk);
    std::printf("%u, %s\n", f.seen, hd_result_name(result));
    bool bad = result == HD_OK ? f.seen != 42 : vk != nullptr; /* without a device there is no frame */
    hd_vk_destroy(vk);
    hd_graph_destroy(graph);
    return bad;
}
