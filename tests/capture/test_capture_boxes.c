/* Copies into boxes of an image, in random streams without a device: the verifier of streams against the plain graph,
 * for races, and against a bit a texel, for content. HEDDLE_SEED replays one stream, HEDDLE_SEEDS sets how many there
 * are. */
#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "limited.h"
#include "random.h"
#include "random_graph.h"
#include "stream_brute.h"

enum { WIDE = 6, HIGH = 4, DEEP = 2, MIPS = 2, MOST_COMMANDS = 24, MOST_TEXT = 32768 };

typedef struct note {
    unsigned races, content, others, twice;
    unsigned char unread[MOST_COMMANDS]; /* commands that read what no command wrote */
    char *said;
    char first[400];
} note;

static void take(const char *text, void *user)
{
    note *n = user;
    char line[800];
    unsigned command;
    if (strncmp(text, "race", 4) == 0) {
        n->races++;
        if (!n->first[0])
            snprintf(n->first, sizeof(n->first), "%.*s", (int)sizeof(n->first) - 1, text);
    } else if (sscanf(text, "content: copy (command %u", &command) == 1 && command < MOST_COMMANDS) {
        n->content++;
        n->unread[command] = 1;
    } else {
        n->others++;
    }
    snprintf(line, sizeof(line), "%s\n", text);
    n->twice += strstr(n->said, line) != NULL;
    strncat(n->said, line, MOST_TEXT - strlen(n->said) - 1);
}

static hd_stream *read_stream(const char *text)
{
    char error[256] = "";
    hd_stream *s = NULL;
    cr_assert_eq(hd_stream_read(text, strlen(text), NULL, &s, error, sizeof(error)), HD_OK, "%s", error);
    return s;
}

static note verify(const hd_stream *s)
{
    static char said[MOST_TEXT];
    note n = {.said = said};
    said[0] = 0;
    hd_result result = hd_stream_verify(s, &(hd_verify_desc){.message = take, .user = &n, .max_messages = 10000});
    cr_assert_eq(result, n.races + n.content + n.others ? HD_PLAN_INVALID : HD_OK);
    return n;
}

/* ---- fixed ---- */

#define HEAD                                                                                                           \
    "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}], \"semaphores\": [], \"resources\": ["                \
    "{\"memory\": 0, \"bytes\": 4096, \"mips\": 2, \"aspects\": 1, \"layout\": 1, \"flags\": 1},"                      \
    "{\"memory\": 0, \"bytes\": 4096, \"flags\": 3}],"                                                                 \
    "\"submits\": [{\"name\": \"s\", \"queue\": 0, \"commands\": ["
#define COPY(access, more)                                                                                             \
    "{\"kind\": \"access\", \"name\": \"copy\", \"list\": [{\"resource\": 0, \"stages\": 4294967296, "                 \
    "\"access\": " access ", \"layout\": 1, \"range\": [0, 1, 0, 1]" more "}]}"
#define WRITE(box) COPY("4096", ", \"box\": [" box "]")
#define READ(box) COPY("2048", ", \"box\": [" box "]")
#define CLEAR(box)                                                                                                     \
    "{\"kind\": \"access\", \"name\": \"clear\", \"list\": [{\"resource\": 0, \"stages\": 34359738368, \"access\": "   \
    "4096, \"layout\": 1, \"range\": [0, 1, 0, 1], \"box\": [" box "]}]}"
#define BARRIER                                                                                                        \
    "{\"kind\": \"barrier\", \"name\": \"barrier\", \"list\": [{\"src_stages\": 4294967296, \"src_access\": 4096, "    \
    "\"dst_stages\": 4294967296, \"dst_access\": 6144}]}"
#define WEAK                                                                                                           \
    "{\"kind\": \"barrier\", \"name\": \"barrier\", \"list\": [{\"src_stages\": 1, \"src_access\": 0, "                \
    "\"dst_stages\": 1, \"dst_access\": 0}]}"
#define ALIAS(access)                                                                                                  \
    "{\"kind\": \"access\", \"name\": \"alias\", \"list\": [{\"resource\": 1, \"stages\": 4294967296, "                \
    "\"access\": " access ", \"range\": [0, 4096]}]}"
#define MOVE(from, to)                                                                                                 \
    "{\"kind\": \"access\", \"name\": \"move\", \"list\": [" PART("2048", from) ", " PART("4096", to) "]}"
#define PART(access, box)                                                                                              \
    "{\"resource\": 0, \"stages\": 4294967296, \"access\": " access ", \"layout\": 1, \"range\": [0, 1, 0, 1]" box "}"
