/* How fast the simulator's event heap is: the hold model, in which each event that is taken
 * puts another one at a later time, so that as many as ever are pending.
 *
 *     ninja -C build bench_events && build/bench_events
 *
 * "anywhere": at any time within a microsecond. "stages": after one of eight delays as the
 * stages of a NIC have them, which gives many events of the same time. The check sum is over
 * the order of all events: it says whether two heaps do the same. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/random.h"
#include "sim/event.h"

enum { HOLDS = 2000000, ROUNDS = 5 };

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t delay_ps(struct base_random *random, bool is_stages)
{
    static const uint64_t stages[8] = {10000, 30000, 15000, 132000, 240000, 7500, 20000, 0};
    uint64_t drawn = base_random_next(random);
    return is_stages ? stages[drawn % 8] : drawn % (UINT64_C(1) << 20);
}

static void measure(uint32_t pending, bool is_stages)
{
    struct base_random random = {1};
    struct sim_events events = {0};
    struct sim_event event;
    uint64_t sum = 0;
    double best_s = 0;
    for (uint32_t i = 0; i < pending; i++) {
        sim_events_put(&events, base_random_below(&random, UINT64_C(1) << 20), i % 7, i, i);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        double start_s = now_s();
        for (uint32_t i = 0; i < HOLDS; i++) {
            (void)sim_events_take(&events, &event);
            sum = sum * 31 + event.order + event.subject;
            sim_events_put(&events, event.at + delay_ps(&random, is_stages), event.kind,
                           event.subject, event.value);
        }
        double took_s = now_s() - start_s;
        best_s = round == 0 || took_s < best_s ? took_s : best_s;
    }
    printf("%-9s %7" PRIu32 " %9.1f %9.1f   %016" PRIx64 "\n", is_stages ? "stages" : "anywhere",
           pending, best_s / HOLDS * 1e9, HOLDS / best_s * 1e-6, sum);
    sim_events_free(&events);
}

int main(void)
{
    printf("%-9s %7s %9s %9s   %s\n", "next", "pending", "ns/event", "M/s", "check sum");
    for (unsigned is_stages = 0; is_stages < 2; is_stages++) {
        for (uint32_t pending = 10; pending <= 1000000; pending *= 10) {
            measure(pending, is_stages);
        }
    }
    return 0;
}
