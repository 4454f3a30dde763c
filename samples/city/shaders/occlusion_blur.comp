#version 450
#extension GL_GOOGLE_include_directive : require
// One direction of the blur, not over edges of depth.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D depth_map;
layout(set = 0, binding = 2) uniform sampler2D noisy;
layout(set = 0, binding = 3, r8) uniform writeonly image2D smooth_occlusion;
layout(push_constant) uniform Push
{
    ivec2 way;
};

float cell_depth(ivec2 cell)
{
    return view_depth(texelFetch(depth_map, min(cell * 2, ivec2(frame.size.xy) - 1), 0).r);
}

void main()
{
    ivec2 cell = ivec2(gl_GlobalInvocationID.xy), size = imageSize(smooth_occlusion);
    if (any(greaterThanEqual(cell, size)))
        return;
    float middle = cell_depth(cell), sum = 0.0, weights = 0.0;
    for (int k = -3; k <= 3; k++) {
        ivec2 at = clamp(cell + way * k, ivec2(0), size - 1);
        float w = max(0.0, 1.0 - 14.0 * abs(cell_depth(at) - middle) / middle) * (4.0 - abs(float(k))) + 1e-4;
        sum += w * texelFetch(noisy, at, 0).r;
        weights += w;
    }
    imageStore(smooth_occlusion, cell, vec4(sum / weights));
}
