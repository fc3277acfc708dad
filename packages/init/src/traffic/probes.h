/* Probes are never arrivals. They are recognised by address, port or period if the user names these, else by their regularity. */
#ifndef LAMEDUCK_PROBES_H
#define LAMEDUCK_PROBES_H

#include "../kernel/address.h"
#include "rhythm.h"
#include "probe_periods.h"

enum { MOST_IGNORED = 32, MOST_PROBERS = 64 };

struct ignored_peers {
	struct address_range ranges[MOST_IGNORED];
	size_t count;
};

/* The size of a connection of which only TIME_WAIT was seen. */
#define SIZE_UNKNOWN UINT64_MAX

/*
 * Connections from one address with requests of one size. A kubelet's requests all have the same size, and others' differ. That distinguishes
 * them where a node sends traffic from the address that it probes from.
 */
struct prober {
	struct address peer;
	uint64_t size;
	struct rhythm rhythm;
	bool by_period; /* a prober by the configured periods; its rhythm may not be known yet */
};

/* The default gateway, and who was first to connect to a young pod. */
enum { MOST_LIKELY = 2 };

struct probes {
	struct ignored_peers ignored;
	struct address likely[MOST_LIKELY]; /* from where the kubelet may probe */
	size_t likely_count;
	struct probe_periods periods;
	struct prober probers[MOST_PROBERS];
	size_t count;
};

bool probes_ignore(const struct probes *probes, const struct address *peer);

enum noted {
	NO_PROBE,
	A_PROBE,
	FIRST_KNOWN_PROBE, /* those of before, which were taken for traffic, were probes too */
	NO_PROBER, /* those of before, which were taken for probes, were traffic */
};

/* Notes a small connection from `peer`, with the bytes that it brought, and returns what it is. */
enum noted probes_note(struct probes *probes, const struct address *peer, uint64_t size, double at);

/* Whether an earlier connection with `size` bytes at `at` was a probe, by what is known now. */
bool probes_explain(const struct probes *probes, const struct address *peer, uint64_t size, double at);

/* Whether the connections of `peer` of unknown size are no more than its probes would be. */
bool probes_are_all(struct probes *probes, const struct address *peer);

void probes_come_from(struct probes *probes, const struct address *peer);

/*
 * Whether a connection of `peer` may be a probe, though nothing shows it yet: the kubelet may probe from there, and there have been no more connections than
 * its probes make.
 */
bool probes_may_be(const struct probes *probes, const struct address *peer, double at);

/* Whether `peer` is known to be a prober; `by_size`: by one number of bytes. */
bool probes_expect(const struct probes *probes, const struct address *peer, bool by_size);

#endif
