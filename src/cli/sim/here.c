/* The file of this machine. */
#include "cli/sim/here.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cli_here_path(char path[CLI_HERE_BYTES])
{
    const char *named = getenv("DIMMNET_HERE");
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int bytes;
    if (named && *named) {
        bytes = snprintf(path, CLI_HERE_BYTES, "%s", named);
    } else if (cache && *cache == '/') {
        bytes = snprintf(path, CLI_HERE_BYTES, "%s/dimmnet/here.ini", cache);
    } else if (home && *home == '/') {
        bytes = snprintf(path, CLI_HERE_BYTES, "%s/.cache/dimmnet/here.ini", home);
    } else {
        return false;
    }
    return bytes > 0 && bytes < CLI_HERE_BYTES;
}

bool cli_here_make_folders(const char *path)
{
    char folder[CLI_HERE_BYTES];
    (void)snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
            return false;
        }
        *slash = '/';
    }
    return true;
}
