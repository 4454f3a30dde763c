#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <stdlib.h>
#include <string.h>

#include "limited.h"
#include "random.h"
#include "stream.h"

/* Streams without a device: each rule on a few commands that keep it and break it, files that are refused, files with
 * any bytes changed, and no memory. */

typedef struct note {
    unsigned count;
    char first[800];
} note;

static void take(const char *text, void *user)
{
    note *n = user;
    if (n->count++ == 0)
        snprintf(n->first, sizeof(n->first), "%s", text);
}

/* Queues: 0 gfx of family 0, 1 transfer of family 1, 2 a thread. Resources: 0, 1 buffers, 2 an image, 3 a buffer in the
 * bytes of 0. Semaphores: 0, 1 timelines, 2 binary. */
#define HEAD                                                                                                           \
    "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}, {\"kind\": 2, \"family\": 1}, {\"kind\": 3}],"        \
    "\"semaphores\": [{}, {}, {\"binary\": 1}], \"resources\": ["                                                      \
    "{\"memory\": 0, \"bytes\": 256, \"flags\": 1, \"name\": \"a\"}, {\"memory\": 0, \"offset\": 256, \"bytes\": "     \
    "256},"                                                                                                            \
    "{\"memory\": 0, \"offset\": 512, \"bytes\": 4096, \"mips\": 2, \"layers\": 2, \"aspects\": 1, \"name\": \"i\"},"  \
    "{\"memory\": 0, \"bytes\": 64}], \"submits\": ["
#define SUBMIT(queue, commands) "{\"name\": \"vkQueueSubmit2\", \"queue\": " queue ", \"commands\": [" commands "]}"
#define SYNCED(queue, waits, commands, signals)                                                                        \
    "{\"name\": \"vkQueueSubmit2\", \"queue\": " queue ", \"thread\": 2, \"waits\": [" waits                           \
    "], \"commands\": [" commands "], \"signals\": [" signals "]}"
#define SYNC(semaphore, value, stages) "{\"semaphore\": " semaphore ", \"value\": " value ", \"stages\": " stages "}"
#define ALL "65536"
#define COPY "4294967296"
#define CLEAR "34359738368"
#define ACCESS(name, resource, stages, access, more)                                                                   \
    "{\"kind\": \"access\", \"name\": \"" name "\", \"list\": [{\"resource\": " resource ", \"stages\": " stages       \
    ", \"access\": " access ", " more "}]}"
#define WRITE(resource) ACCESS("fill", resource, CLEAR, "4096", "\"range\": [0, 64]")
#define READ(resource) ACCESS("copy", resource, COPY, "2048", "\"range\": [32, 32]")
#define DECLARED(resource, offset, access)                                                                             \
    "{\"kind\": \"access\", \"name\": \"pass\", \"group\": 1, \"list\": [{\"resource\": " resource                     \
    ", \"stages\": 4294967296, \"access\": " access ", \"flags\": 1, \"range\": [" offset ", 64]}]}"
#define FILLED                                                                                                         \
    ACCESS("fill", "0", CLEAR, "4096", "\"range\": [0, 128]")                                                          \
    "," BARRIERS("barrier", GLOBAL(CLEAR, "4096", ALL, "6144"))
#define OF_PASS(what) "{\"group\": 1, \"kind\": \"access\", " what
#define WRITE_OF                                                                                                       \
    "\"name\": \"fill\", \"list\": [{\"resource\": 0, \"stages\": " CLEAR ", \"access\": 4096, \"range\": [0, 64]}]}"
#define READ_OF                                                                                                        \
    "\"name\": \"copy\", \"list\": [{\"resource\": 0, \"stages\": " COPY ", \"access\": 2048, \"range\": [0, 64]}]}"
#define BARRIERS(kind, list) "{\"kind\": \"" kind "\", \"name\": \"barrier\", \"event\": 1, \"list\": [" list "]}"
#define MASKS(src, src_access, dst, dst_access)                                                                        \
    "\"src_stages\": " src ", \"src_access\": " src_access ", \"dst_stages\": " dst ", \"dst_access\": " dst_access
#define GLOBAL(src, src_access, dst, dst_access) "{" MASKS(src, src_access, dst, dst_access) "}"
#define SHOWN BARRIERS("barrier", GLOBAL(CLEAR, "4096", COPY, "2048"))
#define LAYOUT(masks, from, to, more)                                                                                  \
    "{" masks ", \"resource\": 2, \"old_layout\": " from ", \"new_layout\": " to ", \"range\": [0, 2, 0, 2]" more "}"
