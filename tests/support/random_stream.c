#include "random_stream.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { BUFFER_BYTES = 8, WIDE = 3, HIGH = 3, MIPS = 2, QUEUES = 3 };
enum { BUFFER, IMAGE, ALIAS_BUFFER, ALIAS_IMAGE, MAPPED, RESOURCES };
enum { OBJECTS = 5 }; /* from 1 on */

static void put_range(FILE *f, uint64_t *seed, uint32_t res)
{
    if (res == IMAGE || res == ALIAS_IMAGE) {
        uint32_t first = res == IMAGE ? hdt_below(seed, MIPS) : 0;
        fprintf(f, ", \"range\": [%u, %u, 0, 1]", first, res == IMAGE ? 1 + hdt_below(seed, MIPS - first) : 1);
        return;
    }
    uint32_t at = res == BUFFER ? hdt_below(seed, BUFFER_BYTES) : 0;
    fprintf(f, ", \"range\": [%u, %u]", at, res == BUFFER ? 1 + hdt_below(seed, BUFFER_BYTES - at) : BUFFER_BYTES);
}

/* Two resources share bytes. tenant: the one that has them; the buffer takes them by a copy over all of it, the image
 * by a transition from UNDEFINED, as valid streams do. */
static void put_access(FILE *f, uint64_t *seed, uint32_t *tenant)
{
    static const char *const masks[] = {"\"stages\": 4096, \"access\": 2048", "\"stages\": 4096, \"access\": 4096",
                                        "\"stages\": 2048, \"access\": 32", "\"stages\": 2048, \"access\": 64",
                                        "\"stages\": 2048, \"access\": 96"};
    uint32_t res = hdt_below(seed, RESOURCES), mask = hdt_below(seed, sizeof(masks) / sizeof(masks[0]));
    if (res == ALIAS_IMAGE && *tenant != ALIAS_IMAGE)
        res = IMAGE;
    if (res == ALIAS_BUFFER && *tenant != ALIAS_BUFFER) {
        mask = 1;
        *tenant = ALIAS_BUFFER;
    }
    fprintf(f, "{\"resource\": %u, %s", res, masks[mask]);
    if (res == IMAGE || res == ALIAS_IMAGE)
        fprintf(f, ", \"layout\": 1");
    if (hdt_below(seed, 8) == 0)
        fprintf(f, ", \"flags\": 2");
    else if (mask > 1 && hdt_below(seed, 4) == 0) /* by a shader: through a descriptor */
        fprintf(f, ", \"flags\": 8");
    put_range(f, seed, res);
    if (res == IMAGE && hdt_below(seed, 3)) {
        uint32_t x = hdt_below(seed, WIDE), y = hdt_below(seed, HIGH);
        fprintf(f, ", \"box\": [%u, %u, 0, %u, %u, 1]", x, y, 1 + hdt_below(seed, WIDE - x),
                1 + hdt_below(seed, HIGH - y));
    }
    fprintf(f, "}");
}

/* What the capture saw: reads of any queue, and writes by the host, which name all that shares the bytes. */
static void put_seen(FILE *f, uint64_t *seed, bool host, uint32_t tenant)
{
    static const uint32_t masks[] = {0x2000, 0x4000, 0x4000, 0x6000};
    uint32_t res = hdt_below(seed, RESOURCES), mask = masks[host ? hdt_below(seed, 4) : 0];
    bool alias = res == ALIAS_BUFFER || res == ALIAS_IMAGE;
    if (alias)
        res = mask & 0x4000 ? ALIAS_BUFFER : tenant == RESOURCES ? IMAGE : tenant;
    fprintf(f, "{\"resource\": %u, \"stages\": 16384, \"access\": %u, \"flags\": 4", res, mask);
    put_range(f, seed, res);
    if (alias && mask & 0x4000)
        fprintf(f, "}, {\"resource\": %u, \"stages\": 16384, \"access\": %u, \"flags\": 4, \"range\": [0, 1, 0, 1]",
                ALIAS_IMAGE, mask);
    fprintf(f, "}");
}

/* What the command was given, what it sets, uses and changes, and what it belongs to. */
static void put_given(FILE *f, uint64_t *seed)
{
    if (hdt_below(seed, 4)) {
        uint64_t sets = hdt_below(seed, 4) * hdt_below(seed, 4), uses = hdt_below(seed, 4) * hdt_below(seed, 4);
        sets |= hdt_below(seed, 4) * hdt_below(seed, 2) * HD_STREAM_STATE_OTHER; /* and QUERY, the bit above it */
        uses |= hdt_below(seed, 4) * hdt_below(seed, 2) * HD_STREAM_STATE_OTHER;
        fprintf(f, "\"sets\": %llu, \"uses\": %llu, ", (unsigned long long)sets, (unsigned long long)uses);
    }
    if (hdt_below(seed, 4) == 0)
        fprintf(f, "\"changes\": %u, ", 1 + hdt_below(seed, OBJECTS));
    if (hdt_below(seed, 4) == 0)
        fprintf(f, "\"pair\": %u, ", 1 + hdt_below(seed, 2));
    if (hdt_below(seed, 3) == 0)
        fprintf(f, "\"refs\": [%u, %u], \"data\": \"AA%uA\", ", 1 + hdt_below(seed, OBJECTS),
                1 + hdt_below(seed, OBJECTS), hdt_below(seed, 10));
    else if (hdt_below(seed, 4) == 0)
        fprintf(f, "\"data\": \"\", ");
}

