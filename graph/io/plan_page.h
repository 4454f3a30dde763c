/* The pages that show plans and captured streams, made from the files of graph/io/page/ when heddle is built. */
#ifndef HDI_PLAN_PAGE_H
#define HDI_PLAN_PAGE_H

#include <heddle/graph.h>

typedef struct hdi_page {
    const unsigned char *text;
    size_t bytes;   /* 0 where d3 was not found */
    size_t data_at; /* where what is shown goes in */
} hdi_page;
extern const hdi_page hdi_plan_page;
extern const hdi_page hdi_capture_page; /* the graph of a captured stream */

/* hd_plan_write_page with a page of the caller's. */
hd_result hdi_plan_write_page(const hd_graph *graph, const hd_plan *plan, const hd_page_desc *desc,
                              const hdi_page *page, FILE *f);
/* What the page is given, alone. */
hd_result hdi_plan_write_data(const hd_graph *graph, const hd_plan *plan, const hd_page_desc *desc, FILE *f);

#endif
