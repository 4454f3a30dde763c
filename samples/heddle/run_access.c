#include "run_state.h"

/* How `run` checks and does each access: the table stands at the end. An access that shaders read is checked by a
 * program that compares what it reads with what the model expects, in a stage that the access names. */

static void dispatch(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op, run_program program)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    run_push push = run_push_of(r, slot, op);
    run_bind(r, recorder, op, program, VK_PIPELINE_BIND_POINT_COMPUTE, &push);
    uint32_t words = push.last - push.first, points = push.nx * push.ny;
    if (program == RUN_STORE_COMP)
        points = op->width * op->height;
    else if (words)
        points = program == RUN_FILL_COMP || words < 4096 ? words : 4096;
    r->CmdDispatch(commands, points < 64 * 1024 ? (points + 63) / 64 : 1024, 1, 1);
}

static void check_sampled(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    dispatch(r, slot, recorder, op, RUN_IMAGE_COMP);
}

static void check_uniform(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    dispatch(r, slot, recorder, op, RUN_UNIFORM_COMP);
}

static void check_storage(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    int of_format = run_format_of(r->res[op->res].format)->storage;
    dispatch(r, slot, recorder, op, r->res[op->res].buffer ? RUN_BUFFER_COMP : (run_program)of_format);
}

static void write_storage(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    dispatch(r, slot, recorder, op, r->res[op->res].buffer ? RUN_FILL_COMP : RUN_STORE_COMP);
}

/* ---- reads in graphics stages: they draw without attachments ---- */

enum { AREA = 64 };

/* Fragments that look at many points. */
static void draw(run *r, run_slot *slot, hd_recorder *recorder, const run_op *op, run_program program)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    run_push push = run_push_of(r, slot, op);
    if (r->res[op->res].buffer || program == RUN_STORE_FRAG)
        push.nx = push.ny = AREA;
    run_begin_rendering(r, commands, push.nx, push.ny, NULL, NULL);
    run_bind(r, recorder, op, program, VK_PIPELINE_BIND_POINT_GRAPHICS, &push);
    r->CmdDraw(commands, 3, 1, 0, 0);
    r->CmdEndRendering(commands);
}

static void draw_sampled(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    draw(r, slot, recorder, op, RUN_IMAGE_FRAG);
}

static void draw_uniform(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    draw(r, slot, recorder, op, RUN_UNIFORM_FRAG);
}

static void draw_storage(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    int of_format = run_format_of(r->res[op->res].format)->storage - RUN_STORAGE_COMP + RUN_STORAGE_FRAG;
    draw(r, slot, recorder, op, r->res[op->res].buffer ? RUN_BUFFER_FRAG : (run_program)of_format);
}

static void draw_to_storage(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    draw(r, slot, recorder, op, r->res[op->res].buffer ? RUN_FILL_FRAG : RUN_STORE_FRAG);
}

static void draw_sampling_vertices(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    run_push push = run_push_of(r, slot, op);
    run_begin_rendering(r, commands, AREA, AREA, NULL, NULL);
    run_bind(r, recorder, op, RUN_IMAGE_VERT, VK_PIPELINE_BIND_POINT_GRAPHICS, &push);
    r->CmdDraw(commands, push.nx * push.ny, 1, 0, 0);
    r->CmdEndRendering(commands);
}

/* Blocks of words, spread evenly over the range. */
static void draw_blocks(run *r, VkCommandBuffer commands, const run_op *op, bool indexed)
{
    uint64_t words = (op->end - op->begin) / 4, block = words < 256 ? words : 256;
    uint32_t blocks = words > 256 ? 16 : 1;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t first = (uint32_t)(blocks > 1 ? (words - block) / (blocks - 1) * b : 0);
        if (indexed)
            r->CmdDrawIndexed(commands, (uint32_t)block, 1, first, 0, 0);
        else
            r->CmdDraw(commands, (uint32_t)block, 1, first, 0);
    }
}

static void draw_vertices(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkBuffer buffer = run_buffer(r, recorder, op);
    run_push push = run_push_of(r, slot, op);
    run_begin_rendering(r, commands, AREA, AREA, NULL, NULL);
    run_bind(r, recorder, op, RUN_ATTRIBUTE_VERT, VK_PIPELINE_BIND_POINT_GRAPHICS, &push);
    r->CmdBindVertexBuffers(commands, 0, 1, &buffer, &op->begin);
    draw_blocks(r, commands, op, false);
    r->CmdEndRendering(commands);
}

static void draw_indices(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    run_push push = run_push_of(r, slot, op);
    run_begin_rendering(r, commands, AREA, AREA, NULL, NULL);
    run_bind(r, recorder, op, RUN_INDEX_VERT, VK_PIPELINE_BIND_POINT_GRAPHICS, &push);
    r->CmdBindIndexBuffer(commands, run_buffer(r, recorder, op), op->begin, VK_INDEX_TYPE_UINT32);
    draw_blocks(r, commands, op, true);
    r->CmdEndRendering(commands);
}

