#version 450
#extension GL_GOOGLE_include_directive : require
// Which lights reach a tile of 16 x 16 pixels: four words of bits, so that the order of the lights never depends on the
// order of the threads.
#include "frame.glsl"
#include "light.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1, std140) uniform Lights
{
    Light lights[128];
};
layout(set = 0, binding = 2) uniform sampler2D depth_map;
layout(set = 0, binding = 3, std430) writeonly buffer Masks
{
    uvec4 masks[];
};

shared uint nearest, farthest; // reverse depths are positive: their bits sort as they do
shared uint bits[4];

void main()
{
    uint lane = gl_LocalInvocationIndex;
    if (lane == 0u) {
        nearest = 0u;
        farthest = 0xffffffffu;
    }
    if (lane < 4u)
        bits[lane] = 0u;
    barrier();
    ivec2 size = ivec2(frame.size.xy), first = ivec2(gl_WorkGroupID.xy) * 16;
    uint low = 0xffffffffu, high = 0u;
    for (int i = 0; i < 4; i++) {
        ivec2 at = min(first + ivec2(gl_LocalInvocationID.xy) * 2 + ivec2(i & 1, i >> 1), size - 1);
        uint depth = floatBitsToUint(texelFetch(depth_map, at, 0).r);
        low = min(low, depth);
        high = max(high, depth);
    }
    atomicMin(farthest, low);
    atomicMax(nearest, high);
    barrier();

    vec2 lo = vec2(first) * frame.size.zw, hi = vec2(first + 16) * frame.size.zw;
    vec3 eye = frame.eye.xyz, forward = view_ray(vec2(0.5));
    vec3 corner[4] = {view_ray(lo), view_ray(vec2(hi.x, lo.y)), view_ray(hi), view_ray(vec2(lo.x, hi.y))};
    vec3 inside = corner[0] + corner[1] + corner[2] + corner[3];
    vec3 plane[4];
    for (int i = 0; i < 4; i++) {
        plane[i] = normalize(cross(corner[i], corner[(i + 1) & 3]));
        plane[i] *= sign(dot(plane[i], inside));
    }
    float from = view_depth(uintBitsToFloat(nearest)), to = view_depth(uintBitsToFloat(farthest));
    for (uint i = lane; i < frame.counts.x; i += 64u) {
        vec3 at = lights[i].place_radius.xyz - eye;
        float radius = lights[i].place_radius.w + 0.02, along = dot(at, forward);
        bool reaches = along + radius > from && along - radius < to;
        for (int k = 0; k < 4; k++)
            reaches = reaches && dot(plane[k], at) > -radius;
        if (reaches)
            atomicOr(bits[i >> 5], 1u << (i & 31u));
    }
    barrier();
    if (lane == 0u)
        masks[gl_WorkGroupID.y * frame.counts.z + gl_WorkGroupID.x] = uvec4(bits[0], bits[1], bits[2], bits[3]);
}
