#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan_page.h"
#include "statistics.h"

extern const hdi_page hbs_report_page; /* of bench/page/ */

/* What is made of results: tables, CSV, a page, comparisons. */

double hbs_number(const json_t *row, const char *name)
{
    const json_t *value = json_object_get(row, name);
    if (json_is_object(value))
        value = json_object_get(value, "median");
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *hbs_text(const json_t *row, const char *name)
{
    const char *text = json_string_value(json_object_get(row, name));
    return text ? text : "";
}

void hbs_row_key(const json_t *row, char *key, size_t bytes)
{
    snprintf(key, bytes, "%s %s q%.0f %s w%.0f b%.0f %s", hbs_text(row, "adapter"), hbs_text(row, "workload"),
             hbs_number(row, "queues"), hbs_text(row, "order"), hbs_number(row, "workers"),
             json_object_get(row, "budget") ? hbs_number(row, "budget") / (1 << 20) : 0, hbs_text(row, "mode"));
}

json_t *hbs_load(const char *path)
{
    json_error_t error;
    json_t *results = json_load_file(path, 0, &error);
    if (!results || !json_is_array(json_object_get(results, "rows"))) {
        fprintf(stderr, "heddle-bench: %s: %s\n", path, results ? "no results of heddle-bench" : error.text);
        json_decref(results);
        return NULL;
    }
    return results;
}

static void print_number(FILE *f, const char *format, double value)
{
    char text[32] = "-";
    if (!isnan(value))
        snprintf(text, sizeof(text), format, value);
    fprintf(f, "%9s", text);
}

void hbs_print_rows(FILE *f, const json_t *results)
{
    size_t i;
    const json_t *row;
    fprintf(f, "%-17s%2s %-10s%-3s%7s %-12s%9s%9s%9s%9s%9s%9s%9s%9s%9s%9s%9s\n", "workload", "q", "mode", "w",
            "budget", "adapter", "declare", "compile", "ns/pass", "+-", "x floor", "instr", "allocs", "batches",
            "waits", "heap MiB", "ms");
    json_array_foreach(json_object_get(results, "rows"), i, row) {
        const json_t *quality = json_object_get(row, "quality"), *total = json_object_get(row, "total");
        char budget[32] = "";
        if (json_object_get(row, "budget"))
            snprintf(budget, sizeof(budget), "%.0f", hbs_number(row, "budget") / (1 << 20)); /* MiB */
        fprintf(f, "%-17.17s%2.0f %-10s%-3.0f%7s %-12.12s", hbs_text(row, "workload"), hbs_number(row, "queues"),
                hbs_text(row, "mode"), hbs_number(row, "workers"), budget, hbs_text(row, "adapter"));
        if (strcmp(hbs_text(row, "verdict"), "accepted") != 0) {
            fprintf(f, "  %s: %s\n", hbs_text(row, "verdict"), hbs_text(row, "reason"));
            continue;
        }
        print_number(f, "%.1f", hbs_number(row, "declare"));
        print_number(f, "%.1f", hbs_number(row, "compile"));
        print_number(f, "%.1f", hbs_number(row, "total"));
        print_number(f, "%.1f", (hbs_number(total, "high") - hbs_number(total, "low")) / 2);
        print_number(f, "%.0f", hbs_number(row, "total") / hbs_number(row, "floor"));
        print_number(f, "%.0f", hbs_number(row, "instructions"));
        print_number(f, "%.0f", hbs_number(row, "allocations"));
        print_number(f, "%.0f", hbs_number(quality, "batches"));
        print_number(f, "%.0f", hbs_number(quality, "waits"));
        print_number(f, "%.1f", hbs_number(quality, "heap_bytes") / (1 << 20));
        print_number(f, "%.2f", hbs_number(quality, "makespan_us") / 1000);
        fputc('\n', f);
    }
}

bool hbs_write_csv(FILE *f, const json_t *results)
{
    static const char *const texts[] = {"adapter", "version", "workload", "family", "order", "mode", "verdict"};
    static const char *const numbers[] = {"passes", "uses",    "queues", "workers",      "seed",        "open",
                                          "declare", "compile", "total",  "floor", "instructions", "allocations", "peak_bytes"};
    static const char *const qualities[] = {"kept",       "barriers",        "batches",         "submits",    "waits",
                                            "heap_bytes", "unaliased_bytes", "peak_live_bytes", "makespan_us",
                                            "critical_path_us"};
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]), NUMBERS = sizeof(numbers) / sizeof(numbers[0]),
           QUALITIES = sizeof(qualities) / sizeof(qualities[0]) };
    size_t i;
    const json_t *row;
    for (size_t c = 0; c < TEXTS; c++)
        fprintf(f, "%s%s", c ? "," : "", texts[c]);
    for (size_t c = 0; c < NUMBERS; c++)
        fprintf(f, ",%s", numbers[c]);
    for (size_t c = 0; c < QUALITIES; c++)
        fprintf(f, ",%s", qualities[c]);
    fprintf(f, ",low,high\n");
    json_array_foreach(json_object_get(results, "rows"), i, row) {
        const json_t *quality = json_object_get(row, "quality"), *total = json_object_get(row, "total");
        for (size_t c = 0; c < TEXTS; c++) {
            const char *text = hbs_text(row, texts[c]);
            fprintf(f, "%s\"%.*s\"", c ? "," : "", (int)strcspn(text, "\"\r\n"), text);
        }
        double values[NUMBERS + QUALITIES + 2];
        for (size_t c = 0; c < NUMBERS; c++)
            values[c] = hbs_number(row, numbers[c]);
        for (size_t c = 0; c < QUALITIES; c++)
            values[NUMBERS + c] = hbs_number(quality, qualities[c]);
        values[NUMBERS + QUALITIES] = hbs_number(total, "low");
        values[NUMBERS + QUALITIES + 1] = hbs_number(total, "high");
        for (size_t c = 0; c < sizeof(values) / sizeof(values[0]); c++) {
            if (isnan(values[c]))
                fputc(',', f);
            else
                fprintf(f, ",%.10g", values[c]);
        }
        fputc('\n', f);
    }
    return !ferror(f);
}

