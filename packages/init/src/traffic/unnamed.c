#include "unnamed.h"

#include <math.h>

/*
 * The kernel sends the event of a connection's end from a queue, and the counter, the events and the dump are three looks at three
 * moments. What was counted so long ago has been named by now, or has left no trace.
 */
static const double settling = 1000;
enum { MOST_ARRIVALS = 64 };
static const char nobody[] = "unknown";

double traffic_settles_at(const struct traffic *traffic)
{
	double named = traffic->unnamed > 0 ? traffic->last_opened + settling : -INFINITY;
	return fmax(fmax(traffic->undecided_until, traffic->retries_until), named);
}

static void observe_unnamed(struct traffic *traffic)
{
	double count = fmin(traffic->unnamed, MOST_ARRIVALS);
	double since = fmin(traffic->dumped, traffic->last_opened);
	for (double i = 1; i <= count; i++) {
		double at = since + (traffic->last_opened - since) * i / count;
		struct unknown unknown = { at, traffic->named_until };
		traffic->unknown[traffic->unknown_count++ % MOST_UNKNOWN] = unknown;
		traffic_arrive(traffic, nobody, at, unknown.since);
	}
	traffic->unnamed = 0;
	traffic->named_until = traffic->glanced;
}

/* On a busy machine the name comes later than that: then the latest reports are taken back, as each connection has been counted by its address. */
static void take_back_named(struct traffic *traffic)
{
	double named = fmin(-traffic->unnamed, traffic->unknown_count);
	if (named <= 0)
		return;
	traffic->unnamed += named;
	traffic->unknown_count -= (size_t)named;
	traffic_forget(traffic, nobody);
	size_t kept = traffic->unknown_count < MOST_UNKNOWN ? traffic->unknown_count : MOST_UNKNOWN;
	for (size_t age = kept; age-- > 0;) {
		struct unknown *unknown = &traffic->unknown[(traffic->unknown_count - 1 - age) % MOST_UNKNOWN];
		traffic_recall(traffic, nobody, unknown->at, unknown->since);
	}
}

void weigh_unnamed(struct traffic *traffic, double now)
{
	take_back_named(traffic);
	bool with_events = traffic->evidence & EVIDENCE_EVENTS && !traffic->missed_events;
	bool may_be_named = now - traffic->last_opened < settling && (with_events || traffic->unnamed < 0);
	if (may_be_named)
		return;
	traffic->missed_events = false;
	observe_unnamed(traffic);
}
