/* What the fuzzers run on each input: fuzz_NAME.c holds one each. libFuzzer drives them in the fuzz preset,
 * test_corpus.c runs them on every file of tests/io/corpus/NAME in all others. A fault aborts. */
#ifndef HDT_FUZZ_H
#define HDT_FUZZ_H

#include <heddle/graph.h>

#include <stdio.h>

void hdt_fuzz_fgt(const uint8_t *data, size_t bytes);
void hdt_fuzz_plan_json(const uint8_t *data, size_t bytes);
void hdt_fuzz_capture(const uint8_t *data, size_t bytes);
void hdt_fuzz_declare(const uint8_t *data, size_t bytes);

/* One of LLVMFuzzerTestOneInput in a fuzzer's file, none elsewhere. */
#ifdef HEDDLE_FUZZER
#define HDT_FUZZ_ENTRY(function)                                                                                       \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);                                                     \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)                                                      \
    {                                                                                                                  \
        function(data, bytes);                                                                                         \
        return 0;                                                                                                      \
    }
#else
#define HDT_FUZZ_ENTRY(function)
#endif

/* Stops with the sentence where the condition does not hold. */
#define HDT_FUZZ_CHECK(condition, ...) ((condition) ? (void)0 : hdt_fuzz_fault(__VA_ARGS__))
__attribute__((format(printf, 1, 2), noreturn)) void hdt_fuzz_fault(const char *format, ...);

/* FNV-1a: a choice that follows from the input. */
uint64_t hdt_fuzz_hash(const uint8_t *data, size_t bytes);

/* Compiles the declaration at hand for a queue set and options that follow from pick. A plan that comes back is
 * verified, measured, explained, written in every format, read back, and compiled once more: all of it must work. A
 * compile that fails must give one of the results that a declaration or the options can earn, with a sentence. */
hd_result hdt_fuzz_compile(hd_graph *graph, uint64_t pick);

/* What one of the writers of plans gives, for free(); null: it failed. */
typedef hd_result (*hdt_plan_writer)(const hd_graph *, const hd_plan *, FILE *);
char *hdt_write_text(hdt_plan_writer write, const hd_graph *graph, const hd_plan *plan, size_t *bytes);

#endif
