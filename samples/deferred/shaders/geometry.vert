#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "geometry.glsl"
layout(location = 5) in vec4 last_row_x;
layout(location = 6) in vec4 last_row_y;
layout(location = 7) in vec4 last_row_z;
layout(location = 8) in vec4 paint;  // rgb, roughness
layout(location = 9) in vec4 matter; // metallic, emission, surface, number

layout(location = 0) out vec3 out_place;
layout(location = 1) out vec3 out_normal;
layout(location = 2) out vec4 out_now;
layout(location = 3) out vec4 out_before;
layout(location = 4) flat out vec4 out_paint;
layout(location = 5) flat out vec4 out_matter;

void main()
{
    out_place = place_vertex();
    // The cofactors of the object's matrix turn normals right under uneven scales too.
    vec3 x = row_x.xyz, y = row_y.xyz, z = row_z.xyz;
    out_normal = vec3(dot(cross(y, z), normal), dot(cross(z, x), normal), dot(cross(x, y), normal));
    vec4 p = vec4(position, 1.0);
    vec3 before = vec3(dot(last_row_x, p), dot(last_row_y, p), dot(last_row_z, p));
    out_now = frame.clean_view_projection * vec4(out_place, 1.0);
    out_before = frame.last_view_projection * vec4(before, 1.0);
    out_paint = paint;
    out_matter = matter;
}