#define BOX(box) ", \"box\": [" box "]"
#define BUFFERS                                                                                                        \
    "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}], \"semaphores\": [], \"resources\": ["                \
    "{\"memory\": 0, \"bytes\": 4096, \"flags\": 3}, {\"memory\": 0, \"offset\": 1024, \"bytes\": 4096, \"flags\": "   \
    "3}],"                                                                                                             \
    "\"submits\": [{\"name\": \"s\", \"queue\": 0, \"commands\": [{\"kind\": \"access\", \"name\": \"copy\", "         \
    "\"list\": ["
#define BYTES(resource, access, range)                                                                                 \
    "{\"resource\": " resource ", \"stages\": 4294967296, \"access\": " access ", \"range\": [" range "]}"
#define TAIL "]}]}"

static void expect(const char *what, const char *text, unsigned races, unsigned content)
{
    char why[256];
    hd_stream *s = read_stream(text);
    note n = verify(s);
    cr_expect_eq(n.races, races, "%s: %u races: %s", what, n.races, n.said);
    cr_expect_eq(n.content, content, "%s: %u of content: %s", what, n.content, n.said);
    cr_expect(n.others == 0 && n.twice == 0, "%s: %s", what, n.said);
    cr_expect_eq(hdt_stream_brute(s, NULL, why, sizeof(why)), races ? HDT_STREAM_RACES : HDT_STREAM_HOLDS, "%s: %s",
                 what, why);
    hd_stream_free(s);
}

Test(capture_boxes, fixed)
{
    expect("side by side",
           HEAD WRITE("0, 0, 0, 4, 2, 1") "," WRITE("0, 2, 0, 4, 2, 1") "," WRITE("4, 0, 0, 4, 4, 1") TAIL, 0, 0);
    expect("a texel shared", HEAD WRITE("0, 0, 0, 4, 2, 1") "," WRITE("3, 1, 0, 1, 1, 1") TAIL, 1, 0);
    expect("other slices", HEAD WRITE("0, 0, 0, 4, 2, 1") "," WRITE("0, 0, 1, 4, 2, 1") TAIL, 0, 0);
    expect("a box and all texels", HEAD WRITE("0, 0, 0, 4, 2, 1") "," COPY("4096", "") TAIL, 1, 0);
    expect("a write after a read elsewhere",
           HEAD COPY("4096", "") "," BARRIER "," READ("0, 0, 0, 1, 1, 1") "," WRITE("1, 0, 0, 1, 1, 1") TAIL, 0, 0);
    expect("a write after a read there",
           HEAD COPY("4096", "") "," BARRIER "," READ("0, 0, 0, 1, 1, 1") "," WRITE("0, 0, 0, 2, 1, 1") TAIL, 1, 0);
    expect("not forgotten behind another part",
           HEAD WRITE("0, 0, 0, 2, 1, 1") "," WRITE("2, 0, 0, 2, 1, 1") "," WRITE("0, 0, 0, 1, 1, 1") TAIL, 1, 0);
    expect("both parts of what is read",
           HEAD WRITE("0, 0, 0, 2, 1, 1") "," WRITE("2, 0, 0, 2, 1, 1") "," BARRIER "," READ("0, 0, 0, 4, 1, 1") TAIL,
           0, 0);
    expect("half of it is not written", HEAD WRITE("0, 0, 0, 2, 1, 1") "," BARRIER "," READ("1, 0, 0, 2, 1, 1") TAIL, 0,
           1);
    expect("all of it, parts unknown", HEAD WRITE("0, 0, 0, 2, 1, 1") "," BARRIER "," COPY("2048", "") TAIL, 0, 0);
    expect("both behind the reads of an alias",
           HEAD ALIAS("2048") "," BARRIER "," WRITE("0, 0, 0, 2, 1, 1") "," WRITE("2, 0, 0, 2, 1, 1") TAIL, 0, 0);
    expect("one of them not", /* nor behind the other part, which is */
           HEAD ALIAS("2048") "," BARRIER "," WRITE("0, 0, 0, 2, 1, 1") "," CLEAR("2, 0, 0, 2, 1, 1") TAIL, 1, 0);
    expect("neither", HEAD ALIAS("2048") "," WRITE("0, 0, 0, 2, 1, 1") "," WEAK "," WRITE("2, 0, 0, 2, 1, 1") TAIL, 2,
           0);
}

