/* Connections that the counters show, whose address came neither by an event nor by a dump. */
#ifndef LAMEDUCK_UNNAMED_H
#define LAMEDUCK_UNNAMED_H

#include "traffic.h"

/* Reports connections to the decision whose address will never be known. */
void weigh_unnamed(struct traffic *traffic, double now);

#endif
