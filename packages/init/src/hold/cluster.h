/* The coordinator's part in a hold: its answers are fed to the decision, and the hold is reported to it. */
#ifndef LAMEDUCK_CLUSTER_H
#define LAMEDUCK_CLUSTER_H

#include "hold.h"

/* `real`: a termination; a dry run asks nobody. */
void cluster_begin(struct hold *hold, bool real, double now);
void cluster_step(struct hold *hold, double now);
/* Nothing more is asked; the end is still reported for some time. */
void cluster_end(struct hold *hold, double now);

#endif
