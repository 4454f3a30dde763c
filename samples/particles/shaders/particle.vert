#version 460
/* A particle is a short streak: from where it was a frame ago to where it is, as wide as the lens blurs it. */
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 motion;
layout(location = 0) out vec3 color;
layout(location = 1) out vec3 along; /* pixels along and across the streak from its middle; half its length */
layout(location = 2) out float radius;
layout(push_constant) uniform Push {
    mat4 view_projection;
    vec4 size;   /* in pixels; energy of one particle; pixels of one unit at distance 1 */
    vec4 lens;   /* distance in focus, aperture */
};

vec3 palette(float t)
{
    const vec3 stops[5] = vec3[](vec3(0.02, 0.10, 0.55), vec3(0.05, 0.45, 0.95), vec3(0.55, 0.22, 1.0),
                                 vec3(1.0, 0.22, 0.45), vec3(1.0, 0.62, 0.18));
    float at = clamp(t, 0.0, 0.9999) * 4.0;
    int i = int(at);
    return mix(stops[i], stops[i + 1], smoothstep(0.0, 1.0, at - float(i)));
}

void main()
{
    vec4 here = view_projection * vec4(place.xyz, 1.0), there = view_projection * vec4(place.xyz - motion.xyz, 1.0);
    float distance = here.w;
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0); /* outside: nothing is drawn */
    if (place.w <= 0.0 || here.w < 0.5 || there.w < 0.5)
        return;
    vec2 a = here.xy / here.w * 0.5 * size.xy, b = there.xy / there.w * 0.5 * size.xy;
    vec2 streak = a - b;
    float streak_length = length(streak);
    vec2 direction = streak_length > 1e-4 ? streak / streak_length : vec2(1.0, 0.0);
    float blur = lens.y * abs(distance - lens.x) / (distance * lens.x) * size.w;
    radius = 0.7 + min(blur, 0.03 * size.y);
    float half_length = 0.5 * streak_length;
    vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2.0 - 1.0;
    along = vec3(corner * vec2(half_length + radius + 1.0, radius + 1.0), half_length);
    vec2 at = 0.5 * (a + b) + direction * along.x + vec2(-direction.y, direction.x) * along.y;
    gl_Position = vec4(at / (0.5 * size.xy), 0.5, 1.0);

    float speed = length(motion.xyz) * 30.0;
    float fade = smoothstep(0.0, 0.6, place.w) * smoothstep(0.0, 1.2, motion.w - place.w);
    float area = 3.14159 * radius * radius + 2.0 * radius * streak_length;
    color = palette(0.08 + speed * 0.052) * (size.z * fade / area) * (0.5 + 0.10 * speed);
}
