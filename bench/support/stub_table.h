/* Inside the stub driver: functions by their names. */
#ifndef HDB_STUB_TABLE_H
#define HDB_STUB_TABLE_H

#include <vulkan/vulkan_core.h>

typedef struct hdb_stub_entry {
    const char *name;
    PFN_vkVoidFunction function;
} hdb_stub_entry;

#define HDB_STUB_ENTRY(name)                                                                                           \
    {                                                                                                                  \
        "vk" #name, (PFN_vkVoidFunction)vk_##name                                                                      \
    }

/* Of the instance and its physical device; the last one has no name. */
extern const hdb_stub_entry hdb_stub_device_entries[];

#endif
