/* What a stop waits for: the conditions of each policy, and how often the evidence is evaluated. */
#ifndef LAMEDUCK_CONDITIONS_H
#define LAMEDUCK_CONDITIONS_H

#include "drain.h"

/* A condition of the policy that is not met, and until when at least. */
struct wait {
	double until;
	enum waiting_for what;
};

/* All of them, first the one that is waited for. */
struct waits {
	size_t count;
	struct wait list[3];
};

/* Until when senders are waited for at least; -INFINITY where enough is known of them. */
double conditions_evaluate(struct drain *drain, double now);
/* The same, without a trace in the pace of evaluations. */
double conditions_evaluate_once(const struct drain *drain, double now);
/* Those that are not met, where senders are waited for until `evidence`, or until the cluster says that all let go. */
struct waits conditions_unmet(const struct drain *drain, double now, double evidence);

#endif
