#include "adapter.h"

/* An adapter whose plans run no pass: the verifier rejects them. */

static const char *text(void)
{
    return "rejected";
}

static uint64_t capabilities(void)
{
    return ~0ull;
}

static void *open_workload(const hb_workload *workload, const hb_options *options, char *error, size_t error_bytes)
{
    (void)options, (void)error, (void)error_bytes;
    return (void *)(uintptr_t)workload;
}

static int nothing(void *handle)
{
    (void)handle;
    return 0;
}

static int export_plan(void *handle, FILE *file)
{
    const hb_workload *w = handle;
    return fprintf(file, "{\"plan\": 1, \"graph\": \"%s\", \"queues\": [{\"kind\": \"gfx\", \"family\": 0}], "
                   "\"culled\": [], \"heaps\": [], \"resources\": [], \"submits\": []}\n", w->name) < 0;
}

static void counts(void *handle, hb_counts *out)
{
    (void)handle;
    *out = (hb_counts){HB_UNKNOWN, HB_UNKNOWN, HB_UNKNOWN};
}

static void close_workload(void *handle)
{
    (void)handle;
}

const hb_adapter *hb_adapter_get(void);
const hb_adapter *hb_adapter_get(void)
{
    static const hb_adapter adapter = {HB_INTERFACE, text,        text,   capabilities, open_workload, nothing,
                                       nothing,      export_plan, counts, NULL,         close_workload};
    return &adapter;
}