#define OPEN BARRIERS("barrier", LAYOUT(MASKS("0", "0", CLEAR, "4096"), "0", "7", ""))
#define CLEARED ACCESS("clear", "2", CLEAR, "4096", "\"layout\": 7, \"range\": [0, 2, 0, 2]")
#define MIP(layout) ACCESS("copy", "2", COPY, "2048", "\"layout\": " layout ", \"range\": [1, 1, 0, 1]")
#define TO_SRC LAYOUT(MASKS(CLEAR, "4096", COPY, "2048"), "7", "6", "")
#define RELEASE                                                                                                        \
    BARRIERS("barrier", LAYOUT(MASKS(CLEAR, "4096", "0", "0"), "7", "6", ", \"src_family\": 0, \"dst_family\": 1"))
#define ACQUIRE                                                                                                        \
    BARRIERS("barrier", LAYOUT(MASKS("0", "0", COPY, "2048"), "7", "6", ", \"src_family\": 0, \"dst_family\": 1"))
#define TAIL "]}"

static void expect(const char *what, const char *word, const char *text)
{
    hd_stream *stream = NULL;
    char error[256] = "";
    note n = {0};
    cr_assert_eq(hd_stream_read(text, strlen(text), NULL, &stream, error, sizeof(error)), HD_OK, "%s: %s", what, error);
    hd_result result = hd_stream_verify(stream, &(hd_verify_desc){.message = take, .user = &n});
    if (!word)
        cr_expect_eq(result, HD_OK, "%s: %s", what, n.first);
    else
        cr_expect(result == HD_PLAN_INVALID && strncmp(n.first, word, strlen(word)) == 0, "%s: %s, not %s: %s", what,
                  hd_result_name(result), word, n.first);
    hd_stream_free(stream);
}

Test(capture_file, races)
{
    expect("ordered", NULL, HEAD SUBMIT("0", WRITE("0") "," SHOWN "," READ("0")) TAIL);
    expect("over submits", NULL, HEAD SUBMIT("0", WRITE("0") "," SHOWN) "," SUBMIT("0", READ("0")) TAIL);
    expect("no barrier", "race on buffer 0 'a': fill (command 0 of submit 0, queue 0, frame 0) writes, copy (command 1",
           HEAD SUBMIT("0", WRITE("0") "," READ("0")) TAIL);
    expect("wrong source stage", "race",
           HEAD SUBMIT("0", WRITE("0") "," BARRIERS("barrier", GLOBAL(COPY, "4096", COPY, "2048")) "," READ("0")) TAIL);
    expect("no source access", "race",
           HEAD SUBMIT("0", WRITE("0") "," BARRIERS("barrier", GLOBAL(CLEAR, "0", COPY, "2048")) "," READ("0")) TAIL);
    expect("no destination access", "race",
           HEAD SUBMIT("0", WRITE("0") "," BARRIERS("barrier", GLOBAL(CLEAR, "4096", COPY, "4096")) "," READ("0"))
               TAIL);
    expect("write after read", "race", HEAD SUBMIT("0", WRITE("0") "," SHOWN "," READ("0") "," WRITE("0")) TAIL);
    expect("other bytes", NULL,
           HEAD SUBMIT("0", WRITE("0") "," ACCESS("fill", "0", CLEAR, "4096", "\"range\": [64, 64]")) TAIL);
    expect("through an alias", "race on buffer 3 '' through its alias",
           HEAD SUBMIT("0", WRITE("0") "," WRITE("3")) TAIL);
    expect("an alias behind a barrier", NULL,
           HEAD SUBMIT("0", WRITE("0") "," BARRIERS("barrier", GLOBAL(CLEAR, "4096", CLEAR, "4096")) "," WRITE("3"))
               TAIL);
    expect("a command of the pass does what it declares", NULL,
           HEAD SUBMIT("0", FILLED "," DECLARED("0", "0", "4096") "," OF_PASS(WRITE_OF)) TAIL);
    expect("reads what it writes", NULL,
           HEAD SUBMIT("0", FILLED "," DECLARED("0", "0", "6144") "," OF_PASS(READ_OF)) TAIL);
    expect("writes what it only reads",
           "race on buffer 0 'a': pass (command 2 of submit 0, queue 0, frame 0) reads, fill",
           HEAD SUBMIT("0", FILLED "," DECLARED("0", "0", "2048") "," OF_PASS(WRITE_OF)) TAIL);
    expect("another part of the pass reads",
           "race on buffer 0 'a': fill (command 2 of submit 0, queue 0, frame 0) writes, pass",
           HEAD SUBMIT("0", FILLED "," OF_PASS(WRITE_OF) "," DECLARED("0", "0", "2048")) TAIL);
    expect("behind a barrier of its own", NULL,
           HEAD SUBMIT("0", FILLED "," DECLARED("0", "0", "2048") "," BARRIERS(
                                "barrier", GLOBAL(COPY, "0", CLEAR, "0")) "," OF_PASS(WRITE_OF)) TAIL);
    expect("other bytes than those that it reads", NULL,
           HEAD SUBMIT("0", FILLED "," DECLARED("0", "64", "2048") "," OF_PASS(WRITE_OF)) TAIL);
    expect("unseen queue", "race", HEAD SUBMIT("0", WRITE("0") "," SHOWN) "," SUBMIT("1", READ("0")) TAIL);
}

