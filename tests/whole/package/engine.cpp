#include <heddle/capture.h>
#include <heddle/plan_tools.h>
#include <heddle/vk.h>

#include <cstdio>

/* An engine in C++11: descriptions are set field by field, callbacks are lambdas without captures. */

struct frame {
    hd_resource words;
    uint32_t seen;
};

static void add_pass(hd_graph *graph, const char *name, hd_pass_type type, hd_use use, hd_record_fn record, frame *user)
{
    hd_pass_desc desc = {};
    desc.name = name;
    desc.type = type;
    desc.uses = &use;
    desc.use_count = 1;
    desc.root = true;
    desc.record = record;
    desc.user = user;
    hd_graph_pass(graph, &desc);
}

int main()
{
    hd_graph *graph = nullptr;
    hd_vk *vk = nullptr;
    frame f = {};
    if (hd_graph_create(nullptr, &graph) != HD_OK)
        return 1;
    hd_graph_begin(graph);
    hd_buffer_desc buffer = {};
    buffer.name = "words";
    buffer.bytes = 64;
    f.words = hd_graph_buffer(graph, &buffer);
    hd_use write = {}, read = {};
    write.resource = read.resource = f.words;
    write.access = HD_HOST_WRITE;
    read.access = HD_HOST_READ;
    add_pass(
        graph, "write", HD_PASS_HOST, write,
        [](hd_recorder *recorder, void *user) {
            frame *of = static_cast<frame *>(user);
            *static_cast<uint32_t *>(hd_vk_mapped(recorder, of->words)) = 42;
        },
        &f);
    add_pass(
        graph, "read", HD_PASS_HOST, read,
        [](hd_recorder *recorder, void *user) {
            frame *of = static_cast<frame *>(user);
            of->seen = *static_cast<uint32_t *>(hd_vk_mapped(recorder, of->words));
        },
        &f);
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
