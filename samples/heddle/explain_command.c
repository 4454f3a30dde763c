#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "plan_words.h"

/* heddle explain: what orders two passes of a graph's plan, link by link, in words. */

typedef struct explained {
    hdi_decl decl;
    hd_plan_view plan;
    const hd_plan_reasons *reasons;
    const hd_chains *chains;
    hdi_plan_words words;
} explained;

static void say_place(const explained *e, const char *what, const hd_link *link)
{
    printf("%s (", what);
    hdi_say_queue(&e->words, link->queue);
    printf(", submit %u): ", link->submit);
}

static void print_link(const explained *e, const hd_link *link)
{
    char what[32];
    printf("  ");
    switch (link->kind) {
    case HD_LINK_BARRIER:
        snprintf(what, sizeof(what), "barrier %u", link->index);
        say_place(e, what, link);
        hdi_say_barrier(&e->words, &e->plan.barriers[link->index]);
        hdi_say_why(&e->words, HDI_WHY_BARRIER, &e->reasons->barriers[link->index]);
        break;
    case HD_LINK_SIGNAL:
        say_place(e, "signal", link);
        printf("value %llu, of ", (unsigned long long)e->plan.submits[link->index].signal_value);
        hdi_say_stages(&e->words, e->plan.submits[link->index].signal_stages);
        break;
    case HD_LINK_WAIT:
        say_place(e, "wait", link);
        printf("for value %llu of queue %u, in ", (unsigned long long)e->plan.waits[link->index].value,
               e->plan.waits[link->index].queue);
        hdi_say_stages(&e->words, e->plan.waits[link->index].stages);
        hdi_say_why(&e->words, HDI_WHY_WAIT, &e->reasons->waits[link->index]);
        break;
    default:
        hdi_say_pass(&e->words, link->index);
        say_place(e, "", link);
        hdi_say_stages(&e->words, link->from);
    }
    printf("\n");
}

static const char *access_word(const explained *e, uint32_t pass, uint32_t use)
{
    const uint32_t row = e->decl.use_access[e->decl.pass_use_begin[pass] + use];
    const char *name = e->decl.access[row].name;
    return name ? name : hdi_access_of(row) == HD_ACCESS_CUSTOM ? "a custom access" : "a resolve, or what it reads";
}

static void print_none(const explained *e, const hd_chain *chain)
{
    const hd_chains *all = e->chains;
    printf("  none: ");
    if (chain->leave == 0) {
        printf("no barrier and no signal behind ");
        hdi_say_pass(&e->words, all->pass);
        printf(" waits for ");
    } else if (chain->arrive == 0) {
        hdi_say_pass(&e->words, all->other_pass);
        printf(" starts without waiting for anything: no barrier and no wait before it holds back ");
    } else {
        printf("%u barriers and signals wait for ", chain->leave);
        hdi_say_pass(&e->words, all->pass);
        printf(" and ");
        hdi_say_pass(&e->words, all->other_pass);
        printf(" waits for %u, but no way leads from those to these between ", chain->arrive);
    }
    hdi_say_stages(&e->words, chain->leave == 0 || chain->arrive ? chain->stages : chain->other_stages);
    if (chain->leave && chain->arrive) {
        printf(" and ");
        hdi_say_stages(&e->words, chain->other_stages);
    }
    printf("\n");
}

static void print_uses(const explained *e, const hd_chain *chain)
{
    const hd_chains *all = e->chains;
    hdi_say_resource(&e->words, chain->resource);
    printf(": %s of ", access_word(e, all->pass, chain->use));
    hdi_say_pass(&e->words, all->pass);
    printf(", then ");
    if (chain->other_resource != chain->resource) {
        hdi_say_resource(&e->words, chain->other_resource);
        printf(", which has some of its bytes: ");
    }
    printf("%s of ", access_word(e, all->other_pass, chain->other_use));
    hdi_say_pass(&e->words, all->other_pass);
    printf("\n");
}

static void print_chain(const explained *e, const hd_chain *chain)
{
    if (chain->use != HD_NONE)
        print_uses(e, chain);
    if (chain->how == HD_CHAINED_HOST)
        printf("  the host runs its passes one after another\n");
    else if (chain->how == HD_CHAINED_SCOPE)
        printf("  both draw in one rendering scope: rasterization order\n");
    else if (chain->how == HD_CHAINED_NONE)
        print_none(e, chain);
    for (uint32_t l = 0; l < chain->link_count; l++)
        print_link(e, &e->chains->links[chain->link_begin + l]);
}

