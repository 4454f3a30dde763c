#include "attach_uses.h"

#include <string.h>

/* Questions about a declaration that several rooms ask. */

uint32_t hdi_next_flagged(const hdi_decl *decl, uint32_t res, uint32_t end, uint8_t flags)
{
    const uint8_t *const res_flags = decl->res_flags;
    for (uint64_t eight; end - res >= sizeof(eight); res += (uint32_t)sizeof(eight)) { /* at a time */
        memcpy(&eight, res_flags + res, sizeof(eight));
        if (eight & flags * UINT64_C(0x0101010101010101))
            break;
    }
    while (res < end && !(res_flags[res] & flags))
        res++;
    return res;
}

static bool same_range(const hdi_decl *decl, uint32_t a, uint32_t b)
{
    uint32_t x = decl->use_range[a], y = decl->use_range[b];
    if (x == HDI_NONE || y == HDI_NONE)
        return x == y;
    return decl->range[x].offset == decl->range[y].offset && decl->range[x].bytes == decl->range[y].bytes;
}

/* Whether a pass goes on with the attachments of the pass before it. Layouts agree where no barrier stands between. */
bool hdi_goes_on(const hdi_decl *decl, uint32_t before, uint32_t pass)
{
    uint32_t a = decl->pass_use_begin[before], a_end = decl->pass_use_begin[before + 1];
    uint32_t b = decl->pass_use_begin[pass], b_end = decl->pass_use_begin[pass + 1];
    for (bool some = false;; a++, b++, some = true) {
        a = hdi_next_attachment(decl, a, a_end);
        b = hdi_next_attachment(decl, b, b_end);
        if (a == a_end || b == b_end)
            return some && a == a_end && b == b_end;
        if (!(decl->use_flags[b] & HDI_USE_READS) || decl->use_res[a] != decl->use_res[b]) /* mostly */
            return false;
        if (decl->use_exec[a].resolve) /* the resolve would come too late for its readers */
            return false;
        if (decl->access[decl->use_access[a]].attachment != decl->access[decl->use_access[b]].attachment ||
            decl->use_exec[a].format != decl->use_exec[b].format || !same_range(decl, a, b))
            return false;
    }
}
