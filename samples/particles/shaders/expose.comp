#version 460
/* A long exposure: the light of this frame over what is left of the earlier ones. */
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D light;
layout(set = 0, binding = 1) uniform sampler2D before;
layout(set = 0, binding = 2, rgba16f) uniform writeonly image2D exposed;
layout(push_constant) uniform Push { float keep; };

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, imageSize(exposed))))
        return;
    vec3 sum = texelFetch(light, at, 0).rgb + keep * texelFetch(before, at, 0).rgb;
    imageStore(exposed, at, vec4(min(sum, vec3(6e4)), 1.0));
}
