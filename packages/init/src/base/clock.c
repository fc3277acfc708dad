#include "clock.h"

#include <time.h>

static double milliseconds_of(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

double clock_now(void)
{
	return milliseconds_of(CLOCK_MONOTONIC);
}

double clock_used(void)
{
	return milliseconds_of(CLOCK_PROCESS_CPUTIME_ID);
}
