#version 450
// Drawing leaves which instance each pixel shows, and the surface's normal. What that is made of is found out once a
// pixel later, in materials.comp, however often it was drawn over.
layout(location = 0) in vec3 in_normal;
layout(location = 1) flat in uint in_index;
layout(location = 0) out uint out_index;
layout(location = 1) out vec4 out_normal;

void main()
{
    out_index = in_index;
    out_normal = vec4(normalize(in_normal) * 0.5 + 0.5, 0.0);
}
