/* UTF-8, as texts of files and names have it. */
#ifndef HDI_UTF8_H
#define HDI_UTF8_H

/* Bytes of the character that text begins with; 0: it begins with none. */
int hdi_character_bytes(const unsigned char *text);
/* Puts a question mark in place of each byte that is no part of a character. */
void hdi_utf8_clean(char *text);

#endif
