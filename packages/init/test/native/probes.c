/* Reads lines "PEER AT-MS" and answers 1 where the connection is taken for a probe, else 0. */
#include "../../src/traffic/probes.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	static struct probes probes;
	char peer[64], at[64];
	while (scanf("%63s %63s", peer, at) == 2) {
		struct address_range range;
		if (!address_range_parse(peer, &range))
			return 2;
		printf("%d\n", probes_note(&probes, &range.address, strtod(at, NULL)));
	}
	return 0;
}
