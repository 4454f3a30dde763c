#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(early_fragment_tests) in; /* only depth that is not what it should be lets a fragment through */
void main()
{
    wrong();
}
