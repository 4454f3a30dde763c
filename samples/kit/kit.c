#include "internal.h"
#include "lavapipe.h"

#include <fcntl.h>
#include <heddle/capture.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VOLK_IMPLEMENTATION
#include <volk.h>

double kit_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

bool kit_check(struct kit *kit, hd_result result)
{
    if (kit->result == HD_OK)
        kit->result = result;
    return result == HD_OK;
}

/* Warnings are shown as they come; the first error is kept and said once, when the program gives up. Any thread. */
static void write_log(hd_log_level level, const char *text, void *user)
{
    struct kit *kit = user;
    pthread_mutex_lock(&kit->log_lock);
    if (level == HD_LOG_ERROR && kit->first_error[0] == '\0')
        snprintf(kit->first_error, sizeof kit->first_error, "%s", text);
    else if (level == HD_LOG_WARNING)
        fprintf(stderr, "heddle: %s\n", text);
    pthread_mutex_unlock(&kit->log_lock);
}

/* The number of a closed standard stream must not go to a picture, or to a file that a driver opens: printed text would
 * go there. Its stand-in can be neither read nor written in the stream's direction, so each attempt fails visibly. */
static void open_standard_streams(void)
{
    for (int number = 0; number < 3; number++) {
        if (fcntl(number, F_GETFD) == -1)
            open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY); /* the lowest number that is free */
    }
}

static hd_result create_device(struct kit *kit)
{
    const struct kit_options *o = &kit->options;
    const char *device_extensions[] = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_KHR_SWAPCHAIN_EXTENSION_NAME};
    hd_vk_desc desc = {.log = kit->log,
                       .jobs = kit->jobs,
                       .frames_in_flight = KIT_FRAMES_IN_FLIGHT,
                       .memory_copies = o->copies ? o->copies : KIT_FRAMES_IN_FLIGHT,
                       .timed_frames = o->untimed || o->capture ? 0 : 4,
                       .upload_bytes = kit->scene->upload_bytes,
                       .application = kit->scene->name,
                       .device_index = o->device,
                       .queue_kinds = o->queue_kinds,
                       .queue_kind_count = o->queue_kind_count,
                       .device_extensions = device_extensions,
                       .device_extension_count = o->window ? 2 : 1,
                       .features = kit->scene->features,
                       .features11 = kit->scene->features11,
                       .features12 = kit->scene->features12,
                       .features13 = kit->scene->features13};
    if (o->window && !kit_window_prepare(kit, &desc.instance_extensions, &desc.instance_extension_count))
        return kit->result;
    if (o->capture) {
        hd_result result = hd_capture_open(&(hd_capture_desc){.replay = true});
        if (result == HD_OK)
            result = hd_capture_begin();
        if (result != HD_OK)
            return result;
        desc.get_instance_proc = hd_capture_get_instance_proc;
    }
    return hd_vk_create(&desc, &kit->vk);
}

/* Vulkan's functions, and what the kit must know of the device. */
static void look_at_device(struct kit *kit)
{
    hd_vk_info_get(kit->vk, &kit->info);
    volkInitializeCustom(kit->info.get_instance_proc);
    volkLoadInstanceOnly(kit->info.instance);
    volkLoadDevice(kit->info.device);
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(kit->info.physical_device, &properties);
    vkGetPhysicalDeviceMemoryProperties(kit->info.physical_device, &kit->memory);
    kit->discrete = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    for (uint32_t i = 0; i < kit->info.queue_count; i++) {
        uint32_t k = 0;
        while (k < kit->family_count && kit->families[k] != kit->info.queues[i].family)
            k++;
        if (k == kit->family_count)
            kit->families[kit->family_count++] = kit->info.queues[i].family;
    }
}

