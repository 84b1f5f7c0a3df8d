/* shmemx.h: extensions of OpenSHMEM. This library has none; the specification wants the
 * file. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#endif
