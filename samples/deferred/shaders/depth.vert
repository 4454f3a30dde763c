#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "geometry.glsl"

void main()
{
    place_vertex();
}
