/* What barriers of several queues are in a long frame until they stand in the plan: for barrier_ask.h, which asks for
 * them, barrier_place.c, which joins them, and plan_places.c, which writes them where they stay. */
#ifndef HDI_BARRIER_ASKED_H
#define HDI_BARRIER_ASKED_H

#include "hints.h"
#include "phases.h"

/* What the kind of a request says. EARLY: takes the earliest of the points that there are, not the newest, as another
 * comes after it. FOLLOWS: must stand at a later point than the request before it, whose highest point is before this
 * one's. GLOBAL: of all memory. SEVERAL: of a part of a resource, maybe to be joined with another. MOVES: to or from
 * another family. Of what is asked for only, LOOK: its extent is no box, or others are joined with a global one. */
enum { HDI_EARLY = 1, HDI_FOLLOWS = 2, HDI_GLOBAL = 4, HDI_SEVERAL = 8, HDI_MOVES = 16, HDI_LOOK = 32 };

/* In the word of what is asked for: its kind, and from there on the hd_reason and two queues, whose families hand it
 * over, HD_MAX_QUEUES: none. */
enum { HDI_ASKED_REASON = 8, HDI_ASKED_SOURCE = 16, HDI_ASKED_TARGET = 24 };

/* A scope that is no kind of an epoch: one of those that were made. */
#define HDI_ASKED_MADE (UINT32_C(1) << 31)

static HDI_INLINE const hdi_kind *hdi_asked_side(const hdi_kind *kinds, const hdi_kind *made, uint32_t side)
{
    return (side & HDI_ASKED_MADE ? made : kinds) + (side & ~HDI_ASKED_MADE);
}

typedef struct hdi_layouts {
    uint32_t old, new;
} hdi_layouts;

static HDI_INLINE hdi_layouts hdi_asked_layouts(const hdi_kind *kinds, const hdi_kind *made, const hdi_asked *asked)
{
    const hdi_kind *from = hdi_asked_side(kinds, made, asked->from), *to = hdi_asked_side(kinds, made, asked->to);
    return (hdi_layouts){from->layout & to->keeps, to->layout};
}

/* Mips and layers of images that have few, all aspects of them, as one number. */
enum { HDI_BOX_MIPS = 15, HDI_BOX_LAYERS = 2047 };
static HDI_INLINE uint32_t hdi_box(uint32_t mip_base, uint32_t mip_count, uint32_t layer_base, uint32_t layer_count)
{
    return mip_base | mip_count << 4 | layer_base << 8 | layer_count << 20;
}

static HDI_INLINE void hdi_open_box(uint32_t box, hd_range *range)
{
    range->mip_base = (uint16_t)(box & 15);
    range->mip_count = (uint16_t)(box >> 4 & 15);
    range->layer_base = box >> 8 & 4095;
    range->layer_count = box >> 20;
    range->aspect = 0;
}

/* Of a part, where its resource has more, or aspects apart: whose first and last segments are the corners. */
static HDI_INLINE bool hdi_has_corners(const hdi_asked *asked)
{
    return (asked->word & (HDI_SEVERAL | HDI_LOOK)) == (HDI_SEVERAL | HDI_LOOK);
}

static inline hd_range hdi_corners_range(const hdi_frozen *frozen, const hdi_asked *asked, bool is_buffer)
{
    hd_range range = frozen->seg_range[asked->what];
    const hd_range *last = &frozen->seg_range[asked->extent];
    if (is_buffer) {
        range.bytes = last->offset + last->bytes - range.offset;
        return range;
    }
    range.mip_count = (uint16_t)(last->mip_base + last->mip_count - range.mip_base);
    range.layer_count = last->layer_base + last->layer_count - range.layer_base;
    range.aspect = range.aspect == last->aspect ? range.aspect : 0;
    return range;
}

#endif
