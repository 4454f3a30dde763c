#include <criterion/criterion.h>

#include <dirent.h>
#include <stdlib.h>

#include "fuzz.h"

/* Every input that a fuzzer found worth keeping, and every one that once showed a fault, goes through the function that
 * the fuzzers run. */

typedef void (*fuzzer)(const uint8_t *data, size_t bytes);

static void run_file(fuzzer run, const char *path)
{
    FILE *stream = fopen(path, "rb");
    cr_assert(stream, "%s", path);
    static uint8_t data[1 << 20];
    size_t bytes = fread(data, 1, sizeof(data), stream);
    fclose(stream);
    cr_assert_lt(bytes, sizeof(data), "%s", path);
    uint8_t *exact = malloc(bytes ? bytes : 1); /* a read past its end shows */
    cr_assert(exact);
    for (size_t i = 0; i < bytes; i++)
        exact[i] = data[i];
    setenv("HDT_CORPUS_FILE", path, 1); /* named by a fault's sentence */
    run(exact, bytes);
    free(exact);
}

static void run_folder(fuzzer run, const char *name, uint32_t fewest)
{
    char folder[512], path[1024];
    snprintf(folder, sizeof(folder), "%s/tests/io/corpus/%s", HEDDLE_SOURCE_DIR, name);
    DIR *dir = opendir(folder);
    cr_assert(dir, "%s", folder);
    uint32_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        run_file(run, path);
        count++;
    }
    closedir(dir);
    cr_assert_geq(count, fewest, "%s holds %u files", folder, count);
}

Test(corpus, fgt)
{
    run_folder(hdt_fuzz_fgt, "fgt", 25);
}

Test(corpus, plan_json)
{
    run_folder(hdt_fuzz_plan_json, "plan_json", 10);
}

Test(corpus, capture)
{
    run_folder(hdt_fuzz_capture, "capture", 4);
}

Test(corpus, declare)
{
    run_folder(hdt_fuzz_declare, "declare", 25);
}
