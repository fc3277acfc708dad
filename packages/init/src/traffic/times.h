/* When connections of one kind came: the latest of them. */
#pragma once

#include <stddef.h>

enum { MOST_TIMES = 32 };

struct times {
	double first; /* of all noted */
	double ring[MOST_TIMES];
	size_t count; /* of all noted */
};

static inline size_t times_kept(const struct times *times)
{
	return times->count < MOST_TIMES ? times->count : MOST_TIMES;
}

/* When a kept one came; `age` 0 is the latest. */
static inline double times_at(const struct times *times, size_t age)
{
	return times->ring[(times->count - 1 - age) % MOST_TIMES];
}

static inline void times_note(struct times *times, double at)
{
	if (times->count == 0)
		times->first = at;
	double later = times->count > 0 && times_at(times, 0) > at ? times_at(times, 0) : at;
	/* A connection that was found open is noted when it is over. It may have come before the latest. */
	if (at < later)
		times->ring[(times->count - 1) % MOST_TIMES] = at;
	times->ring[times->count++ % MOST_TIMES] = later;
}
