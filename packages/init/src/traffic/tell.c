#include "tell.h"

#include <math.h>

void tell(struct teller *teller, struct observation seen)
{
	drain_observe(teller->drain, seen);
	trace_observed(teller->trace, &seen);
}

void tell_connection(struct teller *teller, const char *sender, double at, double since)
{
	teller->connections++;
	teller->last_arrival = isnan(teller->last_arrival) ? at : fmax(teller->last_arrival, at);
	tell(teller, (struct observation){ .type = SEEN_CONNECTION, .at = at, .name = sender, .earlier = fmax(0, at - since) });
}

void tell_request_on_old(struct teller *teller, const char *sender, double at)
{
	tell(teller, (struct observation){ .type = SEEN_CONNECTION, .at = at, .name = sender, .old = true });
}

void tell_settle(struct teller *teller)
{
	drain_settle(teller->drain);
	trace_settled(teller->trace);
}

void tell_coverage(struct teller *teller, double coverage)
{
	drain_set_coverage(teller->drain, coverage);
	trace_coverage(teller->trace, coverage);
}

void tell_forget(struct teller *teller, const char *sender)
{
	drain_forget(teller->drain, sender);
	trace_forgotten(teller->trace, sender);
}

void tell_recall(struct teller *teller, const char *sender, double at, double since)
{
	double earlier = fmax(0, at - since);
	drain_recall(teller->drain, sender, at, earlier);
	trace_recalled(teller->trace, sender, at, earlier);
}
