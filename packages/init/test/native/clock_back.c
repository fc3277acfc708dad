/* LD_PRELOAD: the wall clock goes back by an hour once the file CLOCK_BACK exists; for this process alone. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void)
{
	const char *path = getenv("CLOCK_BACK");
	return path && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0 ? -3600 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		time->tv_sec += shift();
	return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	struct timespec now;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	time->tv_sec = now.tv_sec;
	time->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *at)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (at)
		*at = now.tv_sec;
	return now.tv_sec;
}
