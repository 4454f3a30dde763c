#include <heddle/vk.h>
#include <png.h>
#include <stdio.h>
#include <vulkan/vulkan.h>

#include "cloth_frag.h"
#include "cloth_vert.h"

/* hello: one frame, one picture. The CPU uploads a small image, a graphics pass draws with it, and the picture comes
 * back to the CPU and goes to a file. heddle makes the device, the images, their memory, the barriers and the submits;
 * the pipeline and its descriptor set are the program's own. */

enum { WIDTH = 480, HEIGHT = 270, INK = 0x5c2818, PINE = 0x4a5814, ROSE = 0x3e2cc4, GOLD = 0x48bef4 }; /* 0xbbggrr */

static VkDevice device;
static VkSampler sampler;
static VkDescriptorSetLayout set_layout;
static VkDescriptorPool pool;
static VkDescriptorSet set;
static VkPipelineLayout layout;
static VkPipeline pipeline;
static hd_resource yarn, picture;
static bool saved;

static void draw(hd_recorder *rec, void *user) /* any worker may run this, inside the rendering scope of the pass */
{
    VkDescriptorImageInfo image = {sampler, hd_vk_view(rec, yarn, NULL), VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, .pImageInfo = &image};
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    vkCmdBindPipeline(hd_vk_commands(rec), VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdBindDescriptorSets(hd_vk_commands(rec), VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 1, &set, 0, NULL);
    vkCmdDraw(hd_vk_commands(rec), 3, 1, 0, 0);
    (void)user;
}

static void save(const void *pixels, uint64_t bytes, void *path) /* runs once the GPU is done */
{
    png_image png = {.version = PNG_IMAGE_VERSION, .width = WIDTH, .height = HEIGHT, .format = PNG_FORMAT_RGBA};
    saved = bytes == PNG_IMAGE_SIZE(png) && png_image_write_to_file(&png, path, 0, pixels, 0, NULL);
}

static void declare(hd_vk *vk, hd_graph *g, char *path)
{
    static const uint32_t dyes[32] = {INK,  INK,  INK,  INK,  INK,  INK,  INK,  ROSE, ROSE, INK,  INK,
                                      PINE, PINE, PINE, PINE, PINE, PINE, PINE, GOLD, GOLD, PINE, PINE,
                                      PINE, PINE, PINE, PINE, PINE, INK,  INK,  ROSE, ROSE, INK};
    hd_graph_begin(g);
    yarn = hd_graph_image(g, &(hd_image_desc){.name = "yarn", .width = 32, .height = 1,
                                              .format = VK_FORMAT_R8G8B8A8_SRGB});
    picture = hd_graph_image(g, &(hd_image_desc){.name = "picture", .width = WIDTH, .height = HEIGHT,
                                                 .format = VK_FORMAT_R8G8B8A8_UNORM});
    hd_vk_upload(vk, g, yarn, NULL, dyes, sizeof dyes, NULL);
    hd_graph_pass(g, &(hd_pass_desc){.name = "draw", .type = HD_PASS_GFX, .record = draw,
                                     .uses = HD_USES({yarn, HD_SAMPLED_GRAPHICS}, {picture, HD_COLOR_WRITE})});
    hd_vk_readback(vk, g, picture, NULL, save, path, NULL);
}

static VkPipelineShaderStageCreateInfo stage(VkShaderStageFlagBits bit, const uint32_t *words, size_t bytes)
{
    VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, NULL, 0, bytes, words};
    VkShaderModule module = VK_NULL_HANDLE;
    vkCreateShaderModule(device, &info, NULL, &module);
    return (VkPipelineShaderStageCreateInfo){VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, NULL, 0, bit, module,
                                             "main", NULL};
}

