// The fog's volume: cells along the view, finer near the eye.
const float FOG_NEAR = 0.4, FOG_FAR = 260.0;

float fog_distance(float slice)
{
    return FOG_NEAR * pow(FOG_FAR / FOG_NEAR, slice);
}

float fog_slice(float distance)
{
    return clamp(log(max(distance, FOG_NEAR) / FOG_NEAR) / log(FOG_FAR / FOG_NEAR), 0.0, 1.0);
}
