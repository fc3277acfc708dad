/* What the kernel still knows of the time before the hold, when nobody was looking: no wake-up was spent on it. */
#ifndef LAMEDUCK_BEFORE_H
#define LAMEDUCK_BEFORE_H

#include "traffic.h"

struct baseline baseline_read(double now);
/* As `wait` has it, which was not there when the namespace began: counters from zero at its birth. */
struct baseline baseline_of_namespace(double now);

/* After the first dump: tells the decision of senders seen before; learns who probes. */
void learn_before(struct traffic *traffic, const struct baseline *baseline);
/* Tells the decision of the rate that none of them accounts for, as soon as it can be told. */
void tell_before(struct traffic *traffic, double now);

#endif
