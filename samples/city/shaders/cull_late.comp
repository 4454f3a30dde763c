#version 450
#extension GL_GOOGLE_include_directive : require
// Late culling: what the depth of the early draws does not hide. That is what the next frame draws early; what was not
// drawn early is drawn now.
#include "frame.glsl"
#include "instance.glsl"
#include "cull.glsl"
layout(set = 0, binding = 6, std430) readonly buffer Before
{
    uint before[];
};
layout(set = 0, binding = 7, std430) writeonly buffer Seen
{
    uint seen[];
};
layout(set = 0, binding = 8) uniform sampler2D pyramid;

// Whether the box lies behind all that was drawn early. The pyramid holds the farthest depth of each texel's pixels.
bool hidden(Instance i)
{
    vec2 low = vec2(1e9), high = vec2(-1e9);
    float nearest = 0.0;
    for (int k = 0; k < 8; k++) {
        vec3 corner = vec3(k & 1, (k >> 1) & 1, k >> 2) - 0.5;
        vec4 p = frame.view_projection * vec4(i.place.xyz + turned(corner * i.size.xyz, i.place.w), 1.0);
        if (p.w < 0.2)
            return false;
        vec3 q = p.xyz / p.w;
        low = min(low, q.xy);
        high = max(high, q.xy);
        nearest = max(nearest, q.z);
    }
    low = clamp(low * 0.5 + 0.5, 0.0, 1.0) * vec2(frame.pyramid.xy);
    high = clamp(high * 0.5 + 0.5, 0.0, 1.0) * vec2(frame.pyramid.xy);
    float side = max(high.x - low.x, high.y - low.y);
    int level = int(ceil(log2(max(side, 1.0))));
    if (level >= int(frame.pyramid.z))
        return false;
    ivec2 last = max(ivec2(frame.pyramid.xy) >> level, ivec2(1)) - 1;
    ivec2 a = min(ivec2(low) >> level, last), b = min(ivec2(high) >> level, last);
    float far = min(min(texelFetch(pyramid, a, level).r, texelFetch(pyramid, ivec2(b.x, a.y), level).r),
        min(texelFetch(pyramid, ivec2(a.x, b.y), level).r, texelFetch(pyramid, b, level).r));
    return nearest < far;
}

void main()
{
    uint stays = 0u, first = own_first(), count = own_count();
    for (uint k = 0u; k < count; k++) {
        uint index = first + k;
        Instance i = instance_at(index);
        float radius = radius_of(i), distance = length(i.place.xyz - frame.eye.xyz);
        bool inside = ball_seen(frame.view_projection, i.place.xyz, radius, true);
        inside = inside && radius * frame.planes.w > 0.9 * (distance - radius); // not below a pixel
        bool drawn = inside && before[index] != 0u, visible = inside && !hidden(i);
        seen[index] = visible ? 1u : 0u;
        if (visible && !drawn)
            stays |= 1u << k;
    }
    pack(stays);
}
