#include "vk_scene.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "checked.h"
#include "folder.h"

/* A frame written for a bug report is read back; one that cannot be written leaves nothing. */

TestSuite(vk_report, .init = hdt_enter_folder, .fini = hdt_leave_folder);

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    char *text = malloc(1 << 22);
    *bytes = fread(text, 1, (1 << 22) - 1, file);
    text[*bytes] = 0;
    fclose(file);
    return text;
}

static uint32_t entries(const char *path)
{
    uint32_t count = 0;
    DIR *folder = opendir(path);
    cr_assert_not_null(folder, "%s", path);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

static void declare(scene *s)
{
    hd_graph_begin(s->graph);
    hd_graph_set_name(s->graph, "reported");
    hd_resource a = image(s, "a", VK_FORMAT_R8G8B8A8_UNORM), b = image(s, "b", VK_FORMAT_R8G8B8A8_UNORM);
    hd_vk_clear(s->f.vk, s->graph, a, NULL, &(VkClearValue){{{0}}}, NULL);
    hd_vk_copy(s->f.vk, s->graph, a, NULL, b, NULL, NULL);
    hd_graph_pass(s->graph,
                  &(hd_pass_desc){
                      .name = "look", .type = HD_PASS_COMPUTE, .root = true, .uses = HD_USES({b, HD_SAMPLED_COMPUTE})});
}

Test(vk_report, of_a_frame)
{
    scene s;
    open_scene(&s, &(hd_vk_desc){.timed_frames = 4});
    for (uint32_t f = 0; f < 3; f++) {
        declare(&s);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    cr_assert_eq(hd_vk_report_frame(s.f.vk, s.graph, NULL, "report/"), HD_OK);
    cr_expect_eq(entries("."), 1);
    struct stat page;
    cr_expect_eq(entries("report"), stat("report/plan.html", &page) == 0 ? 5 : 4);
    size_t bytes;
    char error[256], *text = read_file("report/frame.fgt", &bytes);
    hd_graph *graph;
    hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_graph_read_fgt(graph, text, bytes, "frame.fgt", error, sizeof(error)), HD_OK, "%s", error);
    free(text);
    text = read_file("report/plan.json", &bytes);
    cr_assert_eq(hd_plan_read_json(graph, text, bytes, NULL, &plan, error, sizeof(error)), HD_OK, "%s", error);
    const hd_compile_desc *with = hd_graph_fgt_desc(graph);
    cr_expect_eq(hd_plan_verify(graph, plan, &(hd_verify_desc){.size = with->size, .size_user = with->size_user}),
                 HD_OK);
    const hd_plan *again;
    size_t sizes[2];
    cr_assert_eq(hd_graph_compile(graph, with, &again), HD_OK);
    const void *datas[2] = {hd_plan_data(plan, &sizes[0]), hd_plan_data(again, &sizes[1])};
    cr_expect(sizes[0] == sizes[1] && memcmp(datas[0], datas[1], sizes[0]) == 0, "it compiles to the same plan");
    hd_plan_free(plan, NULL);
    hd_graph_destroy(graph);
    free(text);
    text = read_file("report/trace.json", &bytes);
    cr_expect_not_null(strstr(text, "traceEvents"));
    free(text);
    text = read_file("report/device.json", &bytes);
    cr_expect(strstr(text, s.f.info.device_name) && strstr(text, "\"queues\"") && strstr(text, "\"driver\""), "%s",
              text);
    free(text);
    close_scene(&s);
}

/* What stands there stays, and the reason is told. */
Test(vk_report, that_cannot_be_written)
{
    static const char *const folders[] = {"full", "nowhere/report"};
    scene s;
    hd_error error;
    open_scene(&s, NULL);
    declare(&s);
    cr_assert_eq(mkdir("full", 0755), 0);
    FILE *file = fopen("full/file", "w");
    fclose(file);
    for (uint32_t i = 0; i < 2; i++) {
        cr_expect_eq(hd_vk_report_frame(s.f.vk, s.graph, NULL, folders[i]), HD_IO);
        hd_vk_error_get(s.f.vk, &error);
        cr_expect(error.result == HD_IO && strstr(error.text, folders[i]), "%s", error.text);
        cr_expect_eq(entries("."), 1, "nothing is left");
    }
    cr_expect_eq(entries("full"), 1);
    cr_expect_eq(hd_vk_report_frame(s.f.vk, s.graph, NULL, "first"), HD_OK);
    cr_expect_eq(entries("first") >= 3, true);
    struct stat none;
    cr_expect_neq(stat("first/trace.json", &none), 0, "no frames are timed");
    close_scene(&s);
}
