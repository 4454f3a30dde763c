/* heddle/view.h: a running engine's plan in a browser. The page of hd_plan_write_page, served by the process itself to
 * its own machine; it shows each plan that it is given while a page is open. A library of its own, heddle_view, built
 * where libmicrohttpd is found. */
#ifndef HEDDLE_VIEW_H
#define HEDDLE_VIEW_H

#include <heddle/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_view hd_view;

/* Serves on 127.0.0.1 alone, at this port (0: one that is free), by a thread of its own. Requests that name another
 * host are refused, so that no page from elsewhere can read it; nothing can be changed by a request. HD_OK, HD_IO (the
 * port is taken), HD_NO_PAGE, HD_OUT_OF_MEMORY. */
hd_result hd_view_serve(uint16_t port, hd_view **out);
uint16_t hd_view_port(const hd_view *view);
/* Shows a plan from now on, in place of the one before; desc as for hd_plan_write_page. Costs nothing unless a browser
 * has asked since the last plan that was shown: then about what hd_plan_write_page costs. One thread at a time; graph
 * must hold the declaration during the call. HD_OK, and what hd_plan_write_page returns. */
hd_result hd_view_show(hd_view *view, const hd_graph *graph, const hd_plan *plan, const hd_page_desc *desc);
/* Closes all connections. Null is allowed. */
void hd_view_end(hd_view *view);

#ifdef __cplusplus
}
#endif
#endif
