// Vertex and instance attributes, and the one way from them to the screen: both depth passes and the G-buffer must
// agree to the last bit.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 row_x;
layout(location = 3) in vec4 row_y;
layout(location = 4) in vec4 row_z;

layout(constant_id = 0) const int VIEW = 0; // 0 eye, 1 sun, 2 mirrored eye

invariant gl_Position;

vec3 place_vertex()
{
    vec4 p = vec4(position, 1.0);
    vec3 world = vec3(dot(row_x, p), dot(row_y, p), dot(row_z, p));
    if (VIEW == 0)
        gl_Position = frame.view_projection * vec4(world, 1.0);
    else if (VIEW == 1)
        gl_Position = frame.sun_view_projection * vec4(world, 1.0);
    else
        gl_Position = frame.mirror_view_projection * vec4(world, 1.0);
    return world;
}
