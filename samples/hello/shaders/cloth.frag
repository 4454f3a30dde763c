#version 460
/* Twill: each thread passes over two and under two, a step further in each row. The yarn image has the colours of the
 * threads, the same for warp and weft. */
layout(set = 0, binding = 0) uniform sampler2D yarn;
layout(location = 0) out vec4 color;

vec3 cloth(vec2 pixel)
{
    vec2 at = pixel / 6.0;
    at += 0.9 * sin(at.yx * 0.11 + vec2(0.4, 1.3)); /* it does not lie flat */
    ivec2 thread = ivec2(floor(at));
    vec2 in_cell = fract(at);
    int phase = (thread.x + thread.y) & 3;
    bool warp = phase < 2;
    float across = (warp ? in_cell.x : in_cell.y) * 2.0 - 1.0;
    float along = (warp ? in_cell.y : in_cell.x) + float(phase & 1) - 1.0; /* over its two cells, from -1 to 1 */
    vec2 slope = warp ? vec2(across, along * 0.55) : vec2(along * 0.55, across);
    vec3 normal = normalize(vec3(slope, 1.05 - 0.55 * across * across));
    vec3 dye = texelFetch(yarn, ivec2((warp ? thread.x : thread.y) & 31, 0), 0).rgb;
    float fibre = 0.86 + 0.14 * sin((along * 7.0 + across * 2.2) * 3.1);
    float light = max(dot(normal, normalize(vec3(-0.45, -0.6, 0.7))), 0.0);
    float shade = (1.0 - 0.6 * pow(abs(along), 5.0)) * (1.0 - 0.5 * pow(abs(across), 4.0));
    float shine = pow(max(dot(normal, normalize(vec3(-0.2, -0.3, 0.95))), 0.0), 24.0) * 0.05;
    vec2 fold = cos(at.yx * 0.11 + vec2(0.4, 1.3));
    return (dye * (0.10 + 1.0 * light) * fibre + shine) * shade * (1.0 + 0.22 * fold.x + 0.22 * fold.y);
}

void main()
{
    vec3 sum = vec3(0.0);
    for (int i = 0; i < 16; i++) /* samples of the pixel */
        sum += cloth(gl_FragCoord.xy + (vec2(i & 3, i >> 2) - 1.5) / 4.0);
    vec2 off = gl_FragCoord.xy / vec2(480.0, 270.0) - 0.45;
    color = vec4(pow(sum / 16.0 * (1.55 - 1.5 * dot(off, off)), vec3(1.0 / 2.2)), 1.0);
}
