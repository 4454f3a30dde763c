#version 450
#extension GL_GOOGLE_include_directive : require
// Marks on the road: a box around the place, and what lies in it is painted.
#include "frame.glsl"
layout(location = 0) flat in vec4 in_place;
layout(location = 1) flat in vec4 in_size;
layout(set = 0, binding = 2) uniform sampler2D depth_map;
layout(location = 0) out vec4 out_albedo; // blended over the square root of the colour

void main()
{
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    float depth = texelFetch(depth_map, pixel, 0).r;
    vec3 p = world_place((vec2(pixel) + 0.5) * frame.size.zw, depth), off = p - in_place.xyz;
    float c = cos(in_place.w), s = sin(in_place.w);
    vec3 q = vec3(c * off.x - s * off.z, off.y, s * off.x + c * off.z);
    if (depth <= 0.0 || any(greaterThan(abs(q), vec3(in_size.x, 0.06, in_size.z))))
        discard;
    vec2 at = q.xz / in_size.xz; // -1 .. 1
    uint kind = uint(in_size.w);
    float footprint = length(p - frame.eye.xyz) / frame.planes.w;
    float worn = smoothstep(0.30, 0.52, cloudy(p.xz * 1.3) + 0.22 * (noise2(p.xz * 14.0) - 0.5));
    vec3 paint = vec3(0.62);
    float cover = 0.0, soft = 0.02 + 1.5 * footprint;
    if (kind <= 1u) { // stripes
        float along = kind == 0u ? q.x : q.z;
        cover = smoothstep(0.25 + soft, 0.25 - soft, abs(fract(along / 1.0) - 0.5)) * 0.8 * worn;
    } else if (kind == 2u) { // an arrow
        float shaft = step(abs(q.x), 0.12) * step(-0.3, q.z);
        float head = step(q.z, -0.3) * step(abs(q.x), (q.z + in_size.z) * 0.26);
        cover = max(shaft, head) * 0.8 * worn;
    } else if (kind == 3u) { // a cover of cast iron
        float r = length(q.xz) / in_size.x;
        float grid = step(0.3, abs(fract(q.x * 9.0) - 0.5)) * step(0.3, abs(fract(q.z * 9.0) - 0.5));
        paint = vec3(0.20) * (r > 0.9 ? 0.6 : 0.7 + 0.5 * grid);
        cover = smoothstep(1.0, 0.96, r);
    } else { // oil and tyres
        float r = length(at);
        paint = vec3(0.07);
        cover = 0.65 * smoothstep(1.0, 0.2, r) * smoothstep(0.35, 0.65, cloudy(p.xz * 2.7 + 3.0));
    }
    out_albedo = vec4(paint, cover);
}
