/* Why a hold takes as long as it does: the mirror of packages/drain/src/explain/conditions.ts. */
#ifndef LAMEDUCK_EXPLAIN_H
#define LAMEDUCK_EXPLAIN_H

#include "drain.h"

/* Remembers which condition was met when. */
void explain_decided(struct drain *drain, double now, const struct decision *decision);

#endif
