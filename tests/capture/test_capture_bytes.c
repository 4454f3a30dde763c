#include "capture_call_values.h"
#include "limited.h"
#include "random.h"

/* Calls as bytes: what the bytes are and which are refused, functions, names, structures of every type. */

TestSuite(capture_bytes, .init = call_begin, .fini = call_end);

/* What stands in the calls of several structures: some objects first, values one after another. */
Test(capture_bytes, pieces)
{
    const hdi_call_type *type = type_of("VkCopyDescriptorSet");
    const VkCopyDescriptorSet copy = {
        .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET, .srcSet = HANDLE(8), .dstSet = HANDLE(9), .descriptorCount = 3};
    const uint32_t count = 1;
    cr_expect_eq(hdi_call_write_ref(&writer, 9), 1);
    cr_expect_eq(hdi_call_write_ref(&writer, 7), 2);
    cr_expect_eq(hdi_call_write_ref(&writer, 9), 1);
    hdi_call_write_bytes(&writer, &count, sizeof(count));
    hdi_call_write(&writer, type, &copy);
    cr_expect_eq(writer.ref_count, 3);
    hdi_call_reader reader = {.bytes = writer.bytes,
                              .refs = writer.refs,
                              .byte_count = writer.byte_count,
                              .ref_count = writer.ref_count,
                              .arena = &arena,
                              .handle = handle_of};
    cr_expect_arr_eq(hdi_call_read_bytes(&reader, sizeof(count)), &count, sizeof(count));
    const VkCopyDescriptorSet *back = hdi_call_read(&reader, type);
    cr_assert(back);
    cr_expect(back->srcSet == HANDLE(8) && back->dstSet == HANDLE(9) && back->descriptorCount == 3);
    cr_expect_null(hdi_call_read_bytes(&reader, 1));
    cr_expect(reader.failed, "there are not so many");
    cr_expect_null(hdi_call_read(&reader, type));
}

/* Whether what stands in the writer is read, after a word of it became another. */
static bool read_with(const hdi_call_type *type, size_t at, uint64_t word)
{
    uint64_t kept;
    memcpy(&kept, writer.bytes + at, sizeof(kept));
    memcpy(writer.bytes + at, &word, sizeof(word));
    hdi_call_reader reader = {.bytes = writer.bytes,
                              .refs = writer.refs,
                              .byte_count = writer.byte_count,
                              .ref_count = writer.ref_count,
                              .arena = &arena,
                              .handle = handle_of};
    const void *value = hdi_call_read(&reader, type);
    memcpy(writer.bytes + at, &kept, sizeof(kept));
    cr_expect_eq(!value, reader.failed);
    return value;
}

