/* Whether what a stub driver captured orders every two accesses of different frames that touch the same bytes: a plain
 * graph over all events and a closure, by the rules of Vulkan's synchronization; the reference for the executor. */
#ifndef HDT_STREAM_CHECK_H
#define HDT_STREAM_CHECK_H

#include <stddef.h>

/* How many pairs of accesses of different frames meet without being ordered or without seeing one another's writes;
 * says the first in text. pairs: how many there were to look at. */
unsigned hdt_stream_faults(char *text, size_t bytes, unsigned *pairs);

#endif