Test(capture_file, semaphores)
{
    expect("waited for", NULL,
           HEAD SYNCED("0", "", WRITE("0"), SYNC("0", "1", ALL)) "," SYNCED("1", SYNC("0", "1", ALL), READ("0"), "")
               TAIL);
    expect("waited for before it is signalled", NULL,
           HEAD SYNCED("1", SYNC("0", "1", ALL), READ("0"), "") "," SYNCED("0", "", WRITE("0"), SYNC("0", "1", ALL))
               TAIL);
    expect("a smaller value", NULL,
           HEAD SYNCED("0", "", WRITE("0"), SYNC("0", "5", ALL)) "," SYNCED("1", SYNC("0", "3", ALL), READ("0"), "")
               TAIL);
    expect("two signals", NULL,
           HEAD SYNCED("0", "", WRITE("0"), SYNC("0", "1", ALL) "," SYNC("1", "1", ALL)) "," SYNCED(
               "1", SYNC("1", "1", ALL), READ("0"), "") TAIL);
    expect("another stage waits", "race",
           HEAD SYNCED("0", "", WRITE("0"), SYNC("0", "1", ALL)) "," SYNCED("1", SYNC("0", "1", CLEAR), READ("0"), "")
               TAIL);
    expect("another stage signals", "race",
           HEAD SYNCED("0", "", WRITE("0"), SYNC("0", "1", COPY)) "," SYNCED("1", SYNC("0", "1", ALL), READ("0"), "")
               TAIL);
    expect("never signalled", "wait: vkQueueSubmit2 (submit 0, queue 1, frame 0) waits for value 2 of semaphore 0",
           HEAD SYNCED("1", SYNC("0", "2", ALL), WRITE("0"), "") TAIL);
    expect("a value that does not rise",
           "wait: vkQueueSubmit2 (submit 1, queue 0, frame 0) signals value 1 of semaphore 0, which is at 1",
           HEAD SYNCED("0", "", WRITE("0"), SYNC("0", "1", ALL)) "," SYNCED("0", "", WRITE("1"), SYNC("0", "1", ALL))
               TAIL);
    expect("a circle", "wait: deadlock",
           HEAD SYNCED("0", SYNC("1", "1", ALL), WRITE("0"),
                       SYNC("0", "1", ALL)) "," SYNCED("1", SYNC("0", "1", ALL), WRITE("1"), SYNC("1", "1", ALL)) TAIL);
    expect("binary ones by turns", NULL,
           HEAD SYNCED("0", "", WRITE("0"), SYNC("2", "0", ALL)) "," SYNCED(
               "1", SYNC("2", "0", ALL), READ("0"),
               SYNC("0", "1", ALL)) "," SYNCED("0", SYNC("0", "1", ALL), WRITE("0"),
                                               SYNC("2", "0", ALL)) "," SYNCED("1", SYNC("2", "0", ALL), READ("0"), "")
               TAIL);
    expect("a binary one that was signalled before", NULL,
           "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}, {\"kind\": 2, \"family\": 1}, {\"kind\": 3}],"
           "\"semaphores\": [{}, {}, {\"binary\": 1, \"initial\": 1}], \"resources\": ["
           "{\"memory\": 0, \"bytes\": 256, \"flags\": 1}], \"submits\": [" SYNCED(
               "0", SYNC("2", "0", ALL), WRITE("0"), SYNC("2", "0", ALL)) "," SYNCED("1", SYNC("2", "0", ALL),
                                                                                     READ("0"), "") TAIL);
    expect("a host wait before a submit", NULL,
           HEAD SYNCED("0", "", WRITE("0"),
                       SYNC("0", "1", ALL)) ","
                                            "{\"name\": \"vkWaitSemaphores\", \"queue\": 2, \"waits\": [" SYNC(
                                                "0", "1", ALL) "]}," SYNCED("1", "", READ("0"), "") TAIL);
    expect("a host wait by another thread", "race",
           HEAD SYNCED("0", "", WRITE("0"),
                       SYNC("0", "1", ALL)) ","
                                            "{\"name\": \"vkWaitSemaphores\", \"queue\": 2, \"waits\": [" SYNC(
                                                "0", "1", ALL) "]}," SUBMIT("1", READ("0")) TAIL);
}

