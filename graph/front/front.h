/* The door of front: the phases before the schedule, in the order in which they run. */
#ifndef HDI_FRONT_H
#define HDI_FRONT_H

#include "phases.h"

/* The passes in an order in which each read sees its version; only called where there are late reads.
 * HD_VERSION_CYCLE: only cycle and bad_use are filled. O(passes + uses) */
hd_result hdi_version(const hdi_decl *decl, const hdi_crew *crew, hdi_arena *arena, hdi_versions *out);

/* Segments: the pieces of each resource that no use splits. */
hd_result hdi_freeze(const hdi_decl *decl, const hdi_crew *crew, hdi_arena *arena, hdi_frozen *out);

/* The pass that wrote what each use finds. HD_UNWRITTEN_READ: no pass wrote it, and *bad_use, which is HDI_NONE before,
 * is the index of that use. */
hd_result hdi_flow_find(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_crew *crew, hdi_arena *arena,
                        hdi_flow *out, uint32_t *bad_use);

/* The passes that are kept; takes the reads of culled passes from flow->pass_reads. */
hd_result hdi_cull(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_flow *flow, const hdi_crew *crew,
                   hdi_arena *arena, hdi_kept *out);

/* Which kept passes come before which. */
hd_result hdi_depend(const hdi_decl *decl, const hdi_frozen *frozen, const hdi_flow *flow, const hdi_kept *kept,
                     const hdi_crew *crew, hdi_arena *arena, hdi_depends *out);

/* Bytes and alignment of each used resource. *bad_res: whose size callback failed. Calls it on the caller's thread. */
hd_result hdi_size(const hdi_decl *decl, const hdi_kept *kept, const hd_compile_desc *desc, const hdi_crew *crew,
                   hdi_arena *arena, hdi_sizes *out, uint32_t *bad_res);

#endif