static void print_culled(const explained *e, const uint32_t *passes)
{
    for (int i = 0; i < 2; i++) {
        for (uint32_t c = 0; c < e->plan.culled_count; c++) {
            if (e->plan.culled[c] != passes[i])
                continue;
            hdi_say_pass(&e->words, passes[i]);
            printf(" is culled (%s): nothing orders it\n", hd_cull_name((hd_cull)e->reasons->culled[c].code));
        }
    }
}

static void print_all(const explained *e, const uint32_t *passes)
{
    const hd_chains *all = e->chains;
    if (all->culled) {
        print_culled(e, passes);
        return;
    }
    uint32_t missing = 0;
    for (uint32_t c = 0; c < all->chain_count; c++)
        missing += all->chains[c].how == HD_CHAINED_NONE;
    hdi_say_pass(&e->words, all->pass);
    printf(missing ? " and " : " comes before ");
    hdi_say_pass(&e->words, all->other_pass);
    if (missing == 0)
        printf("%s\n", all->conflict ? "" : ", though nothing that they touch conflicts");
    else
        printf(all->conflict ? " conflict and are not ordered\n"
                             : " are not ordered: nothing that they touch conflicts\n");
    /* where nothing needs an order, one reason why there is none will do */
    for (uint32_t c = 0, shown = 0; c < all->chain_count; c++) {
        bool none = all->chains[c].how == HD_CHAINED_NONE;
        if (all->conflict || missing == 0 || (none && shown++ == 0))
            print_chain(e, &all->chains[c]);
    }
}

/* By number, else by name. */
static int find_pass(const hd_graph *graph, const char *path, const char *text, uint32_t *out)
{
    const hdi_decl decl = hdi_graph_decl(graph);
    char *last;
    errno = 0;
    unsigned long value = strtoul(text, &last, 10);
    *out = HD_NONE;
    if (*text >= '0' && *text <= '9' && *last == 0 && errno == 0 && value < HD_NONE) {
        *out = (uint32_t)value;
        if (value < decl.pass_count)
            return EXIT_DONE;
        return complain(EXIT_INPUT, "%s: there is no pass %s, the graph has %u", path, text, decl.pass_count);
    }
    for (uint32_t p = 0; p < decl.pass_count; p++) {
        if (!decl.pass_exec[p].name || strcmp(decl.pass_exec[p].name, text) != 0)
            continue;
        if (*out != HD_NONE)
            return complain(EXIT_INPUT, "%s: passes %u and %u are both '%s': give the number", path, *out, p, text);
        *out = p;
    }
    return *out != HD_NONE ? EXIT_DONE : complain(EXIT_INPUT, "%s: there is no pass '%s'", path, text);
}

static int explain(const hd_graph *graph, const hd_plan *plan, const char *path, const uint32_t *passes)
{
    explained e = {.decl = hdi_graph_decl(graph), .plan = hd_plan_read(plan)};
    hd_result result = hd_plan_explain(graph, plan, NULL, &e.reasons);
    if (result == HD_OK)
        result = hd_plan_chains(graph, plan, passes[0], passes[1], NULL, &e.chains);
    e.words = (hdi_plan_words){&e.decl, &e.plan, e.reasons, stdout};
    if (result == HD_OK)
        print_all(&e, passes);
    hd_chains_free(e.chains, NULL);
    hd_plan_reasons_free(e.reasons, NULL);
    return result == HD_OK ? EXIT_DONE : complain(EXIT_INPUT, "%s: %s", path, hd_result_text(result));
}

int explain_command(int argc, char **argv)
{
    static const struct option longs[] = {
        {"queues", required_argument, NULL, 'q'}, {"plan", required_argument, NULL, 'p'}, {0}};
    compile_options options = {0};
    const char *plan_path = NULL;
    int option, status;
    while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        if (option == '?' || option == ':')
            return complain_option(argv, option);
        if (option == 'p')
            plan_path = optarg;
        else if (!parse_queues(optarg, &options.queues))
            return complain_value(optarg, "queues");
    }
    if (argc - optind != 3 || strcmp(argv[optind + 1], argv[optind + 2]) == 0)
        return complain(EXIT_COMMAND_LINE,
                        "explain takes GRAPH.fgt and the numbers or names of two passes; see heddle --help");
    framed f;
    uint32_t passes[2];
    status = open_frame(argv[optind], plan_path, &options, &f);
    for (int i = 0; i < 2 && status == EXIT_DONE; i++)
        status = find_pass(f.graph, argv[optind], argv[optind + 1 + i], &passes[i]);
    if (status == EXIT_DONE && passes[0] == passes[1])
        status = complain(EXIT_INPUT, "%s: the two are one pass", argv[optind]);
    if (status == EXIT_DONE)
        status = explain(f.graph, f.plan, argv[optind], passes);
    close_frame(&f);
    return status;
}
