/* Work that can be counted: basic blocks that this thread has entered, in files built for it (tests/CMakeLists.txt says
 * which). */
#ifndef HDT_WORK_H
#define HDT_WORK_H

#include <stdint.h>

uint64_t hdt_work(void);

#endif