/* What one command reads is not to be what it writes. */
Test(capture_boxes, one_command)
{
    expect("beside itself",
           HEAD COPY("4096", "") "," BARRIER "," MOVE(BOX("0, 0, 0, 2, 4, 1"), BOX("2, 0, 0, 2, 4, 1")) TAIL, 0, 0);
    expect("over itself",
           HEAD COPY("4096", "") "," BARRIER "," MOVE(BOX("0, 0, 0, 2, 4, 1"), BOX("1, 0, 0, 2, 4, 1")) TAIL, 1, 0);
    expect("parts unknown", HEAD COPY("4096", "") "," BARRIER "," MOVE("", BOX("1, 0, 0, 2, 4, 1")) TAIL, 0, 0);
    expect("bytes beside", BUFFERS BYTES("0", "2048", "0, 64") "," BYTES("0", "4096", "64, 64") "]}" TAIL, 0, 0);
    expect("bytes", BUFFERS BYTES("0", "2048", "0, 64") "," BYTES("0", "4096", "60, 64") "]}" TAIL, 1, 0);
    expect("a later region reads what an earlier one writes",
           BUFFERS BYTES("0", "2048", "0, 64") "," BYTES("0", "4096", "64, 64") "," BYTES(
               "0", "2048", "96, 16") "," BYTES("0", "4096", "128, 16") "]}" TAIL,
           1, 0);
    expect("two regions write the same",
           BUFFERS BYTES("0", "2048", "0, 64") "," BYTES("0", "4096", "64, 64") "," BYTES(
               "0", "2048", "0, 64") "," BYTES("0", "4096", "96, 64") "]}" TAIL,
           0, 0);
    expect("an alias", BUFFERS BYTES("0", "2048", "1024, 64") "," BYTES("1", "4096", "0, 64") "]}" TAIL, 1, 0);
    expect("other bytes of an alias", BUFFERS BYTES("0", "2048", "1024, 64") "," BYTES("1", "4096", "64, 64") "]}" TAIL,
           0, 0);
}

/* Dozens of regions, one pair of commands. */
Test(capture_boxes, said_once)
{
    char text[8192];
    size_t n = (size_t)snprintf(text, sizeof(text), "%s", HEAD);
    for (int c = 0; c < 2; c++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s{\"kind\": \"access\", \"name\": \"copy\", \"list\": [",
                              c ? "," : "");
        for (int i = 0; i < 16; i++)
            n += (size_t)snprintf(text + n, sizeof(text) - n,
                                  "%s{\"resource\": 0, \"stages\": 4294967296, \"access\": 4096, \"layout\": 1, "
                                  "\"range\": [0, 2, 0, 1], \"box\": [0, %d, 0, 4, 1, 1]}",
                                  i ? "," : "", i);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "]}");
    }
    snprintf(text + n, sizeof(text) - n, "%s", TAIL);
    expect("16 regions of 2 mips", text, 1, 0);
}

Test(capture_boxes, bad_boxes_are_refused)
{
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {HEAD WRITE("0, 0, 0, 1, 1") TAIL, "'box' is no list of 6 numbers"},
        {HEAD WRITE("0, 0, 0, 1, 0, 1") TAIL, "'box' is empty"},
        {HEAD WRITE("0, 0, 0, 1, 4294967295, 1") TAIL, "'box' is larger than"},
        {HEAD WRITE("0, -1, 0, 1, 1, 1") TAIL, "'box' is no natural number"},
        {HEAD
         "{\"kind\": \"access\", \"name\": \"copy\", \"list\": [{\"resource\": 1, \"stages\": 4294967296, \"access\": "
         "4096, \"range\": [0, 4], \"box\": [0, 0, 0, 1, 1, 1]}]}" TAIL,
         "'box' of a buffer"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char error[256] = "";
        hd_stream *s;
        cr_expect_eq(hd_stream_read(bad[i].text, strlen(bad[i].text), NULL, &s, error, sizeof(error)), HD_PARSE);
        cr_expect(strstr(error, bad[i].sentence), "'%s', not '%s'", error, bad[i].sentence);
    }
}

static void say_nothing(const char *text, void *user)
{
    (void)text;
    (void)user;
}

Test(capture_boxes, no_memory)
{
    hd_stream *s =
        read_stream(HEAD WRITE("0, 0, 0, 2, 1, 1") "," WRITE("1, 0, 0, 2, 1, 1") "," READ("8, 0, 0, 2, 1, 1") TAIL);
    hd_result result = HD_OUT_OF_MEMORY;
    for (uint64_t fail = 1; result != HD_PLAN_INVALID; fail++) {
        hdt_limited limit = {.fail_at = fail};
        hd_verify_desc desc = {.allocator = hdt_limited_allocator(&limit), .message = say_nothing};
        result = hd_stream_verify(s, &desc);
        cr_expect(limit.out == 0 && limit.wrong == 0);
        cr_assert(result == HD_OUT_OF_MEMORY || result == HD_PLAN_INVALID, "%s at %u", hd_result_name(result),
                  (unsigned)fail);
    }
    hd_stream_free(s);
}

