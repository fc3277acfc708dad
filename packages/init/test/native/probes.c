/* Reads lines "PEER AT-MS SIZE", a SIZE below 0 for one that nobody knows, and answers 1 where the connection is taken for a probe, else 0. */
#include "../../src/traffic/probes.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	static struct probes probes;
	char peer[64], at[64], size[64];
	while (scanf("%63s %63s %63s", peer, at, size) == 3) {
		struct address_range range;
		if (!address_range_parse(peer, &range))
			return 2;
		uint64_t bytes = size[0] == '-' ? SIZE_UNKNOWN : strtoull(size, NULL, 10);
		printf("%d\n", probes_note(&probes, &range.address, bytes, strtod(at, NULL)) != NO_PROBE);
	}
	return 0;
}