#define HOST_SIGNALS(value) "{\"name\": \"vkSignalSemaphore\", \"queue\": 2, \"signals\": [" SYNC("0", value, ALL) "]}"
#define WAITS_FOR_BINARY SYNCED("1", SYNC("2", "0", ALL), "", "")

/* The order of the calls counts where a binary semaphore is waited for. */
Test(capture_file, binary_semaphores)
{
    expect(
        "behind the host", NULL,
        HEAD SYNCED("0", SYNC("0", "1", ALL), "", SYNC("2", "0", ALL)) "," HOST_SIGNALS("1") "," WAITS_FOR_BINARY TAIL);
    expect(
        "before the host",
        "wait: vkQueueSubmit2 (submit 1, queue 1, frame 0) waits for the binary semaphore 2, whose signal depends on "
        "vkSignalSemaphore (submit 2, queue 2, frame 0)",
        HEAD SYNCED("0", SYNC("0", "1", ALL), "", SYNC("2", "0", ALL)) "," WAITS_FOR_BINARY "," HOST_SIGNALS("1") TAIL);
    expect("by the order of the queue", "wait: vkQueueSubmit2 (submit 2, queue 1",
           HEAD SYNCED("0", SYNC("0", "1", ALL), "", "") "," SYNCED(
               "0", "", "", SYNC("2", "0", ALL)) "," WAITS_FOR_BINARY "," HOST_SIGNALS("1") TAIL);
    expect("by another queue", "wait: vkQueueSubmit2 (submit 2, queue 1",
           HEAD SYNCED("1", SYNC("0", "1", ALL), "", SYNC("1", "1", ALL)) "," SYNCED(
               "0", SYNC("1", "1", ALL), "", SYNC("2", "0", ALL)) "," WAITS_FOR_BINARY "," HOST_SIGNALS("1") TAIL);
    expect("timelines may be waited for before", NULL,
           HEAD SYNCED("0", SYNC("0", "1", ALL), "", SYNC("1", "1", ALL)) "," SYNCED("1", SYNC("1", "1", ALL), "",
                                                                                     "") "," HOST_SIGNALS("1") TAIL);
}

#define HOST_READS                                                                                                     \
    "{\"name\": \"host\", \"queue\": 2, \"waits\": [" SYNC("0", "1", ALL) "], \"commands\": [" ACCESS(                 \
        "look", "0", "16384", "8192", "\"range\": [0, 64]") "]}"

Test(capture_file, host)
{
    expect("shown to the host", NULL,
           HEAD SYNCED("0", "", WRITE("0") "," BARRIERS("barrier", GLOBAL(CLEAR, "4096", "16384", "8192")),
                       SYNC("0", "1", ALL)) "," HOST_READS TAIL);
    expect("a semaphore alone", "race", HEAD SYNCED("0", "", WRITE("0"), SYNC("0", "1", ALL)) "," HOST_READS TAIL);
    expect("written before the submit", NULL,
           HEAD "{\"name\": \"host\", \"queue\": 2, \"commands\": [" ACCESS(
               "put", "0", "16384", "16384", "\"range\": [0, 64]") "]}," SYNCED("0", "", READ("0"), "") TAIL);
}

