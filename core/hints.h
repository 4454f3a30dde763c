/* Hints for the compiler. None of them changes what the code does.
 *
 *   HDI_COLD      a function that is rarely called: never inlined, so that its callers' loops keep the registers, and
 *                 branches that lead to it count as unlikely
 *   HDI_APART     never inlined either, but called too often to be compiled for size
 *   HDI_INLINE    inlined also without optimization, for a function that constants of the caller turn into one of
 *                 several loops; plain inline under sanitizers, where inlining costs compile time and gains nothing
 *   HDI_LIKELY, HDI_UNLIKELY   which way a branch nearly always goes
 *   HDI_ON_LINE   a function that begins on a cache line: its loop is as fast whatever code stands before it
 *   HDI_FETCH     the memory at an address, which may be any, will be read soon
 *   HDI_HIDE      forgets what is known of a variable, so that arithmetic with a condition does not become a branch */
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

/* Bytes that a processor may fetch as one: what several workers write lies further apart. */
enum { HDI_LINE_PAIR = 128 };

#endif
