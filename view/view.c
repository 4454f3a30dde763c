#include <heddle/view.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "plan_page.h"

/* A small HTTP server: `/` is the page with the newest plan, `/data?since=N` the newest plan's data, or 204 where it is
 * still the one of serial N. The data is made by the engine's thread when a browser has asked for it. */

enum { MOST_CONNECTIONS = 16, IDLE_SECONDS = 30 };

struct hd_view {
    struct MHD_Daemon *daemon;
    uint16_t port;
    pthread_mutex_t lock; /* for all below */
    bool wanted;          /* a browser has asked since the data was made */
    uint64_t serial;      /* of the data; 0: none yet */
    char *data;
    size_t bytes;
};

/* ---- answers ---- */

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status, const char *type, char *text,
                                 size_t bytes, uint64_t serial)
{
    char number[24];
    struct MHD_Response *response = MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    snprintf(number, sizeof(number), "%llu", (unsigned long long)serial);
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "X-Frame-Options", "DENY");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(response, "X-Serial", number);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
    char *text = strdup(why);
    return text ? send_text(connection, status, "text/plain", text, strlen(text), 0) : MHD_NO;
}

/* Head and tail of the page around the data, or the data alone. */
static enum MHD_Result send_data(hd_view *view, struct MHD_Connection *connection, bool with_page)
{
    static const char nothing[] = "null";
    size_t head = with_page ? hdi_plan_page.data_at : 0, tail = with_page ? hdi_plan_page.bytes - head : 0;
    pthread_mutex_lock(&view->lock);
    const char *data = view->data ? view->data : nothing;
    size_t bytes = view->data ? view->bytes : sizeof(nothing) - 1;
    uint64_t serial = view->serial;
    char *text = malloc(head + bytes + tail);
    if (text)
        memcpy(text + head, data, bytes);
    pthread_mutex_unlock(&view->lock);
    if (!text)
        return MHD_NO;
    memcpy(text, hdi_plan_page.text, head);
    memcpy(text + head + bytes, hdi_plan_page.text + head, tail);
    return send_text(connection, MHD_HTTP_OK, with_page ? "text/html; charset=utf-8" : "application/json", text,
                     head + bytes + tail, serial);
}

/* Names of other hosts that lead here (DNS rebinding) are none. */
static bool is_own_host(hd_view *view, const char *host)
{
    char own[2][32];
    pthread_mutex_lock(&view->lock); /* held until the port is known */
    snprintf(own[0], sizeof(own[0]), "127.0.0.1:%u", view->port);
    snprintf(own[1], sizeof(own[1]), "localhost:%u", view->port);
    pthread_mutex_unlock(&view->lock);
    return host && (strcmp(host, own[0]) == 0 || strcmp(host, own[1]) == 0);
}

static enum MHD_Result answer(void *user, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **state)
{
    hd_view *view = user;
    (void)version, (void)upload, (void)state;
    if (!is_own_host(view, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
        return refuse(connection, MHD_HTTP_FORBIDDEN, "this is not the host that you mean\n");
    if (strcmp(method, "GET") != 0 || *upload_bytes)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET alone\n");
    bool page = strcmp(path, "/") == 0;
    if (!page && strcmp(path, "/data") != 0)
        return refuse(connection, MHD_HTTP_NOT_FOUND, "there is / and /data\n");
    const char *since = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "since");
    pthread_mutex_lock(&view->lock);
    view->wanted = true;
    bool known = !page && since && strtoull(since, NULL, 10) == view->serial;
    pthread_mutex_unlock(&view->lock);
    return known ? refuse(connection, MHD_HTTP_NO_CONTENT, "") : send_data(view, connection, page);
}

/* ---- the engine's side ---- */

hd_result hd_view_serve(uint16_t port, hd_view **out)
{
    if (!out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    if (!hdi_plan_page.bytes)
        return HD_NO_PAGE;
    hd_view *view = calloc(1, sizeof(*view));
    if (!view || pthread_mutex_init(&view->lock, NULL) != 0) {
        free(view);
        return HD_OUT_OF_MEMORY;
    }
    struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    pthread_mutex_lock(&view->lock); /* no answer before the port is known */
    view->wanted = true;
    view->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, answer, view,
                                    MHD_OPTION_SOCK_ADDR, &here, MHD_OPTION_CONNECTION_LIMIT,
                                    (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
                                    MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        view->daemon ? MHD_get_daemon_info(view->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    view->port = info ? info->port : port;
    pthread_mutex_unlock(&view->lock);
    if (!view->daemon) {
        hd_view_end(view);
        return HD_IO;
    }
    *out = view;
    return HD_OK;
}

uint16_t hd_view_port(const hd_view *view)
{
    return view ? view->port : 0;
}

hd_result hd_view_show(hd_view *view, const hd_graph *graph, const hd_plan *plan, const hd_page_desc *desc)
{
    if (!view || !graph || !plan)
        return HD_INVALID_ARGUMENT;
    pthread_mutex_lock(&view->lock);
    bool wanted = view->wanted;
    pthread_mutex_unlock(&view->lock);
    if (!wanted)
        return HD_OK;
    char *data = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&data, &bytes);
    if (!stream)
        return HD_OUT_OF_MEMORY;
    hd_result result = hdi_plan_write_data(graph, plan, desc, stream);
    if (fclose(stream) != 0 && result == HD_OK)
        result = HD_OUT_OF_MEMORY;
    if (result == HD_OK) {
        pthread_mutex_lock(&view->lock);
        char *old = view->data;
        view->data = data;
        view->bytes = bytes;
        view->serial++;
        view->wanted = false;
        pthread_mutex_unlock(&view->lock);
        data = old;
    }
    free(data);
    return result;
}

void hd_view_end(hd_view *view)
{
    if (!view)
        return;
    if (view->daemon)
        MHD_stop_daemon(view->daemon);
    pthread_mutex_destroy(&view->lock);
    free(view->data);
    free(view);
}