Test(capture_file, layouts_and_content)
{
    expect("opened, cleared, read", NULL,
           HEAD SUBMIT("0", OPEN "," CLEARED "," BARRIERS("barrier", TO_SRC) "," MIP("6")) TAIL);
    expect("used without a transition", "layout: clear", HEAD SUBMIT("0", CLEARED) TAIL);
    expect("read in another layout", "layout: copy",
           HEAD SUBMIT("0", OPEN "," CLEARED "," BARRIERS("barrier", TO_SRC) "," MIP("1")) TAIL);
    expect("wrong old layout", "layout: barrier",
           HEAD SUBMIT("0", OPEN "," CLEARED "," BARRIERS(
                                "barrier", LAYOUT(MASKS(CLEAR, "4096", COPY, "2048"), "1", "6", ""))) TAIL);
    expect("content thrown away", "content: copy",
           HEAD SUBMIT("0", OPEN "," CLEARED "," BARRIERS("barrier", LAYOUT(MASKS(CLEAR, "4096", COPY, "2048"), "0",
                                                                            "6", "")) "," MIP("6")) TAIL);
    expect("never written", "content: copy", HEAD SUBMIT("0", READ("0")) TAIL);
    expect("lost to an alias", "content: copy",
           HEAD SUBMIT("0", WRITE("0") "," BARRIERS("barrier", GLOBAL(ALL, "65536", ALL, "98304")) "," WRITE(
                                "3") "," BARRIERS("barrier", GLOBAL(ALL, "65536", ALL, "98304")) "," READ("0")) TAIL);
    expect("two barriers of one command", "race on image 2 'i': two barriers",
           HEAD SUBMIT("0", OPEN "," CLEARED "," BARRIERS(
                                "barrier", TO_SRC "," LAYOUT(MASKS(COPY, "0", CLEAR, "4096"), "6", "7", ""))) TAIL);
    expect("a stage that the queue lacks", "stages: barrier",
           HEAD SUBMIT("1", BARRIERS("barrier", GLOBAL("2048", "0", COPY, "2048"))) TAIL);
    expect("an access that no stage does", "stages: barrier",
           HEAD SUBMIT("0", BARRIERS("barrier", GLOBAL(COPY, "4096", COPY, "32"))) TAIL);
}

#define SEEN(resource, stages, access, more) ACCESS("seen", resource, stages, access, "\"flags\": 4, " more)
#define HOST(commands) "{\"name\": \"host\", \"queue\": 2, \"commands\": [" commands "]}"

/* What the capture saw breaks no rule, and what the host wrote is content. */
Test(capture_file, observed)
{
    expect("seen anywhere", NULL, HEAD SUBMIT("0", WRITE("0") "," SEEN("0", CLEAR, "6144", "\"range\": [0, 64]")) TAIL);
    expect("by a stage that the queue lacks", NULL,
           HEAD SUBMIT("1", SEEN("0", "2048", "64", "\"range\": [0, 64]")) TAIL);
    expect("never written", NULL, HEAD HOST(SEEN("0", "16384", "8192", "\"range\": [0, 64]")) TAIL);
    expect("in no layout", NULL, HEAD SUBMIT("0", SEEN("2", ALL, "32768", "\"range\": [0, 2, 0, 2]")) TAIL);
    expect("written by the host", NULL,
           HEAD HOST(SEEN("0", "16384", "16384", "\"range\": [32, 32]")) "," SUBMIT("0", READ("0")) TAIL);
    expect("other bytes are not", "content: copy",
           HEAD HOST(SEEN("0", "16384", "16384", "\"range\": [0, 48]")) "," SUBMIT("0", READ("0")) TAIL);
    expect("it orders nothing", "race",
           HEAD SUBMIT("0", WRITE("0")) "," HOST(SEEN("0", "16384", "24576", "\"range\": [0, 64]")) "," SUBMIT(
               "0", WRITE("0")) TAIL);
    expect("a call with data alone", NULL,
           HEAD SUBMIT("0", "{\"kind\": \"access\", \"name\": \"call\", \"data\": \"\", \"list\": []}") TAIL);
}

Test(capture_file, ownership_and_events)
{
    expect("handed over", NULL,
           HEAD SYNCED("0", "", OPEN "," CLEARED "," RELEASE,
                       SYNC("0", "1", ALL)) "," SYNCED("1", SYNC("0", "1", ALL), ACQUIRE "," MIP("6"), "") TAIL);
    expect("taken", "ownership: copy",
           HEAD SYNCED("0", "", OPEN "," CLEARED "," BARRIERS("barrier", TO_SRC),
                       SYNC("0", "1", ALL)) "," SYNCED("1", SYNC("0", "1", ALL), MIP("6"), "") TAIL);
    expect("acquired unreleased", "ownership: barrier",
           HEAD SYNCED("0", "", OPEN "," CLEARED, SYNC("0", "1", ALL)) "," SYNCED("1", SYNC("0", "1", ALL), ACQUIRE, "")
               TAIL);
    expect("released, and used", "ownership: copy", HEAD SUBMIT("0", OPEN "," CLEARED "," RELEASE "," MIP("7")) TAIL);
    expect("acquired without a wait", "race",
           HEAD SYNCED("0", "", OPEN "," CLEARED "," RELEASE, SYNC("0", "1", ALL)) "," SYNCED("1", "", ACQUIRE, "")
               TAIL);
#define SPLIT(kind) BARRIERS(kind, GLOBAL(CLEAR, "4096", COPY, "2048"))
    expect("an event", NULL,
           HEAD SUBMIT("0", WRITE("0") "," SPLIT("set") "," WRITE("1") "," SPLIT("wait") "," READ("0")) TAIL);
    expect("written behind the event", "race",
           HEAD SUBMIT("0", SPLIT("set") "," WRITE("0") "," SPLIT("wait") "," READ("0")) TAIL);
    expect("never set", "event: barrier", HEAD SUBMIT("0", SPLIT("wait")) TAIL);
}

