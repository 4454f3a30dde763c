#include <heddle/vk.h>
#include <stdio.h>

static PFN_vkCmdFillBuffer fill_buffer;
static hd_resource pixels;

static void fill(hd_recorder *rec, void *user) /* any worker may run this */
{
    fill_buffer(hd_vk_commands(rec), hd_vk_buffer(rec, pixels), 0, VK_WHOLE_SIZE, *(uint32_t *)user);
}

static void show(hd_recorder *rec, void *user) /* runs once the GPU is done with what it reads */
{
    printf("%s %x\n", (const char *)user, *(uint32_t *)hd_vk_mapped(rec, pixels));
}

int main(void)
{
    hd_vk *vk;
    hd_graph *g;
    uint32_t colour = 0xc0ffee;
    hd_result r = hd_vk_create(&(hd_vk_desc){.application = "first"}, &vk);
    if (r != HD_OK || (r = hd_graph_create(NULL, &g)) != HD_OK)
        return fprintf(stderr, "first: %s\n", hd_result_text(r)), 2;
    hd_vk_info info;
    hd_vk_info_get(vk, &info);
    fill_buffer = (PFN_vkCmdFillBuffer)info.get_instance_proc(info.instance, "vkCmdFillBuffer");

    hd_graph_begin(g); /* each frame: declare ... */
    pixels = hd_graph_buffer(g, &(hd_buffer_desc){.name = "pixels", .bytes = 4096});
    hd_graph_pass(g, &(hd_pass_desc){.name = "fill", .type = HD_PASS_TRANSFER, .record = fill, .user = &colour,
                                     .uses = HD_USES({pixels, HD_TRANSFER_DST})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "show", .type = HD_PASS_HOST, .record = show, .user = "the GPU wrote",
                                     .root = true, .uses = HD_USES({pixels, HD_HOST_READ})});
    r = hd_vk_frame(vk, g); /* ... compile and execute */
    if (r == HD_OK)
        r = hd_vk_wait(vk);
    if (r == HD_OK && (fflush(stdout) != 0 || ferror(stdout)))
        r = HD_IO;
    if (r != HD_OK)
        fprintf(stderr, "first: %s\n", hd_result_text(r));
    hd_graph_destroy(g);
    hd_vk_destroy(vk);
    return r == HD_OK ? 0 : 2;
}
