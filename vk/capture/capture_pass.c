#include "capture_state.h"

#include <string.h>

/* Render pass objects. Each subpass becomes a rendering of its own: in front of it stand its dependencies and the
 * transitions of its attachments as barriers, behind the last one those to the final layouts. A dependency that is not
 * stated is the implicit one of Vulkan. Objects with more parts than there is room for are calls that are not seen. */

#define HOOKS(X)                                                                                                       \
    X(vkCreateRenderPass)                                                                                              \
    X(vkCreateRenderPass2)                                                                                             \
    X(vkDestroyRenderPass)                                                                                             \
    X(vkCreateFramebuffer)                                                                                             \
    X(vkDestroyFramebuffer)                                                                                            \
    X(vkCmdBeginRenderPass)                                                                                            \
    X(vkCmdBeginRenderPass2)                                                                                           \
    X(vkCmdNextSubpass)                                                                                                \
    X(vkCmdNextSubpass2)                                                                                               \
    X(vkCmdEndRenderPass)                                                                                              \
    X(vkCmdEndRenderPass2)
HOOKS(HDI_CAP_NEXT)

enum { MOST_ATTACHMENTS = 32, MOST_SUBPASSES = 16, MOST_REFERENCES = 96, MOST_DEPENDENCIES = 48 };
enum { COLOR, DEPTH, INPUT, RESOLVE };

typedef struct reference {
    uint32_t attachment, layout, kind;
} reference;

typedef struct dependency {
    uint32_t from, to;
    uint64_t src, src_access, dst, dst_access;
} dependency;

typedef struct pass_object {
    uint32_t attachment_count, subpass_count, dependency_count, reference_begin[MOST_SUBPASSES + 1];
    struct {
        uint32_t load, store, stencil_load, stencil_store, initial, final;
        uint32_t first, last; /* subpasses */
    } attachments[MOST_ATTACHMENTS];
    reference references[MOST_REFERENCES];
    dependency dependencies[MOST_DEPENDENCIES];
    bool too_large;
} pass_object;

typedef struct framebuffer {
    uint32_t views[MOST_ATTACHMENTS], count; /* objects, HD_NONE: given when the pass begins */
    uint32_t layers;
} framebuffer;

struct hdi_cap_pass_run {
    pass_object pass;
    uint32_t views[MOST_ATTACHMENTS], layout[MOST_ATTACHMENTS], layers, subpass;
};

/* ---- objects ---- */

static void add_reference(pass_object *p, uint32_t attachment, uint32_t layout, uint32_t kind)
{
    uint32_t *count = &p->reference_begin[p->subpass_count + 1];
    if (attachment == VK_ATTACHMENT_UNUSED)
        return;
    p->too_large |= *count == MOST_REFERENCES || attachment >= p->attachment_count;
    if (p->too_large)
        return;
    p->references[(*count)++] = (reference){attachment, layout, kind};
    if (p->attachments[attachment].first == HD_NONE)
        p->attachments[attachment].first = p->subpass_count;
    p->attachments[attachment].last = p->subpass_count;
}

static void begin_subpass(pass_object *p)
{
    p->too_large |= p->subpass_count == MOST_SUBPASSES;
    if (!p->too_large)
        p->reference_begin[p->subpass_count + 1] = p->reference_begin[p->subpass_count];
}

static void add_dependency(pass_object *p, const dependency *d)
{
    p->too_large |= p->dependency_count == MOST_DEPENDENCIES;
    if (!p->too_large && d->from != d->to)
        p->dependencies[p->dependency_count++] = *d;
}