/* ---- files ---- */

#define GIVEN                                                                                                          \
    "{\"kind\": \"access\", \"name\": \"update\", \"changes\": 2, \"pair\": 4, \"refs\": [2, 1], \"data\": "           \
    "\"/+9/AA==\", "                                                                                                   \
    "\"list\": [{\"resource\": 1, \"stages\": 16384, \"access\": 16384, \"flags\": 4, \"range\": [0, 64]}]}"
#define OBJECTS                                                                                                        \
    "], \"device\": 1, \"objects\": [{\"name\": \"vkCreateDevice\", \"data\": \"AAEC\"}, {\"name\": "                  \
    "\"vkCreateBuffer\", "                                                                                             \
    "\"refs\": [1], \"data\": \"\"}, {\"name\": \"unknown\"}]}"
static const char good[] =
    HEAD SYNCED("0", "", OPEN "," CLEARED "," RELEASE "," WRITE("0") "," SHOWN "," READ("0") "," GIVEN,
                SYNC("0", "1", ALL)) "," SYNCED("1", SYNC("0", "1", ALL), ACQUIRE "," MIP("6"), "") OBJECTS;

static hd_stream *read_good(const char *text)
{
    hd_stream *stream = NULL;
    char error[256] = "";
    cr_assert_eq(hd_stream_read(text, strlen(text), NULL, &stream, error, sizeof(error)), HD_OK, "%s", error);
    return stream;
}

/* The caller frees it. */
static char *written(const hd_stream *stream)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file && hd_stream_write(stream, file) == HD_OK);
    fclose(file);
    return text;
}

Test(capture_file, data_is_read_and_written)
{
    hd_stream *first = read_good(good);
    char *text = written(first), *again = NULL;
    hd_stream *s = read_good(text);
    cr_assert_str_eq(text, again = written(s));
    const hd_stream_command *x = &s->commands[6];
    const hd_stream_data *data = &s->datas[x->data];
    cr_assert(s->device == 1 && s->object_count == 4 && x->changes == 2 && x->pair == 4);
    cr_assert(data->byte_count == 4 && memcmp(s->bytes + data->byte_begin, "\xff\xef\x7f", 4) == 0);
    cr_assert(data->ref_count == 2 && s->refs[data->ref_begin] == 2 && s->refs[data->ref_begin + 1] == 1);
    data = &s->datas[s->objects[1].data];
    cr_assert(data->byte_count == 3 && data->ref_count == 0 && memcmp(s->bytes + data->byte_begin, "\0\1\2", 3) == 0);
    data = &s->datas[s->objects[2].data];
    cr_assert(s->objects[2].data && data->byte_count == 0 && data->ref_count == 1 && s->refs[data->ref_begin] == 1);
    cr_assert(s->objects[3].data == 0 && s->commands[5].data == 0);
    free(text);
    free(again);
    hd_stream_free(first);
    hd_stream_free(s);
}

/* Data of any length and content comes back. */
Test(capture_file, data_of_any_length)
{
    uint64_t seed = hdt_seed();
    hd_stream *s = read_good(good);
    for (uint32_t bytes = 0; bytes < 5000; bytes = bytes < 20 ? bytes + 1 : bytes * 2 + hdt_below(&seed, 3)) {
        uint8_t *random = malloc(bytes + 1);
        for (uint32_t i = 0; i < bytes; i++)
            random[i] = (uint8_t)hdt_below(&seed, 256);
        s->commands[6].data = hdi_stream_data(s, random, bytes, NULL, 0);
        char *text = written(s);
        hd_stream *back = read_good(text);
        const hd_stream_data *data = &back->datas[back->commands[6].data];
        cr_expect(data->byte_count == bytes && memcmp(back->bytes + data->byte_begin, random, bytes) == 0, "%u", bytes);
        free(text);
        free(random);
        hd_stream_free(back);
    }
    hd_stream_free(s);
}

