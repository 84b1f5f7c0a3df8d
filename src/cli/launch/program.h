/* Finding the program to run. */
#ifndef CLI_LAUNCH_PROGRAM_H
#define CLI_LAUNCH_PROGRAM_H

/* Finds what execvp would run for this name: gives 0 and a string to free, or an errno. Looking
 * once here saves every node the walk through PATH. */
int launch_program_find(const char *name, char **path);

#endif
