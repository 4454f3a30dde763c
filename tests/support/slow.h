/* HDT_SLOW: 1 in programs that a sanitizer of addresses or threads slows down, so that they do less; else 0. */
#ifndef HDT_SLOW_H
#define HDT_SLOW_H

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HDT_SLOW 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HDT_SLOW 1
#endif
#endif
#ifndef HDT_SLOW
#define HDT_SLOW 0
#endif

#endif
