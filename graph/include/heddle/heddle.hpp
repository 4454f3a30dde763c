/* heddle/heddle.hpp: passes in one expression, for C++11 and later.
 *
 *     hd::pass("light", HD_PASS_GFX, {{albedo, HD_SAMPLED_GRAPHICS},
 *                                     hd::use(light, HD_COLOR_WRITE).cleared(0, 0, 0, 1)})
 *         .recorded_by(record_light, &scene)
 *         .declare(graph);
 *
 * The list of uses lives until the end of the expression, so `declare` has to be in it; hd_graph_pass copies them. What
 * the functions set are the members of hd_use and hd_pass_desc, which stay accessible. */
#ifndef HEDDLE_HEDDLE_HPP
#define HEDDLE_HEDDLE_HPP

#include <heddle/graph.h>

#include <initializer_list>

namespace hd
{

struct use : hd_use {
    use(hd_resource of, hd_access how) : hd_use() /* all zero */
    {
        resource = of;
        access = how;
    }
    use &mips(uint16_t base, uint16_t count = 1)
    {
        range.mip_base = base;
        range.mip_count = count;
        return *this;
    }
    use &layers(uint32_t base, uint32_t count = 1)
    {
        range.layer_base = base;
        range.layer_count = count;
        return *this;
    }
    /* HD_ASPECT_* */
    use &aspects(uint32_t which)
    {
        range.aspect = which;
        return *this;
    }
    use &bytes(uint64_t offset, uint64_t count = 0)
    {
        range.offset = offset;
        range.bytes = count;
        return *this;
    }
    use &cleared(float red, float green, float blue, float alpha)
    {
        const float values[] = {red, green, blue, alpha};
        for (int i = 0; i < 4; i++)
            clear.color[i] = values[i];
        return *this;
    }
    use &cleared(float depth, uint32_t stencil = 0)
    {
        clear.depth = depth;
        clear.stencil = stencil;
        return *this;
    }
    use &not_loaded()
    {
        load = HD_LOAD_DONT_CARE;
        return *this;
    }
    /* hd_use.next */
    use &starts(hd_resource &version)
    {
        next = &version;
        return *this;
    }
    /* With HD_RESOLVE_WRITE; mode: VkResolveModeFlagBits. */
    use &resolves(hd_resource of, uint32_t mode = 0)
    {
        resolve_of = of;
        resolve_mode = mode;
        return *this;
    }
    /* With HD_ACCESS_CUSTOM. how lives until the pass is declared. */
    use &with(const hd_custom_access &how)
    {
        custom = &how;
        return *this;
    }
};
static_assert(sizeof(use) == sizeof(hd_use), "a list of uses is an array of hd_use");

struct pass : hd_pass_desc {
    pass(const char *called, hd_pass_type kind, std::initializer_list<use> list) : hd_pass_desc() /* all zero */
    {
        name = called;
        type = kind;
        uses = list.begin();
        use_count = static_cast<uint32_t>(list.size());
    }
    pass &recorded_by(hd_record_fn how, void *with = nullptr)
    {
        record = how;
        user = with;
        return *this;
    }
    pass &in_splits(uint32_t count)
    {
        splits = count;
        return *this;
    }
    pass &pinned_to(hd_pin kind)
    {
        pin = kind;
        return *this;
    }
    pass &costs(float us)
    {
        cost_us = us;
        return *this;
    }
    pass &never_culled()
    {
        root = true;
        return *this;
    }
    pass &renders_itself()
    {
        no_rendering = true;
        return *this;
    }
    /* graph: or a list of one. */
    hd_pass declare(hd_graph *graph) const
    {
        return hd_graph_pass(graph, this);
    }
};

} // namespace hd

#endif
