#include "internal.h"

#include <stdio.h>
#include <stdlib.h>

/* --view PORT: the plan of the frames as they run, in a browser. */

#ifdef KIT_HAS_VIEW
#include <heddle/view.h>

bool kit_live_open(struct kit *kit)
{
    hd_result result = hd_view_serve((uint16_t)kit->options.view_port, &kit->view);
    if (result == HD_OK)
        printf("view            http://127.0.0.1:%u/\n", hd_view_port(kit->view));
    else
        fprintf(stderr, "%s: port %u: %s\n", kit->scene->name, kit->options.view_port, hd_result_text(result));
    fflush(stdout);
    return kit_check(kit, result);
}

void kit_live_show(struct kit *kit)
{
    hd_page_desc desc = {0};
    hd_page_span *spans = kit_spans(kit, 0, &desc.span_count);
    desc.spans = spans;
    kit_check(kit, hd_view_show(kit->view, kit->graph, kit->plan, &desc));
    free(spans);
}

void kit_live_close(struct kit *kit)
{
    hd_view_end(kit->view);
}
#else
bool kit_live_open(struct kit *kit)
{
    fprintf(stderr, "%s: --view: built without libmicrohttpd\n", kit->scene->name);
    return kit_check(kit, HD_UNSUPPORTED);
}

void kit_live_show(struct kit *kit)
{
    (void)kit;
}

void kit_live_close(struct kit *kit)
{
    (void)kit;
}
#endif
