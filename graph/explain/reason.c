#include <heddle/graph.h>

/* Names of the reasons. Files hold them: they are not to change. */

static const char *const reasons[] = {
    [HD_REASON_NONE] = "none",
    [HD_REASON_READ_AFTER_WRITE] = "read after write",
    [HD_REASON_WRITE_AFTER_READ] = "write after read",
    [HD_REASON_WRITE_AFTER_WRITE] = "write after write",
    [HD_REASON_LAYOUT] = "layout",
    [HD_REASON_FIRST_USE] = "first use",
    [HD_REASON_ALIAS] = "alias",
    [HD_REASON_RELEASE] = "release",
    [HD_REASON_ACQUIRE] = "acquire",
    [HD_REASON_FINAL_STATE] = "final state",
};
static const char *const placings[] = {
    [HD_PLACING_NONE] = "none", [HD_PLACING_EXTERNAL] = "external", [HD_PLACING_PERSISTENT] = "persistent",
    [HD_PLACING_HOST] = "host", [HD_PLACING_FIRST] = "first tenant",       [HD_PLACING_TAKES_OVER] = "takes over",
};
static const char *const cuts[] = {
    [HD_CUT_NONE] = "none",     [HD_CUT_FIRST] = "first", [HD_CUT_WAIT] = "wait",
    [HD_CUT_SIGNAL] = "signal", [HD_CUT_END] = "end",
};
static const char *const culls[] = {
    [HD_CULL_NONE] = "none",
    [HD_CULL_WRITES_NOTHING] = "writes nothing",
    [HD_CULL_UNREAD] = "unread",
    [HD_CULL_OVERWRITTEN] = "overwritten",
    [HD_CULL_READER_CULLED] = "reader culled",
};

static const char *name_of(const char *const *names, size_t count, size_t index)
{
    return index < count ? names[index] : "?";
}
#define NAME_OF(names, index) name_of(names, sizeof(names) / sizeof((names)[0]), (size_t)(index))

const char *hd_reason_name(hd_reason reason)
{
    return NAME_OF(reasons, reason);
}

const char *hd_placing_name(hd_placing placing)
{
    return NAME_OF(placings, placing);
}

const char *hd_cut_name(hd_cut cut)
{
    return NAME_OF(cuts, cut);
}

const char *hd_cull_name(hd_cull cull)
{
    return NAME_OF(culls, cull);
}
