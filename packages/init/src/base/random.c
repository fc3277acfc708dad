#include "random.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint32_t random_number(void)
{
	uint32_t number;
	if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number)
		return number;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint32_t)now.tv_nsec ^ ((uint32_t)getpid() << 16);
}
