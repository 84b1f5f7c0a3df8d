/* The search of execvp, without running anything. */
#define _GNU_SOURCE
#include "cli/launch/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0 when the kernel would at least try to run it, else an errno. */
static int check_program(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return EACCES;
    }
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

static int check_in_folder(const char *folder, size_t folder_bytes, const char *name, char **path)
{
    /* An empty entry of PATH is the current folder. */
    int length = folder_bytes == 0 ? asprintf(path, "./%s", name)
                                   : asprintf(path, "%.*s/%s", (int)folder_bytes, folder, name);
    if (length < 0) {
        *path = NULL;
        return ENOMEM;
    }
    int error = check_program(*path);
    if (error) {
        free(*path);
        *path = NULL;
    }
    return error;
}

int launch_program_find(const char *name, char **path)
{
    if (*name == '\0') {
        return ENOENT;
    }
    if (strchr(name, '/')) {
        int error = check_program(name);
        if (error) {
            return error;
        }
        *path = strdup(name);
        return *path ? 0 : ENOMEM;
    }
    const char *folders = getenv("PATH");
    if (!folders) {
        folders = "/bin:/usr/bin";
    }
    bool denied = false;
    for (const char *folder = folders;; folder++) {
        size_t bytes = strcspn(folder, ":");
        char *found;
        int error = check_in_folder(folder, bytes, name, &found);
        if (error == 0 || error == ENOMEM) {
            *path = found;
            return error;
        }
        /* A later folder may hold one that can be run. */
        denied = denied || error == EACCES;
        folder += bytes;
        if (*folder == '\0') {
            return denied ? EACCES : ENOENT;
        }
    }
}
