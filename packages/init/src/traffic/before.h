/* What the kernel still knows of the time before the hold. The init did not wake up for it. */
#ifndef LAMEDUCK_BEFORE_H
#define LAMEDUCK_BEFORE_H

#include "traffic.h"

struct baseline baseline_read(double now);
/* For `wait`, which starts long after the namespace: all counters were zero when it was made. */
struct baseline baseline_of_namespace(double now);

/*
 * Reports senders seen in the last minute to the decision, and learns which addresses probe. It runs before any report of the hold, as all of it came earlier.
 * Returns their rate, per ms.
 */
double learn_past(struct traffic *traffic, const struct baseline *baseline);
/* After the first dump: the rate of all others, beside those senders and the open connections. */
void learn_rate(struct traffic *traffic, const struct baseline *baseline, double known_rate);
/* Reports that remaining rate to the decision, as soon as it is known. */
void observe_before(struct traffic *traffic, double now);

#endif