/* Both versions of the structures have members of the same names. */
#define READ_PASS(p, info)                                                                                             \
    do {                                                                                                               \
        (p)->too_large = (info)->attachmentCount > MOST_ATTACHMENTS || (info)->subpassCount > MOST_SUBPASSES;          \
        (p)->attachment_count = (p)->too_large ? 0 : (info)->attachmentCount;                                          \
        for (uint32_t i = 0; i < (p)->attachment_count; i++) {                                                         \
            (p)->attachments[i].load = (info)->pAttachments[i].loadOp;                                                 \
            (p)->attachments[i].store = (info)->pAttachments[i].storeOp;                                               \
            (p)->attachments[i].stencil_load = (info)->pAttachments[i].stencilLoadOp;                                  \
            (p)->attachments[i].stencil_store = (info)->pAttachments[i].stencilStoreOp;                                \
            (p)->attachments[i].initial = (info)->pAttachments[i].initialLayout;                                       \
            (p)->attachments[i].final = (info)->pAttachments[i].finalLayout;                                           \
            (p)->attachments[i].first = HD_NONE;                                                                       \
        }                                                                                                              \
        for (uint32_t k = 0; k < (info)->subpassCount && !(p)->too_large; k++, (p)->subpass_count++) {                 \
            begin_subpass(p);                                                                                          \
            for (uint32_t i = 0; i < (info)->pSubpasses[k].colorAttachmentCount; i++) {                                \
                add_reference(p, (info)->pSubpasses[k].pColorAttachments[i].attachment,                                \
                              (info)->pSubpasses[k].pColorAttachments[i].layout, COLOR);                               \
                if ((info)->pSubpasses[k].pResolveAttachments)                                                         \
                    add_reference(p, (info)->pSubpasses[k].pResolveAttachments[i].attachment,                          \
                                  (info)->pSubpasses[k].pResolveAttachments[i].layout, RESOLVE);                       \
            }                                                                                                          \
            if ((info)->pSubpasses[k].pDepthStencilAttachment)                                                         \
                add_reference(p, (info)->pSubpasses[k].pDepthStencilAttachment->attachment,                            \
                              (info)->pSubpasses[k].pDepthStencilAttachment->layout, DEPTH);                           \
            for (uint32_t i = 0; i < (info)->pSubpasses[k].inputAttachmentCount; i++)                                  \
                add_reference(p, (info)->pSubpasses[k].pInputAttachments[i].attachment,                                \
                              (info)->pSubpasses[k].pInputAttachments[i].layout, INPUT);                               \
        }                                                                                                              \
        for (uint32_t i = 0; i < (info)->dependencyCount && !(p)->too_large; i++)                                      \
            add_dependency(                                                                                            \
                p, &(dependency){(info)->pDependencies[i].srcSubpass, (info)->pDependencies[i].dstSubpass,             \
                                 (info)->pDependencies[i].srcStageMask, (info)->pDependencies[i].srcAccessMask,        \
                                 (info)->pDependencies[i].dstStageMask, (info)->pDependencies[i].dstAccessMask});      \
    } while (0)

static void *make_locked(hdi_cap_kind kind, uint64_t handle, size_t bytes)
{
    hdi_cap_object *object = hdi_cap.open ? hdi_cap_make_locked(kind, handle) : NULL;
    if (!object)
        return NULL;
    object->made = hdi_alloc(&hdi_cap.allocator, bytes, 8);
    object->made_bytes = bytes;
    if (object->made)
        memset(object->made, 0, bytes);
    else
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
    return object->made;
}

static void *made_locked(hdi_cap_kind kind, uint64_t handle)
{
    hdi_cap_object *object = hdi_cap_find_locked(kind, handle);
    return object ? object->made : NULL;
}

void hdi_cap_drop_ignored_locked(VkGraphicsPipelineCreateInfo *info)
{
    const pass_object *p = info->renderPass ? made_locked(HDI_CAP_RENDER_PASS, HDI_CAP_HANDLE(info->renderPass)) : NULL;
    bool has[] = {[COLOR] = false, [DEPTH] = false, [INPUT] = false, [RESOLVE] = false};
    if (!p || p->too_large || info->subpass >= p->subpass_count)
        return;
    for (uint32_t r = p->reference_begin[info->subpass]; r < p->reference_begin[info->subpass + 1]; r++)
        has[p->references[r].kind] = true;
    if (!has[COLOR])
        info->pColorBlendState = NULL;
    if (!has[DEPTH])
        info->pDepthStencilState = NULL;
}

