/* Histories and what they are of, from frame to frame: history.c; what they need before a frame: init.c. */
#ifndef HDI_VK_HISTORY_H
#define HDI_VK_HISTORY_H

#include "state.h"

/* How an image or a buffer was left. family: HD_NONE where all share it, or none has it yet. */
typedef struct hdi_vk_held {
    uint32_t layout, family;
} hdi_vk_held;

/* A history and what it is of: two objects that take turns, in memory of their own (history.c). */
typedef struct hdi_vk_history {
    uint64_t id; /* hd_history_desc.key; 0: the name counts */
    char *name;  /* null: none */
    hdi_vk_key key; /* of both objects; its usage may be more than a plan asks for */
    uint64_t serial; /* never used twice */
    hdi_vk_heap *heap;
    hdi_vk_object *objects[2];
    hdi_vk_held held[2];
    uint32_t turn;       /* which object is what it is of in the next frame that uses that */
    uint64_t last_frame; /* the last that had it, or in which it was retired */
    uint64_t last_used;  /* the last that used what it is of */
    uint64_t attempt;    /* of the frame that found it last */
    struct hdi_vk_history *replaces; /* until the frame that made it has been handed over */
    char why[96];        /* it restarts in the frame at hand; empty: it does not */
    bool warns;          /* that is a loss which the declaration does not ask for */
    bool fresh;   /* made for the frame at hand */
    bool clears;  /* becomes zero before the frame at hand */
    bool zero;    /* is zero since then */
    bool lost;    /* a frame failed on the way: nothing is known of its objects */
    bool retired; /* lives until the frames in flight are done with it */
} hdi_vk_history;

/* What must happen to an object of a history before a frame: it becomes zero, or a copy of another one, or it is handed
 * to another family or layout as it is. */
typedef struct hdi_vk_init {
    hdi_vk_history *history, *source; /* source: whose object is copied; null: none's */
    uint32_t index;                   /* of the object, in both of them */
    hdi_vk_held want;                 /* an image whose layout is to be UNDEFINED is left alone */
    bool clear;
} hdi_vk_init;

/* Finds the frame's histories among those that there are. */
hd_result hdi_vk_find_histories(hdi_vk_frame *frame);
/* Binds them, makes those that were not found, and notes the inits. The other resources come after. */
hd_result hdi_vk_bind_histories(hdi_vk_frame *frame);
/* The frame was handed over: its histories are the next frame's. Or it failed. */
void hdi_vk_commit_histories(hdi_vk_frame *frame);
void hdi_vk_revert_histories(hd_vk *vk);
/* Drops histories that `age` frames skipped; age is at least the number of frames in flight. 0: drops all histories. */
void hdi_vk_sweep_histories(hd_vk *vk, uint64_t age);
/* Drops histories that are not the frame's; all frames in flight have finished. */
void hdi_vk_drop_other_histories(hd_vk *vk);

/* Whether some queue can copy from one image or buffer of a key into another. */
bool hdi_vk_can_copy(const hd_vk *vk, const hdi_vk_key *key);
/* Records and submits what histories need before the frame. */
hd_result hdi_vk_submit_inits(hdi_vk_frame *frame);

#endif
