/* How fast senders may converge, weighed by what was seen: the mirror of packages/drain/src/environments.ts, which holds the reasons. */
#ifndef LAMEDUCK_ENVIRONMENTS_H
#define LAMEDUCK_ENVIRONMENTS_H

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

struct environments {
	double convergence;
	double now;
	double logs[ENVIRONMENT_COUNT];
	double products[ENVIRONMENT_COUNT];
	double losses[ENVIRONMENT_COUNT];
};

void environments_init(struct environments *environments, double convergence, double now);
void environments_see(struct environments *environments, const struct seen *sender, double alike);
void environments_add_crowd(struct environments *environments, double count, double rate, double silence);
double environments_expected_loss(struct environments *environments);

#endif
