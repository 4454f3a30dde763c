/* Compiling and executing as tests do it: every plan is verified on its way. */
#ifndef HDT_CHECKED_H
#define HDT_CHECKED_H

#include <heddle/vk.h>

/* hd_graph_compile, then hd_plan_verify with the sizes of desc; violations go to standard error. HD_PLAN_INVALID where
 * the plan does not hold. */
hd_result hdt_compile(hd_graph *graph, const hd_compile_desc *desc, const hd_plan **out);

/* hd_vk_frame in its steps, verified between them. */
hd_result hdt_frame(hd_vk *vk, hd_graph *graph);

#endif