static VkResult VKAPI_PTR hook_vkCreateRenderPass(VkDevice device, const VkRenderPassCreateInfo *info,
                                                  const VkAllocationCallbacks *memory, VkRenderPass *out)
{
    VkResult result = NEXT(vkCreateRenderPass)(device, info, memory, out);
    hdi_cap_lock();
    pass_object *p = result == VK_SUCCESS ? make_locked(HDI_CAP_RENDER_PASS, HDI_CAP_HANDLE(*out), sizeof(*p)) : NULL;
    if (p)
        READ_PASS(p, info);
    hdi_cap_unlock();
    return result;
}

static VkResult VKAPI_PTR hook_vkCreateRenderPass2(VkDevice device, const VkRenderPassCreateInfo2 *info,
                                                   const VkAllocationCallbacks *memory, VkRenderPass *out)
{
    VkResult result = NEXT(vkCreateRenderPass2)(device, info, memory, out);
    hdi_cap_lock();
    pass_object *p = result == VK_SUCCESS ? make_locked(HDI_CAP_RENDER_PASS, HDI_CAP_HANDLE(*out), sizeof(*p)) : NULL;
    if (p)
        READ_PASS(p, info);
    hdi_cap_unlock();
    return result;
}

static void fill_views_locked(uint32_t *views, const VkImageView *from, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < MOST_ATTACHMENTS; i++) {
        const hdi_cap_object *view = hdi_cap_find_locked(HDI_CAP_VIEW, HDI_CAP_HANDLE(from[i]));
        views[i] = view ? hdi_cap_index_locked(view) : HD_NONE;
    }
}

static VkResult VKAPI_PTR hook_vkCreateFramebuffer(VkDevice device, const VkFramebufferCreateInfo *info,
                                                   const VkAllocationCallbacks *memory, VkFramebuffer *out)
{
    VkResult result = NEXT(vkCreateFramebuffer)(device, info, memory, out);
    hdi_cap_lock();
    framebuffer *f = result == VK_SUCCESS ? make_locked(HDI_CAP_FRAMEBUFFER, HDI_CAP_HANDLE(*out), sizeof(*f)) : NULL;
    if (f) {
        memset(f->views, 0xff, sizeof(f->views));
        f->count = info->attachmentCount;
        f->layers = info->layers;
        if (!(info->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT))
            fill_views_locked(f->views, info->pAttachments, info->attachmentCount);
    }
    hdi_cap_unlock();
    return result;
}

static void drop(hdi_cap_kind kind, uint64_t handle)
{
    hdi_cap_lock();
    hdi_cap_drop_locked(kind, handle);
    hdi_cap_unlock();
}

static void VKAPI_PTR hook_vkDestroyRenderPass(VkDevice device, VkRenderPass pass, const VkAllocationCallbacks *memory)
{
    drop(HDI_CAP_RENDER_PASS, HDI_CAP_HANDLE(pass));
    NEXT(vkDestroyRenderPass)(device, pass, memory);
}

static void VKAPI_PTR hook_vkDestroyFramebuffer(VkDevice device, VkFramebuffer frame,
                                                const VkAllocationCallbacks *memory)
{
    drop(HDI_CAP_FRAMEBUFFER, HDI_CAP_HANDLE(frame));
    NEXT(vkDestroyFramebuffer)(device, frame, memory);
}

/* ---- a pass that runs ---- */

void hdi_cap_forget_run_locked(hdi_cap_commands *c)
{
    hdi_free(&hdi_cap.allocator, c->run, sizeof(*c->run));
    c->run = NULL;
}

