/* Probes are never arrivals: told apart by address or port where the user says so, else by their regularity. */
#ifndef LAMEDUCK_PROBES_H
#define LAMEDUCK_PROBES_H

#include "../kernel/address.h"

enum { MOST_IGNORED = 32, MOST_PROBERS = 64, MOST_TIMES = 32 };

struct ignored_peers {
	struct address_range ranges[MOST_IGNORED];
	size_t count;
};

struct prober {
	struct address peer;
	double times[MOST_TIMES]; /* of its latest connections, a ring */
	size_t count;		  /* of all connections noted */
	double period;		  /* ms; 0 while no regularity is known */
};

struct probes {
	struct ignored_peers ignored;
	struct prober probers[MOST_PROBERS];
	size_t count;
};

bool probes_ignore(const struct probes *probes, const struct address *peer);

/* Notes a small connection from `peer` and tells whether it came just one learnt period after another. */
bool probes_note(struct probes *probes, const struct address *peer, double at);

/* Whether `peer` is known to be a prober. */
bool probes_expect(const struct probes *probes, const struct address *peer);

#endif
