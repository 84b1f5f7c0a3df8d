/* The table of launchers. */
#define _GNU_SOURCE
#include "host/job.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size_text.h"
#include "dimmnet.h"
#include "fabric/fabric.h"

/* A launcher is known by the variables that it gives to each process. */
static const struct launcher {
    const char *called;
    const char *rank;
    const char *size;       /* NULL: it does not tell */
    const char *local_size; /* how many of the job's processes are on this host */
    /* What names the job: the values of variables, of which the first must be there; or else the
     * process at the other end of a socket whose number a variable gives. */
    const char *names[3];
    const char *socket;
    /* What to say by that socket, with the status behind it, before the process that ends the job
     * ends; NULL: nothing, the status of the first one is the job's. */
    const char *last_words;
} launchers[] = {
    {
        .called = "Open MPI's mpirun",
        .rank = "OMPI_COMM_WORLD_RANK",
        .size = "OMPI_COMM_WORLD_SIZE",
        .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
        /* The first is a hash of 16 bits and a count; the others are random numbers of the job and
         * the address of its mpirun. */
        .names = {"PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports", "PMIX_SERVER_URI2"},
    },
    {
        .called = "MPICH's mpiexec",
        .rank = "PMI_RANK",
        .size = "PMI_SIZE",
        .local_size = "MPI_LOCALNRANKS",
        .socket = "PMI_FD",
        /* When one process has ended without MPI_Finalize it kills the others at once, and then
         * their end is the job's. */
        .last_words = "cmd=abort exitcode=",
    },
    {
        .called = "MPICH's mpiexec -pmi-port",
        .rank = "PMI_ID",
        .local_size = "MPI_LOCALNRANKS",
        .names = {"PMI_PORT"},
    },
};

/* Mixes more bytes into a number (FNV-1a): names differ where what they are made of does. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Who is at the other end of the socket whose number a variable gives; 0: it is no socket. */
static pid_t process_behind(const char *variable, int *socket)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    uint64_t fd;
    if (!fabric_environment_number(variable, INT32_MAX, &fd) ||
        getsockopt((int)fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        return 0;
    }
    *socket = (int)fd;
    return peer.pid;
}

static bool mix_socket(const char *variable, uint64_t *hash)
{
    int socket;
    pid_t process = process_behind(variable, &socket);
    *hash = mix(*hash, &process, sizeof process);
    return process > 0;
}

static bool mix_names(const struct launcher *launcher, uint64_t *hash)
{
    for (unsigned i = 0; i < 3 && launcher->names[i]; i++) {
        const char *value = getenv(launcher->names[i]);
        if (!value && i == 0) {
            return false;
        }
        /* With its end, so that two values are never taken for one. */
        *hash = value ? mix(*hash, value, strlen(value) + 1) : *hash;
    }
    return true;
}

/* Two containers may have one network, and so one space of names, but processes of equal
 * numbers. */
static uint64_t process_space(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static bool name_job(const struct launcher *launcher, struct host_job *job)
{
    uint64_t space = process_space();
    /* Two hashes that begin differently, as the first alone is short. */
    uint64_t one = mix(UINT64_C(0xcbf29ce484222325), &space, sizeof space);
    uint64_t other = mix(~one, launcher->rank, strlen(launcher->rank));
    bool named = launcher->socket
                     ? mix_socket(launcher->socket, &one) && mix_socket(launcher->socket, &other)
                     : mix_names(launcher, &one) && mix_names(launcher, &other);
    (void)snprintf(job->name, sizeof job->name, "dimmnet-job-%u-%016llx%016llx",
                   (unsigned)geteuid(), (unsigned long long)one, (unsigned long long)other);
    return named;
}

static int refuse(char sentence[HOST_SENTENCE_BYTES], const char *launcher, const char *why)
{
    (void)snprintf(sentence, HOST_SENTENCE_BYTES, "%s started this process, %s", launcher, why);
    return DN_EGROUP;
}

/* Whether this launcher has started the process, by what its variables say. */
static bool has_started(const struct launcher *launcher, struct host_job *job, uint64_t *local)
{
    uint64_t rank;
    uint64_t size = 0;
    if (!fabric_environment_number(launcher->rank, UINT32_MAX - 1, &rank) ||
        !fabric_environment_number(launcher->local_size, UINT32_MAX, local) ||
        (launcher->size && (!fabric_environment_number(launcher->size, UINT32_MAX, &size) ||
                            rank >= size || *local > size || *local == 0))) {
        return false;
    }
    *job = (struct host_job){
        .launcher = launcher->called, .rank = (uint32_t)rank, .size = (uint32_t)size};
    return true;
}

/* ---- The end --------------------------------------------------------------------------- */

/* Of the job that this process has joined, or tried to. */
static const struct launcher *found;
static pid_t found_behind; /* its socket; 0: it has none, or needs no words */

static _Atomic int wanted = -1; /* the status */
static pid_t wanted_by;

void host_job_note_end(int status)
{
    wanted_by = getpid();
    atomic_store(&wanted, status & 0xff);
}

/* Exit functions of the program have run, and what stdio holds must be out before the launcher
 * kills. The MPI library may have closed the socket, and its number be another file's. */
__attribute__((destructor)) static void say_last_words(void)
{
    int status = atomic_load(&wanted);
    int socket;
    if (!found || found_behind == 0 || status < 0 || wanted_by != getpid()) {
        return;
    }
    (void)fflush(NULL);
    if (process_behind(found->socket, &socket) == found_behind) {
        char words[64];
        int length = snprintf(words, sizeof words, "%s%d\n", found->last_words, status);
        (void)send(socket, words, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* ---- The beginning --------------------------------------------------------------------- */

int host_job_find(struct host_job *job, char sentence[HOST_SENTENCE_BYTES])
{
    const struct launcher *launcher = launchers;
    const struct launcher *end = launchers + sizeof launchers / sizeof launchers[0];
    uint64_t local = 0;
    while (launcher < end && !has_started(launcher, job, &local)) {
        launcher++;
    }
    if (launcher == end || job->size == 1) {
        *job = (struct host_job){.launcher = NULL};
        return 0;
    }
    if (!launcher->size) {
        return refuse(sentence, launcher->called,
                      "and does not say how many there are: leave "
                      "-pmi-port out");
    }
    if (local != job->size) {
        return refuse(sentence, launcher->called,
                      "and others of its job on other hosts: start a job of several hosts with "
                      "dimmnet run --hosts");
    }
    if (job->size > GROUP_NODES_MAX) {
        return refuse(sentence, launcher->called, "in a job of more processes than a group has");
    }
    if (!name_job(launcher, job)) {
        return refuse(sentence, launcher->called,
                      launcher->socket ? "but its socket is closed: join before MPI_Finalize"
                                       : "but has not named the job");
    }
    int socket;
    found = launcher;
    found_behind = launcher->last_words ? process_behind(launcher->socket, &socket) : 0;
    return 0;
}