#define ATTACHMENT_WRITES (VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT)
#define ATTACHMENT_READS                                                                                               \
    (VK_ACCESS_2_INPUT_ATTACHMENT_READ_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT |                                   \
     VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT)

/* All dependencies from one subpass to another together; none is stated: the implicit one. */
static dependency dependency_of(const pass_object *p, uint32_t from, uint32_t to, bool *stated)
{
    dependency d = {.from = from, .to = to};
    *stated = false;
    for (uint32_t i = 0; i < p->dependency_count; i++) {
        const dependency *x = &p->dependencies[i];
        if (x->from != from || x->to != to)
            continue;
        d.src |= x->src;
        d.src_access |= x->src_access;
        d.dst |= x->dst;
        d.dst_access |= x->dst_access;
        *stated = true;
    }
    if (*stated)
        return d;
    if (from == VK_SUBPASS_EXTERNAL) {
        d.dst = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        d.dst_access = ATTACHMENT_READS | ATTACHMENT_WRITES;
    } else {
        d.src = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        d.src_access = ATTACHMENT_WRITES;
    }
    return d;
}

static const hdi_cap_object *image_of(const struct hdi_cap_pass_run *run, uint32_t attachment, hd_range *range)
{
    uint32_t view = run->views[attachment];
    if (view == HD_NONE)
        return NULL;
    const hdi_cap_object *v = &hdi_cap.objects[view];
    *range = v->range;
    if (run->layers && run->layers < range->layer_count)
        range->layer_count = run->layers;
    return &hdi_cap.objects[v->of];
}

static void change_layout(hdi_cap_commands *c, uint32_t attachment, uint32_t layout, const dependency *d)
{
    hd_range range;
    const hdi_cap_object *image = image_of(c->run, attachment, &range);
    uint32_t *now = &c->run->layout[attachment];
    hd_stream_barrier *b = image && *now != layout ? hdi_cap_barrier_locked(c->list) : NULL;
    if (b) {
        *b = (hd_stream_barrier){.src_stages = d->src,
                                 .src_access = d->src_access,
                                 .dst_stages = d->dst,
                                 .dst_access = d->dst_access,
                                 .resource = hdi_cap_index_locked(image),
                                 .old_layout = *now,
                                 .new_layout = layout,
                                 .src_family = HD_NONE,
                                 .dst_family = HD_NONE,
                                 .range = range};
    }
    *now = layout;
}

static void add_memory(hdi_cap_commands *c, const dependency *d)
{
    hd_stream_barrier *b = hdi_cap_barrier_locked(c->list);
    if (!b)
        return;
    b->src_stages = d->src;
    b->src_access = d->src_access;
    b->dst_stages = d->dst;
    b->dst_access = d->dst_access;
}

static void touch(hdi_cap_commands *c, const reference *r, uint64_t access)
{
    hd_stream_access as = {.layout = r->layout, .scope = c->scope};
    const hdi_cap_object *image = image_of(c->run, r->attachment, &as.range);
    uint64_t stages = r->kind == DEPTH
                          ? VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT
                      : r->kind == INPUT ? VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT
                                         : VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT;
    if (image && access)
        hdi_cap_attachment_locked(c->list, image, stages, access, &as);
}

static bool is_read_only(uint32_t layout)
{
    return layout == VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL || layout == VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL ||
           layout == VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL;
}

/* Whether an operation of either aspect that the attachment has is this one. */
static bool either(const hdi_cap_commands *c, uint32_t attachment, uint32_t plain, uint32_t stencil, uint32_t op)
{
    hd_range range;
    const hdi_cap_object *image = image_of(c->run, attachment, &range);
    VkImageAspectFlags aspects = image ? image->res.aspects : 0;
    return (aspects & ~(VkImageAspectFlags)VK_IMAGE_ASPECT_STENCIL_BIT && plain == op) ||
           (aspects & VK_IMAGE_ASPECT_STENCIL_BIT && stencil == op);
}

