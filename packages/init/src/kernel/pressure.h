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
 * True if programs waited for more than half of the time since the last reading. It reads twice a second at most. Between two readings it is false. Without
 * PSI it is always false.
 */
bool pressure_is_high(struct pressure *pressure, double now);
