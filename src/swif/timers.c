/* A binary heap of timers that know their place. */
#include "swif/timers.h"

void swif_timers_init(struct swif_timers *timers, struct swif_timer **heap)
{
    *timers = (struct swif_timers){.heap = heap};
}

static void put(struct swif_timers *timers, uint32_t place, struct swif_timer *timer)
{
    timers->heap[place] = timer;
    timer->place = place;
}

static void sift(struct swif_timers *timers, uint32_t place, struct swif_timer *timer)
{
    while (place > 1 && timers->heap[place / 2]->at_ns > timer->at_ns) {
        put(timers, place, timers->heap[place / 2]);
        place /= 2;
    }
    for (;;) {
        uint32_t child = place * 2;
        if (child < timers->count && timers->heap[child + 1]->at_ns < timers->heap[child]->at_ns) {
            child++;
        }
        if (child > timers->count || timers->heap[child]->at_ns >= timer->at_ns) {
            break;
        }
        put(timers, place, timers->heap[child]);
        place = child;
    }
    put(timers, place, timer);
}

void swif_timer_set(struct swif_timers *timers, struct swif_timer *timer, uint64_t at_ns)
{
    timer->at_ns = at_ns;
    if (at_ns != SWIF_NEVER) {
        uint32_t place = timer->place ? timer->place : ++timers->count;
        sift(timers, place, timer);
    } else if (timer->place) {
        struct swif_timer *last = timers->heap[timers->count--];
        if (last != timer) {
            sift(timers, timer->place, last);
        }
        timer->place = 0;
    }
}
