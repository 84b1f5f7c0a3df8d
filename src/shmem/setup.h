/* The beginning and the end of a job. */
#ifndef SHMEM_SETUP_H
#define SHMEM_SETUP_H

#include <stdbool.h>

/* Notes that the job is to end with this status. False: somebody has done so already, and
 * *status becomes that one's. */
bool shmem_want_end(int *status) __attribute__((visibility("hidden")));

/* Ends this process with the status of the job; the launcher ends the others. A PE that was not
 * the first leaves the end to the first one, which may still be saying why. */
_Noreturn void shmem_end(bool first, int status) __attribute__((cold, visibility("hidden")));

/* Whether every other PE has begun to finalize: this PE can wait for nobody any more. */
bool shmem_others_finalize(void) __attribute__((visibility("hidden")));

#endif
