/* heddle/vk_upload.h: data that any thread hands over at any time, for images and buffers of the engine's that outlive
 * frames. heddle moves it inside of the coming frames, by ordinary passes, so that no frame waits for a loading thread
 * and no loading thread for a frame. Included by heddle/vk.h.
 *
 *     any thread:      hd_vk_upload_async(vk, &(hd_vk_upload_desc){.target = tree->import, .data = .., .bytes = ..},
 *                                         &tree->token);
 *     each frame:      hd_graph_begin(g);
 *                      ... imports of what the frame uses itself
 *                      hd_vk_upload_some(vk, g, 4 << 20);
 *                      if (hd_vk_upload_done(vk, tree->token, NULL) >= HD_VK_UPLOAD_PLANNED)
 *                          ... passes from here on may read it;
 *                      or, where the frame cannot do without: hd_vk_upload_now(vk, g, tree->token);
 *                      hd_vk_frame(vk, g);
 *
 * The data is copied at once into staging memory that heddle owns: a ring of hd_vk_desc.upload_bytes, made with the
 * hd_vk, in the order of the calls. Room comes back when the frames that moved the oldest data are known to have
 * finished (as for times: their place in the frames in flight was taken, or hd_vk_wait). */
#ifndef HEDDLE_VK_UPLOAD_H
#define HEDDLE_VK_UPLOAD_H

#include <heddle/vk.h>

HD_API_BEGIN

/* Stands for what one call handed over, as long as the hd_vk lives. id 0 is none. */
typedef struct hd_vk_token {
    uint64_t id;
} hd_vk_token;

typedef struct hd_vk_upload_desc {
    /* What it goes to, copied: as for hd_graph_import, with native handle and name. It was made with TRANSFER_DST usage
     * and lives until the token is done. A frame that imports it itself, before the calls below, is taken at its word;
     * for other frames heddle imports it, of images with final_layout as layout at the start as well: what the data
     * goes to comes from UNDEFINED and is left in final_layout (not UNDEFINED), all else is left alone. So the
     * subresources of one image may be handed over in any order, and the engine imports it in that layout from the
     * beginning. Images with HD_SHARING_CONCURRENT, but of depth and stencil, and buffers but with
     * HD_SHARING_EXCLUSIVE, are written on the transfer queue; others on the graphics queue, as no frame hands imports
     * from family to family. */
    hd_import_desc target;
    hd_range range;   /* as for hd_vk_upload */
    const void *data; /* packed, as for hd_vk_upload; copied before the call returns */
    uint64_t bytes;
} hd_vk_upload_desc;

/* Any thread, at any time but while hd_vk_destroy runs; a callback or host pass, too. Takes a lock for a short time and
 * copies outside of it. HD_OK; HD_BUSY: the staging memory is full, which is not logged: try again in a later frame;
 * HD_TOO_LARGE: it never holds so much; HD_INVALID_ARGUMENT, HD_BAD_DESC: the log says what is wrong;
 * HD_OUT_OF_MEMORY; HD_DEVICE_LOST, or what else ended the hd_vk. *token is none where it is not HD_OK. */
hd_result hd_vk_upload_async(hd_vk *vk, const hd_vk_upload_desc *desc, hd_vk_token *token);

/* Declares passes ("upload") that move what was handed over first and is in no frame yet: up to so many bytes, those
 * that this frame was given before included, but at least one upload if bytes is not 0. Passes declared from here on
 * find it. By the graph's own thread, for the frame that vk executes next; what that frame imports of the targets
 * stands before, lists that do so are joined. What a frame took that was then not executed goes with the next that the
 * graph declares. Mistakes stick in the graph; the result is its error. */
hd_result hd_vk_upload_some(hd_vk *vk, hd_graph *graph, uint64_t bytes);
/* The same for one token, whatever the budget, and for what was handed over for its target before it. Passes declared
 * from here on that use the target read the data. Of what is done, dropped or in an earlier frame nothing is declared.
 * HD_BAD_HANDLE sticks in the graph for a token that stands for nothing. Of both: HD_INVALID_ARGUMENT for a list. */
hd_result hd_vk_upload_now(hd_vk *vk, hd_graph *graph, hd_vk_token token);

/* In the order in which an upload goes through them. */
typedef enum hd_vk_upload_state {
    HD_VK_UPLOAD_NONE,    /* the token stands for nothing */
    HD_VK_UPLOAD_WAITING, /* in no frame yet */
    HD_VK_UPLOAD_PLANNED, /* in the frame that is declared now, or in one that was executed. A use of the target in this
                           * frame behind hd_vk_upload_some, and in any later one, is ordered behind it */
    HD_VK_UPLOAD_DONE,    /* finished on the GPU, or dropped: this upload needs its target no more */
} hd_vk_upload_state;

/* frame (may be null): of what is planned, the number of that frame (hd_vk_info.frame when it is executed); else 0. Any
 * thread. Takes a lock. On a lost device what is not done stays as it is. */
hd_vk_upload_state hd_vk_upload_done(const hd_vk *vk, hd_vk_token token, uint64_t *frame);
/* Gives up what is still waiting, and says what has become of it: what is planned stays so. Any thread. */
hd_vk_upload_state hd_vk_upload_drop(hd_vk *vk, hd_vk_token token);

HD_API_END
#endif
