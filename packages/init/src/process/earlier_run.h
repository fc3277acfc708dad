/*
 * Hooks run at least once, not exactly once: the kubelet starts one again when it has been restarted, maybe beside the first, which
 * still runs. While a hook runs, a file in /dev/shm says when it began. That directory is writable even if the root is not.
 */
#ifndef LAMEDUCK_EARLIER_RUN_H
#define LAMEDUCK_EARLIER_RUN_H

#include "container.h"

struct run_record {
	char path[96]; /* "" where it is not ours to remove */
};

/*
 * When the hook of this life of the container began that has not ended since, on the clock of clock_now(); `now` where there is none.
 * One that began more than `cap` ms ago was killed, and one with another cap is another command: neither counts.
 */
double run_begins(struct run_record *record, struct main_process container, double cap, double now);

void run_ends(const struct run_record *record);

#endif
