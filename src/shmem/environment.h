/* The environment that OpenSHMEM programs know. */
#ifndef SHMEM_ENVIRONMENT_H
#define SHMEM_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

struct shmem_environment {
    bool version;
    bool info;
    bool debug;
    uint64_t symmetric_bytes; /* 0: not given */
};

/* Ends the job with a sentence when a value cannot be read. */
void shmem_environment_read(const char *call, struct shmem_environment *environment)
    __attribute__((visibility("hidden")));

/* Prints what SHMEM_VERSION and SHMEM_INFO ask for. */
void shmem_environment_show(const struct shmem_environment *environment)
    __attribute__((visibility("hidden")));

#endif
