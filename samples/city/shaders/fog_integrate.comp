#version 450
#extension GL_GOOGLE_include_directive : require
// From the eye outwards: light that arrived, and how much of what lies behind still comes through.
#include "frame.glsl"
#include "volume.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler3D cells;
layout(set = 0, binding = 2, rgba16f) uniform writeonly image3D fog;

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, ivec2(frame.volume.xy))))
        return;
    vec3 sum = vec3(0.0);
    float open = 1.0, from = 0.0;
    for (int slice = 0; slice < int(frame.volume.z); slice++) {
        vec4 c = texelFetch(cells, ivec3(at, slice), 0);
        float to = fog_distance(float(slice + 1) / float(frame.volume.z)), pass = exp(-c.a * (to - from));
        sum += open * c.rgb / max(c.a, 1e-6) * (1.0 - pass);
        open *= pass;
        from = to;
        imageStore(fog, ivec3(at, slice), vec4(sum, open));
    }
}
