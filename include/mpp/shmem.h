/* mpp/shmem.h: the place of shmem.h in older programs. */
#include "../shmem.h"
