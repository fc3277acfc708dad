#include "unnamed.h"

#include <math.h>

/*
 * The kernel sends the event of a connection's end from a queue, and the counter, the events and the dump are three looks at three
 * moments. What was counted so long ago has been named by now, or has left no trace.
 */
static const double settling = 250;
enum { MOST_ARRIVALS = 64 };

double traffic_settles_at(const struct traffic *traffic)
{
	double named = traffic->unnamed > 0 ? traffic->last_opened + settling : -INFINITY;
	return fmax(fmax(traffic->undecided_until, traffic->retries_until), named);
}

void weigh_unnamed(struct traffic *traffic, double now)
{
	bool with_events = traffic->evidence & EVIDENCE_EVENTS && !traffic->missed_events;
	bool may_be_named = now - traffic->last_opened < settling && (with_events || traffic->unnamed < 0);
	if (may_be_named)
		return;
	traffic->missed_events = false;
	double count = fmin(traffic->unnamed, MOST_ARRIVALS);
	double since = fmin(traffic->dumped, traffic->last_opened);
	for (double i = 1; i <= count; i++)
		traffic_arrive(traffic, "unknown", since + (traffic->last_opened - since) * i / count);
	traffic->unnamed = 0;
}
