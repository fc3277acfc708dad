#ifndef LAMEDUCK_EARLIER_RUN_H
#define LAMEDUCK_EARLIER_RUN_H

/*
 * When this container's preStop hook first ran, on the clock of clock_now(): hooks run at least once, not exactly once. It is kept
 * in /dev/shm, which is writable even where the root is not; `now` where nothing is known or nothing can be written.
 */
double earlier_run_began(double now);

#endif
