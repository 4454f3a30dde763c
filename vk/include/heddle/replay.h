/* heddle/replay.h: runs a captured stream (heddle/capture.h, with .replay) on a device of this process, whole or
 * reduced (hd_stream_graph_reduce), and compares what it leaves with what the capture saw. Needs no window: images of
 * swapchains are images of its own. `heddle replay FILE` is the same as a command. */
#ifndef HEDDLE_REPLAY_H
#define HEDDLE_REPLAY_H

#include <heddle/stream.h>
#include <heddle/vk.h>

HD_API_BEGIN

/* What stands where the capture looked: in an image that is presented, or in memory that the host can read. */
typedef struct hd_replay_content {
    uint32_t submit, command; /* in the stream's submits and commands: where it was looked at */
    uint32_t resource;        /* of the stream; HD_NONE: memory that several share */
    uint32_t format;          /* VkFormat of the texels; 0: bytes of memory */
    uint32_t width, height;   /* of texels, in rows without gaps; 0: bytes of memory. The host finds texels where the
                               * bytes are what a copy of an image left */
    const void *bytes;
    uint64_t byte_count;
    uint64_t hash, captured_hash;
} hd_replay_content;

typedef struct hd_replay_desc {
    hd_allocator allocator;
    PFN_vkGetInstanceProcAddr get_instance_proc; /* null: the system's Vulkan loader */
    const char *device;                          /* a part of its name; null: the first one that has what is needed */
    bool validate; /* with the Khronos validation layer and its synchronization validation: messages are errors */
    /* Both may be null. What is missing, and which content differs. Texts and bytes live during the call only. */
    void (*message)(const char *text, void *user);
    void (*content)(const hd_replay_content *content, void *user);
    void *user;
} hd_replay_desc;

typedef struct hd_replay_report {
    uint32_t submits, commands;   /* of the device's queues, with presents; those of the host are not counted */
    uint32_t contents, different; /* looked at; of them not what the capture saw */
} hd_replay_report;

/* Runs the stream from its beginning to its end; one thread, which waits for the device. desc and report may be
 * null. HD_OK: it ran, whatever report.different says. HD_INVALID_ARGUMENT: the stream has no data (.replay was not
 * set when it was captured), or data that cannot be what it says; the message names the command. HD_MISSING_FEATURE:
 * the device lacks what it needs, or the stream has a command that the capture cannot carry; the message says what.
 * HD_UNSUPPORTED: heddle was built without the registry of Vulkan. HD_NO_LOADER, HD_NO_DEVICE, HD_VULKAN (also: the
 * validation layer has messages), HD_DEVICE_LOST, HD_OUT_OF_DEVICE_MEMORY, HD_OUT_OF_MEMORY, HD_TOO_LARGE. Nothing
 * is left behind. What the calls were given goes to the driver as it is: on values that Vulkan does not allow a
 * driver may crash. */
hd_result hd_replay(const hd_stream *stream, const hd_replay_desc *desc, hd_replay_report *report);

HD_API_END
#endif
