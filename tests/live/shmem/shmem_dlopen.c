/* PEs that open the library while they run, for themselves alone, as interpreters do, and close it
 * before they end. usage: shmem_dlopen finalize|leave */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char library_name[] = "libdimmnet-shmem.so.0";

static struct {
    void (*init)(void);
    void (*finalize)(void);
    int (*my_pe)(void);
    int (*n_pes)(void);
    void *(*calloc)(size_t count, size_t size);
    void (*long_p)(long *dest, long value, int pe);
    long (*long_g)(const long *source, int pe);
    void (*barrier_all)(void);
} shmem;

static void require(int is_true, const char *what)
{
    if (!is_true) {
        printf("FAIL %s\n", what);
        exit(1);
    }
}

/* Stores the function's address in a pointer of any type. */
static void find(void *library, const char *name, void *pointer)
{
    void *function = dlsym(library, name);
    require(function != NULL, name);
    memcpy(pointer, &function, sizeof function);
}

static void *open_library(void)
{
    require(!dlopen(library_name, RTLD_NOW | RTLD_NOLOAD), "the program is not linked with it");
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    require(library != NULL, "it opens");
    require(!dlsym(RTLD_DEFAULT, "shmem_init"), "its names are its own");
    find(library, "shmem_init", &shmem.init);
    find(library, "shmem_finalize", &shmem.finalize);
    find(library, "shmem_my_pe", &shmem.my_pe);
    find(library, "shmem_n_pes", &shmem.n_pes);
    find(library, "shmem_calloc", &shmem.calloc);
    find(library, "shmem_long_p", &shmem.long_p);
    find(library, "shmem_long_g", &shmem.long_g);
    find(library, "shmem_barrier_all", &shmem.barrier_all);
    return library;
}

/* Each PE tells its right neighbour its number, and looks what that one was told. */
static void talk(void)
{
    int me = shmem.my_pe();
    int count = shmem.n_pes();
    long *left = shmem.calloc(1, sizeof *left);
    require(left != NULL, "there is a heap");
    shmem.long_p(left, me + 1, (me + 1) % count);
    shmem.barrier_all();
    require(*left == (me + count - 1) % count + 1, "a word arrives");
    require(shmem.long_g(left, (me + 1) % count) == me + 1, "a word is read");
}

int main(int argc, char **argv)
{
    void *library = open_library();
    shmem.init();
    talk();
    if (argc > 1 && strcmp(argv[1], "finalize") == 0) {
        shmem.finalize();
    }
    require(dlclose(library) == 0, "it closes");
    puts("ok");
    return 0;
}
