/* Where `dimmnet sim calibrate` keeps what it found, and `--fabric sim:here` looks for it. */
#ifndef CLI_SIM_HERE_H
#define CLI_SIM_HERE_H

#include "base/base.h"

enum { CLI_HERE_BYTES = 4096 };

/* The name by which programs ask for this machine. */
#define CLI_HERE_NAME "here"

/* The file's path: DIMMNET_HERE, or dimmnet/here.ini in the user's cache folder. False: there is
 * neither that variable nor a home. */
bool cli_here_path(char path[CLI_HERE_BYTES]);
/* Makes the folders of a path that are missing; false and errno. */
bool cli_here_make_folders(const char *path);

#endif
