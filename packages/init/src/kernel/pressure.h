/* Whether programs of this machine wait for a processor, as the kernel counts it (PSI). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pressure {
	double read_at; /* NAN before the first reading */
	uint64_t total; /* us in which some program waited, at that reading */
};

void pressure_begin(struct pressure *pressure);

/*
 * Whether some program waited for more than half of the time since the reading before. Reads twice a second at most: false in between, and where the
 * kernel does not count it.
 */
bool pressure_is_high(struct pressure *pressure, double now);
