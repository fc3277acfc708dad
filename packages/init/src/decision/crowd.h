/* Which senders are told apart, and what is known of the others: the mirror of packages/drain/src/senders/sample.ts and crowd.ts. */
#ifndef LAMEDUCK_CROWD_H
#define LAMEDUCK_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "environments.h"
#include "gaps.h"

/* Every name has every hash under one of the keys: who does not know the key cannot choose an address that is in a sample. */
uint32_t hash_of(const char *name, uint32_t key);
bool sample_has(double share, uint32_t hash);

enum { MOST_LATE = 128 };

struct crowd {
	bool used;
	double from;
	struct gaps gaps;
	double held; /* of its arrivals, those in the hold */
	double last;
	double last_before; /* before SIGTERM */
	double late_share;
	size_t late_count;
	struct late {
		uint32_t hash;
		double since;
	} late[MOST_LATE + 1];
};

void crowd_init(struct crowd *crowd, double from);
/* `since`: after the deletion, of an arrival in the hold; NAN before. */
void crowd_arrival(struct crowd *crowd, uint32_t hash, double at, double since);
/* One that was told apart until now; before the hold. */
void crowd_join(struct crowd *crowd, uint32_t hash, const struct gaps *gaps, double last);
/* As so many equal senders, or as many as are known of. Their common rate, per ms. */
double crowd_see(const struct crowd *crowd, struct environments *environments, double senders, double deleted_at);

#endif
