/* How fast senders may converge, weighed by what was seen: the mirror of packages/drain/src/environments.ts, which holds the reasons. */
#ifndef LAMEDUCK_ENVIRONMENTS_H
#define LAMEDUCK_ENVIRONMENTS_H

#include <stdbool.h>

#define ENVIRONMENT_DELAYS 8
#define ENVIRONMENT_MEANS 5
#define ENVIRONMENT_KINDS 2 /* without laggards, with them */
#define ENVIRONMENT_COUNT (ENVIRONMENT_DELAYS * ENVIRONMENT_MEANS * ENVIRONMENT_KINDS)

/* What was seen of one sender since the deletion. */
struct seen {
	double rate;
	double rate_now;
	double last; /* from the deletion to its last arrival; 0 if there was none */
	double (*surprise)(const void *habit, double silence);
	const void *habit;
};

/* What was seen since the deletion of senders that are not told apart. */
struct aggregate_seen {
	double count; /* no fewer than there are */
	double rate; /* no less than all of them send together */
	double last; /* from the deletion to the last arrival of any; 0 if there was none */
	double known; /* those of them whose rates are known */
	double known_rate;
	double late; /* no fewer than of those have sent since the deletion */
};

struct environments {
	double convergence;
	double now;
	double logs[ENVIRONMENT_COUNT];
	double products[ENVIRONMENT_COUNT];
	double losses[ENVIRONMENT_COUNT];
	bool aggregated;
	double doubts[ENVIRONMENT_COUNT]; /* by how much the logarithms may be too high; of an aggregate alone */
};

void environments_init(struct environments *environments, double convergence, double now);
void environments_see(struct environments *environments, const struct seen *sender, double alike);
void environments_see_aggregate(struct environments *environments, const struct aggregate_seen *aggregate);
/* What the weights of `believed`, after all that it has seen, make of the losses of what is seen here. */
double environments_loss_under(const struct environments *environments, const struct environments *believed);
double environments_expected_loss(struct environments *environments);

#endif
