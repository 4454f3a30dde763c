#include "app.h"

#include <stdlib.h>

/* --view PORT: the plan of the frames as they run, in a browser. */

#ifdef HAS_VIEW
#include <heddle/view.h>

hd_result live_open(struct app *app)
{
    hd_result result = hd_view_serve((uint16_t)app->view_port, &app->view);
    if (result == HD_OK)
        printf("view            http://127.0.0.1:%u/\n", hd_view_port(app->view));
    else
        fprintf(stderr, "deferred: port %u: %s\n", app->view_port, hd_result_text(result));
    fflush(stdout);
    return result;
}

hd_result live_show(struct app *app, const hd_plan *plan)
{
    hd_page_desc desc = {0};
    hd_page_span *spans = report_spans(app, 0, &desc.span_count);
    desc.spans = spans;
    hd_result result = hd_view_show(app->view, app->graph, plan, &desc);
    free(spans);
    return result;
}

void live_close(struct app *app)
{
    hd_view_end(app->view);
}
#else
hd_result live_open(struct app *app)
{
    (void)app;
    fputs("deferred: --view: built without libmicrohttpd\n", stderr);
    return HD_UNSUPPORTED;
}

hd_result live_show(struct app *app, const hd_plan *plan)
{
    (void)app, (void)plan;
    return HD_UNSUPPORTED;
}

void live_close(struct app *app)
{
    (void)app;
}
#endif
