/* Environment and start of attached programs. */
#define _GNU_SOURCE
#include "cli/sim/subnet_attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const places[] = {
    "/usr/lib/*/umad2sim/libumad2sim.so",
    "/usr/lib64/umad2sim/libumad2sim.so",
    "/usr/lib/umad2sim/libumad2sim.so",
    "/usr/local/lib*/umad2sim/libumad2sim.so",
    NULL,
};

static bool keep(struct subnet_attach *attach, const char *path)
{
    int chars = snprintf(attach->library, sizeof attach->library, "%s", path);
    return chars > 0 && (size_t)chars < sizeof attach->library && access(path, R_OK) == 0;
}

bool subnet_attach_find(struct subnet_attach *attach, const char *library)
{
    bool found = library && keep(attach, library);
    for (const char *const *place = places; *place && !library && !found; place++) {
        glob_t paths;
        if (glob(*place, 0, NULL, &paths) == 0) {
            found = keep(attach, paths.gl_pathv[0]);
            globfree(&paths);
        }
    }
    if (!found) {
        attach->library[0] = '\0';
    }
    return found;
}

void subnet_attach_print(const struct subnet_attach *attach)
{
    printf("Programs attach with\n"
           "    export LD_PRELOAD=%s\n"
           "    export IBSIM_SOCKNAME=%s\n"
           "    export SIM_HOST='%s'    # or any other board's name\n",
           attach->library[0] ? attach->library
                              : ".../umad2sim/libumad2sim.so # not found: package libumad2sim0",
           attach->socket, attach->host);
}

static void set_environment(const struct subnet_attach *attach)
{
    char preload[2 * SUBNET_ATTACH_PATH_BYTES];
    const char *before = getenv("LD_PRELOAD");
    (void)snprintf(preload, sizeof preload, "%s%s%s", attach->library, before ? ":" : "",
                   before ? before : "");
    (void)setenv("LD_PRELOAD", preload, 1);
    (void)setenv("IBSIM_SOCKNAME", attach->socket, 1);
    (void)setenv("SIM_HOST", attach->host, 1);
    /* Over UDP the library would look for another server. */
    (void)unsetenv("IBSIM_SERVER_NAME");
    (void)unsetenv("IBSIM_SERVER_PORT");
    if (attach->folder[0]) {
        (void)setenv("OSM_TMP_DIR", attach->folder, 0);
        (void)setenv("OSM_CACHE_DIR", attach->folder, 0);
    }
}

bool subnet_attach_folder(struct subnet_attach *attach)
{
    if (!attach->folder[0]) {
        (void)snprintf(attach->folder, sizeof attach->folder, "/tmp/dimmnet-subnet-XXXXXX");
        if (!mkdtemp(attach->folder)) {
            attach->folder[0] = '\0';
        }
    }
    return attach->folder[0] != '\0';
}

pid_t subnet_attach_start(struct subnet_attach *attach, char *const *argv)
{
    int told[2];
    int why = 0;
    (void)subnet_attach_folder(attach);
    if (pipe2(told, O_CLOEXEC) != 0) {
        return -1;
    }
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        /* It shall not be left without its subnet. */
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() == parent) {
            set_environment(attach);
            int output = attach->output
                             ? open(attach->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                             : -1;
            if (output >= 0) {
                (void)dup2(output, STDOUT_FILENO);
                (void)dup2(output, STDERR_FILENO);
            }
            (void)execvp(argv[0], argv);
        }
        why = errno;
        (void)!write(told[1], &why, sizeof why);
        _exit(127);
    }
    (void)close(told[1]);
    if (child > 0 && read(told[0], &why, sizeof why) == (ssize_t)sizeof why) {
        child = -1;
        errno = why;
    }
    why = errno;
    (void)close(told[0]);
    errno = why;
    return child;
}

void subnet_attach_clean(struct subnet_attach *attach)
{
    DIR *folder = attach->folder[0] ? opendir(attach->folder) : NULL;
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder) {
        (void)closedir(folder);
        (void)rmdir(attach->folder);
    }
    attach->folder[0] = '\0';
}
