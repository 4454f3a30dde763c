/* heddle/base.h: results, allocator and log, shared by every heddle header.
 *
 * Threads: everything here is pure or works on the caller's own structures. */
#ifndef HEDDLE_BASE_H
#define HEDDLE_BASE_H

#include <stddef.h>
#include <stdint.h>

/* Around what a header declares: C names, and visible where the rest of a shared library is hidden. */
#ifdef __cplusplus
#define HD_API_BEGIN extern "C" { _Pragma("GCC visibility push(default)")
#define HD_API_END _Pragma("GCC visibility pop") }
#else
#define HD_API_BEGIN _Pragma("GCC visibility push(default)")
#define HD_API_END _Pragma("GCC visibility pop")
#endif

HD_API_BEGIN

/* Every result, with its one sentence. A null pointer where a header does not allow one does no harm: functions that
 * return a result answer HD_INVALID_ARGUMENT, others do nothing and return none, 0 or zeros. */
#define HD_RESULTS(X)                                                                                                  \
    X(HD_OK, "done")                                                                                                   \
    X(HD_OUT_OF_MEMORY, "the allocator returned no memory")                                                            \
    X(HD_INVALID_ARGUMENT, "an argument is null or outside its documented range")                                      \
    X(HD_BAD_HANDLE, "a resource or pass handle is none, stale or of another graph")                                   \
    X(HD_LIST_JOINED, "a list was declared into after it joined its graph: what was declared there is lost")           \
    X(HD_BAD_DESC, "a description has a size, count or format that no device could make")                              \
    X(HD_BAD_RANGE, "a use names a range that is empty or outside its resource")                                       \
    X(HD_BAD_ACCESS, "a use has an access that its kind of resource does not allow, or a custom one that cannot be")   \
    X(HD_BAD_PASS_TYPE, "a use has an access that the type of its pass does not allow")                                \
    X(HD_CONFLICTING_USES, "a pass uses one subresource twice, and not only for reads that agree on a layout")         \
    X(HD_BAD_RESOLVE, "a resolve has no multisampled attachment of its pass to read, or one that does not fit it")     \
    X(HD_HISTORY_WRITTEN, "a pass writes to a history, which is read-only")                                            \
    X(HD_HISTORY_OF_HISTORY, "a history is taken of something that cannot have one: a history or an external")         \
    X(HD_SECOND_HISTORY, "a history is taken of a resource that has one already")                                      \
    X(HD_BAD_PIN, "a pass is pinned to a kind of queue that cannot run its type")                                      \
    X(HD_UNWRITTEN_READ, "a pass reads what no earlier pass wrote and what is neither external nor a history")         \
    X(HD_VERSION_FORKED, "a pass writes a version of a resource that another pass has overwritten already")            \
    X(HD_VERSION_CYCLE, "passes that read older versions of resources would have to run before themselves")            \
    X(HD_NO_QUEUE, "a pass needs a kind of queue that the queue set lacks")                                            \
    X(HD_OVER_BUDGET, "no order that was tried fits the memory budget")                                                \
    X(HD_TOO_LARGE, "a count or a size exceeds what heddle can hold")                                                  \
    X(HD_BUSY, "there is no room now: try again in a later frame")                                                     \
    X(HD_IO, "a file could not be read or written")                                                                    \
    X(HD_PARSE, "a text does not follow its format")                                                                   \
    X(HD_NO_PAGE, "heddle was built without d3 (d3.min.js), which the page that shows plans needs")                    \
    X(HD_PLAN_INVALID, "a plan fails verification")                                                                    \
    X(HD_CACHE_MISMATCH,                                                                                               \
      "a plan found in the cache is not what compiling gives: the size callback changed its answers")                  \
    X(HD_NO_LOADER, "no Vulkan loader was found")                                                                      \
    X(HD_NO_DEVICE, "no Vulkan device was found at the index that was asked for")                                      \
    X(HD_MISSING_FEATURE, "the Vulkan device lacks a version or feature that heddle needs")                            \
    X(HD_UNSUPPORTED, "the Vulkan device or the file format cannot express what the graph declares")                   \
    X(HD_OUT_OF_DEVICE_MEMORY, "the Vulkan device has no memory left")                                                 \
    X(HD_DEVICE_LOST, "the Vulkan device was lost")                                                                    \
    X(HD_SURFACE_LOST, "the window's Vulkan surface was lost")                                                         \
    X(HD_VULKAN, "a Vulkan call failed; the log names it")

#define HD_RESULT_ENUM(name, text) name,
typedef enum hd_result { HD_RESULTS(HD_RESULT_ENUM) HD_RESULT_COUNT } hd_result;
#undef HD_RESULT_ENUM

/* The constant's own name ("HD_OK") and its sentence. Static strings, never null. */
const char *hd_result_name(hd_result result);
const char *hd_result_text(hd_result result);

/* Memory callbacks. alloc gets bytes > 0 and a power-of-two alignment and returns NULL when there is none;
 * free gets what alloc returned and the same byte count. Both may be called from any thread that calls heddle, and from
 * heddle's own workers. All zero: the C library's. */
typedef struct hd_allocator {
    void *(*alloc)(size_t bytes, size_t alignment, void *user);
    void (*free)(void *pointer, size_t bytes, void *user);
    void *user;
} hd_allocator;

typedef enum hd_log_level { HD_LOG_ERROR, HD_LOG_WARNING, HD_LOG_INFO } hd_log_level;

/* Log callback. text is one line without a newline, valid during the call. Any thread. All zero: no log. */
typedef struct hd_log {
    void (*write)(hd_log_level level, const char *text, void *user);
    void *user;
} hd_log;

HD_API_END
#endif