/* The first and the last command that the range holds: drawn in gfx passes, dispatched in others. */
static void check_indirect(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkBuffer buffer = run_buffer(r, recorder, op);
    run_push push = run_push_of(r, slot, op);
    if (op->end - op->begin < 16) /* too short to hold a command */
        return;
    if (r->decl.pass_type[op->pass] == HD_PASS_GFX) {
        run_begin_rendering(r, commands, AREA, AREA, NULL, NULL);
        run_bind(r, recorder, op, RUN_INDIRECT_VERT, VK_PIPELINE_BIND_POINT_GRAPHICS, &push);
        r->CmdDrawIndirect(commands, buffer, op->begin, 1, 16);
        r->CmdDrawIndirect(commands, buffer, op->end - 16, 1, 16);
        r->CmdEndRendering(commands);
        return;
    }
    run_bind(r, recorder, op, RUN_INDIRECT_COMP, VK_PIPELINE_BIND_POINT_COMPUTE, &push);
    r->CmdDispatchIndirect(commands, buffer, op->begin);
    r->CmdDispatchIndirect(commands, buffer, op->end - 12);
}

/* ---- host passes ---- */

static uint32_t *mapped_words(run *r, hd_recorder *recorder, const run_op *op)
{
    return r->imports[op->res].mapped ? r->imports[op->res].mapped : hd_vk_mapped(recorder, r->res[op->res].handle);
}

static void check_mapped(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    (void)slot;
    const uint32_t *words = mapped_words(r, recorder, op);
    uint32_t wrong = !words;
    for (uint64_t w = op->begin / 4; words && w < op->end / 4; w++)
        wrong += words[w] != (uint32_t)op->cell.c[0];
    atomic_fetch_add(&op->host_wrong, wrong);
}

static void write_mapped(run *r, run_slot *slot, hd_recorder *recorder, run_op *op)
{
    (void)slot;
    uint32_t *words = mapped_words(r, recorder, op);
    for (uint64_t w = op->begin / 4; words && w < op->end / 4; w++)
        words[w] = (uint32_t)op->cell.c[0];
}

/* ---- the table ---- */

enum { BOTH = RUN_CHECK | RUN_WRITE };
#define DEPTH_STAGES (VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT)
#define DEPTH_ACCESS                                                                                                   \
    (VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT | VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT)

/* What is read and has no check here: a sum in color_rw, of which the next reader sees that it is wrong, and present. */
static const run_access accesses[HD_ACCESS_COUNT] = {
    [HD_COLOR_WRITE] = {.write = run_clear},
    [HD_COLOR_RW] = {.write = run_add, .sets = RUN_WRITE, .adds = true},
    [HD_DEPTH_WRITE] = {.write = run_clear},
    [HD_DEPTH_RW] = {.check = run_test_depth,
                     .write = run_set_depth,
                     .sets = BOTH,
                     .between_stages = DEPTH_STAGES,
                     .between_access = DEPTH_ACCESS}, /* the check stores, too */
    [HD_DEPTH_READ] = {.check = run_test_depth, .sets = RUN_CHECK},
    [HD_SAMPLED_GRAPHICS] = {.check = draw_sampled, .sets = RUN_CHECK},
    [HD_SAMPLED_COMPUTE] = {.check = check_sampled, .sets = RUN_CHECK},
    [HD_STORAGE_READ_COMPUTE] = {.check = check_storage, .sets = RUN_CHECK},
    [HD_STORAGE_WRITE_COMPUTE] = {.write = write_storage, .sets = RUN_WRITE},
    [HD_STORAGE_RW_COMPUTE] = {.check = check_storage,
                               .write = write_storage,
                               .sets = BOTH,
                               .between_stages = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT},
    [HD_UNIFORM_READ] = {.check = draw_uniform, .sets = RUN_CHECK},
    [HD_UNIFORM_READ_COMPUTE] = {.check = check_uniform, .sets = RUN_CHECK},
    [HD_VERTEX_READ] = {.check = draw_vertices, .sets = RUN_CHECK},
    [HD_INDEX_READ] = {.check = draw_indices, .sets = RUN_CHECK},
    [HD_INDIRECT_READ] = {.check = check_indirect, .sets = RUN_CHECK, .counts = true},
    [HD_TRANSFER_SRC] = {.check = run_copy_out, .copies = RUN_CHECK},
    [HD_TRANSFER_DST] = {.write = run_copy_in, .copies = RUN_WRITE},
    [HD_HOST_READ] = {.check = check_mapped},
    [HD_HOST_WRITE] = {.write = write_mapped},
    [HD_PRESENT] = {0},
    [HD_SAMPLED_VERTEX] = {.check = draw_sampling_vertices, .sets = RUN_CHECK},
    [HD_SAMPLED_FRAGMENT] = {.check = draw_sampled, .sets = RUN_CHECK},
    [HD_STORAGE_READ_GRAPHICS] = {.check = draw_storage, .sets = RUN_CHECK},
    [HD_STORAGE_WRITE_GRAPHICS] = {.write = draw_to_storage, .sets = RUN_WRITE},
    [HD_STORAGE_RW_GRAPHICS] = {.check = draw_storage,
                                .write = draw_to_storage,
                                .sets = BOTH,
                                .between_stages = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT},
};

const run_access *run_access_of(uint32_t access)
{
    return &accesses[access];
}

bool run_can_check(const run *r, const run_op *op)
{
    const run_access *access = &accesses[op->access];
    if ((access->check == check_storage || access->check == draw_storage) && !r->res[op->res].buffer)
        return run_format_of(r->res[op->res].format)->storage >= 0;
    return access->check != NULL;
}
