/*
 * Reads lines "PEER AT-MS SIZE", a SIZE below 0 for one that nobody knows, and answers 1 where the connection is taken for a probe, else 0. The
 * arguments are the configured periods, ms, or "assumed".
 */
#include "../../src/traffic/probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments)
{
	static struct probes probes;
	if (count > 1 && strcmp(arguments[1], "assumed") == 0)
		probe_periods_default(&probes.periods);
	for (int i = 1; i < count && i <= MOST_PROBE_PERIODS && !probes.periods.assumed; i++)
		probes.periods.each[probes.periods.count++] = strtod(arguments[i], NULL);
	char peer[64], at[64], size[64];
	while (scanf("%63s %63s %63s", peer, at, size) == 3) {
		struct address_range range;
		if (!address_range_parse(peer, &range))
			return 2;
		uint64_t bytes = size[0] == '-' ? SIZE_UNKNOWN : strtoull(size, NULL, 10);
		enum noted noted = probes_note(&probes, &range.address, bytes, strtod(at, NULL));
		printf("%d\n", noted == A_PROBE || noted == FIRST_KNOWN_PROBE);
	}
	return 0;
}
