/* The tables of all phases of a compile, and the plan that is packed from them. */
#ifndef HDI_ALL_TABLES_H
#define HDI_ALL_TABLES_H

#include "phases.h"

typedef struct hdi_tables {
    const hdi_decl *decl; /* versions.decl where there are late reads */
    hdi_crew crew;
    hdi_queues all_queues, queues; /* queues: the ones in use, for the phases */
    hdi_versions versions;
    hdi_frozen frozen;
    hdi_arena_mark front; /* of the arena: behind it lies what only the schedule reads */
    hdi_flow flow;
    hdi_kept kept;
    hdi_depends depends;
    hdi_sizes sizes;
    hdi_schedule schedule;
    hdi_hazards hazards;
    hdi_synced synced;
    hdi_lifetimes lifetimes;
    hdi_placed placed;
    hdi_merged merged;
    hdi_barriers barriers;
    hdi_attached attached; /* the last one: it is not cleared */
} hdi_tables;

#endif