Test(capture_file, bad_files_are_refused)
{
    static const struct {
        const char *from, *to, *sentence;
    } bad[] = {
        {"{\"capture\": 1", "[\"capture\"", "line 1"},
        {"\"capture\": 1", "\"capture\": 2", "its version is not 1"},
        {"\"capture\": 1", "\"plan\": 1", "this is no captured stream"},
        {"\"queues\": [", "\"queue\": [", "'queues' is missing"},
        {"\"kind\": 0", "\"kind\": 9", "queues[0]: 'kind' is larger than 3"},
        {"\"bytes\": 256", "\"bytes\": -1", "resources[0]: 'bytes' is no natural number"},
        {"\"mips\": 2", "\"mips\": 0", "resources[2]: an image has 1 to"},
        {"\"aspects\": 1", "\"aspects\": 0", "resources[2]: a buffer has neither"},
        {"\"queue\": 1", "\"queue\": 7", "submits[1]: 'queue' is 7 of 3"},
        {"\"thread\": 2", "\"thread\": 1", "submits[0]: 'thread' is no host queue"},
        {"\"semaphore\": 0", "\"semaphore\": 5", "'semaphore' is 5 of 3"},
        {"\"kind\": \"access\"", "\"kind\": \"excess\"", "'kind' is none of"},
        {"\"resource\": 0", "\"resource\": 99", "'resource' is 99 of 4"},
        {"\"range\": [0, 64]", "\"range\": [0, 0]", "'range' is empty or lies outside"},
        {"\"range\": [32, 32]", "\"range\": [32, 320]", "'range' is empty or lies outside"},
        {"\"range\": [0, 2, 0, 2]", "\"range\": [0, 2, 1, 2]", "'range' is empty or lies outside"},
        {"\"range\": [0, 2, 0, 2]", "\"range\": [0, 2]", "'range' is no list of 4"},
        {"\"src_stages\": 0", "\"src_stages\": \"all\"", "'src_stages' is no natural number"},
        {"\"device\": 1", "\"device\": 4", "capture: 'device' is object 4 of 3"},
        {"\"device\": 1", "\"device\": -1", "capture: 'device' is no natural number"},
        {"\"objects\": [", "\"objects\": {}, \"x\": [", "'objects' is no array"},
        {"\"objects\": [", "\"objects\": [7, ", "objects[0]: is no object"},
        {"{\"name\": \"vkCreateDevice\"", "{\"nome\": \"vkCreateDevice\"", "objects[0]: 'name' is no string"},
        {"\"refs\": [1]", "\"refs\": [2]", "objects[1]: 'refs' is object 2 of 1"},
        {"\"refs\": [1]", "\"refs\": 1", "objects[1]: 'refs' is no array"},
        {"\"refs\": [2, 1]", "\"refs\": [2, 4]", "submits[0].commands[6]: 'refs' is object 4 of 3"},
        {"\"refs\": [2, 1]", "\"refs\": [2, 0]", "submits[0].commands[6]: 'refs' names object 0"},
        {"\"refs\": [2, 1]", "\"refs\": [\"a\"]", "submits[0].commands[6]: 'refs' is no natural number"},
        {"\"changes\": 2", "\"changes\": 4", "submits[0].commands[6]: 'changes' is object 4 of 3"},
        {"\"data\": \"AAEC\"", "\"data\": \"AAE\"", "objects[0]: 'data' is no base64"},
        {"\"data\": \"AAEC\"", "\"data\": \"A=EC\"", "objects[0]: 'data' is no base64"},
        {"\"data\": \"AAEC\"", "\"data\": \"AAE-\"", "objects[0]: 'data' is no base64"},
        {"\"data\": \"AAEC\"", "\"data\": \"A===\"", "objects[0]: 'data' is no base64"},
        {"\"data\": \"AAEC\"", "\"data\": \"AA=C\"", "objects[0]: 'data' is no base64"},
        {"\"data\": \"AAEC\"", "\"data\": 5", "objects[0]: 'data' is no string"},
        {"\"refs\": [1], \"data\": \"\"", "\"refs\": [1]", "objects[1]: 'refs' without 'data'"},
        {"\"flags\": 1, \"name\": \"a\"", "\"object\": 4", "resources[0]: 'object' is object 4 of 3"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *at = strstr(good, bad[i].from);
        cr_assert_not_null(at, "%s", bad[i].from);
        char text[8192], error[256] = "";
        hd_stream *stream;
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, bad[i].to, at + strlen(bad[i].from));
        cr_expect_eq(hd_stream_read(text, strlen(text), NULL, &stream, error, sizeof(error)), HD_PARSE);
        cr_expect_null(stream);
        cr_expect(strstr(error, bad[i].sentence), "'%s', not '%s'", error, bad[i].sentence);
    }
}

