/* The shortest round trip through some cities, by a shared queue of work.
 *
 * A piece of work is the beginning of a trip. A node takes the last one of the queue. A short
 * beginning is split: one for each next city goes back into the queue. A longer one is searched
 * to its end, except where it cannot become shorter than the best trip so far.
 *
 *     queue   beginnings, and how many nodes work on one: bound to one variable, small enough to
 *             come whole with each grant; a condition wakes nodes that found it empty
 *     best    the best trip so far: read before each piece of work, written when there is a
 *             better one
 *
 * The map is an ordinary variable that node 0 fills and fagus_distribute copies to all.
 *
 * The length is exactly that of a serial run. (The trip may be another one of that length.)
 *
 *     dimmnet run -n 2 build/examples/fagus/tsp [cities], 4 to 16 */
#include <stdbool.h>

#include "example.h"
#include "kernels.h"

enum { QUEUE_PLACES = 16, SPLIT_COUNT = 4 /* cities of a beginning that is searched */ };

struct queue {
    uint32_t count;
    uint32_t working; /* nodes that may still put something in */
    struct tsp_trip place[QUEUE_PLACES];
};

static struct tsp_map map;

static struct queue *queue;
static struct fagus_sync *queue_sync;
static struct fagus_condition *queue_changed;
static struct tsp_trip *best;
static struct fagus_sync *best_sync;

static void make_work(void)
{
    queue = shared(sizeof *queue, 0);
    queue_sync = variable();
    must(fagus_bind(queue_sync, queue, sizeof *queue));
    must(fagus_sync_name(queue_sync, "queue")); /* for FAGUS_STATS=1 and FAGUS_CHECK=1 */
    must(fagus_condition_create(&queue_changed));
    best = shared(sizeof *best, 0);
    best_sync = variable();
    must(fagus_bind(best_sync, best, sizeof *best));
    must(fagus_sync_name(best_sync, "best"));
    if (fagus_rank() == 0) {
        must(fagus_acquire(queue_sync, FAGUS_WRITE));
        queue->place[queue->count++] = (struct tsp_trip){.count = 1}; /* begins in city 0 */
        must(fagus_release(queue_sync));
        must(fagus_acquire(best_sync, FAGUS_WRITE));
        best->length = INT32_MAX;
        must(fagus_release(best_sync));
    }
    must(fagus_barrier(NULL));
}

/* Takes a piece of work, and waits for one if others may split theirs. False: all is done. */
static bool take_work(struct tsp_trip *work)
{
    must(fagus_acquire(queue_sync, FAGUS_WRITE));
    while (queue->count == 0 && queue->working > 0) {
        must(fagus_condition_wait(queue_changed, queue_sync));
    }
    bool is_there = queue->count > 0;
    if (is_there) {
        *work = queue->place[--queue->count];
        queue->working++;
    }
    must(fagus_release(queue_sync));
    return is_there;
}

/* Puts one longer beginning for each city into the queue, if there is room for all. */
static bool split_work(const struct tsp_trip *work)
{
    uint32_t visited = tsp_visited(work);
    must(fagus_acquire(queue_sync, FAGUS_WRITE));
    bool is_room = queue->count + (uint32_t)(map.cities - work->count) <= QUEUE_PLACES;
    for (int city = map.cities - 1; city > 0 && is_room; city--) {
        if (!(visited & UINT32_C(1) << city)) {
            queue->place[queue->count++] = tsp_with(&map, work, city);
        }
    }
    must(fagus_release(queue_sync));
    return is_room;
}

static void end_work(void)
{
    must(fagus_acquire(queue_sync, FAGUS_WRITE));
    queue->working--;
    must(fagus_condition_broadcast(queue_changed)); /* there may be work, or none any more */
    must(fagus_release(queue_sync));
}

/* Searches all trips that begin like this. */
static void do_work(const struct tsp_trip *work)
{
    must(fagus_acquire(best_sync, FAGUS_READ));
    struct tsp_trip mine = *best;
    must(fagus_release(best_sync));
    int before = mine.length;
    tsp_search(&map, work, &mine);
    if (mine.length < before) {
        must(fagus_acquire(best_sync, FAGUS_WRITE));
        if (mine.length < best->length) { /* no other node was better meanwhile */
            *best = mine;
        }
        must(fagus_release(best_sync));
    }
}

static void search(void)
{
    struct tsp_trip work;
    while (take_work(&work)) {
        if (work.count >= SPLIT_COUNT || !split_work(&work)) {
            do_work(&work);
        }
        end_work();
    }
    must(fagus_barrier(NULL));
}

/* Whether it is a round trip, and as long as it says. */
static bool is_trip(const struct tsp_trip *trip)
{
    int length = 0;
    for (int i = 0; i < map.cities; i++) {
        length += map.distance[trip->city[i]][trip->city[(i + 1) % map.cities]];
    }
    return trip->count == map.cities && length == trip->length &&
           tsp_visited(trip) == (UINT32_C(1) << map.cities) - 1;
}

int main(int argc, char **argv)
{
    static const struct parameter parameters[] = {{"cities", 4, TSP_CITIES_MAX, 15}};
    size_t cities;
    read_arguments(argc, argv, "The shortest round trip through some cities.", parameters, 1,
                   &cities);
    must(fagus_init());
    if (fagus_rank() == 0) {
        tsp_start(&map, (int)cities);
    }
    must(fagus_distribute(&map, sizeof map));
    make_work();

    double start_s = now_s();
    search();
    double seconds = now_s() - start_s;

    int status = 0;
    if (fagus_rank() == 0) {
        const struct tsp_trip begin = {.count = 1};
        struct tsp_trip alone = {.length = INT32_MAX};
        start_s = now_s();
        tsp_search(&map, &begin, &alone);
        double alone_seconds = now_s() - start_s;
        must(fagus_acquire(best_sync, FAGUS_READ));
        bool is_right = is_trip(best) && best->length == alone.length;
        must(fagus_release(best_sync));
        status = report("tsp", seconds, alone_seconds, is_right);
    }
    must(fagus_finalize());
    return status;
}
