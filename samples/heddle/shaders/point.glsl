/* One source for the stages that look at many points alike: an invocation looks at point i, then at i + step(), ...
 * Compute unless VERTEX or FRAGMENT is defined; fragments draw p.nx times p.ny points, vertices one a point. */
#include "common.glsl"
#if defined(VERTEX)
uint point() { return uint(gl_VertexIndex); }
uint step() { return p.nx * p.ny; }
#elif defined(FRAGMENT)
uint point() { return uint(gl_FragCoord.y) * p.nx + uint(gl_FragCoord.x); }
uint step() { return p.nx * p.ny; }
#else
layout(local_size_x = 64) in;
uint point() { return gl_GlobalInvocationID.x; }
uint step() { return gl_NumWorkGroups.x * 64u; }
#endif

/* How many there are; what is done at each. */
uint points();
void look(uint i);
void main()
{
    for (uint i = point(); i < points(); i += step())
        look(i);
#if defined(VERTEX)
    gl_Position = vec4(0.0);
    gl_PointSize = 1.0;
#endif
}
