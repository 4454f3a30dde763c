/* Between the kit's own files. */
#ifndef KIT_INTERNAL_H
#define KIT_INTERNAL_H

#include "kit.h"
#include "picture.h"
#include "window.h"

/* report.c */
/* Says on standard error that the file could not be written, as errno tells; notes it in the kit. Any thread. */
void kit_report_file(struct kit *kit, const char *path);
bool kit_make_folder(struct kit *kit, const char *path);
void kit_path(const struct kit *kit, const char *file, char *path, size_t bytes);
/* Of the passes of a frame that has finished; freed by the caller. Null where the device could not measure them. */
hd_page_span *kit_spans(const struct kit *kit, uint32_t back, uint32_t *count);
/* frame.fgt, plan.json, plan.html, plan.dot and trace.json of the last frame, into the output folder. */
bool kit_write_plan(struct kit *kit);
void kit_print_summary(struct kit *kit);
bool kit_verify(struct kit *kit);
bool kit_write_capture(struct kit *kit);

/* show.c: the picture's way to files. */
void kit_keep_picture(struct kit *kit, hd_resource picture);
void kit_write_pictures(struct kit *kit);

/* thumbnails.c: --thumbnails. */
void kit_thumbnails_note(struct kit *kit, hd_resource image, const hd_image_desc *desc);
void kit_thumbnails_show(const struct kit *kit, hd_page_desc *page);
void kit_thumbnails_free(struct kit *kit);

/* live.c: --view. */
bool kit_live_open(struct kit *kit);
void kit_live_show(struct kit *kit);
void kit_live_close(struct kit *kit);

/* bench.c: --bench. */
enum { KIT_BENCH_WARM_UP = 24 };
bool kit_bench_open(struct kit *kit);
void kit_bench_frame(struct kit *kit); /* behind each executed frame */
void kit_bench_print(struct kit *kit);
void kit_bench_close(struct kit *kit);

#endif
