/* Texts in the JSON that commands print. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

/* Prints a JSON string with its quotes; null for NULL. */
void cli_json_text(const char *text);

#endif