/* Load operations: what the subpass needs of the content before, or that it needs nothing. */
static void begin_accesses(hdi_cap_commands *c, const char *name)
{
    const struct hdi_cap_pass_run *run = c->run;
    const pass_object *p = &run->pass;
    if (!hdi_cap_command_locked(c, HD_STREAM_ACCESS, name))
        return;
    c->scope = ++hdi_cap.scopes;
    for (uint32_t i = p->reference_begin[run->subpass]; i < p->reference_begin[run->subpass + 1]; i++) {
        const reference *r = &p->references[i];
        bool first = p->attachments[r->attachment].first == run->subpass;
        bool loads = !first || either(c, r->attachment, p->attachments[r->attachment].load,
                                      p->attachments[r->attachment].stencil_load, VK_ATTACHMENT_LOAD_OP_LOAD);
        uint64_t read = r->kind == INPUT   ? VK_ACCESS_2_INPUT_ATTACHMENT_READ_BIT
                        : r->kind == DEPTH ? VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT
                                           : VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT;
        uint64_t write =
            r->kind == DEPTH ? VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT : VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT;
        if (r->kind != RESOLVE)
            touch(c, r, r->kind == INPUT || loads ? read : write);
    }
}

static void end_accesses(hdi_cap_commands *c, const char *name)
{
    const struct hdi_cap_pass_run *run = c->run;
    const pass_object *p = &run->pass;
    if (!hdi_cap_command_locked(c, HD_STREAM_ACCESS, name))
        return;
    for (uint32_t i = p->reference_begin[run->subpass]; i < p->reference_begin[run->subpass + 1]; i++) {
        const reference *r = &p->references[i];
        bool last = p->attachments[r->attachment].last == run->subpass;
        bool lost = last && !either(c, r->attachment, p->attachments[r->attachment].store,
                                    p->attachments[r->attachment].stencil_store, VK_ATTACHMENT_STORE_OP_STORE);
        if (r->kind == INPUT || is_read_only(r->layout))
            continue;
        uint32_t before = c->list->access_count;
        touch(c, r,
              r->kind == DEPTH ? VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT
                               : VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT);
        if (lost && c->list->access_count > before)
            c->list->accesses[before].flags = HD_STREAM_LOST;
    }
    c->scope = 0;
}

/* The barriers between two subpasses, VK_SUBPASS_EXTERNAL around them. */
static void pass_over(hdi_cap_commands *c, uint32_t from, uint32_t to, const char *name)
{
    const pass_object *p = &c->run->pass;
    bool stated;
    dependency d = dependency_of(p, from, to, &stated);
    if (!hdi_cap_command_locked(c, HD_STREAM_BARRIER, name))
        return;
    if (stated)
        add_memory(c, &d);
    if (to == VK_SUBPASS_EXTERNAL) {
        for (uint32_t i = 0; i < p->attachment_count; i++)
            change_layout(c, i, p->attachments[i].final, &d);
    } else {
        for (uint32_t i = p->reference_begin[to]; i < p->reference_begin[to + 1]; i++)
            change_layout(c, p->references[i].attachment, p->references[i].layout, &d);
    }
    if (!c->list->commands[c->list->command_count - 1].count)
        c->list->command_count--;
}

