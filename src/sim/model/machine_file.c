/* Reads machine files. inih knows the INI language, but it does not tell handlers where they
 * are, silently cuts long lines in two, takes an indented line for more of the one before, and
 * does not report empty sections. So it gets its lines from here, one by one: counted, checked
 * and without indentation. */
#include "sim/model/machine_file.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool sim_file_fault(char error[SIM_ERROR_BYTES], const char *name, unsigned line,
                    const char *format, ...)
{
    va_list arguments;
    int length = snprintf(error, SIM_ERROR_BYTES, "%s:%u: ", name, line);
    if (length > 0 && length < SIM_ERROR_BYTES) {
        va_start(arguments, format);
        (void)vsnprintf(error + length, SIM_ERROR_BYTES - (size_t)length, format, arguments);
        va_end(arguments);
    }
    return false;
}

bool sim_file_said_twice(char error[SIM_ERROR_BYTES], const char *name, unsigned line,
                         const char *section, const char *key, unsigned before)
{
    return sim_file_fault(error, name, line, "[%s] %s: it is already said in line %u", section, key,
                          before);
}

bool sim_file_word(const char *const *words, unsigned count, const char *text, uint64_t *number,
                   char *fault, size_t room)
{
    size_t length = (size_t)snprintf(fault, room, "is none of");
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(words[i], text) == 0) {
            *number = i;
            return true;
        }
        length += (size_t)snprintf(fault + length, room - length, " %s", words[i]);
        INVARIANT(length < room);
    }
    return false;
}

const char *sim_file_stem(const char *path, size_t *length)
{
    const char *slash = strrchr(path, '/');
    const char *stem = slash ? slash + 1 : path;
    *length = strlen(stem);
    *length -= *length > 4 && strcmp(stem + *length - 4, ".ini") == 0 ? 4 : 0;
    return stem;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Checks the name of the section whose line inih gets next. */
static bool check_section(struct sim_file *file, const char *line, size_t length)
{
    const char *end = memchr(line, ']', length);
    if (!end) {
        return sim_file_fault(file->error, file->name, file->line, "a section ends with ]");
    }
    for (const char *rest = end + 1; rest < line + length && *rest != ';' && *rest != '#'; rest++) {
        if (!is_blank(*rest)) {
            return sim_file_fault(file->error, file->name, file->line,
                                  "there is more behind the section's ]");
        }
    }
    char name[SIM_ERROR_BYTES];
    size_t bytes = (size_t)(end - line) - 1;
    if (bytes >= sizeof name) {
        bytes = sizeof name - 1;
    }
    memcpy(name, line + 1, bytes);
    name[bytes] = '\0';
    return file->section(file->context, file->line, name);
}

static bool check_text(struct sim_file *file, const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == '\x7f') {
            return sim_file_fault(file->error, file->name, file->line, "this is no text");
        }
    }
    return true;
}

static bool check_length(struct sim_file *file, size_t length)
{
    return length <= SIM_LINE_BYTES_MAX ||
           sim_file_fault(file->error, file->name, file->line,
                          "a line of %zu bytes; %d are the most", length, SIM_LINE_BYTES_MAX);
}

/* inih asks for its lines here: like fgets. NULL at the end and after an error. */
static char *next_line(char *line, int room, void *stream)
{
    struct sim_file *file = stream;
    if (file->failed || file->at == file->length) {
        return NULL;
    }
    const char *start = file->bytes + file->at;
    const char *end = memchr(start, '\n', file->length - file->at);
    size_t length = end ? (size_t)(end - start) : file->length - file->at;
    file->at += length + (end != NULL);
    file->line++;
    length -= length > 0 && start[length - 1] == '\r';
    /* A byte order mark, which some editors write. */
    if (file->line == 1 && length >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) {
        start += 3;
        length -= 3;
    }
    while (length > 0 && is_blank(*start)) {
        start++;
        length--;
    }
    INVARIANT(room > SIM_LINE_BYTES_MAX);
    file->failed = !check_text(file, start, length) || !check_length(file, length) ||
                   (length > 0 && *start == '[' && !check_section(file, start, length));
    if (file->failed) {
        return NULL;
    }
    memcpy(line, start, length);
    line[length] = '\0';
    return line;
}

/* Builds of inih differ in whether they give the line. */
#if INI_HANDLER_LINENO
static int take_statement(void *user, const char *section, const char *key, const char *value,
                          int line)
{
    (void)line;
#else
static int take_statement(void *user, const char *section, const char *key, const char *value)
{
#endif
    struct sim_file *file = user;
    if (!key || !value || file->failed) {
        return key == NULL;
    }
    file->failed = !file->statement(file->context, file->line, section, key, value);
    return !file->failed;
}

bool sim_file_read(struct sim_file *file)
{
    file->at = 0;
    file->line = 0;
    file->failed = false;
    int result = ini_parse_stream(next_line, file, take_statement, file);
    if (result < 0) {
        return sim_file_fault(file->error, file->name, file->line, "there is no memory left");
    }
    /* If inih refused a line before the one we refused, that line is the error. */
    if (result > 0 && (!file->failed || (unsigned)result < file->line)) {
        return sim_file_fault(file->error, file->name, (unsigned)result,
                              "this is neither a [section] nor key = value | source");
    }
    return !file->failed;
}

/* Cuts off the blanks at both ends, in place. */
static char *trim(char *text)
{
    while (is_blank(*text)) {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1])) {
        length--;
    }
    text[length] = '\0';
    return text;
}

const char *sim_file_split(const char *value, char text[SIM_VALUE_BYTES])
{
    (void)snprintf(text, SIM_VALUE_BYTES, "%s", value);
    char *source = text + strcspn(text, "|");
    if (*source) {
        *source++ = '\0';
    }
    const char *wanted = trim(text);
    memmove(text, wanted, strlen(wanted) + 1);
    return trim(source);
}

char *sim_file_fetch(const char *path, size_t *length, struct sim_file_identity *identity,
                     const char **fault)
{
    struct stat status;
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        *fault = strerror(errno);
        return NULL;
    }
    char *bytes = malloc(SIM_FILE_BYTES_MAX);
    *fault = NULL;
    if (!bytes || fstat(fileno(stream), &status) != 0) {
        *fault = strerror(errno);
    } else {
        *length = fread(bytes, 1, SIM_FILE_BYTES_MAX, stream);
        if (ferror(stream)) {
            *fault = strerror(errno);
        } else if (*length == SIM_FILE_BYTES_MAX) {
            *fault = "it is too large for such a file";
        }
    }
    (void)fclose(stream);
    if (*fault) {
        free(bytes);
        return NULL;
    }
    *identity = (struct sim_file_identity){(uint64_t)status.st_dev, (uint64_t)status.st_ino};
    return bytes;
}
