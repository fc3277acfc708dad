#include "cluster.h"

#include <math.h>
#include <stdio.h>

static const double rounding_ms = 100;

void cluster_begin(struct cluster *cluster, const struct coordinator_place *place, const struct logger *logger, double now)
{
	static const struct coordinator_place nobody;
	coordinator_begin(&cluster->coordinator, place ? place : &nobody, logger, now);
	cluster->says = CLUSTER_WAITS;
	cluster->assumed_until = -INFINITY;
}

/*
 * A coordinator that falls silent does not withdraw its release: the pod's own evidence does. In the mode `consistency` the pod waits for an answer,
 * also of a coordinator that cannot release it yet. It does not stop on a release that an arrival has disproved.
 */
static enum cluster_says state_for_decision(const struct cluster *cluster, const struct release *release)
{
	const struct coordinator *coordinator = &cluster->coordinator;
	const struct status *status = &coordinator->status;
	if (release->overruled || (coordinator->silent && cluster->says != CLUSTER_RELEASED))
		return status->consistency ? cluster->says : CLUSTER_CANNOT_SAY;
	if (coordinator->silent)
		return CLUSTER_RELEASED;
	switch (status->state) {
	case STATUS_RELEASED:
		return CLUSTER_RELEASED;
	case STATUS_UNKNOWN:
	case STATUS_INCOMPLETE:
		return status->consistency ? CLUSTER_WAITS : CLUSTER_CANNOT_SAY;
	case STATUS_NOTHING:
	case STATUS_WAITING:
		break;
	}
	return CLUSTER_WAITS;
}

static void tell_decision(const struct cluster *cluster, struct teller *teller, double now)
{
	const struct status *status = &cluster->coordinator.status;
	char consumers[32] = "";
	double assumed = fmax(0, cluster->assumed_until - now);
	struct observation seen = { .type = SEEN_UNRELEASED, .at = now, .value = cluster->says == CLUSTER_CANNOT_SAY,
				    .assumed = assumed };
	if (cluster->says == CLUSTER_RELEASED) {
		if (status->relevant > 0)
			snprintf(consumers, sizeof consumers, "%u/%u", status->reported, status->relevant);
		seen = (struct observation){ .type = SEEN_RELEASED, .at = now - status->released, .name = status->last,
					     .consumers = consumers };
	}
	tell(teller, &seen);
}

bool cluster_step(struct cluster *cluster, struct teller *teller, double now)
{
	coordinator_step(&cluster->coordinator, now);
	enum cluster_says says = state_for_decision(cluster, teller->release);
	/* The time of each answer is rounded, and some ms old. */
	double assumed_until = cluster->coordinator.assumed_until;
	bool is_longer = says != CLUSTER_RELEASED && assumed_until > cluster->assumed_until + rounding_ms;
	if (says == cluster->says && !is_longer)
		return false;
	cluster->says = says;
	cluster->assumed_until = assumed_until;
	tell_decision(cluster, teller, now);
	return true;
}
