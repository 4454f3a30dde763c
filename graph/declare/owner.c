#include "graph_state.h"

#include <pthread.h>
#include <string.h>

#include "alloc.h"

/* Two threads in one graph or list at once: the second call is refused, with a line in the log, and the next compile
 * fails. Calls that declare are asked in debug builds only: there the question costs as much as the rest of a small
 * pass. */

static uint64_t own_number(void)
{
    pthread_t self = pthread_self();
    uint64_t number = 0;
    memcpy(&number, &self, sizeof(self) < sizeof(number) ? sizeof(self) : sizeof(number));
    return number | 1; /* not 0; threads are told apart by their other bits */
}

static hdi_entered refuse(hd_graph *graph, const char *call)
{
    graph = graph->list ? hdi_list_graph(graph->list) : graph;
    hdi_log(&graph->log, HD_LOG_WARNING, "%s is called while another thread is in the graph, or executes it", call);
    atomic_store_explicit(&graph->raced, call, memory_order_relaxed);
    return HDI_REFUSED;
}

/* relaxed: what another thread wrote is seen by way of the engine's own order of its calls, where it has one. */
hdi_entered hdi_graph_enter(hd_graph *graph, const char *call, bool alone)
{
    const uint64_t self = own_number();
    uint64_t owner = 0;
    if (atomic_load_explicit(&graph->executed, memory_order_relaxed))
        return refuse(graph, call);
    if (atomic_compare_exchange_strong_explicit(&graph->owner, &owner, self, memory_order_relaxed,
                                                memory_order_relaxed))
        return HDI_ENTERED;
    return owner == self && !alone ? HDI_NESTED : refuse(graph, call);
}

void hdi_graph_leave(hd_graph *graph, hdi_entered entered)
{
    if (entered == HDI_ENTERED)
        atomic_store_explicit(&graph->owner, 0, memory_order_relaxed);
}
