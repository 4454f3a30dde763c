#include "vk_scene.h"

#include "checked.h"

/* Order tokens, executed: what one pass writes to memory that heddle does not know of is there for the pass that waits,
 * on one queue or another, in frames that come again. */

typedef struct unknown_memory {
    scene *s;
    VkBuffer buffer;
    VkDeviceMemory memory;
    hd_resource to, token;
    uint32_t word;
    uint32_t mistakes;
} unknown_memory;

static void make_unknown(scene *s, unknown_memory *u)
{
    VkDevice device = s->f.info.device;
    VkBufferCreateInfo made = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = 1024,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    cr_assert_eq(HDT_FN(&s->f, vkCreateBuffer)(device, &made, NULL, &u->buffer), VK_SUCCESS);
    HDT_FN(&s->f, vkGetBufferMemoryRequirements)(device, u->buffer, &needs);
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
    cr_assert_eq(HDT_FN(&s->f, vkAllocateMemory)(device, &info, NULL, &u->memory), VK_SUCCESS);
    cr_assert_eq(HDT_FN(&s->f, vkBindBufferMemory)(device, u->buffer, u->memory, 0), VK_SUCCESS);
}

static void free_unknown(scene *s, unknown_memory *u)
{
    HDT_FN(&s->f, vkDestroyBuffer)(s->f.info.device, u->buffer, NULL);
    HDT_FN(&s->f, vkFreeMemory)(s->f.info.device, u->memory, NULL);
}

static void fill_unknown(hd_recorder *recorder, void *user)
{
    const unknown_memory *u = user;
    HDT_FN(&u->s->f, vkCmdFillBuffer)(hd_vk_commands(recorder), u->buffer, 0, 1024, u->word);
}

static void copy_unknown(hd_recorder *recorder, void *user)
{
    const unknown_memory *u = user;
    VkBufferCopy region = {0, 0, 1024};
    HDT_FN(&u->s->f, vkCmdCopyBuffer)
    (hd_vk_commands(recorder), u->buffer, hd_vk_buffer(recorder, u->to), 1, &region);
}

Test(vk_token, orders_what_heddle_does_not_know)
{
    enum { TOKEN_FRAMES = 12 };
    static word_check checks[TOKEN_FRAMES];
    scene s;
    unknown_memory u = {.s = &s};
    open_scene(&s, NULL);
    make_unknown(&s, &u);
    for (uint32_t f = 0; f < TOKEN_FRAMES; f++) {
        hd_graph_begin(s.graph);
        hd_resource done = hd_graph_buffer(s.graph, &(hd_buffer_desc){.name = "filled", .token = true});
        u.word = 1000 + f;
        u.to = buffer(&s, "words", 1024);
        checks[f] = (word_check){.buffer = u.to, .count = 256, .expect = u.word};
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "fill",
                                               .type = HD_PASS_TRANSFER,
                                               .pin = HD_PIN_TRANSFER,
                                               .record = fill_unknown,
                                               .user = &u,
                                               .uses = HD_USES({done, HD_ACCESS_CUSTOM, .custom = &hd_token_signal})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "copy",
                                               .type = HD_PASS_TRANSFER,
                                               .pin = f % 2 ? HD_PIN_GFX : HD_PIN_TRANSFER,
                                               .record = copy_unknown,
                                               .user = &u,
                                               .uses = HD_USES({done, HD_ACCESS_CUSTOM, .custom = &hd_token_wait},
                                                               {u.to, HD_TRANSFER_DST})});
        add_check(&s, &checks[f]);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK, "%s", hd_graph_error(s.graph)->text);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK); /* no token reaches from frame to frame */
        expect_check(&checks[f], 1);
    }
    free_unknown(&s, &u);
    close_scene(&s);
}

static void ask_for_token(hd_recorder *recorder, void *user)
{
    unknown_memory *u = user;
    u->mistakes += hd_vk_buffer(recorder, u->token) != VK_NULL_HANDLE; /* something to go on with */
}

Test(vk_token, has_no_buffer)
{
    scene s;
    unknown_memory u = {.s = &s};
    hd_error error;
    open_scene(&s, NULL);
    u.token = hd_graph_buffer(s.graph, &(hd_buffer_desc){.name = "done", .token = true});
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "asks",
                                           .type = HD_PASS_TRANSFER,
                                           .root = true,
                                           .record = ask_for_token,
                                           .user = &u,
                                           .uses = HD_USES({u.token, HD_ACCESS_CUSTOM, .custom = &hd_token_signal})});
    cr_expect_eq(hd_vk_frame(s.f.vk, s.graph), HD_INVALID_ARGUMENT);
    hd_vk_error_get(s.f.vk, &error);
    cr_expect(strstr(error.text, "token") && strstr(error.text, "asks") && u.mistakes == 1, "%s", error.text);
    close_scene(&s);
}
