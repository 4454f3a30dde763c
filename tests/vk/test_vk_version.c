#include <criterion/criterion.h>

#include "checked.h"
#include "vk_scene.h"

/* Versions on a device: readers of every version, on the GPU and on the host, find its content under its handle, though
 * all of them are declared behind the last write. */

enum { VERSION_STEPS = 4, VERSION_WORDS = 256 };

typedef struct version_fill {
    scene *s;
    hd_resource buffer;
    uint32_t value;
} version_fill;

static void fill_version(hd_recorder *recorder, void *user)
{
    const version_fill *f = user;
    HDT_FN(&f->s->f, vkCmdFillBuffer)
    (hd_vk_commands(recorder), hd_vk_buffer(recorder, f->buffer), 0, VK_WHOLE_SIZE, f->value);
}

typedef struct version_copy {
    scene *s;
    hd_resource from, to;
} version_copy;

static void copy_version(hd_recorder *recorder, void *user)
{
    const version_copy *c = user;
    VkBufferCopy region = {.size = VERSION_WORDS * 4};
    HDT_FN(&c->s->f, vkCmdCopyBuffer)
    (hd_vk_commands(recorder), hd_vk_buffer(recorder, c->from), hd_vk_buffer(recorder, c->to), 1, &region);
}

Test(vk_version, readers_of_every_version, .timeout = 30)
{
    scene s;
    open_scene(&s, NULL);
    for (uint32_t frame = 0; frame < 3; frame++) {
        version_fill fills[VERSION_STEPS];
        version_copy copies[VERSION_STEPS];
        word_check checks[2 * VERSION_STEPS];
        memset(checks, 0, sizeof(checks));
        hd_graph_begin(s.graph);
        hd_resource versions[VERSION_STEPS + 1] = {buffer(&s, "data", VERSION_WORDS * 4)};
        for (uint32_t i = 0; i < VERSION_STEPS; i++) {
            fills[i] = (version_fill){&s, versions[i], 100 * frame + i};
            hd_graph_pass(s.graph,
                          &(hd_pass_desc){.name = "fill",
                                          .type = HD_PASS_TRANSFER,
                                          .pin = i & 1 ? HD_PIN_COMPUTE : HD_PIN_TRANSFER,
                                          .record = fill_version,
                                          .user = &fills[i],
                                          .uses = HD_USES({versions[i], HD_TRANSFER_DST, .next = &versions[i + 1]})});
        }
        for (uint32_t i = VERSION_STEPS; i-- > 0;) {
            checks[i] = (word_check){versions[i + 1], VERSION_WORDS, 100 * frame + i};
            add_check(&s, &checks[i]);
            copies[i] = (version_copy){&s, versions[i + 1], buffer(&s, "copy", VERSION_WORDS * 4)};
            hd_graph_pass(s.graph, &(hd_pass_desc){.name = "copy",
                                                   .type = HD_PASS_TRANSFER,
                                                   .record = copy_version,
                                                   .user = &copies[i],
                                                   .uses = HD_USES({copies[i].from, HD_TRANSFER_SRC},
                                                                   {copies[i].to, HD_TRANSFER_DST})});
            checks[VERSION_STEPS + i] = (word_check){copies[i].to, VERSION_WORDS, 100 * frame + i};
            add_check(&s, &checks[VERSION_STEPS + i]);
        }
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK, "%s", hd_graph_error(s.graph)->text);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        for (uint32_t i = 0; i < 2 * VERSION_STEPS; i++)
            expect_check(&checks[i], 1);
    }
    close_scene(&s);
}

/* Handles of lists name resources and versions in callbacks too, also of host passes, which run when the graph declares
 * another frame. */
Test(vk_version, handles_of_lists, .timeout = 30)
{
    enum { LISTED = 6 };
    scene s;
    version_fill fills[LISTED];
    word_check checks[LISTED][2];
    open_scene(&s, NULL);
    memset(checks, 0, sizeof(checks));
    for (uint32_t frame = 0; frame < LISTED; frame++) {
        hd_graph_begin(s.graph);
        hd_graph *list = hd_graph_list(s.graph, 0), *later = hd_graph_list(s.graph, 1);
        hd_resource filled, data = hd_graph_buffer(list, &(hd_buffer_desc){.name = "data", .bytes = VERSION_WORDS * 4});
        fills[frame] = (version_fill){&s, data, frame + 1};
        hd_graph_pass(list, &(hd_pass_desc){.name = "fill",
                                            .type = HD_PASS_TRANSFER,
                                            .record = fill_version,
                                            .user = &fills[frame],
                                            .uses = HD_USES({data, HD_TRANSFER_DST, .next = &filled})});
        for (uint32_t i = 0; i < 2; i++) {
            checks[frame][i] = (word_check){i ? filled : data, VERSION_WORDS, frame + 1};
            hd_graph_pass(later, &(hd_pass_desc){.name = "check",
                                                 .type = HD_PASS_HOST,
                                                 .root = true,
                                                 .record = check_words,
                                                 .user = &checks[frame][i],
                                                 .uses = HD_USES({filled, HD_HOST_READ})});
        }
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK);
    }
    cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t frame = 0; frame < LISTED; frame++)
        for (uint32_t i = 0; i < 2; i++)
            expect_check(&checks[frame][i], 1);
    close_scene(&s);
}
