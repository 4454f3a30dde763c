/* The steps of a short frame, with their barriers as the plan has them (barrier_ask.h). */
#define HDI_STEPS_WHOLE
#include "barrier_steps.c"
