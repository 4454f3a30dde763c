/* What shaders may access through the descriptors that are bound, as accesses of draws and dispatches. */
#ifndef HDI_CAPTURE_DESCRIPTORS_H
#define HDI_CAPTURE_DESCRIPTORS_H

#include <heddle/stream.h>

/* Reads it from the data of the stream, which grows by accesses with HD_STREAM_BOUND, and by buffers that shaders alone
 * touch; reads of vertex buffers go from draws whose pipeline takes none. A stream without data stays as it is. HD_OK,
 * HD_OUT_OF_MEMORY. */
hd_result hdi_capture_descriptors(hd_stream *stream);

#endif
