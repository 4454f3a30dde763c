/* The tests of frames and histories once more, on a device that pretends to have three queue families (hooks in
 * layer/vk_families.c): graphics, transfer, compute. Ownership transfers, pools of other families and hand-offs
 * between queues run; the hooks check families and stages, and the validation layer sees what is left of it on one
 * queue. */
#define HDT_THREE_FAMILIES
#include "test_vk_frames.c"
#include "test_vk_helpers.c"
#include "test_vk_history.c"
#include "test_vk_history_random.c"
#include "test_vk_resources.c"
#include "test_vk_random.c"
#include "test_vk_attach.c"
#include "test_vk_version.c"
#include "test_vk_token.c"

#include "vk_busy.h"

/* Several queues of a kind where the device has them, folded onto fewer where it does not. */
Test(vk_queues, several_of_a_kind)
{
    static const struct {
        uint32_t have[3]; /* of the families graphics, transfer, compute */
        uint32_t expect;
    } cases[] = {{{1, 1, 1}, 3}, {{2, 1, 1}, 4}, {{2, 2, 2}, 6}, {{3, 3, 3}, 6}};
    static const hd_queue_kind kinds[] = {HD_QUEUE_GFX,      HD_QUEUE_COMPUTE, HD_QUEUE_COMPUTE,
                                          HD_QUEUE_TRANSFER, HD_QUEUE_GFX,     HD_QUEUE_TRANSFER};
    uint32_t before[3];
    memcpy(before, hdt_vk_family_settings.queues, sizeof(before));
    for (uint32_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        memcpy(hdt_vk_family_settings.queues, cases[c].have, sizeof(before));
        scene s;
        open_scene(&s, &(hd_vk_desc){.queue_kinds = kinds, .queue_kind_count = 6});
        cr_expect_eq(s.f.info.queue_count, cases[c].expect, "%u queues", s.f.info.queue_count);
        for (uint32_t a = 0; a < s.f.info.queue_count; a++) {
            for (uint32_t b = 0; b < a; b++)
                cr_expect_neq(s.f.info.queues[a].queue, s.f.info.queues[b].queue);
        }
        hdt_busy busy = {.graph = s.graph};
        cr_expect_eq(hdt_busy_run(&busy, s.f.vk, 6), HD_OK);
        cr_expect_eq(hd_vk_wait(s.f.vk), HD_OK);
        cr_expect_eq(atomic_load(&busy.right), 12);
        close_scene(&s);
    }
    memcpy(hdt_vk_family_settings.queues, before, sizeof(before));
}