/* Half of the graph of the stream goes. */
static void make_smaller(const hd_stream *stream)
{
    hd_stream_graph *graph = NULL;
    hd_stream *smaller = NULL;
    cr_assert_eq(hd_stream_graph_build(stream, NULL, &graph), HD_OK);
    uint8_t *keep = calloc(graph->node_count + 1, 1);
    for (uint32_t n = 0; n < graph->node_count; n += 2)
        keep[n] = 1;
    cr_assert_eq(hd_stream_graph_reduce(stream, graph, keep, &smaller), HD_OK);
    free(written(smaller));
    free(keep);
    hd_stream_graph_free(graph);
    hd_stream_free(smaller);
}

/* Whatever stands in a file is read or refused, and what was read can be verified, written and made smaller. */
Test(capture_file, any_bytes, .timeout = 60)
{
    static const char digits[] = "0123456789,:[]{}\"-";
    uint64_t random = hdt_seed();
    unsigned read = 0, broken = 0;
    for (int round = 0; round < 4000; round++) {
        char text[sizeof(good)], error[256];
        memcpy(text, good, sizeof(good));
        for (uint32_t k = hdt_below(&random, 4); k != UINT32_MAX; k--) {
            uint32_t at = hdt_below(&random, sizeof(good) - 1);
            while (round % 4 && (text[at] < '0' || text[at] > '9')) /* numbers are the most rewarding */
                at = hdt_below(&random, sizeof(good) - 1);
            text[at] = digits[hdt_below(&random, round % 4 ? 10 : sizeof(digits) - 1)];
        }
        hd_stream *stream;
        if (hd_stream_read(text, strlen(text), NULL, &stream, error, sizeof(error)) != HD_OK)
            continue;
        read++;
        broken += hd_stream_verify(stream, NULL) == HD_PLAN_INVALID;
        free(written(stream));
        make_smaller(stream);
        hd_stream_free(stream);
    }
    printf("%u of 4000 were read, %u of them break a rule\n", read, broken);
    cr_expect(read > 500 && broken > 100);
}

Test(capture_file, no_memory)
{
    for (uint64_t fail = 1;; fail++) {
        hdt_limited limit = {.fail_at = fail};
        hd_stream *stream = NULL, *copy = NULL;
        hd_allocator allocator = hdt_limited_allocator(&limit);
        hd_result result = hd_stream_read(good, strlen(good), &allocator, &stream, NULL, 0);
        if (result == HD_OK)
            result = hd_stream_copy(stream, &copy);
        if (result == HD_OK)
            result = hd_stream_verify(stream, &(hd_verify_desc){.allocator = allocator});
        hd_stream_free(stream);
        hd_stream_free(copy);
        cr_expect(limit.out == 0 && limit.wrong == 0);
        if (result == HD_OK)
            break;
        cr_assert_eq(result, HD_OUT_OF_MEMORY, "%s at %u", hd_result_name(result), (unsigned)fail);
    }
}

/* Tokens of fewer than 16 bytes: jansson 2.14 writes past its buffer when it cannot grow it for a longer one. */
Test(capture_file, no_memory_for_the_json)
{
    static const char text[] = "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}], \"semaphores\": [{}],"
                               "\"resources\": [{\"memory\": 0, \"bytes\": 256}], \"submits\": [{\"name\": \"a\","
                               "\"queue\": 0, \"commands\": [" SHOWN "]}]}";
    hdt_limited limit = {.fail_at = 1, .fail_count = 1};
    uint64_t out_of_memory = 0;
    hdt_limit_json(&limit);
    for (;; limit.fail_at++) {
        hd_stream *stream = NULL;
        limit.made = 0;
        hd_result result = hd_stream_read(text, strlen(text), NULL, &stream, NULL, 0);
        hd_stream_free(stream);
        cr_assert_eq(limit.out, 0, "allocation %u leaks", (unsigned)limit.fail_at);
        if (limit.made < limit.fail_at) {
            cr_assert_eq(result, HD_OK);
            break;
        }
        /* Within a token the library takes a failed allocation for a fault of the text. */
        cr_assert(result == HD_OK || result == HD_OUT_OF_MEMORY || result == HD_PARSE, "allocation %u gave %s",
                  (unsigned)limit.fail_at, hd_result_name(result));
        out_of_memory += result == HD_OUT_OF_MEMORY;
    }
    hdt_limit_json(NULL);
    cr_assert(out_of_memory * 2 > limit.fail_at, "%u of %u", (unsigned)out_of_memory, (unsigned)limit.fail_at);
    cr_assert(limit.fail_at > 50);
}
