/* Connections that the counters show and nobody has named: neither an event nor a dump. */
#ifndef LAMEDUCK_UNNAMED_H
#define LAMEDUCK_UNNAMED_H

#include "traffic.h"

/* Tells the decision of those that nothing will name any more. */
void weigh_unnamed(struct traffic *traffic, double now);

#endif
