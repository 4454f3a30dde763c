/* The command line: one table for all scenes, and a table of the scene's own. */
#ifndef KIT_OPTIONS_H
#define KIT_OPTIONS_H

#include <heddle/vk.h>
#include <stdbool.h>

struct kit_scene;

struct kit_options {
    uint32_t frames; /* 0, with a window: until it is closed */
    uint32_t width, height;
    uint32_t device, workers, copies, detail, every, view_port, bench;
    bool window, animation, capture, thumbnails, passes, untimed, no_merge, declared_order;
    const char *out, *report;
    hd_queue_kind queue_kinds[HD_MAX_QUEUES];
    uint32_t queue_kind_count;
};

enum kit_option_kind { KIT_FLAG, KIT_NUMBER, KIT_TEXT, KIT_SIZE, KIT_QUEUES };

/* value: a bool, uint32_t, const char *, uint32_t[2] or the whole kit_options, as kind says. */
struct kit_option {
    const char *name, *argument; /* without dashes; as --help shows its value */
    enum kit_option_kind kind;
    void *value;
    uint32_t least, most; /* of a number */
    const char *help;
};

/* Values of the scene's table that are not given stay as they are. Ends the process: with 0 after --help, with 1 for a
 * wrong command line. */
void kit_options_parse(struct kit_options *options, const struct kit_scene *scene, int argc, char **argv);

#endif
