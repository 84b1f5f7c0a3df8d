/* The command's own words on stderr: each a whole line in one write, so that lines of
 * several processes on one terminal stay whole. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"

enum { SAY_LINE_BYTES = 1024 };

static void say(const char *command, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void say(const char *command, const char *format, va_list arguments)
{
    char text[SAY_LINE_BYTES];
    (void)vsnprintf(text, sizeof text, format, arguments);
    (void)fprintf(stderr, "%s: %s\n", command, text);
}

void cli_say(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(command, format, arguments);
    va_end(arguments);
}

int cli_refuse(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(command, format, arguments);
    va_end(arguments);
    return CLI_USAGE;
}

int cli_fail(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(command, format, arguments);
    va_end(arguments);
    return CLI_FAULT;
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
