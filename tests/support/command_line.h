/* The heddle command as a user runs it, in a folder of the test's own. */
#ifndef HDT_COMMAND_LINE_H
#define HDT_COMMAND_LINE_H

#include <stdbool.h>

#define HDT_HEDDLE "'" HEDDLE_BINARY_DIR "/samples/heddle/heddle' "

/* Exit status; both outputs land in the files `out` and `err`. */
int hdt_heddle(const char *arguments);
/* The text of a file; of at most 64 KiB, until the next call. */
char *hdt_contents(const char *path);
void hdt_put(const char *path, const char *text);
bool hdt_exists(const char *path);
/* Nothing but what the tests themselves put there. */
void hdt_expect_no_output(void);

#define HDT_FRAME                                                                                                      \
    "graph frame\nimage 0 64 64 rgba8 1 1\nimage 1 64 64 bgra8 1 1 external\npass 0 gfx\nuse 0 0 color_write\n"        \
    "pass 1 gfx\nuse 1 0 sampled_graphics\nuse 1 1 color_write\n"

#endif
