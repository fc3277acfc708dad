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
	struct probe_periods periods = { .count = 0 };
	bool assumed = count > 1 && strcmp(arguments[1], "assumed") == 0;
	for (int i = 1; i < count && i <= MOST_PROBE_PERIODS && !assumed; i++)
		periods.each[periods.count++] = strtod(arguments[i], NULL);
	if (count > 1)
		probes_begin(&probes, &periods);
	char peer[64], at[64], size[64];
	while (scanf("%63s %63s %63s", peer, at, size) == 3) {
		struct address_range range;
		if (!address_range_parse(peer, &range))
			return 2;
		uint64_t bytes = size[0] == '-' ? SIZE_UNKNOWN : strtoull(size, NULL, 10);
		double came_at = strtod(at, NULL);
		enum probe_verdict verdict = probes_note(&probes, &range.address, bytes, came_at, came_at).verdict;
		printf("%d\n", verdict == A_PROBE || verdict == FIRST_KNOWN_PROBE);
	}
	return 0;
}
