/* Checks that an OpenSHMEM program gets what its environment asks for: argument 1 is the size of an
 * allocation that must fit, argument 2 one that must not. */
#include "shmem_spec.h"

int main(int argc, char **argv)
{
    require(argc > 2);
    shmem_init();
    spec_begin();
    size_t fits = strtoull(argv[1], NULL, 10);
    size_t too_much = strtoull(argv[2], NULL, 10);
    char *memory = shmem_malloc(fits);
    require_else(memory, "%zu bytes do not fit", fits);
    /* Both ends are there, on this PE and on others. */
    memory[0] = 1;
    shmem_char_p(&memory[fits - 1], (char)(me.rank + 1), live_neighbour(1));
    shmem_barrier_all();
    require(memory[fits - 1] == (char)(live_neighbour(-1) + 1));
    shmem_free(memory);
    require_else(!shmem_malloc(too_much), "%zu bytes fit", too_much);
    me.check = "environment";
    live_say_ok();
    shmem_finalize();
    return 0;
}
