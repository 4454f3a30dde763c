#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"

/* heddle explain: what orders two passes of a graph's plan, link by link, in words. */

typedef struct explained {
    hdi_decl decl;
    hd_plan_view plan;
    const hd_plan_reasons *reasons;
    const hd_chains *chains;
} explained;

static const char *kind_name(const explained *e, uint32_t queue)
{
    static const char *const names[] = {"gfx", "compute", "transfer", "host"};
    return names[e->plan.queues[queue].kind & 3];
}

static const char *resource_word(const explained *e, uint32_t res)
{
    return e->decl.res_flags[res] & HDI_RES_BUFFER ? "buffer" : "image";
}

static void print_why(const hd_why *why)
{
    if (why->code)
        printf("; %s", hd_reason_name((hd_reason)why->code));
    if (why->pass != HD_NONE)
        printf(", for pass %u", why->pass);
    if (why->other_pass != HD_NONE)
        printf(", behind pass %u", why->other_pass);
}

static void print_barrier(const explained *e, const hd_link *link)
{
    const hd_plan_barrier *b = &e->plan.barriers[link->index];
    printf("  barrier %u (queue %u %s, submit %u): ", link->index, link->queue, kind_name(e, link->queue),
           link->submit);
    print_stages(b->src_stages);
    printf(" [");
    print_accesses(b->src_access);
    printf("] -> ");
    print_stages(b->dst_stages);
    printf(" [");
    print_accesses(b->dst_access);
    printf("]");
    if (b->resource != HD_NONE)
        printf(", %s %u", resource_word(e, b->resource), b->resource);
    if (b->resource != HD_NONE && b->old_layout != b->new_layout)
        printf(", layout %u -> %u", b->old_layout, b->new_layout);
    if (b->src_family != b->dst_family)
        printf(", family %u -> %u", b->src_family, b->dst_family);
    print_why(&e->reasons->barriers[link->index]);
    printf("\n");
}

static void print_link(const explained *e, const hd_link *link)
{
    switch (link->kind) {
    case HD_LINK_BARRIER:
        print_barrier(e, link);
        return;
    case HD_LINK_SIGNAL:
        printf("  signal (queue %u %s, submit %u): value %llu, of ", link->queue, kind_name(e, link->queue),
               link->submit, (unsigned long long)e->plan.submits[link->index].signal_value);
        print_stages(e->plan.submits[link->index].signal_stages);
        printf("\n");
        return;
    case HD_LINK_WAIT:
        printf("  wait (queue %u %s, submit %u): for value %llu of queue %u, in ", link->queue,
               kind_name(e, link->queue), link->submit, (unsigned long long)e->plan.waits[link->index].value,
               e->plan.waits[link->index].queue);
        print_stages(e->plan.waits[link->index].stages);
        print_why(&e->reasons->waits[link->index]);
        printf("\n");
        return;
    default:
        printf("  pass %u (queue %u %s, submit %u): ", link->index, link->queue, kind_name(e, link->queue),
               link->submit);
        print_stages(link->from);
        printf("\n");
    }
}

static const char *access_word(const explained *e, uint32_t pass, uint32_t use)
{
    const char *name = e->decl.access[e->decl.use_access[e->decl.pass_use_begin[pass] + use]].name;
    return name ? name : "an access without a word";
}

static void print_none(const explained *e, const hd_chain *chain)
{
    const hd_chains *all = e->chains;
    printf("  none: ");
    if (chain->leave == 0)
        printf("no barrier and no signal behind pass %u waits for ", all->pass);
    else if (chain->arrive == 0)
        printf("pass %u starts without waiting for anything: no barrier and no wait before it holds back ",
               all->other_pass);
    else
        printf(
            "%u barriers and signals wait for pass %u and pass %u waits for %u, but no way leads from those to these "
            "between ",
            chain->leave, all->pass, all->other_pass, chain->arrive);
    print_stages(chain->leave == 0 || chain->arrive ? chain->stages : chain->other_stages);
    if (chain->leave && chain->arrive) {
        printf(" and ");
        print_stages(chain->other_stages);
    }
    printf("\n");
}

static void print_chain(const explained *e, const hd_chain *chain)
{
    const hd_chains *all = e->chains;
    if (chain->use != HD_NONE) {
        printf("%s %u: %s of pass %u, then ", resource_word(e, chain->resource), chain->resource,
               access_word(e, all->pass, chain->use), all->pass);
        if (chain->other_resource != chain->resource)
            printf("%s %u, which has some of its bytes: ", resource_word(e, chain->other_resource),
                   chain->other_resource);
        printf("%s of pass %u\n", access_word(e, all->other_pass, chain->other_use), all->other_pass);
    }
    if (chain->how == HD_CHAINED_HOST)
        printf("  the host runs its passes one after another\n");
    else if (chain->how == HD_CHAINED_SCOPE)
        printf("  both draw in one rendering scope: rasterization order\n");
    else if (chain->how == HD_CHAINED_NONE)
        print_none(e, chain);
    for (uint32_t l = 0; l < chain->link_count; l++)
        print_link(e, &e->chains->links[chain->link_begin + l]);
}

