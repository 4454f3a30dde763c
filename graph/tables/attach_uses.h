/* What the uses of a pass say of its rendering scope: attach.c counts scopes by it, plan_places.c
 * writes them, and the schedule gathers passes that can share one. */
#ifndef HDI_ATTACH_USES_H
#define HDI_ATTACH_USES_H

#include <string.h>

#include "hints.h"
#include "phases.h"

/* The attachments among `count` uses from `use` on, of which the first eight are looked at: HDI_USE_ATTACHMENT in the
 * byte of each, the first use in the lowest. count is not 0. Reads a whole word of flags, also behind the last use
 * (HDI_USE_FLAGS_SLACK). */
static HDI_INLINE uint64_t hdi_attachments_of(const uint8_t *use_flags, uint32_t use, uint32_t count)
{
    enum { A = HDI_USE_ATTACHMENT };
    static const uint64_t masks[] = {[1] = UINT64_C(0x1) * A,           [2] = UINT64_C(0x101) * A,
                                     [3] = UINT64_C(0x10101) * A,       [4] = UINT64_C(0x1010101) * A,
                                     [5] = UINT64_C(0x101010101) * A,   [6] = UINT64_C(0x10101010101) * A,
                                     [7] = UINT64_C(0x1010101010101) * A, [8] = UINT64_C(0x101010101010101) * A};
    uint64_t flags;
    memcpy(&flags, use_flags + use, sizeof(flags));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    flags = __builtin_bswap64(flags);
#endif
    return flags & masks[count < 8 ? count : 8];
}

static HDI_INLINE uint32_t hdi_first_attachment(uint64_t attachments)
{
    return (uint32_t)__builtin_ctzll(attachments) / 8;
}

static inline uint32_t hdi_next_attachment(const hdi_decl *decl, uint32_t use, uint32_t end)
{
    for (; use < end; use += 8) {
        uint64_t attachments = hdi_attachments_of(decl->use_flags, use, end - use);
        if (attachments)
            return use + hdi_first_attachment(attachments);
    }
    return end;
}

static HDI_INLINE bool hdi_renders(const hdi_decl *decl, uint32_t pass)
{
    return decl->pass_type[pass] == HD_PASS_GFX && !(decl->pass_flags[pass] & HDI_PASS_NO_RENDERING);
}

/* What becomes of the scopes with a pass. */
typedef enum hdi_scope_step {
    HDI_SCOPE_NONE,   /* it is in none, and nothing goes on behind it */
    HDI_SCOPE_BEGINS, /* it begins one */
    HDI_SCOPE_GOES_ON,
} hdi_scope_step;
typedef struct hdi_pass_uses {
    uint32_t first, end;
    uint64_t attachments; /* among the first eight */
} hdi_pass_uses;

/* last: the pass that the newest scope ends with, or none. uses: not of one that is in no scope. */
static HDI_INLINE hdi_scope_step hdi_step_scope(const hdi_decl *decl, uint32_t pass, uint32_t last, hdi_pass_uses *uses)
{
    uint32_t first = decl->pass_use_begin[pass], end = decl->pass_use_begin[pass + 1];
    if (!hdi_renders(decl, pass) || first == end)
        return HDI_SCOPE_NONE;
    uint64_t some = hdi_attachments_of(decl->use_flags, first, end - first);
    if (!some && (end - first <= 8 || hdi_next_attachment(decl, first + 8, end) == end))
        return HDI_SCOPE_NONE;
    *uses = (hdi_pass_uses){first, end, some};
    if (last == HDI_NONE)
        return HDI_SCOPE_BEGINS;
    bool loads = !some || decl->use_flags[first + hdi_first_attachment(some)] & HDI_USE_READS; /* what goes on does */
    return loads && hdi_goes_on(decl, last, pass) ? HDI_SCOPE_GOES_ON : HDI_SCOPE_BEGINS;
}

#endif
