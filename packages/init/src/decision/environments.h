/* How fast senders may converge, weighed by what was seen: the mirror of packages/drain/src/belief/environments.ts, which holds the reasons. */
#ifndef LAMEDUCK_ENVIRONMENTS_H
#define LAMEDUCK_ENVIRONMENTS_H

#include "evidence.h"

#define ENVIRONMENT_DELAYS 8 /* of the prior; one more is that of the latest arrival */
#define ENVIRONMENT_MEANS 5
#define ENVIRONMENT_KINDS 2 /* without laggards, with them */
#define ENVIRONMENT_COUNT ((ENVIRONMENT_DELAYS + 1) * ENVIRONMENT_MEANS * ENVIRONMENT_KINDS)

/* All times are since the deletion. */
struct environments {
	double convergence;
	double now;
	double begins[ENVIRONMENT_DELAYS + 1];
	double logs[ENVIRONMENT_COUNT];
	double products[ENVIRONMENT_COUNT];
	double losses[ENVIRONMENT_COUNT];
};

/* `latest`: of any arrival, 0 if there was none; `rate`: of all of them before. */
void environments_init(struct environments *environments, double convergence, double now, double latest, double rate);
/* A sender that came last at `last`. */
void environments_see(struct environments *environments, const struct habit *habit, double last);
/* What the weights of `believed`, after all that it has seen, make of the losses of what is seen here. */
double environments_loss_under(const struct environments *environments, const struct environments *believed);

#endif