static void print_all(const explained *e, const uint32_t *passes)
{
    const hd_chains *all = e->chains;
    if (all->culled) {
        for (int i = 0; i < 2; i++)
            for (uint32_t c = 0; c < e->plan.culled_count; c++)
                if (e->plan.culled[c] == passes[i])
                    printf("pass %u is culled (%s): nothing orders it\n", passes[i],
                           hd_cull_name((hd_cull)e->reasons->culled[c].code));
        return;
    }
    uint32_t missing = 0;
    for (uint32_t c = 0; c < all->chain_count; c++)
        missing += all->chains[c].how == HD_CHAINED_NONE;
    if (missing == 0)
        printf("pass %u comes before pass %u%s\n", all->pass, all->other_pass,
               all->conflict ? "" : ", though nothing that they touch conflicts");
    else if (!all->conflict)
        printf("pass %u and pass %u are not ordered: nothing that they touch conflicts\n", all->pass, all->other_pass);
    else
        printf("pass %u and pass %u conflict and are not ordered\n", all->pass, all->other_pass);
    /* where nothing needs an order, one reason why there is none will do */
    for (uint32_t c = 0, shown = 0; c < all->chain_count; c++) {
        bool none = all->chains[c].how == HD_CHAINED_NONE;
        if (all->conflict || missing == 0 || (none && shown++ == 0))
            print_chain(e, &all->chains[c]);
    }
}

static bool parse_pass(const char *text, uint32_t *out)
{
    char *last;
    errno = 0;
    unsigned long value = strtoul(text, &last, 10);
    *out = (uint32_t)value;
    return *text >= '0' && *text <= '9' && *last == 0 && errno == 0 && value < HD_NONE;
}

static int explain(const hd_graph *graph, const hd_plan *plan, const char *path, const uint32_t *passes)
{
    explained e = {.decl = hdi_graph_decl(graph), .plan = hd_plan_read(plan)};
    hd_result result = hd_plan_explain(graph, plan, NULL, &e.reasons);
    if (result == HD_OK)
        result = hd_plan_chains(graph, plan, passes[0], passes[1], NULL, &e.chains);
    if (result == HD_OK)
        print_all(&e, passes);
    hd_chains_free(e.chains, NULL);
    hd_plan_reasons_free(e.reasons, NULL);
    return result == HD_OK ? EXIT_DONE : complain(EXIT_INPUT, "%s: %s", path, hd_result_text(result));
}

int explain_command(int argc, char **argv)
{
    static const struct option longs[] = {{"queues", required_argument, NULL, 'q'}, {0}};
    queue_list queues;
    parse_queues("gfx,compute,transfer", &queues);
    int option, status;
    while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        if (option == '?' || option == ':')
            return complain_option(argv, option);
        if (!parse_queues(optarg, &queues))
            return complain_value(optarg, "queues");
    }
    uint32_t passes[2];
    if (argc - optind != 3 || !parse_pass(argv[optind + 1], &passes[0]) || !parse_pass(argv[optind + 2], &passes[1]) ||
        passes[0] == passes[1])
        return complain(EXIT_COMMAND_LINE, "explain takes GRAPH.fgt and the numbers of two passes; see heddle --help");
    const char *path = argv[optind];
    hd_graph *graph = read_graph(path, &status);
    if (!graph)
        return status;
    for (int i = 0; i < 2 && status == EXIT_DONE; i++)
        if (passes[i] >= hd_graph_pass_count(graph))
            status = complain(EXIT_INPUT, "%s: there is no pass %u, the graph has %u", path, passes[i],
                              hd_graph_pass_count(graph));
    const hd_plan *plan = NULL;
    hd_compile_desc desc = {.queues = queues.queue, .queue_count = queues.count};
    if (status == EXIT_DONE && hd_graph_compile(graph, &desc, &plan) != HD_OK) {
        char error[ERROR_BYTES];
        hd_graph_fgt_error(graph, path, error, sizeof(error));
        fprintf(stderr, "%s\n", error);
        status = EXIT_INPUT;
    }
    if (status == EXIT_DONE)
        status = explain(graph, plan, path, passes);
    hd_graph_destroy(graph);
    return status;
}
