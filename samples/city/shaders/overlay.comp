#version 450
#extension GL_GOOGLE_include_directive : require
// Lays the sheet with the timeline over the picture's lower edge.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D sheet;
layout(set = 0, binding = 2, rgba8) uniform image2D picture;

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = textureSize(sheet, 0), all = imageSize(picture);
    if (any(greaterThanEqual(at, size)))
        return;
    ivec2 pixel = at + ivec2((all.x - size.x) / 2, all.y - size.y - all.y / 40);
    if (any(lessThan(pixel, ivec2(0))) || any(greaterThanEqual(pixel, all)))
        return;
    vec4 over = texelFetch(sheet, at, 0);
    imageStore(picture, pixel, vec4(mix(imageLoad(picture, pixel).rgb, over.rgb, over.a), 1.0));
}
