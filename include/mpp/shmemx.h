/* mpp/shmemx.h: the place of shmemx.h in older programs. */
#include "../shmemx.h"
