/* What the compiler cannot know: which way a branch nearly always goes. A cold function is kept out of its callers, so
 * that their loops have the registers, and the branches that lead to it count as unlikely. One that is only apart is
 * called too often to be compiled for size. An inline one is so also in builds without optimization, where its caller
 * is several loops in one by constants; not in those for sanitizers, which take a quarter longer to compile it and run
 * no faster. FETCH: what is at an address, even at none, will be read soon. A scalar one stores small fields
 * side by side as they are: gcc takes more instructions to gather them in vector registers than it saves. HIDE: what a
 * variable may be is not followed, so that arithmetic with a condition stays what it is and is no branch. ON_LINE: one
 * that begins on a line is as fast whatever stands before it: its loop took up to a third longer elsewhere. */
#ifndef HDI_HINTS_H
#define HDI_HINTS_H

#if defined(__GNUC__)
#define HDI_COLD __attribute__((cold, noinline))
#define HDI_APART __attribute__((noinline))
#ifdef HDI_SANITIZED
#define HDI_INLINE inline
#else
#define HDI_INLINE inline __attribute__((always_inline))
#endif
#define HDI_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define HDI_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define HDI_ON_LINE __attribute__((aligned(64)))
#define HDI_FETCH(address) __builtin_prefetch(address)
#define HDI_HIDE(variable) __asm__("" : "+r"(variable))
#else
#define HDI_COLD
#define HDI_APART
#define HDI_INLINE inline
#define HDI_LIKELY(condition) (condition)
#define HDI_UNLIKELY(condition) (condition)
#define HDI_ON_LINE
#define HDI_FETCH(address) ((void)(address))
#define HDI_HIDE(variable) ((void)(variable))
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define HDI_SCALAR __attribute__((optimize("no-tree-slp-vectorize")))
#else
#define HDI_SCALAR
#endif

/* Bytes that a processor may fetch as one: what several workers write lies further apart. */
enum { HDI_LINE_PAIR = 128 };

#endif