/* Pointers are 0 or 1, and 1 only where something follows. */
Test(capture_bytes, words)
{
    const hdi_call_type *type = type_of("VkDeviceCreateInfo");
    const VkPhysicalDeviceVulkan13Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    const char *extensions[] = {"a", NULL};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .enabledExtensionCount = 2,
                                     .ppEnabledExtensionNames = extensions};
    const size_t next = offsetof(VkDeviceCreateInfo, pNext),
                 names = offsetof(VkDeviceCreateInfo, ppEnabledExtensionNames);
    const size_t chained = sizeof(info) + 4 + offsetof(VkBaseInStructure, pNext); /* behind a sType */
    const size_t array = sizeof(info) + 4 + sizeof(features) + 4;
    const VkDeviceCreateInfo *back = round_trip("VkDeviceCreateInfo", &info);
    cr_expect(strcmp(back->ppEnabledExtensionNames[0], "a") == 0 && !back->ppEnabledExtensionNames[1]);
    cr_assert_eq(writer.byte_count, array + 2 * 8 + 2);
    cr_expect(read_with(type, names, 1) && read_with(type, next, 1) && read_with(type, chained, 0));
    cr_expect(read_with(type, array, 1) && read_with(type, array + 8, 0));
    cr_expect_not(read_with(type, names, 2));
    cr_expect_not(read_with(type, next, 2));
    cr_expect_not(read_with(type, chained, 1));
    cr_expect_not(read_with(type, array, 2));
    cr_expect_not(read_with(type, array + 8, 1));
    cr_expect_not(read_with(type, offsetof(VkDeviceCreateInfo, ppEnabledLayerNames), 1), "there are none");

    /* A chain of nothing is null; the first of a chain holds them all. */
    const VkPhysicalDeviceVulkan13Features holds = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                    .pNext = (void *)(uintptr_t)1};
    const VkDeviceCreateInfo empty = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = (void *)(uintptr_t)1};
    const uint32_t closed = UINT32_MAX;
    writer.byte_count = 0;
    hdi_call_write_bytes(&writer, &empty, sizeof(empty));
    hdi_call_write_bytes(&writer, &closed, sizeof(closed));
    back = read_from(&writer, type);
    cr_expect_null(back->pNext);
    writer.byte_count = sizeof(empty);
    for (int i = 0; i < 2; i++) {
        hdi_call_write_bytes(&writer, &features.sType, sizeof(features.sType));
        hdi_call_write_bytes(&writer, i ? &features : &holds, sizeof(features));
    }
    hdi_call_write_bytes(&writer, &closed, sizeof(closed));
    hdi_call_write_bytes(&writer, &closed, sizeof(closed));
    cr_expect_not(read_with(type, next, 1));
    cr_expect(read_with(type, chained, 0));
}

/* Groups of shaders in the chain of a group of shaders, and so on: whatever the bytes are, they take little stack. */
Test(capture_bytes, depth)
{
    enum { MOST = 50 };
    const hdi_call_type *type = hdi_call_type_find("VkGraphicsShaderGroupCreateInfoNV");
    VkGraphicsShaderGroupCreateInfoNV groups[MOST + 1];
    VkGraphicsPipelineShaderGroupsCreateInfoNV lists[MOST];
    cr_assert(type);
    for (uint32_t depth = 5; depth <= MOST; depth += MOST - 5) {
        for (uint32_t i = 0; i < depth; i++) {
            groups[i] =
                (VkGraphicsShaderGroupCreateInfoNV){.sType = VK_STRUCTURE_TYPE_GRAPHICS_SHADER_GROUP_CREATE_INFO_NV,
                                                    .pNext = i + 1 < depth ? &lists[i] : NULL};
            lists[i] = (VkGraphicsPipelineShaderGroupsCreateInfoNV){
                .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_SHADER_GROUPS_CREATE_INFO_NV,
                .groupCount = 1,
                .pGroups = &groups[i + 1]};
        }
        writer.byte_count = 0;
        hdi_call_write(&writer, type, groups);
        cr_assert_not(writer.failed);
        cr_expect_eq(read_with(type, offsetof(VkBaseInStructure, pNext), 1), depth == 5);
    }
}

/* Each allocation fails once: writing and reading say so, and give all back. */
Test(capture_bytes, memory)
{
    const hdi_call_type *type = type_of("VkWriteDescriptorSet");
    VkDescriptorImageInfo images[40];
    for (size_t i = 0; i < 40; i++)
        images[i] = (VkDescriptorImageInfo){HANDLE(i + 1), HANDLE(i + 100), VK_IMAGE_LAYOUT_GENERAL};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .descriptorCount = 40,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                        .pImageInfo = images};
    uint32_t failures = 0;
    for (bool whole = false; !whole;) {
        hdt_limited limited = {.fail_at = failures + 1};
        hdi_call_writer w = {.allocator = hdt_limited_allocator(&limited), .object = object_of};
        hdi_call_write(&w, type, &write);
        whole = !w.failed;
        failures += w.failed;
        hdi_call_writer_free(&w);
        cr_assert_eq(limited.out + limited.wrong, 0);
    }
    cr_expect_gt(failures, 4);

    round_trip("VkWriteDescriptorSet", &write);
    hdt_limited none = {.fail_at = 1};
    hdi_arena small;
    hdi_arena_init(&small, &(hd_allocator){0});
    small.allocator = hdt_limited_allocator(&none);
    hdi_call_reader reader = {.bytes = writer.bytes,
                              .refs = writer.refs,
                              .byte_count = writer.byte_count,
                              .ref_count = writer.ref_count,
                              .arena = &small,
                              .handle = handle_of};
    cr_expect_null(hdi_call_read(&reader, type));
    cr_expect(reader.failed);
    hdi_arena_free(&small);
}

