/* A work queue with a lock: one node fills it, all of them take work from it.
 *
 *     node 0's LLCM:  lock | head | tail | jobs ...
 *
 * The node that has the lock may change the queue. If it dies with the lock, the next one gets
 * DN_EOWNERDEAD and has to look after the queue; here every change is one store of head or tail,
 * so there is nothing to repair.
 *
 *     dimmnet run -n 4 build/examples/queue */
#include <dimmnet.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 1000, LOCK = 0, HEAD = 64, TAIL = 72, DONE = 80, FIRST_JOB = 128 };

static struct dn_node *node;
static struct dn_lock *lock;

static void must(int error)
{
    if (error && error != DN_EOWNERDEAD) {
        fprintf(stderr, "queue: %s\n", dn_strerror(error));
        exit(1);
    }
}

static struct dn_remote at(uint64_t offset)
{
    return (struct dn_remote){0, DN_LLCM, offset};
}

static uint64_t read_word(uint64_t offset)
{
    uint64_t value;
    must(dn_read_u64(node, at(offset), &value));
    return value;
}

static void put_job(uint64_t job)
{
    must(dn_lock_take(lock, DN_FOREVER));
    uint64_t tail = read_word(TAIL);
    must(dn_set_u64(node, at(FIRST_JOB + tail * 8), job));
    must(dn_fence(node)); /* the job is there before the tail says so */
    must(dn_set_u64(node, at(TAIL), tail + 1));
    must(dn_lock_give(lock));
}

/* The next job, or 0 when there is none now. */
static uint64_t take_job(void)
{
    uint64_t job = 0;
    must(dn_lock_take(lock, DN_FOREVER));
    uint64_t head = read_word(HEAD);
    if (head < read_word(TAIL)) {
        job = read_word(FIRST_JOB + head * 8);
        must(dn_set_u64(node, at(HEAD), head + 1));
    }
    must(dn_lock_give(lock));
    return job;
}

int main(void)
{
    uint64_t done = 0;
    uint64_t sum = 0;
    must(dn_attach(&node, NULL));
    must(dn_lock_open(node, at(LOCK), &lock));
    must(dn_barrier(dn_team_all(node), DN_FOREVER)); /* all start together */
    for (uint64_t job = 1; dn_rank(node) == 0 && job <= JOBS; job++) {
        put_job(job);
    }
    while (read_word(DONE) < JOBS) {
        uint64_t job = take_job();
        if (job) {
            done++;
            must(dn_add_u64(node, at(DONE), 1));
            must(dn_quiet(node));
        }
        sum += job;
    }
    printf("node %d did %d jobs\n", dn_rank(node), (int)done);

    struct dn_team *all = dn_team_all(node);
    must(dn_allreduce(all, &sum, &sum, 1, DN_UINT64, DN_SUM));
    if (dn_rank(node) == 0) {
        printf("all jobs done once: %s\n", sum == JOBS * (JOBS + 1) / 2 ? "yes" : "no");
    }
    must(dn_lock_close(lock));
    must(dn_detach(node));
    return sum == JOBS * (JOBS + 1) / 2 ? 0 : 1;
}
