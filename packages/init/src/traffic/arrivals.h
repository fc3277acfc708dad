/* The latest connections. Each is judged again when its address turns out to be a prober, or not to be one. */
#ifndef LAMEDUCK_ARRIVALS_H
#define LAMEDUCK_ARRIVALS_H

#include "../kernel/address.h"

#include <stddef.h>

enum { MOST_KEPT_ARRIVALS = 1024 };

struct kept_arrival {
	struct address peer;
	double at; /* ms */
	double since; /* it came between then and `at` */
	uint64_t size; /* bytes that it brought, or SIZE_UNKNOWN */
};

struct arrivals {
	struct kept_arrival kept[MOST_KEPT_ARRIVALS]; /* a ring */
	size_t count; /* of all ever kept */
};

struct traffic;

void arrivals_keep(struct arrivals *arrivals, const struct address *peer, uint64_t size, double at,
		   double since);

/* What is known of `peer` as a prober has changed. */
void judge_anew(struct traffic *traffic, const struct address *peer);

#endif
