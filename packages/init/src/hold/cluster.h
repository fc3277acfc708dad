/* What the coordinator's answers mean to the decision. */
#pragma once

#include "../coordinator/coordinator.h"
#include "../traffic/tell.h"

/* What the decision knows of the release. */
enum cluster_says { CLUSTER_WAITS, CLUSTER_CANNOT_SAY, CLUSTER_RELEASED };

struct cluster {
	struct coordinator coordinator;
	enum cluster_says says;
	double assumed_until; /* as the decision was told it */
};

/* `place`: NULL where no coordinator is asked. */
void cluster_begin(struct cluster *cluster, const struct coordinator_place *place, const struct logger *logger, double now);

/* Talks to the coordinator, and tells the decision what is new. Returns whether something is new. */
bool cluster_step(struct cluster *cluster, struct teller *teller, double now);
