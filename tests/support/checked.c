#include "checked.h"

#include <stdio.h>

static void print_violation(const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "%s\n", text);
}

static hd_result verify(const hd_graph *graph, const hd_plan *plan, hd_size_fn size, void *size_user)
{
    hd_verify_desc desc = {.message = print_violation, .size = size, .size_user = size_user};
    return hd_plan_verify(graph, plan, &desc);
}

hd_result hdt_compile(hd_graph *graph, const hd_compile_desc *desc, const hd_plan **out)
{
    hd_result result = hd_graph_compile(graph, desc, out);
    return result == HD_OK ? verify(graph, *out, desc ? desc->size : NULL, desc ? desc->size_user : NULL) : result;
}

hd_result hdt_frame(hd_vk *vk, hd_graph *graph)
{
    const hd_plan *plan;
    hd_result result = hd_vk_compile(vk, graph, NULL, &plan);
    if (result == HD_OK)
        result = verify(graph, plan, hd_vk_size, vk);
    return result == HD_OK ? hd_vk_execute(vk, graph, plan) : result;
}