static void begin_locked(VkCommandBuffer commands, const VkRenderPassBeginInfo *info, const char *name)
{
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    const pass_object *p = made_locked(HDI_CAP_RENDER_PASS, HDI_CAP_HANDLE(info->renderPass));
    const framebuffer *f = made_locked(HDI_CAP_FRAMEBUFFER, HDI_CAP_HANDLE(info->framebuffer));
    if (!c)
        return;
    hdi_cap_forget_run_locked(c);
    if (p && f && !p->too_large && p->subpass_count)
        c->run = hdi_alloc(&hdi_cap.allocator, sizeof(*c->run), 8);
    if (!c->run) {
        c->list->unseen++;
        return;
    }
    *c->run = (struct hdi_cap_pass_run){.pass = *p, .layers = f->layers};
    memcpy(c->run->views, f->views, sizeof(f->views));
    for (const VkBaseInStructure *next = info->pNext; next; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO) {
            const VkRenderPassAttachmentBeginInfo *given = (const void *)next;
            fill_views_locked(c->run->views, given->pAttachments, given->attachmentCount);
        }
    }
    for (uint32_t i = 0; i < p->attachment_count; i++)
        c->run->layout[i] = p->attachments[i].initial;
    pass_over(c, VK_SUBPASS_EXTERNAL, 0, name);
    begin_accesses(c, name);
}

static void next_locked(VkCommandBuffer commands, const char *name)
{
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (!c || !c->run || c->run->subpass + 1 >= c->run->pass.subpass_count)
        return;
    end_accesses(c, name);
    pass_over(c, c->run->subpass, c->run->subpass + 1, name);
    c->run->subpass++;
    begin_accesses(c, name);
}

static void end_locked(VkCommandBuffer commands, const char *name)
{
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (!c || !c->run)
        return;
    end_accesses(c, name);
    pass_over(c, c->run->subpass, VK_SUBPASS_EXTERNAL, name);
    hdi_cap_forget_run_locked(c);
}

#define AROUND(call)                                                                                                   \
    hdi_cap_lock();                                                                                                    \
    call;                                                                                                              \
    hdi_cap_unlock()

static void VKAPI_PTR hook_vkCmdBeginRenderPass(VkCommandBuffer commands, const VkRenderPassBeginInfo *info,
                                                VkSubpassContents contents)
{
    AROUND(begin_locked(commands, info, "vkCmdBeginRenderPass"));
    NEXT(vkCmdBeginRenderPass)(commands, info, contents);
}

static void VKAPI_PTR hook_vkCmdBeginRenderPass2(VkCommandBuffer commands, const VkRenderPassBeginInfo *info,
                                                 const VkSubpassBeginInfo *subpass)
{
    AROUND(begin_locked(commands, info, "vkCmdBeginRenderPass2"));
    NEXT(vkCmdBeginRenderPass2)(commands, info, subpass);
}

static void VKAPI_PTR hook_vkCmdNextSubpass(VkCommandBuffer commands, VkSubpassContents contents)
{
    AROUND(next_locked(commands, "vkCmdNextSubpass"));
    NEXT(vkCmdNextSubpass)(commands, contents);
}

static void VKAPI_PTR hook_vkCmdNextSubpass2(VkCommandBuffer commands, const VkSubpassBeginInfo *begin,
                                             const VkSubpassEndInfo *end)
{
    AROUND(next_locked(commands, "vkCmdNextSubpass2"));
    NEXT(vkCmdNextSubpass2)(commands, begin, end);
}

static void VKAPI_PTR hook_vkCmdEndRenderPass(VkCommandBuffer commands)
{
    AROUND(end_locked(commands, "vkCmdEndRenderPass"));
    NEXT(vkCmdEndRenderPass)(commands);
}

static void VKAPI_PTR hook_vkCmdEndRenderPass2(VkCommandBuffer commands, const VkSubpassEndInfo *info)
{
    AROUND(end_locked(commands, "vkCmdEndRenderPass2"));
    NEXT(vkCmdEndRenderPass2)(commands, info);
}

#define OLD(name) {#name "KHR", (PFN_vkVoidFunction)hook_##name, &next_##name},
static const hdi_cap_hook hooks[] = {HOOKS(HDI_CAP_ENTRY) OLD(vkCreateRenderPass2) OLD(vkCmdBeginRenderPass2)
                                         OLD(vkCmdNextSubpass2) OLD(vkCmdEndRenderPass2)};
const hdi_cap_hooks hdi_cap_pass_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0]), false};
