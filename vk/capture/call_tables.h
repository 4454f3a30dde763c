/* Between call.c and the tables that registry.py makes. */
#ifndef HDI_CALL_TABLES_H
#define HDI_CALL_TABLES_H

#include "call.h"

/* By name, in the order of strcmp. */
extern const hdi_call_type hdi_call_types[];
extern const hdi_call hdi_calls[];
extern const uint32_t hdi_call_type_count, hdi_call_count;

/* Functions that cannot be carried. hook tells hdi_call_missed, and calls *next. */
typedef struct hdi_call_miss {
    const char *name;
    PFN_vkVoidFunction hook, *next;
} hdi_call_miss;
extern const hdi_call_miss hdi_call_misses[];
extern const uint32_t hdi_call_miss_count;

/* A structure that is being written, and those whose pointers or chains lead to it. */
typedef struct hdi_call_above {
    const hdi_call_type *type;
    const void *value;
    const struct hdi_call_above *above;
} hdi_call_above;
/* The nearest of a type; null: none. */
const void *hdi_call_above_find(const hdi_call_above *above, const hdi_call_type *type);

/* What a descriptor of a type is given. */
enum { HDI_CALL_SAMPLER = 1, HDI_CALL_IMAGE = 2, HDI_CALL_BUFFER = 4, HDI_CALL_TEXELS = 8 };
uint32_t hdi_call_descriptor(VkDescriptorType type);

/* The states of a pipeline that Vulkan does not ignore. */
enum {
    HDI_CALL_VERTEX_INPUT = 1,
    HDI_CALL_INPUT_ASSEMBLY = 2,
    HDI_CALL_TESSELLATION = 4,
    HDI_CALL_VIEWPORT = 8,
    HDI_CALL_RASTERIZATION = 16,
    HDI_CALL_MULTISAMPLE = 32,
    HDI_CALL_DEPTH_STENCIL = 64,
    HDI_CALL_COLOR_BLEND = 128,
};
uint32_t hdi_call_pipeline(const VkGraphicsPipelineCreateInfo *info);
/* info may be null. */
bool hdi_call_dynamic(const VkGraphicsPipelineCreateInfo *info, VkDynamicState state);

#endif