/* ---- functions ---- */

static struct {
    VkCommandBuffer commands;
    uint32_t count, first;
    float blend[4];
    VkResult result;
} called;

static void VKAPI_PTR draw(VkCommandBuffer commands, uint32_t count, uint32_t instances, uint32_t first, uint32_t from)
{
    called.commands = commands;
    called.count = count * 1000 + instances;
    called.first = first * 1000 + from;
}

static void VKAPI_PTR blend(VkCommandBuffer commands, const float constants[4])
{
    called.commands = commands;
    memcpy(called.blend, constants, sizeof(called.blend));
}

static VkResult VKAPI_PTR make(VkDevice device, const VkImageCreateInfo *info, const VkAllocationCallbacks *allocator,
                               VkImage *image)
{
    called.commands = (void *)device;
    called.count = info->mipLevels;
    cr_expect_null(allocator);
    *image = HANDLE(12);
    return called.result;
}

/* Hooks hand on what they are given, and an invoker calls with what was read. */
Test(capture_bytes, functions)
{
    const hdi_call *call = hdi_call_find("vkCmdDraw");
    *call->next = (PFN_vkVoidFunction)draw;
    ((PFN_vkCmdDraw)call->hook)(HANDLE(1), 2, 3, 4, 5);
    cr_expect(called.commands == HANDLE(1) && called.count == 2003 && called.first == 4005);
    struct {
        VkCommandBuffer commands;
        uint32_t count, instances, first, from;
    } arguments = {HANDLE(1), 6, 7, 8, 9};
    call->invoke((PFN_vkVoidFunction)draw, round_trip("vkCmdDraw", &arguments));
    cr_expect(called.commands == (void *)(uintptr_t)77 && called.count == 6007 && called.first == 8009);

    call = hdi_call_find("vkCmdSetBlendConstants");
    *call->next = (PFN_vkVoidFunction)blend;
    ((PFN_vkCmdSetBlendConstants)call->hook)(HANDLE(2), (const float[]){1, 2, 3, 4});
    cr_expect(called.commands == HANDLE(2) && called.blend[3] == 4);
    struct {
        VkCommandBuffer commands;
        const float *constants;
    } constants = {HANDLE(1), (const float[]){5, 6, 7, 8}};
    call->invoke((PFN_vkVoidFunction)blend, round_trip("vkCmdSetBlendConstants", &constants));
    cr_expect_eq(called.blend[2], 7);

    call = hdi_call_find("vkCreateImage");
    cr_expect_eq(call->makes, VK_OBJECT_TYPE_IMAGE);
    cr_expect_eq(call->type, type_of("VkImageCreateInfo"));
    cr_expect_null(call->invoke);
    *call->next = (PFN_vkVoidFunction)make;
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .mipLevels = 11};
    for (int i = 0; i < 2; i++) {
        VkImage image = VK_NULL_HANDLE;
        called.result = i ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_SUCCESS;
        cr_expect_eq(((PFN_vkCreateImage)call->hook)(HANDLE(3), &info, NULL, &image), called.result);
        cr_expect(image == HANDLE(12) && called.count == 11 && called.commands == HANDLE(3));
    }

    const hdi_call *old = hdi_call_find("vkCreateRenderPass2KHR"), *core = hdi_call_find("vkCreateRenderPass2");
    cr_assert(old && core);
    cr_expect_str_eq(old->name, "vkCreateRenderPass2KHR");
    cr_expect(old->hook == core->hook && old->next == core->next && old->makes == VK_OBJECT_TYPE_RENDER_PASS);
}

