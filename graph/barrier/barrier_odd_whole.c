/* Rare steps of a frame that is not long, with their barriers as the plan has them (barrier_ask.h). */
#define HDI_STEPS_WHOLE
#include "barrier_odd.c"
