#include "arrivals.h"

#include "talk.h"
#include "traffic.h"

#include <math.h>

void arrivals_keep(struct arrivals *arrivals, const struct address *peer, uint64_t size, double at)
{
	arrivals->kept[arrivals->count++ % MOST_KEPT_ARRIVALS] =
		(struct kept_arrival){ .peer = *peer, .at = at, .size = size };
}

static const struct kept_arrival *kept_at(const struct arrivals *arrivals, size_t age)
{
	return &arrivals->kept[(arrivals->count - 1 - age) % MOST_KEPT_ARRIVALS];
}

/* Where those of before the hold, of which nobody knows the size, are no more than probes would be, they are probes. */
static bool had_only_probes(const struct traffic *traffic, const struct address *peer, size_t kept)
{
	double first = traffic->began;
	double count = 0;
	for (size_t age = 0; age < kept; age++) {
		const struct kept_arrival *arrival = kept_at(&traffic->arrivals, age);
		if (arrival->size != SIZE_UNKNOWN || !address_equal(&arrival->peer, peer))
			continue;
		count++;
		first = fmin(first, arrival->at);
	}
	return count <= probes_in(&traffic->probes, peer, traffic->began - first);
}

void take_back_probes(struct traffic *traffic, const struct address *peer)
{
	const struct arrivals *arrivals = &traffic->arrivals;
	char name[ADDRESS_TEXT];
	address_format(peer, name);
	drain_forget(traffic->drain, name);
	forget_openings(traffic, peer);
	size_t kept = arrivals->count < MOST_KEPT_ARRIVALS ? arrivals->count : MOST_KEPT_ARRIVALS;
	bool only_probes_before = had_only_probes(traffic, peer, kept);
	for (size_t age = kept; age-- > 0;) {
		const struct kept_arrival *arrival = kept_at(arrivals, age);
		if (!address_equal(&arrival->peer, peer) || (only_probes_before && arrival->size == SIZE_UNKNOWN) ||
		    probes_explain(&traffic->probes, peer, arrival->size, arrival->at))
			continue;
		note_opening(traffic, peer, arrival->at);
		drain_recall(traffic->drain, name, arrival->at);
	}
}