/* A device that has some functions of extensions. */
static PFN_vkVoidFunction VKAPI_PTR get(VkDevice device, const char *name)
{
    cr_expect_eq(device, HANDLE(3));
    if (strcmp(name, "vkCmdDraw") == 0)
        return (PFN_vkVoidFunction)draw;
    return strcmp(name, "vkCreateRenderPass2KHR") == 0 ? (PFN_vkVoidFunction)make : NULL;
}

Test(capture_bytes, functions_of_extensions)
{
    cr_expect(hdi_call_function(hdi_call_find("vkCmdDraw"), get, HANDLE(3)) == (PFN_vkVoidFunction)draw);
    cr_expect(hdi_call_function(hdi_call_find("vkCreateRenderPass2"), get, HANDLE(3)) == (PFN_vkVoidFunction)make);
    cr_expect(!hdi_call_function(hdi_call_find("vkCreateRenderPass"), get, HANDLE(3)));
}

/* clang-format off */
static const char *const known[] = {
    "vkCmdBindDescriptorSets", "vkCmdBindPipeline", "vkCmdCopyImage2KHR", "vkCmdPushConstants",
    "vkCmdPushDescriptorSetKHR", "vkCmdBeginRenderPass", "vkCmdBeginQuery", "vkCmdDrawMeshTasksEXT",
    "vkCmdSetColorBlendEquationEXT", "vkCreateBuffer", "vkCreateImageView", "vkCreateBufferView", "vkCreateSampler",
    "vkCreateSamplerYcbcrConversion", "vkCreateShaderModule", "vkCreatePipelineLayout", "vkCreateDescriptorSetLayout",
    "vkCreateDescriptorPool", "vkCreateQueryPool", "vkCreateRenderPass", "vkCreateFramebuffer",
    "vkCreateSwapchainKHR", "vkCreateDescriptorUpdateTemplate",
};
static const char *const left[] = {
    "vkCmdPipelineBarrier2", "vkCmdSetEvent", "vkCmdWaitEvents2KHR", "vkCmdExecuteCommands",
    "vkCmdBeginDebugUtilsLabelEXT", "vkCreateSemaphore", "vkCreateCommandPool", "vkCmdTraceRaysKHR",
    "vkCmdBuildAccelerationStructuresKHR", "vkCmdPushDescriptorSetWithTemplateKHR", "vkDestroyImage", "", "vkCmd",
    "vkZ",
};
static const char *const types[] = {
    "VkInstanceCreateInfo", "VkDeviceCreateInfo", "VkMemoryAllocateInfo", "VkDescriptorSetAllocateInfo",
    "VkGraphicsPipelineCreateInfo", "VkComputePipelineCreateInfo", "VkWriteDescriptorSet", "VkCopyDescriptorSet",
    "VkPhysicalDeviceMemoryProperties", "vkResetQueryPool",
};
/* clang-format on */

Test(capture_bytes, names)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const hdi_call *call = hdi_call_find(known[i]);
        cr_assert(call, "%s", known[i]);
        cr_expect_str_eq(call->name, known[i]);
        cr_expect(call->hook && call->next && call->type && !call->invoke == !!call->makes, "%s", known[i]);
    }
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        cr_expect_null(hdi_call_find(left[i]), "%s", left[i]);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        cr_expect_str_eq(type_of(types[i])->name, types[i]);
    cr_expect(!hdi_call_find("vkResetQueryPool")->hook && hdi_call_find("vkResetQueryPool")->invoke);
    for (uint32_t i = 0; i < hdi_call_count; i++)
        cr_expect_eq(hdi_call_find(hdi_calls[i].name), &hdi_calls[i]);
    for (uint32_t i = 0; i < hdi_call_type_count; i++) {
        const hdi_call_type *type = &hdi_call_types[i];
        cr_expect_eq(hdi_call_type_find(type->name), type);
        cr_expect(type->stype == UINT32_MAX || hdi_call_chain_find(type->stype) == type);
    }
    cr_expect_null(hdi_call_chain_find(2000000001));
    cr_expect_eq(hdi_call_type_find("vkCmdCopyImage2KHR"), hdi_call_type_find("vkCmdCopyImage2"));
    cr_expect_null(hdi_call_type_find("vkCreateRenderPass2KHR"));
}

