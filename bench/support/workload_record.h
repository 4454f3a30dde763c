/* A workload as it is made: columns of what will be declared. */
#ifndef HDB_WORKLOAD_RECORD_H
#define HDB_WORKLOAD_RECORD_H

#include "mersenne.h"
#include "workloads.h"

typedef enum hdb_kind { HDB_IMAGE, HDB_BUFFER, HDB_HISTORY } hdb_kind;

typedef struct hdb_resource {
    uint8_t kind, external, mips, layers;
    uint32_t width, height; /* history: width is the resource that it is of */
    uint32_t format;
    uint64_t bytes;
} hdb_resource;

typedef struct hdb_use {
    uint32_t resource;
    uint16_t access, range; /* range: index in hdb_workload.range; 0: the whole */
} hdb_use;

typedef struct hdb_pass {
    uint8_t type, root, pin;
    float cost_us;
    uint32_t resource_end; /* resources that are declared before it */
    uint32_t use_end;
} hdb_pass;

/* An array that grows. */
typedef struct hdb_column {
    void *items;
    uint32_t count, capacity;
} hdb_column;

struct hdb_workload {
    char name[64];
    hdb_column resource, pass, use, range; /* of the types above; range of hd_range, 0 is the whole */
    uint32_t most_uses;                    /* of one pass */
    bool failed;                           /* no memory */
    bool has_cost;
    hd_record_fn record; /* of every pass; null: it is only compiled */
    hdb_mersenne random, cost_random;
    hd_resource *handle; /* of the frame being declared */
    hd_use *scratch;     /* the uses of one pass */
    uint64_t *floor_out; /* 24 bytes a use */
};

/* Each returns the index of what it added. */
uint32_t hdb_image(hdb_workload *w, uint32_t width, uint32_t height, uint32_t format, uint32_t mips, uint32_t layers);
uint32_t hdb_target(hdb_workload *w, uint32_t width, uint32_t height, uint32_t format); /* external */
uint32_t hdb_buffer(hdb_workload *w, uint64_t bytes);
uint32_t hdb_history(hdb_workload *w, uint32_t of);

/* A pass is begun, gets its uses, and ends where the next begins. */
typedef struct hdb_pass_options {
    bool root;
    hd_pin pin;
} hdb_pass_options;
void hdb_begin_pass(hdb_workload *w, hd_pass_type type, hdb_pass_options options);
void hdb_add_use(hdb_workload *w, uint32_t resource, hd_access access);
void hdb_add_part(hdb_workload *w, uint32_t resource, hd_access access, hd_range range);

/* hdb_add_pass(w, type, n uses) in one line. */
#define HDB_PASS(w, type, ...) HDB_PASS_WITH(w, type, ((hdb_pass_options){0}), __VA_ARGS__)
#define HDB_PASS_WITH(w, type, options, ...)                                                                           \
    hdb_add_pass(w, type, options, (const hdb_named_use[]){__VA_ARGS__},                                               \
                 sizeof((const hdb_named_use[]){__VA_ARGS__}) / sizeof(hdb_named_use))
typedef struct hdb_named_use {
    uint32_t resource;
    hd_access access;
    hd_range range;
} hdb_named_use;
void hdb_add_pass(hdb_workload *w, hd_pass_type type, hdb_pass_options options, const hdb_named_use *uses,
                  size_t count);

/* The families: fill w until it has pass_count passes. */
typedef void (*hdb_family_fn)(hdb_workload *w, uint32_t pass_count);
extern const hdb_family_fn hdb_families[HDB_FAMILY_COUNT];

#endif
