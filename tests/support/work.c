#include "work.h"

/* What -fsanitize-coverage=trace-pc calls at the begin of each basic block. The linker takes this file only where
 * hdt_work is asked for. */

static _Thread_local uint64_t blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}

uint64_t hdt_work(void)
{
    return blocks;
}