/* ---- structures of every type, filled at random ---- */

enum { NOT_KNOWN = 16 }; /* a handle */
static uint64_t dice;
static hdi_arena made;
static bool all_known;

static uint32_t below(uint32_t limit)
{
    return hdt_below(&dice, limit);
}

static uint64_t word_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static void set_word(uint8_t *at, const void *word)
{
    memcpy(at, &word, sizeof(word));
}

static void fill_fields(const hdi_call_type *type, uint8_t *at, int depth, bool in_chain);

/* Small numbers, as some of them are counts. */
static uint8_t *fill(const hdi_call_type *type, uint8_t *at, int depth, bool in_chain)
{
    for (uint32_t i = 0; i < type->bytes; i++)
        at[i] = i % 4 ? 0 : (uint8_t)below(4);
    fill_fields(type, at, depth, in_chain);
    return at;
}

static uint8_t *fill_elements(const hdi_call_field *f, uint64_t count, int depth)
{
    uint8_t *elements = hdi_arena_alloc(&made, count * f->bytes + 16);
    if (f->text)
        strcpy((char *)elements, &"some text"[below(10)]);
    for (uint64_t i = 0; i < count && !f->text; i++) {
        uint8_t *at = elements + i * f->bytes;
        if (f->kind == HDI_CALL_STRUCT)
            fill(f->type, at, depth + 1, false);
        else if (f->kind == HDI_CALL_HANDLE)
            set_word(at, below(4)                ? HANDLE(1 + below(40))
                         : all_known || below(2) ? NULL
                                                 : (void *)(uintptr_t)NOT_KNOWN);
        else
            memset(at, (int)below(256), f->bytes);
    }
    return elements;
}

static void fill_pointer(const hdi_call_field *f, uint8_t *at, uint64_t count, int depth)
{
    hdi_call_field one = *f;
    set_word(at, NULL);
    if (depth > 4 || !below(4))
        return;
    uint8_t *elements = f->levels == 1 ? fill_elements(f, count, depth) : hdi_arena_alloc(&made, count * 8);
    one.levels = 1;
    for (uint64_t i = 0; i < count && f->levels == 2; i++)
        fill_pointer(&one, elements + i * 8, 1, depth);
    set_word(at, elements);
}

static void fill_chain(uint8_t *at, int depth)
{
    set_word(at, NULL);
    for (uint32_t i = depth > 1 ? 0 : below(4); i > 0; i--) {
        const hdi_call_type *type = &hdi_call_types[below(hdi_call_type_count)];
        if (type->stype == UINT32_MAX)
            continue;
        uint8_t *next = fill(type, hdi_arena_alloc(&made, type->bytes), depth + 1, true);
        set_word(at, next);
        at = next + offsetof(VkBaseInStructure, pNext);
    }
}

