/* Texts in the JSON that commands print. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdio.h>

/* A JSON string with its quotes; null for NULL. */
void cli_json_text(FILE *file, const char *text);

#endif
