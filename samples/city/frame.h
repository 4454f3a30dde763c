/* The parts of the frame's declaration. Uploads come first; each of the others fills one list, on whatever thread, and
 * the lists join in this order. */
#ifndef CITY_FRAME_H
#define CITY_FRAME_H

#include "city.h"

typedef void (*declare_fn)(hd_graph *list, struct frame *frame);
void declare_uploads(hd_graph *list, struct frame *f);
void declare_geometry(hd_graph *list, struct frame *f);
void declare_shadows(hd_graph *list, struct frame *f);
void declare_async(hd_graph *list, struct frame *f);
void declare_light(hd_graph *list, struct frame *f);
void declare_picture(hd_graph *list, struct frame *f);

/* hd_graph_pass; the cost is the measured one where there is one. */
void add_pass(hd_graph *list, const struct frame *f, const hd_pass_desc *desc);

#endif