static void fill_fields(const hdi_call_type *type, uint8_t *at, int depth, bool in_chain)
{
    bool wide = false; /* a count of 64 bits */
    for (uint32_t i = 0; i < type->field_count; i++)
        wide |= type->fields[i].count && type->fields[i].count(at) > 100;
    for (uint32_t i = 0; i < type->bytes && wide; i++)
        at[i] = i % 8 < 4 ? at[i] : 0;
    if (type->stype != UINT32_MAX)
        memcpy(at, &type->stype, sizeof(type->stype));
    for (uint32_t i = 0; i < type->field_count; i++) {
        const hdi_call_field *f = &type->fields[i];
        uint64_t count = f->count ? f->count(at) : 1;
        uint8_t *to = at + f->offset;
        if (f->kind == HDI_CALL_PADDING)
            memset(to, 0xcd, f->bytes);
        else if (f->kind == HDI_CALL_DROPPED || f->kind == HDI_CALL_COMMANDS)
            set_word(to, GARBAGE);
        else if (f->kind == HDI_CALL_CHAIN && in_chain)
            set_word(to, NULL);
        else if (f->kind == HDI_CALL_CHAIN)
            fill_chain(to, depth);
        else if (f->levels)
            fill_pointer(f, to, count, depth);
        else if (f->kind == HDI_CALL_HANDLE)
            memcpy(to, fill_elements(f, count, depth), count * f->bytes);
        else
            for (uint64_t e = 0; e < count; e++)
                fill_fields(f->type, to + e * f->bytes, depth + 1, false);
    }
}

/* ---- what was read is what was given ---- */

static void compare(const hdi_call_type *type, const uint8_t *a, const uint8_t *b, const hdi_call_above *above,
                    bool in_chain);

static void check(bool holds, const char *what, const hdi_call_above *above)
{
    if (!holds)
        cr_assert_fail("%s in %s", what, above->type->name);
}

static void compare_elements(const hdi_call_field *f, const uint8_t *a, const uint8_t *b, uint64_t count,
                             const hdi_call_above *above)
{
    for (uint64_t i = 0; i < count; i++, a += f->bytes, b += f->bytes) {
        if (f->kind == HDI_CALL_STRUCT)
            compare(f->type, a, b, above, false);
        else if (f->kind == HDI_CALL_HANDLE)
            check(word_at(b) == (word_at(a) == NOT_KNOWN ? 0 : word_at(a)), "a handle", above);
        else if (f->text)
            check(strcmp((const char *)a, (const char *)b) == 0, "a string", above);
        else
            check(memcmp(a, b, f->bytes) == 0, "an element", above);
    }
}

static void compare_pointers(const hdi_call_field *f, uint64_t a, uint64_t b, uint64_t count,
                             const hdi_call_above *above)
{
    const uint8_t *from = (const uint8_t *)(uintptr_t)a, *to = (const uint8_t *)(uintptr_t)b;
    hdi_call_field one = *f;
    one.levels = 1;
    check(!to == (!from || !count), "a pointer", above);
    if (to && f->levels == 1)
        compare_elements(f, from, to, count, above);
    for (uint64_t i = 0; i < count && to && f->levels == 2; i++)
        compare_pointers(&one, word_at(from + i * 8), word_at(to + i * 8), 1, above);
}

static void compare_chain(uint64_t a, uint64_t b, const hdi_call_above *above)
{
    const VkBaseInStructure *from = (const void *)(uintptr_t)a, *to = (const void *)(uintptr_t)b;
    for (; from && to; from = from->pNext, to = to->pNext)
        compare(hdi_call_chain_find((uint32_t)from->sType), (const uint8_t *)from, (const uint8_t *)to, above, true);
    check(!from && !to, "the length of a chain", above);
}

static bool all_zero(const uint8_t *bytes, uint64_t count)
{
    while (count > 0 && bytes[count - 1] == 0)
        count--;
    return count == 0;
}

