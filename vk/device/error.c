#include "vk_device.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"

/* Calls of the engine on an hd_vk, and why they fail. One call runs at a time; a second one, by a callback or by
 * another thread, is refused before it touches anything. The first failure of a call is its error: that of a call that
 * could go no further says less. Workers and the host thread fail, too, so the error has a lock. What a host pass does
 * wrong comes to light between the calls: it is set aside, and given back by the call that waits for its frame. */

static hd_error make_error(hd_result result, uint32_t pass, uint32_t resource)
{
    return (hd_error){.result = result, .pass = pass, .resource = resource, .use = HD_NONE};
}

/* Behind a colon; what does not fit is left out. */
static void append(hd_error *error, const char *more)
{
    size_t used = strlen(error->text), left = sizeof(error->text) - 1 - used, bytes = strlen(more);
    if (left < 3)
        return;
    bytes = bytes < left - 2 ? bytes : left - 2;
    memcpy(error->text + used, ": ", 2);
    memcpy(error->text + used + 2, more, bytes);
    error->text[used + 2 + bytes] = 0;
}

hd_result hdi_vk_fail(hd_vk *vk, hd_result result, uint32_t pass, uint32_t resource, const char *format, ...)
{
    hd_error error = make_error(result, pass, resource);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error.text, sizeof(error.text), format, arguments);
    va_end(arguments);
    hdi_one_line(error.text);
    hdi_log(&vk->log, HD_LOG_ERROR, "%s", error.text);
    pthread_mutex_lock(&vk->error_lock);
    if (!vk->failed)
        vk->error = error;
    vk->failed = true;
    pthread_mutex_unlock(&vk->error_lock);
    return result;
}

void hdi_vk_blame(hd_vk *vk, uint32_t pass, uint32_t use, const char *format, ...)
{
    char text[sizeof(vk->error.text)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    hdi_one_line(text);
    hdi_log(&vk->log, HD_LOG_ERROR, "%s", text);
    pthread_mutex_lock(&vk->error_lock);
    if (vk->failed) {
        vk->error.pass = pass;
        vk->error.use = use;
        append(&vk->error, text);
    }
    pthread_mutex_unlock(&vk->error_lock);
}

void hdi_vk_fail_later(hd_vk *vk, hdi_vk_slot *slot, const hd_error *error)
{
    hdi_log(&vk->log, HD_LOG_ERROR, "%s", error->text);
    if (slot->host_error.result == HD_OK)
        slot->host_error = *error;
}

hd_result hdi_vk_failed_before(hd_vk *vk, hdi_vk_slot *slot)
{
    hd_result result = slot->host_error.result;
    if (result == HD_OK)
        return HD_OK;
    pthread_mutex_lock(&vk->error_lock);
    if (!vk->failed)
        vk->error = slot->host_error;
    vk->failed = true;
    pthread_mutex_unlock(&vk->error_lock);
    slot->host_error.result = HD_OK;
    return result;
}

hd_result hdi_vk_enter(hd_vk *vk, const char *call)
{
    const char *why = NULL;
    if (vk->host_started && pthread_equal(pthread_self(), vk->host_thread))
        why = "by a host pass, for whose end it might have to wait";
    else if (atomic_exchange_explicit(&vk->entered, true, memory_order_acquire))
        why = "while another call on the same hd_vk runs: by a callback, or by another thread";
    if (why) {
        hdi_log(&vk->log, HD_LOG_ERROR, "%s is called %s", call, why);
        return HD_INVALID_ARGUMENT;
    }
    pthread_mutex_lock(&vk->error_lock);
    vk->failed = false;
    pthread_mutex_unlock(&vk->error_lock);
    return HD_OK;
}

hd_result hdi_vk_leave(hd_vk *vk, hd_result result, const hd_graph *graph)
{
    pthread_mutex_lock(&vk->error_lock);
    const hd_error *declared = graph ? hd_graph_error(graph) : NULL;
    bool again = result != HD_OK && !vk->failed && vk->error.result == result && declared &&
                 strncmp(vk->error.text, declared->text, strlen(declared->text)) == 0; /* it sticks in the graph */
    if (result != HD_OK && declared && declared->result == result && !again) {
        hd_error error = *declared;
        if (vk->failed) { /* the device's part of it */
            error.pass = error.pass == HD_NONE ? vk->error.pass : error.pass;
            error.use = error.use == HD_NONE ? vk->error.use : error.use;
            append(&error, vk->error.text);
        }
        vk->error = error;
    } else if (result != HD_OK && !vk->failed && vk->error.result != result) {
        vk->error = make_error(result, HD_NONE, HD_NONE);
        snprintf(vk->error.text, sizeof(vk->error.text), "%s", hd_result_text(result));
    }
    pthread_mutex_unlock(&vk->error_lock);
    atomic_store_explicit(&vk->entered, false, memory_order_release);
    return result;
}

void hd_vk_error_get(const hd_vk *vk, hd_error *out)
{
    hd_vk *locked = (hd_vk *)vk;
    if (!out)
        return;
    *out = make_error(HD_OK, HD_NONE, HD_NONE);
    if (!vk)
        return;
    pthread_mutex_lock(&locked->error_lock);
    *out = vk->error;
    pthread_mutex_unlock(&locked->error_lock);
}
