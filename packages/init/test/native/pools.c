/*
 * Writes after how many ms the requests that one sender sends every 100 ms on an old connection are known not to end by waiting. The arguments are the
 * policy and, where it is chosen, the convergence.
 */
#include "../../src/traffic/pools.h"

#include <stdio.h>
#include <string.h>

int main(int count, char **arguments)
{
	static struct drain drain;
	static struct trace trace;
	static struct pools pools;
	struct drain_config config;
	struct error error;
	const struct drain_options options = { .policy = arguments[1], .convergence = count > 2 ? arguments[2] : NULL };
	const struct address peer = { { 10 } };
	if (count < 2 || !parse_config(&options, &config, &error))
		return 2;
	drain_init(&drain, &config);
	struct teller teller = { .drain = &drain, .trace = &trace, .config = &config, .release = &drain.release };
	pools_begin(&pools, &teller, false, 0);
	for (double now = 100; now < 60000; now += 100) {
		pools_note_segments(&pools, &peer, 1, now);
		pools_tell(&pools, now - 100, now);
		if (!pools_last(&pools, &peer))
			continue;
		printf("%.0f\n", now);
		break;
	}
	drain_free(&drain);
	return 0;
}