/* ---- random ---- */

typedef struct sketch {
    char text[MOST_TEXT];
    size_t length;
    unsigned char written[MIPS][DEEP][HIGH][WIDE];
    unsigned char unread[MOST_COMMANDS];
    unsigned commands;
} sketch;

static void add(sketch *s, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    s->length += (size_t)vsnprintf(s->text + s->length, sizeof(s->text) - s->length, format, list);
    va_end(list);
    cr_assert_lt(s->length, sizeof(s->text));
}

static void add_access(sketch *s, uint64_t *random, bool reads)
{
    uint32_t mip = hdt_below(random, MIPS), most[3] = {WIDE, HIGH, DEEP}, at[3], size[3], blank = 0;
    bool whole = hdt_below(random, 12) == 0;
    for (int i = 0; i < 3; i++) {
        at[i] = whole ? 0 : hdt_below(random, most[i]);
        size[i] = whole ? most[i] : 1 + hdt_below(random, most[i] - at[i]);
    }
    for (uint32_t z = at[2]; z < at[2] + size[2]; z++)
        for (uint32_t y = at[1]; y < at[1] + size[1]; y++)
            for (uint32_t x = at[0]; x < at[0] + size[0]; x++) {
                blank += !s->written[mip][z][y][x];
                s->written[mip][z][y][x] |= !reads;
            }
    /* of all texels: undefined only where none is */
    s->unread[s->commands] |= reads && (whole ? blank == WIDE * HIGH * DEEP : blank != 0);
    add(s, "{\"resource\": 0, \"stages\": 4294967296, \"access\": %u, \"layout\": 1, \"range\": [%u, 1, 0, 1]",
        reads ? 2048u : 4096u, mip);
    if (!whole)
        add(s, ", \"box\": [%u, %u, %u, %u, %u, %u]", at[0], at[1], at[2], size[0], size[1], size[2]);
    add(s, "}");
}

/* Some read one box and write another. */
static void add_copy(sketch *s, uint64_t *random)
{
    bool both = hdt_below(random, 6) == 0, reads = both || hdt_below(random, 3) == 0;
    add(s, "{\"kind\": \"access\", \"name\": \"copy\", \"list\": [");
    add_access(s, random, reads);
    if (both) {
        add(s, ", ");
        add_access(s, random, false);
    }
    add(s, "]}");
}

static void make(sketch *s, uint64_t seed)
{
    uint64_t random = seed;
    uint32_t count = 4 + hdt_below(&random, MOST_COMMANDS - 4), barriers = 2 + hdt_below(&random, 4);
    memset(s, 0, sizeof(*s));
    add(s, "%s", HEAD);
    for (s->commands = 0; s->commands < count; s->commands++) {
        add(s, "%s", s->commands ? "," : "");
        if (hdt_below(&random, barriers))
            add_copy(s, &random);
        else
            add(s, "%s", hdt_below(&random, 6) ? BARRIER : WEAK);
    }
    add(s, "%s", TAIL);
}

Test(capture_boxes, random, .timeout = 300)
{
    uint64_t first = 1, count = 2000;
    unsigned holds = 0, content = 0;
    sketch *s = malloc(sizeof(*s));
    cr_assert_not_null(s);
    hdt_seeds(&first, &count);
    for (uint64_t seed = first; seed < first + count; seed++) {
        char why[256];
        make(s, seed);
        hd_stream *stream = read_stream(s->text);
        note n = verify(stream);
        hdt_stream_verdict verdict = hdt_stream_brute(stream, NULL, why, sizeof(why));
        cr_expect_eq(verdict, n.races ? HDT_STREAM_RACES : HDT_STREAM_HOLDS,
                     "HEDDLE_SEED=%llu: graph: %s, verifier: %s", (unsigned long long)seed, why, n.first);
        cr_expect_arr_eq(n.unread, s->unread, sizeof(n.unread), "HEDDLE_SEED=%llu content: %s",
                         (unsigned long long)seed, n.said);
        cr_expect(n.others == 0 && n.twice == 0, "HEDDLE_SEED=%llu: %s", (unsigned long long)seed, n.said);
        holds += n.races == 0;
        content += n.content != 0;
        hd_stream_free(stream);
    }
    free(s);
    printf("%llu streams: %u without a race, %u read what is not written\n", (unsigned long long)count, holds, content);
    cr_expect(count < 1000 || (holds > count / 20 && holds < count && content > count / 20));
}
