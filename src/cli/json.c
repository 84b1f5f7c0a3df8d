/* What would end or break a JSON string is escaped; UTF-8 goes through as it is. */
#include <stdio.h>

#include "cli/cli.h"

void cli_json_text(const char *text)
{
    if (!text) {
        printf("null");
        return;
    }
    (void)putchar('"');
    for (; *text; text++) {
        if ((unsigned char)*text < ' ') {
            printf("\\u%04x", (unsigned)(unsigned char)*text);
        } else {
            if (*text == '"' || *text == '\\') {
                (void)putchar('\\');
            }
            (void)putchar(*text);
        }
    }
    (void)putchar('"');
}

void cli_json_member(const char *name, const char *text)
{
    printf(",\"%s\":", name);
    cli_json_text(text);
}
