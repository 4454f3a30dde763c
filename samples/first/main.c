#include <heddle/vk.h>
#include <stdio.h>

static PFN_vkCmdFillBuffer fill_buffer;
static hd_resource pixels, result;

static void fill(hd_recorder *rec, void *user) /* any worker may run this */
{
    fill_buffer(hd_vk_commands(rec), hd_vk_buffer(rec, pixels), 0, VK_WHOLE_SIZE, *(uint32_t *)user);
}

static PFN_vkCmdCopyBuffer copy_buffer;
static void copy(hd_recorder *rec, void *user)
{
    VkBufferCopy all = {.size = *(uint64_t *)user};
    copy_buffer(hd_vk_commands(rec), hd_vk_buffer(rec, pixels), hd_vk_buffer(rec, result), 1, &all);
}

static void show(hd_recorder *rec, void *user) /* runs once the GPU is done with what it reads */
{
    printf("%s %x\n", (const char *)user, *(uint32_t *)hd_vk_mapped(rec, result));
}

int main(void)
{
    hd_vk *vk;
    hd_graph *g;
    hd_result r = hd_vk_create(&(hd_vk_desc){.application = "first"}, &vk);
    if (r != HD_OK || hd_graph_create(NULL, &g) != HD_OK)
        return fprintf(stderr, "heddle: %s\n", hd_result_text(r)), 2;
    hd_vk_info info;
    hd_vk_info_get(vk, &info);
    PFN_vkGetDeviceProcAddr get = (PFN_vkGetDeviceProcAddr)info.get_instance_proc(info.instance, "vkGetDeviceProcAddr");
    fill_buffer = (PFN_vkCmdFillBuffer)get(info.device, "vkCmdFillBuffer");
    copy_buffer = (PFN_vkCmdCopyBuffer)get(info.device, "vkCmdCopyBuffer");

    uint32_t colour = 0xc0ffee;
    uint64_t bytes = 4096;
    hd_graph_begin(g); /* each frame: declare ... */
    pixels = hd_graph_buffer(g, &(hd_buffer_desc){.name = "pixels", .bytes = bytes});
    result = hd_graph_buffer(g, &(hd_buffer_desc){.name = "result", .bytes = bytes});
    hd_graph_pass(g, &(hd_pass_desc){.name = "fill", .type = HD_PASS_TRANSFER, .record = fill, .user = &colour,
                                     .uses = HD_USES({pixels, HD_TRANSFER_DST})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "copy", .type = HD_PASS_TRANSFER, .record = copy, .user = &bytes,
                                     .uses = HD_USES({pixels, HD_TRANSFER_SRC}, {result, HD_TRANSFER_DST})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "show", .type = HD_PASS_HOST, .record = show, .user = "the GPU wrote",
                                     .root = true, .uses = HD_USES({result, HD_HOST_READ})});
    r = hd_vk_frame(vk, g); /* ... compile and execute */
    if (r == HD_OK)
        r = hd_vk_wait(vk);
    hd_graph_destroy(g);
    hd_vk_destroy(vk);
    return r == HD_OK ? 0 : 2;
}
