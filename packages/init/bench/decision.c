/*
 * What the decision costs, in processor time: bookkeeping per arrival, and weighing over a hold. The mirror of packages/drain/bench/cost.ts.
 *
 *     decision POLICY ADDRESSES
 */
#include "../src/decision/drain.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const int rate = 120;
static const double before = 60000;
static const double ends = 4000;

/* Microseconds of processor time so far. */
static double used(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static struct observation arrival(long index, long addresses, char name[32])
{
	long sender = index * 7919 % addresses;
	snprintf(name, 32, "198.18.%ld.%ld", sender >> 8, sender & 255);
	return (struct observation){ .type = SEEN_CONNECTION, .at = (double)index * 1000 / rate - before, .name = name };
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	long addresses = strtol(argv[2], NULL, 10);
	struct drain_options options = { .policy = argv[1], .delay = "5s", .grace = "60s" };
	struct drain_config config;
	struct error error;
	if (!parse_config(&options, &config, &error))
		return 2;
	struct drain drain;
	drain_init(&drain, &config);
	drain_observe(&drain, &(struct observation){ .type = SEEN_WATCHING, .at = -before });
	char name[32];
	long next = 0;
	double booking = 0, weighing = 0;
	for (struct observation seen; (seen = arrival(next, addresses, name)).at < 0; next++) {
		double begun = used();
		drain_observe(&drain, &seen);
		booking += used() - begun;
	}
	double per_arrival = booking / (double)next;
	drain_observe(&drain, &(struct observation){ .type = SEEN_TERMINATION, .at = 0 });
	double now = 0;
	for (int asked = 1;; asked++) {
		for (struct observation seen; (seen = arrival(next, addresses, name)).at <= now && seen.at <= ends; next++)
			drain_observe(&drain, &seen);
		double begun = used();
		struct decision decision = drain_decide(&drain, now);
		weighing += used() - begun;
		if (decision.stop) {
			printf("%-8s %8ld addresses: %5.2f us an arrival; held %4.1f s, asked %3d times, %6.2f ms, %.2f %% of the "
			       "processor; %zu kB of memory\n",
			       argv[1], addresses, per_arrival, now / 1000, asked, weighing / 1000, weighing / now / 10,
			       (mallinfo2().uordblks + sizeof drain) / 1024);
			break;
		}
		now = decision.until;
	}
	drain_free(&drain);
	return 0;
}
