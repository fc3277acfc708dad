/*
 * Which connections are arrivals of a sender, and which are probes. The latest are kept. When an address turns out to be a prober, or not to be one,
 * the decision is told of its connections anew.
 */
#pragma once

#include "pools.h"
#include "probes.h"

/* A connection as it was observed. */
struct sighting {
	struct address peer;
	uint64_t size; /* bytes received, or SIZE_UNKNOWN */
	double at, since; /* it came between `since` and `at` */
};

/* A connection of the last minute that our side closed. The kernel still knows of it. */
struct past_connection {
	double at; /* when it was closed */
	struct address peer;
	bool ignored; /* its peer is ignored */
};

enum { MOST_KEPT_ARRIVALS = 1024 };

struct arrivals {
	struct teller *teller;
	struct pools *pools;
	struct probes probes;
	struct sighting kept[MOST_KEPT_ARRIVALS]; /* a ring */
	size_t kept_count; /* the number of all connections that were ever kept */
	double probes_seen;
	double undecided_until; /* what a connection is that was open for less than a moment is not known before */
};

void arrivals_begin(struct arrivals *arrivals, struct teller *teller, struct pools *pools, const struct probe_periods *configured);

/*
 * Takes a connection that is still open. Probes end soon, and most probes send no data. So a connection is classified once it has brought data or has
 * stayed open. Returns false while it is too early. Without `with_events` only some connections are seen: an open connection then counts as
 * unattributed.
 */
bool arrivals_take_open(struct arrivals *arrivals, const struct sighting *sighting, bool with_events, double now);
void arrivals_take_ended(struct arrivals *arrivals, const struct sighting *sighting, double ended_at);

/* Connections of before the hold, the earliest first. Habits of senders are learnt from those after `settled_at`. `young`: the pod began among them. */
void arrivals_take_past(struct arrivals *arrivals, const struct past_connection *past, size_t count, double settled_at, bool young);
