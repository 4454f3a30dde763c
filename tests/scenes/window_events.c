#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xcb/xcb.h>

/* window_events NAME: what a user and a window manager do to a scene's window, once it is shown: it is resized,
 * minimised, resized meanwhile and brought back, gets the key R, and is asked to close. Each step waits until the
 * window's title says that the one before has been seen: "NAME WxH", with a note behind a report, or "NAME" alone while
 * it is minimised. Exit status: 0 done, 1 no display or no window. */

enum { KEY_R = 27, STATE_NORMAL = 1, STATE_ICONIC = 3 }; /* a key's code on Xvfb; values of WM_STATE */

static xcb_atom_t atom(xcb_connection_t *x, const char *name)
{
    xcb_intern_atom_reply_t *reply =
        xcb_intern_atom_reply(x, xcb_intern_atom(x, 0, (uint16_t)strlen(name), name), NULL);
    xcb_atom_t found = reply ? reply->atom : XCB_ATOM_NONE;
    free(reply);
    return found;
}

static int has_title(xcb_connection_t *x, xcb_window_t window, const char *title)
{
    xcb_get_property_reply_t *reply = xcb_get_property_reply(
        x, xcb_get_property(x, 0, window, XCB_ATOM_WM_NAME, XCB_GET_PROPERTY_TYPE_ANY, 0, 64), NULL);
    int same = reply && (size_t)xcb_get_property_value_length(reply) == strlen(title) &&
               memcmp(xcb_get_property_value(reply), title, strlen(title)) == 0;
    free(reply);
    return same;
}

static void wait_for_title(xcb_connection_t *x, xcb_window_t window, const char *name, const char *size)
{
    char title[64];
    snprintf(title, sizeof title, "%s%s", name, size);
    while (!has_title(x, window, title)) {
        xcb_generic_event_t *event = xcb_wait_for_event(x); /* the title is among the properties that are watched */
        if (!event)
            exit(1);
        free(event);
    }
}

static int is_shown(xcb_connection_t *x, xcb_window_t window)
{
    xcb_get_window_attributes_reply_t *reply =
        xcb_get_window_attributes_reply(x, xcb_get_window_attributes(x, window), NULL);
    int shown = reply && reply->map_state == XCB_MAP_STATE_VIEWABLE;
    free(reply);
    return shown;
}

/* The root's only window that is shown, now or when it is mapped. */
static xcb_window_t find(xcb_connection_t *x, xcb_window_t root)
{
    xcb_change_window_attributes(x, root, XCB_CW_EVENT_MASK, (uint32_t[]){XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY});
    xcb_query_tree_reply_t *tree = xcb_query_tree_reply(x, xcb_query_tree(x, root), NULL);
    xcb_window_t found = XCB_NONE;
    for (int i = 0; tree && i < xcb_query_tree_children_length(tree); i++) {
        if (is_shown(x, xcb_query_tree_children(tree)[i]))
            found = xcb_query_tree_children(tree)[i];
    }
    free(tree);
    for (xcb_generic_event_t *event; !found && (event = xcb_wait_for_event(x)); free(event)) {
        if ((event->response_type & 0x7f) == XCB_MAP_NOTIFY)
            found = ((xcb_map_notify_event_t *)event)->window;
    }
    return found;
}

static void resize(xcb_connection_t *x, xcb_window_t window, uint32_t width, uint32_t height)
{
    xcb_configure_window(x, window, XCB_CONFIG_WINDOW_WIDTH | XCB_CONFIG_WINDOW_HEIGHT, (uint32_t[]){width, height});
}

static void set_state(xcb_connection_t *x, xcb_window_t window, uint32_t state)
{
    xcb_atom_t name = atom(x, "WM_STATE");
    xcb_change_property(x, XCB_PROP_MODE_REPLACE, window, name, name, 32, 2, (uint32_t[]){state, XCB_NONE});
}

static void press(xcb_connection_t *x, xcb_window_t root, xcb_window_t window, uint8_t key)
{
    xcb_key_press_event_t event = {
        .response_type = XCB_KEY_PRESS, .detail = key, .root = root, .event = window, .same_screen = 1};
    xcb_send_event(x, 0, window, XCB_EVENT_MASK_KEY_PRESS, (const char *)&event);
}

static void ask_to_close(xcb_connection_t *x, xcb_window_t window)
{
    xcb_client_message_event_t event = {
        .response_type = XCB_CLIENT_MESSAGE, .format = 32, .window = window, .type = atom(x, "WM_PROTOCOLS")};
    event.data.data32[0] = atom(x, "WM_DELETE_WINDOW");
    xcb_send_event(x, 0, window, XCB_EVENT_MASK_NO_EVENT, (const char *)&event);
}

int main(int argc, char **argv)
{
    xcb_connection_t *x = xcb_connect(NULL, NULL);
    if (argc != 2 || xcb_connection_has_error(x))
        return 1;
    xcb_window_t root = xcb_setup_roots_iterator(xcb_get_setup(x)).data->root, window = find(x, root);
    if (!window) {
        fprintf(stderr, "window_events: no window\n");
        return 1;
    }
    xcb_change_window_attributes(x, window, XCB_CW_EVENT_MASK, (uint32_t[]){XCB_EVENT_MASK_PROPERTY_CHANGE});
    resize(x, window, 320, 200);
    wait_for_title(x, window, argv[1], " 320x200");
    set_state(x, window, STATE_ICONIC);
    wait_for_title(x, window, argv[1], "");
    resize(x, window, 96, 70);
    set_state(x, window, STATE_NORMAL);
    wait_for_title(x, window, argv[1], " 96x70");
    press(x, root, window, KEY_R);
    wait_for_title(x, window, argv[1], " 96x70, report written");
    ask_to_close(x, window);
    xcb_flush(x);
    free(xcb_get_input_focus_reply(x, xcb_get_input_focus(x), NULL)); /* the server has seen it all */
    xcb_disconnect(x);
    return 0;
}
