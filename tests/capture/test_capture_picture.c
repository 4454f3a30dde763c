/* What a captured stream breaks, as numbers and as pictures. */
#include <criterion/criterion.h>

#include <heddle/stream.h>
#include <stdlib.h>
#include <string.h>

#define COMPUTE UINT64_C(0x800)
enum { WRITE = 4096 };

/* A copy, a barrier without its write and before another stage, a global one of another queue, and a dispatch. */
static const char text[] =
    "{\"capture\": 1, \"queues\": [{\"kind\": 0, \"family\": 0}, {\"kind\": 1, \"family\": 1}], \"semaphores\": [], "
    "\"resources\": [{\"bytes\": 64, \"name\": \"<b>\\\"x\"}, {\"bytes\": 64}], \"submits\": ["
    "{\"name\": \"submit\", \"queue\": 0, \"commands\": ["
    "{\"kind\": \"access\", \"name\": \"copy\", \"label\": \"<i>\\\"\", \"list\": [{\"resource\": 0, \"stages\": "
    "4294967296, \"access\": 4096, "
    "\"range\": [0, 64]}]},"
    "{\"kind\": \"barrier\", \"name\": \"other\", \"list\": [{\"src_stages\": 4294967296, \"src_access\": 4096, "
    "\"dst_stages\": 128, "
    "\"dst_access\": 32, \"resource\": 1, \"range\": [0, 64]}]},"
    "{\"kind\": \"barrier\", \"name\": \"weak\", \"list\": [{\"src_stages\": 4294967296, \"src_access\": 0, "
    "\"dst_stages\": 128, "
    "\"dst_access\": 32}]},"
    "{\"kind\": \"access\", \"name\": \"dispatch\", \"list\": [{\"resource\": 0, \"stages\": 2048, \"access\": 32, "
    "\"range\": [0, 64]}]}]},"
    "{\"name\": \"submit\", \"queue\": 1, \"commands\": [{\"kind\": \"barrier\", \"name\": \"elsewhere\", \"list\": ["
    "{\"src_stages\": 65536, \"src_access\": 65536, \"dst_stages\": 65536, \"dst_access\": 98304}]}]}]}";

typedef struct found {
    hd_finding first;
    char text[512];
    uint32_t count;
} found;

static void take(const hd_finding *finding, void *user)
{
    found *f = user;
    if (f->count++)
        return;
    f->first = *finding;
    snprintf(f->text, sizeof(f->text), "%s", finding->text);
    f->first.text = f->text;
}

static hd_stream *read_stream(void)
{
    char error[256] = "";
    hd_stream *s = NULL;
    cr_assert_eq(hd_stream_read(text, sizeof(text) - 1, NULL, &s, error, sizeof(error)), HD_OK, "%s", error);
    return s;
}

static char *picture(const hd_stream *s, const hd_finding *finding, uint32_t count, hd_stream_picture_format format)
{
    char *out = NULL;
    size_t bytes;
    FILE *f = open_memstream(&out, &bytes);
    cr_assert_eq(hd_stream_picture_write(s, finding, count, format, f), HD_OK);
    fclose(f);
    return out;
}

Test(capture_picture, a_finding_names_both_commands_and_what_lacks)
{
    hd_stream *s = read_stream();
    found f = {.count = 0};
    cr_assert_eq(hd_stream_verify(s, &(hd_verify_desc){.finding = take, .user = &f}), HD_PLAN_INVALID);
    cr_assert_eq(f.count, 1, "%u", f.count);
    cr_expect_eq(f.first.rule, HD_RULE_EXECUTION);
    cr_expect(f.first.first.kind == HD_PLACE_PASS && f.first.first.command == 0 && f.first.second.command == 3);
    cr_expect(f.first.resource == 0 && f.first.other_resource == HD_NONE && f.first.second.queue == 0);
    hd_stream_between between[4];
    uint32_t count = 0;
    cr_assert_eq(hd_stream_between_get(s, &f.first, between, 4, &count), HD_OK);
    cr_assert_eq(count, 1, "a barrier of another resource, or queue, stands not between");
    cr_expect_eq(between[0].node.command, 2);
    cr_expect(between[0].src_lacks == 0 && between[0].src_access_lacks == WRITE);
    cr_expect(between[0].dst_lacks == COMPUTE && between[0].dst_access_lacks == 0);
    hd_finding alone = f.first;
    alone.first.kind = HD_PLACE_NONE;
    cr_expect_eq(hd_stream_between_get(s, &alone, between, 4, &count), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_stream_between_get(s, &f.first, between, 0, &count), HD_INVALID_ARGUMENT);
    hd_stream_free(s);
}

Test(capture_picture, pictures)
{
    hd_stream *s = read_stream();
    found f = {.count = 0};
    cr_assert_eq(hd_stream_verify(s, &(hd_verify_desc){.finding = take, .user = &f}), HD_PLAN_INVALID);
    char *dot = picture(s, &f.first, 1, HD_STREAM_PICTURE_DOT), *html = picture(s, &f.first, 1, HD_STREAM_PICTURE_HTML);
    cr_expect_not_null(strstr(dot, "x0 -> b0_0 [color=\"#d1345b\", style=dashed, fontcolor=\"#d1345b\", label=\"lacks "
                                   "TRANSFER_WRITE\"];"),
                       "%s", dot);
    cr_expect_not_null(strstr(dot, "b0_0 -> y0 [color=\"#d1345b\", style=dashed, fontcolor=\"#d1345b\", label=\"lacks "
                                   "COMPUTE_SHADER\"];"),
                       "%s", dot);
    cr_expect_null(strstr(dot, "other"));
    cr_expect_not_null(strstr(html, "<i class=\"lacks\">lacks COMPUTE_SHADER</i>"), "%s", html);
    cr_expect_not_null(strstr(html, "&lt;i&gt;&quot;"));
    cr_expect_null(strstr(html, "<i>\""), "names are text");
    free(html);
    html = picture(s, NULL, 0, HD_STREAM_PICTURE_HTML);
    cr_expect_not_null(strstr(html, "No rule is broken."));
    cr_expect_eq(hd_stream_picture_write(s, NULL, 1, HD_STREAM_PICTURE_DOT, stdout), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_stream_picture_write(NULL, NULL, 0, HD_STREAM_PICTURE_DOT, stdout), HD_INVALID_ARGUMENT);
    free(dot);
    free(html);
    hd_stream_free(s);
}
