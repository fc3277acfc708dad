/* What the kernel still knows of the time before the hold. The init did not wake up for it. */
#pragma once

#include "sockets.h"

/* Counters at an earlier moment, from which the rate before the hold is learnt. */
struct baseline {
	bool known;
	double at;
	uint64_t opened;
	uint64_t data_sent;
};

struct baseline baseline_read(double now);
/* For `wait`, which starts long after the namespace: all counters were zero when it was made. */
struct baseline baseline_of_namespace(double now);

struct before {
	double began; /* the hold */
	double rate_with_peer; /* per ms: connections whose peers are known */
	double counted_rate; /* new connections per second; NAN where unknown */
	bool pending; /* the decision has not yet been told of connections without a known peer */
	double without_peer; /* connections */
	double with_peer;
	double span;
};

/* Learns from the connections of the last minute. The decision is told of them before anything of the hold, as all of it came earlier. */
void before_begin(struct before *before, const struct baseline *baseline, const struct sockets *sockets, double began);
/* Called after the first dump: counts the connections that were neither told nor open. */
void before_count(struct before *before, const struct baseline *baseline, const struct sockets *sockets);
/* Tells the decision of those connections, as soon as it is known how many come from ignored peers. */
void before_tell(struct before *before, const struct sockets *sockets, double now);
