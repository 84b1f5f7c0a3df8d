/* Processes made by a PE, in all the ways there are: a child has a copy of the static variables as
 * they were, and never changes the PE's own. Linked statically, the C library's and this library's
 * variables are among them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <shmem.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 3000, TIMES = 50 };

extern char **environ;

static long words[WORDS];             /* in .bss */
static long first_words[WORDS] = {7}; /* in .data */
static long handler_calls;            /* of a handler of the program's own */
static long arrived;

#define require(condition)                                                               \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "FAIL %s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

static void fill(long value)
{
    for (int i = 0; i < WORDS; i++) {
        words[i] = first_words[i] = value;
    }
}

static int all_are(long value)
{
    int same = 1;
    for (int i = 0; i < WORDS; i++) {
        same &= words[i] == value && first_words[i] == value;
    }
    return same;
}

static void count_call(void)
{
    handler_calls++;
}

static void expect_status(pid_t child, int wanted)
{
    int status;
    require(child > 0 && waitpid(child, &status, 0) == child);
    require(WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

/* What a child may do: write its variables, allocate, print, fork. */
static void be_a_child(int *go, long known)
{
    char byte;
    int well = read(go[0], &byte, 1) == 1 && all_are(known) && handler_calls == 1;
    fill(-1);
    void *memory = malloc(100000);
    printf("child\n");
    well = well && memory && fflush(stdout) == 0;
    free(memory);
    pid_t child = fork();
    if (child == 0) {
        _exit(all_are(-1) ? 5 : 1);
    }
    expect_status(child, 5);
    /* By exit(): what is registered with it runs, too, and is not the PE's end. */
    exit(well ? 3 : 1);
}

static void fork_once(long known)
{
    int go[2];
    require(pipe(go) == 0);
    fill(known);
    pid_t child = fork();
    if (child == 0) {
        be_a_child(go, known);
    }
    fill(known + 1);
    require(write(go[1], "", 1) == 1);
    expect_status(child, 3);
    require(all_are(known + 1) && handler_calls == 0);
    close(go[0]);
    close(go[1]);
}

static void *return_argument(void *argument)
{
    return argument;
}

static void *fork_in_a_thread(void *argument)
{
    for (long i = 0; i < TIMES / 10; i++) {
        fork_once(1000 + 2 * i);
    }
    return argument;
}

/* The C library of the PE works as before. */
static void use_the_library(void)
{
    pthread_t thread;
    void *result = NULL;
    char *text = NULL;
    require(asprintf(&text, "%d", 42) == 2 && strcmp(text, "42") == 0);
    free(text);
    require(pthread_create(&thread, NULL, return_argument, words) == 0);
    require(pthread_join(thread, &result) == 0 && result == words);
}

static void start_programs(void)
{
    char program[] = "sh", option[] = "-c", command[] = "exit 4";
    char *arguments[] = {program, option, command, NULL};
    char line[16] = "";
    pid_t child;
    fill(20);
    require(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0);
    expect_status(child, 4);
    require(WEXITSTATUS(system("exit 6")) == 6);
    FILE *pipe = popen("echo here", "r");
    require(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "here\n") == 0);
    require(pclose(pipe) == 0);
    child = vfork();
    if (child == 0) {
        _exit(9);
    }
    expect_status(child, 9);
    require(all_are(20));
}

int main(void)
{
    pthread_t thread;
    require(pthread_atfork(NULL, NULL, count_call) == 0);
    shmem_init();
    int next = (shmem_my_pe() + 1) % shmem_n_pes();
    for (long i = 0; i < TIMES; i++) {
        fork_once(2 * i);
        use_the_library();
    }
    require(pthread_create(&thread, NULL, fork_in_a_thread, NULL) == 0);
    require(pthread_join(thread, NULL) == 0);
    start_programs();
    use_the_library();
    shmem_long_atomic_inc(&arrived, next);
    shmem_barrier_all();
    require(arrived == 1);
    shmem_finalize();
    require(all_are(20));
    fork_once(30);
    printf("ok\n");
    return 0;
}
