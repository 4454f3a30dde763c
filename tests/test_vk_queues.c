/* The tests of frames and histories once more, on a device that pretends to have three queue families (hooks in
 * layer/vk_families.c): graphics, transfer, compute. Ownership transfers, pools of other families and hand-offs
 * between queues run; the hooks check families and stages, and the validation layer sees what is left of it on one
 * queue. */
#define HDT_THREE_FAMILIES
#include "test_vk_frames.c"
#include "test_vk_helpers.c"
#include "test_vk_history.c"
#include "test_vk_resources.c"
#include "test_vk_random.c"
#include "test_vk_attach.c"
#include "test_vk_version.c"
