/* What would end or break a JSON string is escaped; UTF-8 goes through as it is. */
#include "cli/json.h"

void cli_json_text(FILE *file, const char *text)
{
    if (!text) {
        (void)fputs("null", file);
        return;
    }
    (void)fputc('"', file);
    for (; *text; text++) {
        if ((unsigned char)*text < ' ') {
            (void)fprintf(file, "\\u%04x", (unsigned)(unsigned char)*text);
        } else {
            if (*text == '"' || *text == '\\') {
                (void)fputc('\\', file);
            }
            (void)fputc(*text, file);
        }
    }
    (void)fputc('"', file);
}
