/* Programs that are started with all that attaches them to a simulated subnet. */
#ifndef CLI_SIM_SUBNET_ATTACH_H
#define CLI_SIM_SUBNET_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

enum { SUBNET_ATTACH_PATH_BYTES = 512 };

struct subnet_attach {
    char library[SUBNET_ATTACH_PATH_BYTES]; /* umad2sim's */
    const char *socket;                     /* the server's name */
    const char *host;                       /* the node description of the board to be */
    const char *output; /* a file for what a program prints; NULL: it prints where we do */
    char folder[64];    /* for OpenSM's files; "": none was made */
};

/* Finds the library: at that path, or, if it is NULL, where distributions have it. */
bool subnet_attach_find(struct subnet_attach *attach, const char *library);

/* Prints the lines that attach programs of a shell. */
void subnet_attach_print(const struct subnet_attach *attach);

/* Makes the folder, if there is none yet. */
bool subnet_attach_folder(struct subnet_attach *attach);

/* Starts a program; OpenSM's files go to a folder of its own, unless the environment says where.
 * -1: it failed, and errno says why. */
pid_t subnet_attach_start(struct subnet_attach *attach, char *const *argv);
/* Removes the folder with what is in it. */
void subnet_attach_clean(struct subnet_attach *attach);

#endif
