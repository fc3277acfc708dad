/*
 * One sender sends a request every 100 ms on an old connection. This writes after how many ms the init knows that no wait will end them. The first
 * argument is the policy. The second one, if there, is the convergence.
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
	struct teller teller = { .drain = &drain, .trace = &trace, .config = &config, .convergence = drain_convergence(&config),
				 .release = &drain.release };
	pools_begin(&pools, &teller, false, 0);
	for (double now = 100; now < 60000; now += 100) {
		pools_note_segments(&pools, &peer, 1, now);
		pools_tell(&pools, now - 100, now);
		if (!pools_sender_lasts(&pools, &peer))
			continue;
		printf("%.0f\n", now);
		break;
	}
	drain_free(&drain);
	return 0;
}
