#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <memory>
#include <vector>

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <heddle/jobs.h>

#include "support/printed.h"

/* The same graphs of jobs by oneTBB's flow_graph and by heddle, in turns, so that both see the same machine: layers of
 * 50 nodes with two successors each; build and run, medians. Built where oneTBB is installed.
 *
 * usage: bench_tbb [workers]    default: one a processor */

namespace {

constexpr int rounds = 21;
uint32_t work;
std::vector<uint32_t> cells(10000);

uint64_t now()
{
    return (uint64_t)std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void body(uint32_t node)
{
    uint32_t value = cells[node];
    for (uint32_t i = 0; i < work; i++)
        value = value * 2654435761u + i;
    cells[node] = value;
}

void run_tbb(uint32_t count)
{
    using node = tbb::flow::continue_node<tbb::flow::continue_msg>;
    tbb::flow::graph graph;
    std::vector<std::unique_ptr<node>> nodes(count);
    for (uint32_t n = 0; n < count; n++)
        nodes[n] = std::make_unique<node>(graph, [n](const tbb::flow::continue_msg &) { body(n); });
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t k = 0; k < 2 && n + 50 + k < count; k++)
            tbb::flow::make_edge(*nodes[n], *nodes[n + 50 + k]);
    for (uint32_t n = 0; n < 50 && n < count; n++)
        nodes[n]->try_put(tbb::flow::continue_msg());
    graph.wait_for_all();
}

void run_heddle(hd_jobs *jobs, uint32_t count)
{
    static std::vector<hd_node> nodes(10000);
    static std::vector<uint32_t> begin(10001), succ(20000), pred(10000);
    uint32_t at = 0;
    std::fill(pred.begin(), pred.begin() + count, 0u);
    for (uint32_t n = 0; n < count; n++) {
        begin[n] = at;
        for (uint32_t k = 0; k < 2 && n + 50 + k < count; k++) {
            succ[at++] = n + 50 + k;
            pred[n + 50 + k]++;
        }
    }
    begin[count] = at;
    hd_dag dag = {};
    dag.node_count = count;
    dag.succ_begin = begin.data();
    dag.succ = succ.data();
    dag.pred_count = pred.data();
    dag.fn = [](uint32_t node, uint32_t, void *) { body(node); };
    hd_jobs_run_dag(jobs, &dag, nodes.data());
}

uint64_t middle(std::vector<uint64_t> &times)
{
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void compare(hd_jobs *jobs, uint32_t count, uint32_t steps, const char *what)
{
    std::vector<uint64_t> serial, tbb, own;
    work = steps;
    for (int i = 0; i < rounds; i++) {
        uint64_t a = now();
        for (uint32_t n = 0; n < count; n++)
            body(n);
        uint64_t b = now();
        run_tbb(count);
        uint64_t c = now();
        run_heddle(jobs, count);
        uint64_t d = now();
        serial.push_back(b - a);
        tbb.push_back(c - b);
        own.push_back(d - c);
    }
    double s = (double)middle(serial) / count, t = (double)middle(tbb) / count, h = (double)middle(own) / count;
    std::printf("%-10s %6u nodes, ns a node: serial %8.1f, oneTBB %8.1f (%5.2fx), heddle %8.1f (%5.2fx)\n", what, count,
                s, t, s / t, h, s / h);
}

} // namespace

int main(int argc, char **argv)
{
    hd_jobs *one, *many;
    char *end = nullptr;
    unsigned long wanted = argc > 1 ? std::strtoul(argv[1], &end, 10) : 0;
    if (argc > 2 || (end && (end == argv[1] || *end)) || wanted > HD_MAX_WORKERS)
        return hdb_usage(argc, argv,
                         "usage: bench_tbb [WORKERS]\nthe job pool beside oneTBB; default: a worker a processor\n");
    hd_jobs_desc desc = {};
    desc.worker_count = 1;
    hd_result first = hd_jobs_create(&desc, &one);
    desc.worker_count = static_cast<uint32_t>(wanted);
    if (first != HD_OK || hd_jobs_create(&desc, &many) != HD_OK)
        return 1;
    {
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
        compare(one, 1000, 0, "1 worker");
        compare(one, 10000, 0, "1 worker");
    }
    uint32_t workers = hd_jobs_worker_count(many);
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
    char name[32];
    std::snprintf(name, sizeof(name), "%u workers", workers);
    compare(many, 1000, 0, name);
    compare(many, 1000, 2500, name);
    hd_jobs_destroy(many);
    hd_jobs_destroy(one);
    return hdb_printed(0);
}
