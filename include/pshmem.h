/* pshmem.h: what profiling tools include. The pshmem_ names are declared beside the others. */
#ifndef PSHMEM_H
#define PSHMEM_H

#include "shmem.h"

#endif