static hd_result create_samplers(struct kit *kit)
{
    const struct {
        VkFilter filter;
        VkSamplerAddressMode mode;
        VkBool32 compare;
    } all[] = {{VK_FILTER_NEAREST, VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE, VK_FALSE},
               {VK_FILTER_LINEAR, VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE, VK_FALSE},
               {VK_FILTER_LINEAR, VK_SAMPLER_ADDRESS_MODE_REPEAT, VK_FALSE},
               /* Outside a shadow map all is lit: its border is farthest away, which is 0 in reversed depth. */
               {VK_FILTER_LINEAR, VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER, VK_TRUE}};
    for (int i = 0; i < 4; i++) {
        VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                    .magFilter = all[i].filter,
                                    .minFilter = all[i].filter,
                                    .mipmapMode =
                                        i == 2 ? VK_SAMPLER_MIPMAP_MODE_LINEAR : VK_SAMPLER_MIPMAP_MODE_NEAREST,
                                    .addressModeU = all[i].mode,
                                    .addressModeV = all[i].mode,
                                    .addressModeW = all[i].mode,
                                    .compareEnable = all[i].compare,
                                    .compareOp = VK_COMPARE_OP_GREATER_OR_EQUAL,
                                    .maxLod = VK_LOD_CLAMP_NONE,
                                    .borderColor = VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK};
        if (vkCreateSampler(kit->info.device, &info, NULL, &kit->samplers[i]) != VK_SUCCESS)
            return HD_VULKAN;
    }
    return HD_OK;
}

static hd_result open_device(struct kit *kit)
{
    avoid_lavapipe_threads();
    hd_jobs_desc jobs = {.worker_count = kit->options.workers, .log = kit->log};
    hd_result result = hd_jobs_create(&jobs, &kit->jobs);
    if (result == HD_OK)
        result = create_device(kit);
    if (result == HD_OK) {
        look_at_device(kit);
        result = create_samplers(kit);
    }
    if (result == HD_OK)
        result = hd_graph_create(&(hd_graph_desc){.name = kit->scene->name, .log = kit->log}, &kit->graph);
    return result;
}

bool kit_open(struct kit *kit, const struct kit_scene *scene, const struct kit_options *options)
{
    open_standard_streams();
    memset(kit, 0, sizeof *kit);
    pthread_mutex_init(&kit->log_lock, NULL);
    kit->scene = scene;
    kit->options = *options;
    kit->log = (hd_log){write_log, kit};
    kit->width = options->width;
    kit->height = options->height;
    if (options->bench)
        kit->options.frames = KIT_BENCH_WARM_UP + options->bench + 1;
    for (uint32_t i = 0; i < KIT_SLOTS; i++)
        kit->slots[i].kit = kit;
    if (!options->bench && !kit_make_folder(kit, options->out)) /* before frames are rendered for it */
        return kit_check(kit, HD_IO);
    if (!kit_check(kit, open_device(kit)))
        return false;
    kit->compile = (hd_compile_desc){.merge_rendering = !options->no_merge,
                                     .order = options->declared_order ? HD_ORDER_DECLARED : HD_ORDER_OVERLAP};
    return (!options->window || kit_window_open(kit)) && (!options->view_port || kit_live_open(kit)) &&
           (!options->bench || kit_bench_open(kit));
}

/* Behind the last frame come, for --thumbnails, one that leaves pictures of its images, and a declaration without them
 * that is compiled alone: its plan is the one that is reported. */
static bool next_phase(struct kit *kit)
{
    bool more = kit->phase == KIT_FRAMES ? !kit->options.frames || kit->number < kit->options.frames : false;
    if (more)
        return true;
    if (!kit->options.thumbnails || kit->options.bench || kit->phase == KIT_PLAN_ALONE)
        return false;
    kit->phase++;
    return true;
}

bool kit_begin(struct kit *kit)
{
    if (kit->result != HD_OK || (kit->window && !kit_window_poll(kit)) || !next_phase(kit))
        return false;
    kit->thumbnails = kit->phase == KIT_THUMBNAILS;
    kit->slot = kit->number % KIT_SLOTS;
    kit->slots[kit->slot].number = kit->number;
    kit->seconds = (float)kit->number / 30.0f;
    hd_jobs_warm(kit->jobs);
    kit->began_us = kit_now_us();
    if (kit->number == 0)
        kit->first_us = kit->began_us;
    hd_graph_begin(kit->graph);
    return true;
}

/* One line that counts on a terminal, a line every ten frames elsewhere. */
static void print_progress(const struct kit *kit)
{
    uint32_t done = kit->number + 1, all = kit->options.frames;
    bool terminal = isatty(STDOUT_FILENO), last = done == all;
    if (kit->window || kit->options.bench || (!terminal && !last && done % 10 != 0))
        return;
    printf("%sframe %u of %u, %.1f s%s", terminal ? "\r" : "", done, all, (kit_now_us() - kit->first_us) * 1e-6,
           terminal && !last ? "" : "\n");
    fflush(stdout);
}

