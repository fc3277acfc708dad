#include "tell.h"

#include <math.h>

void tell(struct teller *teller, const struct observation *seen)
{
	drain_observe(teller->drain, seen);
	trace_observed(teller->trace, seen);
}

void tell_connection(struct teller *teller, const char *sender, double at, double since)
{
	teller->connections++;
	teller->last_arrival = isnan(teller->last_arrival) ? at : fmax(teller->last_arrival, at);
	tell(teller, &(struct observation){ .type = SEEN_CONNECTION, .at = at, .name = sender, .earlier = fmax(0, at - since) });
}

void tell_request_on_old(struct teller *teller, const char *sender, double at)
{
	tell(teller, &(struct observation){ .type = SEEN_CONNECTION, .at = at, .name = sender, .old = true });
}

void tell_again(struct teller *teller, const char *sender, double at, double since)
{
	tell(teller, &(struct observation){ .type = SEEN_AGAIN, .at = at, .name = sender, .earlier = fmax(0, at - since) });
}
