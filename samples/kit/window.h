/* A window by GLFW. Without that library kit_window_open says so. */
#ifndef KIT_WINDOW_H
#define KIT_WINDOW_H

#include "kit.h"

/* Before the device: what instance extensions the window system wants. False: no window can be had here. */
bool kit_window_prepare(struct kit *kit, const char *const **extensions, uint32_t *count);
bool kit_window_open(struct kit *kit);
/* The window's events, and kit.width and height; waits while the window has no size. False: it was closed. */
bool kit_window_poll(struct kit *kit);
/* Declares what brings picture (may be none) to the window. */
void kit_window_show(struct kit *kit, hd_resource picture);
void kit_window_present(struct kit *kit);
/* Writes the report of the frame that was executed last, after R was pressed. */
void kit_window_report(struct kit *kit);
void kit_window_close(struct kit *kit);

#endif
