/* Parsing lines and words, and assigning ranks. */
#define _GNU_SOURCE
#include "cli/remote/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "group/memory.h"

enum {
    HOSTS_MAX = GROUP_NODES_MAX,
    FILE_BYTES_MAX = 4 << 20,
};

static const char blanks[] = " \t\r\v\f";

/* The fault of a word, or NULL. */
static const char *take_word(struct hosts_entry *entry, const char *word)
{
    uint64_t slots;
    if (strncmp(word, "slots=", 6) == 0) {
        if (!base_number_parse(word + 6, GROUP_NODES_MAX, &slots) || slots == 0) {
            return "slots takes a number from 1 to 4096";
        }
        if (entry->slots) {
            return "slots is given twice";
        }
        entry->slots = (uint32_t)slots;
        return NULL;
    }
    if (strncmp(word, "address=", 8) == 0) {
        if (entry->address || word[8] == '\0') {
            return "one address is needed";
        }
        entry->address = strdup(word + 8);
        return entry->address ? NULL : "no memory";
    }
    return "slots=N and address=A are what may follow a host";
}

/* Cuts the line at its blanks. */
static const char *take_line(struct hosts *hosts, char *line)
{
    char *rest;
    line[strcspn(line, "#")] = '\0';
    const char *word = strtok_r(line, blanks, &rest);
    if (!word) {
        return NULL;
    }
    /* The name becomes a word of a command, where it would be an option. */
    if (*word == '-') {
        return "a host's name does not start with \"-\"";
    }
    if (strchr(word, '=')) {
        return "a line starts with a host's name";
    }
    if (hosts->count == HOSTS_MAX) {
        return "too many hosts";
    }
    struct hosts_entry *entry = &hosts->entries[hosts->count++];
    *entry = (struct hosts_entry){.name = strdup(word)};
    const char *fault = entry->name ? NULL : "no memory";
    while (!fault && (word = strtok_r(NULL, blanks, &rest)) != NULL) {
        fault = take_word(entry, word);
    }
    entry->slots = entry->slots ? entry->slots : 1;
    hosts->slots += entry->slots;
    return fault;
}

bool remote_hosts_parse(const char *text, struct hosts *hosts, char fault[HOSTS_FAULT_BYTES])
{
    *hosts = (struct hosts){0};
    hosts->entries = calloc(HOSTS_MAX, sizeof *hosts->entries);
    char *copy = strdup(text);
    const char *wrong = hosts->entries && copy ? NULL : "no memory";
    unsigned number = 1;
    char *rest = copy;
    for (char *line; !wrong && (line = strsep(&rest, "\n")) != NULL; number++) {
        wrong = take_line(hosts, line);
    }
    free(copy);
    if (wrong) {
        (void)snprintf(fault, HOSTS_FAULT_BYTES, "line %u: %s", number - 1, wrong);
        return false;
    }
    if (hosts->count == 0) {
        (void)snprintf(fault, HOSTS_FAULT_BYTES, "it names no host");
        return false;
    }
    return true;
}

/* NULL and errno, or the whole file with a 0 behind it. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(FILE_BYTES_MAX + 1) : NULL;
    size_t length = text ? fread(text, 1, FILE_BYTES_MAX, file) : 0;
    int error = !text || ferror(file) ? errno : length == FILE_BYTES_MAX ? EFBIG : 0;
    if (file) {
        (void)fclose(file);
    }
    if (error) {
        free(text);
        errno = error;
        return NULL;
    }
    text[length] = '\0';
    return text;
}

bool remote_hosts_read(const char *path, struct hosts *hosts, char fault[HOSTS_FAULT_BYTES])
{
    *hosts = (struct hosts){0};
    char *text = read_text(path);
    if (!text) {
        (void)snprintf(fault, HOSTS_FAULT_BYTES, "%s", strerror(errno));
        return false;
    }
    bool good = remote_hosts_parse(text, hosts, fault);
    free(text);
    return good;
}

bool remote_hosts_assign(struct hosts *hosts, uint32_t node_count)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < hosts->count; i++) {
        struct hosts_entry *entry = &hosts->entries[i];
        uint32_t left = node_count - next;
        entry->rank_first = next;
        entry->rank_count = entry->slots < left ? entry->slots : left;
        next += entry->rank_count;
    }
    return next == node_count;
}

void remote_hosts_release(struct hosts *hosts)
{
    for (uint32_t i = 0; i < hosts->count; i++) {
        free(hosts->entries[i].name);
        free(hosts->entries[i].address);
    }
    free(hosts->entries);
    *hosts = (struct hosts){0};
}
