#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/plan_tools.h>

#include "random_graph.h"

/* Writes random frames that a device can execute as FOLDER/SEED.fgt, for heddle run.
 * usage: random_graphs FOLDER FIRST COUNT [PASSES [nohost]] */

static bool write_graph(const char *folder, uint64_t seed, uint32_t pass_count, bool host)
{
    char path[4096];
    hd_graph *graph;
    if (snprintf(path, sizeof(path), "%s/%llu.fgt", folder, (unsigned long long)seed) >= (int)sizeof(path) ||
        hd_graph_create(NULL, &graph) != HD_OK)
        return false;
    (host ? hdt_random_executable_graph : hdt_random_hostless_graph)(graph, seed, pass_count);
    FILE *file = fopen(path, "w");
    bool good = file && hd_graph_write_fgt(graph, file) == HD_OK;
    if (file)
        good = fclose(file) == 0 && good;
    hd_graph_destroy(graph);
    if (!good)
        fprintf(stderr, "random_graphs: cannot write %s\n", path);
    return good;
}

int main(int argc, char **argv)
{
    const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    if (argc < 4) {
        fprintf(help ? stdout : stderr,
                "usage: random_graphs FOLDER FIRST COUNT [PASSES [nohost]]\n"
                "frames of the seeds from FIRST on, as .fgt%s%s\n",
                help || argc < 2 ? "" : ", not ", help || argc < 2 ? "" : argv[1]);
        return help ? 0 : 1;
    }
    uint64_t first = strtoull(argv[2], NULL, 0), count = strtoull(argv[3], NULL, 0);
    for (uint64_t s = first; s < first + count; s++) {
        if (!write_graph(argv[1], s, argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 0) : 24, argc <= 5))
            return 2;
    }
    return 0;
}
