#version 450
layout(location = 0) in vec3 in_at;
layout(location = 1) flat in vec3 in_light;
layout(location = 0) out vec4 out_color;

void main()
{
    float shape = (1.0 - in_at.x * in_at.x) * (1.0 - in_at.y * in_at.y) * in_at.z;
    out_color = vec4(in_light * shape, 0.0);
}
