#version 460
/* The mean of the logarithm of the picture's light, at 32 x 32 places. */
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) uniform sampler2D scene;
layout(set = 0, binding = 1, std430) writeonly buffer light_block { vec4 light; };
shared float sums[256];

void main()
{
    float sum = 0.0;
    for (int i = 0; i < 4; i++) {
        vec2 uv = (vec2(gl_LocalInvocationID.xy * 2 + uvec2(i & 1, i >> 1)) + 0.5) / 32.0;
        sum += log2(dot(texture(scene, uv).rgb, vec3(0.2126, 0.7152, 0.0722)) + 0.005) * 0.25;
    }
    uint me = gl_LocalInvocationIndex;
    sums[me] = sum;
    for (uint half_count = 128; half_count > 0; half_count >>= 1) {
        barrier();
        if (me < half_count)
            sums[me] += sums[me + half_count];
    }
    if (me == 0)
        light = vec4(exp2(sums[0] / 256.0), 0.0, 0.0, 0.0);
}
