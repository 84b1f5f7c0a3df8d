/* The command's own words on stderr: each a whole line in one write, so that lines of
 * several processes on one terminal stay whole. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"

enum { SAY_LINE_BYTES = 1024 };

void cli_say(const char *command, const char *format, ...)
{
    char text[SAY_LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "%s: %s\n", command, text);
}

static bool progress_is_shown;

void cli_show_progress(const char *format, ...)
{
    va_list arguments;
    if (isatty(STDERR_FILENO)) {
        progress_is_shown = true;
        (void)fprintf(stderr, "\r\033[K");
        va_start(arguments, format);
        (void)vfprintf(stderr, format, arguments);
        va_end(arguments);
    }
}

void cli_clear_progress(void)
{
    if (progress_is_shown) {
        (void)fprintf(stderr, "\r\033[K");
        progress_is_shown = false;
    }
}