static void put_barrier(FILE *f, uint64_t *seed, uint32_t *tenant)
{
    fprintf(f, "{\"src_stages\": 65536, \"src_access\": 65536, \"dst_stages\": 65536, \"dst_access\": 98304");
    uint32_t kind = hdt_below(seed, 4);
    if (kind == 1 || kind == 2) {
        fprintf(f, ", \"resource\": %u, \"old_layout\": %u, \"new_layout\": 1", IMAGE, kind == 1 ? 0 : 7);
        put_range(f, seed, IMAGE);
    } else if (kind == 3) {
        fprintf(f, ", \"resource\": %u, \"old_layout\": %u, \"new_layout\": %u", ALIAS_IMAGE,
                *tenant == ALIAS_IMAGE ? hdt_below(seed, 2) * 7 : 0, hdt_below(seed, 3) ? 1 : 1000001002);
        put_range(f, seed, ALIAS_IMAGE);
        *tenant = ALIAS_IMAGE;
    }
    fprintf(f, "}");
}

static void put_submit(FILE *f, uint64_t *seed, uint32_t *values, uint32_t *count, uint32_t *tenant, uint32_t *submit)
{
    uint32_t queue = hdt_below(seed, QUEUES), commands = hdt_below(seed, 6), other = hdt_below(seed, QUEUES);
    fprintf(f, "{\"name\": \"s\", \"queue\": %u", queue);
    if (other != queue && values[other])
        fprintf(f, ", \"waits\": [{\"semaphore\": %u, \"value\": %u, \"stages\": 65536}]", other,
                1 + hdt_below(seed, values[other]));
    for (uint32_t i = 0; i < commands; i++) {
        bool barrier = queue != 2 && hdt_below(seed, 3) == 0;
        uint32_t parts = 1 + hdt_below(seed, 3);
        if (!barrier && hdt_below(seed, 6) == 0)
            parts = 0;
        fprintf(f, "%s{\"kind\": \"%s\", \"name\": \"c%u\", ", i ? ", " : ", \"commands\": [",
                barrier ? "barrier" : "access", (*count)++);
        if (!barrier) { /* two command buffers a submit */
            fprintf(f, "\"buffer\": %u, ", 1 + 2 * *submit + (i > 2));
            put_given(f, seed);
        }
        fprintf(f, "\"list\": [");
        for (uint32_t k = 0; k < parts; k++) {
            fprintf(f, k ? ", " : "");
            if (barrier)
                put_barrier(f, seed, tenant);
            else if (hdt_below(seed, queue == 2 ? 2 : 8) == 0)
                put_seen(f, seed, queue == 2, *tenant);
            else
                put_access(f, seed, tenant);
        }
        fprintf(f, "]}");
    }
    fprintf(f, "%s, \"signals\": [{\"semaphore\": %u, \"value\": %u, \"stages\": 65536}]}", commands ? "]" : "", queue,
            ++values[queue]);
}

hd_stream *hdt_random_stream(uint64_t seed, uint32_t submits)
{
    char *text = NULL, error[256] = "";
    size_t bytes = 0;
    uint32_t values[QUEUES] = {0}, count = 0, tenant = RESOURCES;
    FILE *f = open_memstream(&text, &bytes);
    cr_assert(f);
    fprintf(f,
            "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}, {\"kind\": 1, \"family\": 0}, {\"kind\": 3}], "
            "\"semaphores\": [{}, {}, {}], \"resources\": [");
    fprintf(f, "{\"memory\": 0, \"bytes\": %d}, {\"memory\": 1, \"bytes\": 64, \"mips\": %d, \"aspects\": 1}, ",
            BUFFER_BYTES, MIPS);
    fprintf(f, "{\"memory\": 2, \"bytes\": %d}, {\"memory\": 2, \"offset\": 4, \"bytes\": 64, \"aspects\": 1}, ",
            BUFFER_BYTES);
    fprintf(f, "{\"memory\": 3, \"bytes\": %d, \"flags\": 4, \"object\": 4}], ", BUFFER_BYTES);
    fprintf(f, "\"device\": 1, \"objects\": [{\"name\": \"d\", \"data\": \"\"}");
    for (uint32_t i = 2; i <= OBJECTS; i++)
        fprintf(f, ", {\"name\": \"o\", \"refs\": [%u, %u], \"data\": \"AA%uA\"}", 1 + hdt_below(&seed, i - 1),
                1 + hdt_below(&seed, i - 1), hdt_below(&seed, 10));
    fprintf(f, "], \"submits\": [");
    for (uint32_t i = 0; i < submits; i++) {
        fputs(i ? ", " : "", f);
        put_submit(f, &seed, values, &count, &tenant, &i);
    }
    fputs("]}", f);
    fclose(f);
    hd_stream *s = NULL;
    hd_result result = hd_stream_read(text, bytes, NULL, &s, error, sizeof(error));
    cr_assert_eq(result, HD_OK, "%s\n%s", error, text);
    free(text);
    if (getenv("HEDDLE_SEED") && !getenv("HEDDLE_SEEDS"))
        hd_stream_write(s, stderr);
    return s;
}
