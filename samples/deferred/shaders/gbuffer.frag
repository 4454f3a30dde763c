#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "noise.glsl"
#include "surface.glsl"
layout(location = 0) in vec3 in_place;
layout(location = 1) in vec3 in_normal;
layout(location = 2) in vec4 in_now;
layout(location = 3) in vec4 in_before;
layout(location = 4) flat in vec4 in_paint;
layout(location = 5) flat in vec4 in_matter;

layout(location = 0) out vec4 out_albedo; // square root of the colour; metallic
layout(location = 1) out vec4 out_normal; // w: roughness, or 1 + emission of what glows
layout(location = 2) out vec2 out_motion; // in uv, from the last frame to this one

void main()
{
    Surface s = surface_at(in_place, in_normal, in_paint, in_matter.z);
    out_albedo = vec4(sqrt(s.albedo), in_matter.x);
    out_normal = vec4(s.normal, in_matter.y > 0.0 ? 1.0 + in_matter.y : s.roughness);
    out_motion = 0.5 * (in_now.xy / in_now.w - in_before.xy / in_before.w);
}
