/* Between heddle and the loader: lets the k-th Vulkan call that may fail do so, and counts what lives. Process-wide;
 * any thread. */
#ifndef HDT_VK_FAULTS_H
#define HDT_VK_FAULTS_H

#include <stdatomic.h>

#include <heddle/vk.h>

typedef struct hdt_faults {
    uint64_t fail_at;    /* number, from 1, of the call that fails; 0: none */
    const char *missing; /* a function that neither the loader nor the device has; null: none */
    VkResult failure;    /* calls that cannot give it by the specification are not counted */
    _Atomic uint64_t calls;
    const char *failed; /* the call that failed; null: none did */
    uint64_t submits_until; /* vkQueueSubmit2 fails from this one on, counted in submits; 0: never */
    _Atomic uint64_t submits;
    atomic_int early; /* command pools destroyed while what was submitted to some queue had not finished */
    atomic_int live;    /* objects made and not destroyed, instance and device included */
    atomic_int wrong;   /* destroyed twice, or what was never made */
} hdt_faults;
extern hdt_faults hdt_the_faults;

/* get_instance_proc for hd_vk_desc; goes on to hdt_vk_hooked (vk_fixture.h). */
PFN_vkVoidFunction VKAPI_PTR hdt_faults_proc(VkInstance instance, const char *name);

#endif