static bool make_pipeline(void)
{
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1};
    VkDescriptorSetLayoutBinding binding = {0, size.type, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL};
    vkCreateSampler(device, &(VkSamplerCreateInfo){VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO}, NULL, &sampler);
    vkCreateDescriptorSetLayout(device, &(VkDescriptorSetLayoutCreateInfo){
        VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, NULL, 0, 1, &binding}, NULL, &set_layout);
    vkCreateDescriptorPool(device, &(VkDescriptorPoolCreateInfo){
        VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, NULL, 0, 1, 1, &size}, NULL, &pool);
    vkAllocateDescriptorSets(device, &(VkDescriptorSetAllocateInfo){
        VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, NULL, pool, 1, &set_layout}, &set);
    vkCreatePipelineLayout(device, &(VkPipelineLayoutCreateInfo){
        VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, NULL, 0, 1, &set_layout, 0, NULL}, NULL, &layout);

    VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    VkPipelineRenderingCreateInfo rendering = {VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO, NULL, 0, 1, &format};
    VkPipelineShaderStageCreateInfo stages[] = {stage(VK_SHADER_STAGE_VERTEX_BIT, cloth_vert, sizeof cloth_vert),
                                                stage(VK_SHADER_STAGE_FRAGMENT_BIT, cloth_frag, sizeof cloth_frag)};
    VkPipelineColorBlendAttachmentState blend = {.colorWriteMask = 0xf};
    VkDynamicState dynamic[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR}; /* heddle sets both */
    VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .pNext = &rendering, .stageCount = 2,
        .pStages = stages, .layout = layout, .pVertexInputState = &(VkPipelineVertexInputStateCreateInfo){
            VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO},
        .pInputAssemblyState = &(VkPipelineInputAssemblyStateCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
            .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST},
        .pViewportState = &(VkPipelineViewportStateCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1},
        .pRasterizationState = &(VkPipelineRasterizationStateCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1.0f},
        .pMultisampleState = &(VkPipelineMultisampleStateCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO, .rasterizationSamples = 1},
        .pColorBlendState = &(VkPipelineColorBlendStateCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO, .attachmentCount = 1,
            .pAttachments = &blend},
        .pDynamicState = &(VkPipelineDynamicStateCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO, .dynamicStateCount = 2,
            .pDynamicStates = dynamic}};
    VkResult result = vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline);
    for (int i = 0; i < 2; i++)
        vkDestroyShaderModule(device, stages[i].module, NULL);
    return result == VK_SUCCESS;
}

int main(int argc, char **argv)
{
    char *path = argc > 1 ? argv[1] : "hello.png";
    if (path[0] == '-')
        return fprintf(path[2] == 'h' ? stdout : stderr, "usage: hello [FILE.png]    not %s\n", path), path[2] != 'h';
    hd_vk *vk = NULL;
    hd_graph *g = NULL;
    hd_result r = hd_vk_create(&(hd_vk_desc){.application = "hello"}, &vk);
    if (r == HD_OK)
        r = hd_graph_create(NULL, &g);
    if (r == HD_OK) {
        hd_vk_info info;
        hd_vk_info_get(vk, &info);
        device = info.device;
        r = make_pipeline() ? HD_OK : HD_VULKAN;
    }
    if (r == HD_OK) {
        declare(vk, g, path);
        r = hd_vk_frame(vk, g); /* compile and execute */
    }
    if (r == HD_OK)
        r = hd_vk_wait(vk);
    if (r == HD_OK)
        r = saved && printf("%s\n", path) > 0 && fflush(stdout) == 0 ? HD_OK : HD_IO;
    if (r != HD_OK)
        fprintf(stderr, "hello: %s\n", hd_result_text(r));
    if (device) {
        vkDestroyPipeline(device, pipeline, NULL);
        vkDestroyPipelineLayout(device, layout, NULL);
        vkDestroyDescriptorPool(device, pool, NULL);
        vkDestroyDescriptorSetLayout(device, set_layout, NULL);
        vkDestroySampler(device, sampler, NULL);
    }
    hd_graph_destroy(g);
    hd_vk_destroy(vk);
    return r == HD_OK ? 0 : 2;
}
