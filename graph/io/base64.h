/* Bytes as text, by RFC 4648: four characters for three bytes, with padding. */
#ifndef HDI_BASE64_H
#define HDI_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void hdi_base64_write(const uint8_t *bytes, size_t count, FILE *file);
/* How many bytes the text gives, if it is base64 at all. */
size_t hdi_base64_bytes(const char *text, size_t characters);
/* out: room for as many. False: the text is no base64. */
bool hdi_base64_read(const char *text, size_t characters, uint8_t *out);

#endif