void kit_end(struct kit *kit, hd_resource picture)
{
    if (kit->result != HD_OK)
        return;
    bool last = kit->number + 1 == kit->options.frames;
    if (kit->window)
        kit_window_show(kit, picture);
    else if (picture.id && (!kit->options.bench || last))
        kit_keep_picture(kit, picture);
    double declared = kit_now_us();
    kit_check(kit, hd_vk_compile(kit->vk, kit->graph, &kit->compile, &kit->plan));
    double compiled = kit_now_us();
    if (kit->result != HD_OK || kit->phase == KIT_PLAN_ALONE)
        return;
    kit_check(kit, hd_vk_execute(kit->vk, kit->graph, kit->plan));
    if (kit->result == HD_OK && kit->window)
        kit_window_present(kit);
    if (kit->result == HD_OK && kit->view)
        kit_live_show(kit);
    if (kit->result != HD_OK)
        return;
    hd_vk_frame_stats stats;
    hd_vk_frame_stats_get(kit->vk, &stats);
    kit->times_us[0][kit->number % KIT_KEPT_TIMES] = declared - kit->began_us;
    kit->times_us[1][kit->number % KIT_KEPT_TIMES] = compiled - declared;
    kit->times_us[2][kit->number % KIT_KEPT_TIMES] = stats.record_us;
    if (kit->bench)
        kit_bench_frame(kit);
    if (kit->window)
        kit_window_report(kit);
    if (kit->phase == KIT_FRAMES)
        print_progress(kit);
    kit->number++;
}

bool kit_finish(struct kit *kit)
{
    if (kit->vk)
        kit_check(kit, hd_vk_wait(kit->vk));
    if (kit->result == HD_OK && kit->bench)
        kit_bench_print(kit);
    if (kit->result != HD_OK || kit->bench || !kit->plan)
        return kit->result == HD_OK;
    kit_write_pictures(kit);
    kit_print_summary(kit);
    bool done = kit_write_plan(kit) && kit_verify(kit) && (!kit->options.capture || kit_write_capture(kit));
    if (done && kit->options.report && !kit->window && !kit_report(kit, kit->options.report))
        done = kit_check(kit, HD_IO);
    if (atomic_load_explicit(&kit->file_failed, memory_order_relaxed))
        done = kit_check(kit, HD_IO);
    return done && kit->result == HD_OK;
}

static int say_result(struct kit *kit)
{
    if (kit->result == HD_OK)
        return 0;
    const hd_error *error = kit->graph ? hd_graph_error(kit->graph) : NULL;
    const char *text = kit->first_error[0] ? kit->first_error : hd_result_text(kit->result);
    fprintf(stderr, "%s: %s\n", kit->scene->name, error && error->result == kit->result ? error->text : text);
    return kit->result == HD_PLAN_INVALID ? 3 : 2;
}

int kit_close(struct kit *kit)
{
    int status = say_result(kit);
    if (kit->vk)
        hd_vk_wait(kit->vk);
    kit_window_close(kit);
    kit_live_close(kit);
    kit_bench_close(kit);
    for (int i = 0; kit->vk && i < 4; i++) {
        if (kit->samplers[i])
            vkDestroySampler(kit->info.device, kit->samplers[i], NULL);
    }
    hd_graph_destroy(kit->graph);
    hd_vk_destroy(kit->vk);
    hd_jobs_destroy(kit->jobs);
    kit_animation_end(kit->animation, NULL);
    kit_thumbnails_free(kit);
    free(kit->last_picture);
    if (kit->options.capture)
        hd_capture_close();
    pthread_mutex_destroy(&kit->log_lock);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == 0) {
        fprintf(stderr, "%s: standard output could not be written\n", kit->scene->name);
        status = 2;
    }
    return status;
}

hd_resource kit_image_with(struct kit *kit, const hd_image_desc *desc)
{
    hd_resource image = hd_graph_image(kit->graph, desc);
    if (kit->thumbnails)
        kit_thumbnails_note(kit, image, desc);
    return image;
}

hd_resource kit_image(struct kit *kit, const char *name, uint32_t divisor, VkFormat format)
{
    return kit_image_with(kit, &(hd_image_desc){.name = name,
                                                .width = (kit->width + divisor - 1) / divisor,
                                                .height = (kit->height + divisor - 1) / divisor,
                                                .format = format});
}

hd_resource kit_buffer(struct kit *kit, const char *name, uint64_t bytes)
{
    return hd_graph_buffer(kit->graph, &(hd_buffer_desc){.name = name, .bytes = bytes});
}
