#version 450
#extension GL_GOOGLE_include_directive : require
// Which lights reach which cluster of the view: a workgroup a cluster, an invocation 32 lights.
#include "frame.glsl"
#include "light.glsl"
layout(local_size_x = 32) in;
layout(set = 0, binding = 1, std430) readonly buffer Lights
{
    Light lights[];
};
layout(set = 0, binding = 2, std430) writeonly buffer Masks
{
    uint masks[];
};

void main()
{
    uint cluster = gl_WorkGroupID.x, word = gl_LocalInvocationID.x;
    uint x = cluster % CLUSTERS.x, y = cluster / CLUSTERS.x % CLUSTERS.y, slice = cluster / (CLUSTERS.x * CLUSTERS.y);
    float near = cluster_begin(slice), far = slice + 1u == CLUSTERS.z ? 4000.0 : cluster_begin(slice + 1u);
    vec3 low = vec3(1e9), high = vec3(-1e9), forward = view_ray(vec2(0.5));
    for (int k = 0; k < 4; k++) {
        vec3 ray = view_ray((vec2(x, y) + vec2(k & 1, k >> 1)) / vec2(CLUSTERS.xy));
        ray /= dot(ray, forward);
        vec3 a = frame.eye.xyz + ray * near, b = frame.eye.xyz + ray * far;
        low = min(low, min(a, b));
        high = max(high, max(a, b));
    }
    uint bits = 0u;
    for (uint k = 0u; k < 32u; k++) {
        uint i = word * 32u + k;
        if (i >= frame.counts.x)
            break;
        vec4 place = lights[i].place;
        vec3 off = place.xyz - clamp(place.xyz, low, high);
        if (dot(off, off) < place.w * place.w)
            bits |= 1u << k;
    }
    masks[cluster * MASK_WORDS + word] = bits;
}