static void compare(const hdi_call_type *type, const uint8_t *a, const uint8_t *b, const hdi_call_above *above,
                    bool in_chain)
{
    const hdi_call_above here = {type, a, above};
    uint32_t plain = 0; /* bytes before it are compared */
    for (uint32_t i = 0; i < type->field_count; i++) {
        const hdi_call_field *f = &type->fields[i];
        const uint8_t *from = a + f->offset, *to = b + f->offset;
        uint64_t count = f->count ? f->count(a) : 1, room = f->levels ? 8 : count * f->bytes;
        check(memcmp(a + plain, b + plain, f->offset - plain) == 0, "bytes", &here);
        plain = f->offset + (uint32_t)room;
        if (f->kind == HDI_CALL_PADDING || f->kind == HDI_CALL_DROPPED || (f->valid && !f->valid(a, above)))
            check(all_zero(to, room), "what is left out", &here);
        else if (f->kind == HDI_CALL_COMMANDS)
            check(word_at(to) == 77, "the command buffer", &here);
        else if (f->kind == HDI_CALL_CHAIN && !in_chain)
            compare_chain(word_at(from), word_at(to), &here);
        else if (f->levels)
            compare_pointers(f, word_at(from), word_at(to), count, &here);
        else if (f->kind != HDI_CALL_CHAIN)
            compare_elements(f, from, to, count, &here);
    }
    check(memcmp(a + plain, b + plain, type->bytes - plain) == 0, "bytes", &here);
}

/* Bytes in memory of just their size, some of them changed. Whether they are read; then all of it can be written. */
static bool read_changed(const hdi_call_type *type, uint32_t byte_count, uint32_t changes)
{
    hdi_call_writer again = {.object = object_of};
    uint8_t *bytes = malloc(byte_count + !byte_count);
    uint32_t *refs = malloc((writer.ref_count + !writer.ref_count) * sizeof(*refs));
    cr_assert(bytes && refs);
    if (byte_count)
        memcpy(bytes, writer.bytes, byte_count);
    if (writer.ref_count)
        memcpy(refs, writer.refs, writer.ref_count * sizeof(*refs));
    for (uint32_t i = 0; i < changes; i++) {
        uint8_t *at = &bytes[below(byte_count)];
        *at = below(2) ? *at ^ (uint8_t)(1 << below(8)) : (uint8_t)(below(4) - 1);
    }
    hdi_call_reader reader = {.bytes = bytes,
                              .refs = refs,
                              .byte_count = byte_count,
                              .ref_count = writer.ref_count,
                              .arena = &arena,
                              .handle = handle_of};
    const void *value = hdi_call_read(&reader, type);
    if (!value != reader.failed || reader.at > byte_count)
        cr_assert_fail("%s: where reading ends", type->name);
    if (value)
        hdi_call_write(&again, type, value);
    if (again.failed)
        cr_assert_fail("%s is written again", type->name);
    hdi_call_writer_free(&again);
    free(bytes);
    free(refs);
    return value;
}

/* Every type: comes back as it was; not from a part of the bytes; from changed bytes without harm. */
Test(capture_bytes, every_type)
{
    enum { ROUNDS = 12, CHANGES = 40 };
    uint64_t bytes = 0, changed_read = 0, cut = 0;
    hdi_arena_init(&made, &(hd_allocator){0});
    for (uint32_t round = 0; round < ROUNDS; round++) {
        all_known = round % 4;
        for (uint32_t i = 0; i < hdi_call_type_count; i++) {
            const hdi_call_type *type = &hdi_call_types[i];
            dice = hdt_seed() ^ ((uint64_t)round << 32 | i);
            const uint8_t *value = fill(type, hdi_arena_alloc(&made, type->bytes), 0, false);
            compare(type, value, round_trip(type->name, value), NULL, false);
            bytes += writer.byte_count;
            for (uint32_t c = 0; c < CHANGES; c++)
                changed_read += read_changed(type, writer.byte_count, 1 + below(4));
            for (uint32_t n = 0; n < writer.byte_count; n += writer.byte_count < 200 ? 1 : 1 + below(200), cut++)
                cr_assert_not(read_changed(type, n, 0), "%s of %u of %u bytes", type->name, n, writer.byte_count);
            hdi_arena_reset(&made);
            hdi_arena_reset(&arena);
        }
    }
    hdi_arena_free(&made);
    cr_log_info("%llu bytes, %llu of the changed read, %llu cut", (unsigned long long)bytes,
                (unsigned long long)changed_read, (unsigned long long)cut);
}
