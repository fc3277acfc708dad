#include "cluster.h"

#include <stdio.h>

void cluster_begin(struct cluster *cluster, const struct coordinator_place *place, const struct logger *logger, double now)
{
	static const struct coordinator_place nobody;
	coordinator_begin(&cluster->coordinator, place ? place : &nobody, logger, now);
	cluster->says = CLUSTER_WAITS;
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
	struct observation seen = { .type = SEEN_UNRELEASED, .at = now, .value = cluster->says == CLUSTER_CANNOT_SAY };
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
	if (says == cluster->says)
		return false;
	cluster->says = says;
	tell_decision(cluster, teller, now);
	return true;
}
