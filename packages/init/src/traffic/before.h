/* What the kernel still knows of the time before the hold, when nobody was looking: no wake-up was spent on it. */
#ifndef LAMEDUCK_BEFORE_H
#define LAMEDUCK_BEFORE_H

#include "traffic.h"

struct baseline baseline_read(double now);
/* As `wait` has it, which was not there when the namespace began: counters from zero at its birth. */
struct baseline baseline_of_namespace(double now);

/*
 * Tells the decision of senders seen in the last minute, and learns who probes; before anything of the hold is told, as all of it came earlier.
 * Returns their rate, per ms.
 */
double learn_past(struct traffic *traffic, const struct baseline *baseline);
/* After the first dump: the rate at which others came than those, and than the connections that are open. */
void learn_rate(struct traffic *traffic, const struct baseline *baseline, double known_rate);
/* Tells the decision of the rate that none of them accounts for, as soon as it can be told. */
void tell_before(struct traffic *traffic, double now);

#endif