/* Results inside a script element: nothing in them may end it. */
static bool write_data(FILE *f, const json_t *results)
{
    char *text = json_dumps(results, JSON_COMPACT | JSON_REAL_PRECISION(6) | JSON_ENSURE_ASCII);
    if (!text)
        return false;
    for (const char *at = text; *at; at++) {
        if (*at == '<')
            fputs("\\u003c", f);
        else
            fputc(*at, f);
    }
    free(text);
    return !ferror(f);
}

bool hbs_write_html(FILE *f, const json_t *results)
{
    const hdi_page *page = &hbs_report_page;
    if (page->bytes == 0) {
        fputs("heddle-bench: this build has no page: d3 was not found (Debian: libjs-d3)\n", stderr);
        return false;
    }
    fwrite(page->text, 1, page->data_at, f);
    bool good = write_data(f, results);
    fwrite(page->text + page->data_at, 1, page->bytes - page->data_at, f);
    return good && !ferror(f);
}

/* ---- several results ---- */

static const json_t *find_row(const json_t *results, const char *key)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(results, "rows"), i, row) {
        char own[256];
        hbs_row_key(row, own, sizeof(own));
        if (strcmp(own, key) == 0)
            return row;
    }
    return NULL;
}

static double *samples_of(const json_t *row, uint32_t *count)
{
    const json_t *list = json_object_get(json_object_get(row, "total"), "samples");
    double *out = malloc((json_array_size(list) + 1) * sizeof(*out));
    *count = out ? (uint32_t)json_array_size(list) : 0;
    for (uint32_t i = 0; i < *count; i++)
        out[i] = json_number_value(json_array_get(list, i));
    return out;
}

void hbs_print_comparison(FILE *f, const json_t *before, const json_t *after)
{
    size_t i;
    const json_t *row;
    fprintf(f, "%-56s%12s%12s%10s%10s   %s\n", "row", "before", "after", "change", "p", "plan");
    json_array_foreach(json_object_get(after, "rows"), i, row) {
        enum { NAMES = 5 };
        static const char *const names[NAMES] = {"batches", "waits", "barriers", "heap_bytes", "makespan_us"};
        char key[256];
        hbs_row_key(row, key, sizeof(key));
        const json_t *old = find_row(before, key);
        if (!old || !json_object_get(row, "total") || !json_object_get(old, "total"))
            continue;
        uint32_t n, m;
        double *a = samples_of(old, &n), *b = samples_of(row, &m), p = hbs_mann_whitney(a, n, b, m);
        double was = hbs_number(old, "total"), is = hbs_number(row, "total");
        fprintf(f, "%-56.56s%12.1f%12.1f", key, was, is);
        if (p > 0.01)
            fprintf(f, "%10s", "~");
        else
            fprintf(f, "%+9.1f%%", 100 * (is / was - 1));
        fprintf(f, "%10.2g  ", p);
        for (int k = 0; k < NAMES; k++) {
            double x = hbs_number(json_object_get(old, "quality"), names[k]),
                   y = hbs_number(json_object_get(row, "quality"), names[k]);
            if (x != y && !isnan(x) && !isnan(y))
                fprintf(f, " %s %.0f -> %.0f", names[k], x, y);
        }
        fputc('\n', f);
        free(a);
        free(b);
    }
}

void hbs_set_baseline(json_t *results, const json_t *before)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(results, "rows"), i, row) {
        char key[256];
        hbs_row_key(row, key, sizeof(key));
        const json_t *old = find_row(before, key);
        if (!old || !json_object_get(row, "total") || !json_object_get(old, "total"))
            continue;
        uint32_t n, m;
        double *a = samples_of(old, &n), *b = samples_of(row, &m);
        json_object_set_new(row, "baseline",
                            json_pack("{s:f, s:f}", "total", hbs_number(old, "total"), "p",
                                      hbs_mann_whitney(a, n, b, m)));
        free(a);
        free(b);
    }
}

json_t *hbs_merge(const json_t *const *results, uint32_t count)
{
    json_t *rows = json_array(), *environments = json_array();
    for (uint32_t r = 0; r < count; r++) {
        size_t i;
        json_t *row;
        const json_t *many = json_object_get(results[r], "environments");
        size_t first = json_array_size(environments);
        json_array_extend(environments, (json_t *)(uintptr_t)many);
        json_array_foreach(json_object_get(results[r], "rows"), i, row) {
            json_t *copy = json_deep_copy(row);
            json_object_set_new(copy, "environment",
                                json_integer((json_int_t)first +
                                             json_integer_value(json_object_get(row, "environment"))));
            json_array_append_new(rows, copy);
        }
    }
    return json_pack("{s:i, s:o, s:o}", "heddle-bench", 1, "environments", environments, "rows", rows);
}
