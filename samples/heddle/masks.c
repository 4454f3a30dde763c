#include "command.h"

/* Masks of stages and accesses in the words of Vulkan. */

typedef struct bit_name {
    uint64_t bit;
    const char *name;
} bit_name;

static const bit_name stages[] = {
    {0x1, "TOP_OF_PIPE"},
    {0x2, "DRAW_INDIRECT"},
    {0x4, "VERTEX_INPUT"},
    {0x8, "VERTEX_SHADER"},
    {0x10, "TESSELLATION_CONTROL_SHADER"},
    {0x20, "TESSELLATION_EVALUATION_SHADER"},
    {0x40, "GEOMETRY_SHADER"},
    {0x80, "FRAGMENT_SHADER"},
    {0x100, "EARLY_FRAGMENT_TESTS"},
    {0x200, "LATE_FRAGMENT_TESTS"},
    {0x400, "COLOR_ATTACHMENT_OUTPUT"},
    {0x800, "COMPUTE_SHADER"},
    {0x1000, "ALL_TRANSFER"},
    {0x2000, "BOTTOM_OF_PIPE"},
    {0x4000, "HOST"},
    {0x8000, "ALL_GRAPHICS"},
    {0x10000, "ALL_COMMANDS"},
    {UINT64_C(0x100000000), "COPY"},
    {UINT64_C(0x200000000), "RESOLVE"},
    {UINT64_C(0x400000000), "BLIT"},
    {UINT64_C(0x800000000), "CLEAR"},
    {UINT64_C(0x1000000000), "INDEX_INPUT"},
    {UINT64_C(0x2000000000), "VERTEX_ATTRIBUTE_INPUT"},
};
static const bit_name accesses[] = {
    {0x1, "INDIRECT_COMMAND_READ"},
    {0x2, "INDEX_READ"},
    {0x4, "VERTEX_ATTRIBUTE_READ"},
    {0x8, "UNIFORM_READ"},
    {0x10, "INPUT_ATTACHMENT_READ"},
    {0x20, "SHADER_READ"},
    {0x40, "SHADER_WRITE"},
    {0x80, "COLOR_ATTACHMENT_READ"},
    {0x100, "COLOR_ATTACHMENT_WRITE"},
    {0x200, "DEPTH_STENCIL_ATTACHMENT_READ"},
    {0x400, "DEPTH_STENCIL_ATTACHMENT_WRITE"},
    {0x800, "TRANSFER_READ"},
    {0x1000, "TRANSFER_WRITE"},
    {0x2000, "HOST_READ"},
    {0x4000, "HOST_WRITE"},
    {0x8000, "MEMORY_READ"},
    {0x10000, "MEMORY_WRITE"},
    {UINT64_C(0x100000000), "SHADER_SAMPLED_READ"},
    {UINT64_C(0x200000000), "SHADER_STORAGE_READ"},
    {UINT64_C(0x400000000), "SHADER_STORAGE_WRITE"},
};

static void print_bits(uint64_t mask, const bit_name *names, size_t count)
{
    const char *between = "";
    for (size_t i = 0; i < count; i++) {
        if (mask & names[i].bit) {
            printf("%s%s", between, names[i].name);
            between = "|";
            mask &= ~names[i].bit;
        }
    }
    if (mask)
        printf("%s0x%llx", between, (unsigned long long)mask);
    else if (!*between)
        printf("none");
}

void print_stages(uint64_t mask)
{
    print_bits(mask, stages, sizeof(stages) / sizeof(stages[0]));
}

void print_accesses(uint64_t mask)
{
    print_bits(mask, accesses, sizeof(accesses) / sizeof(accesses[0]));
}
