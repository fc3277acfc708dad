#include "arrivals.h"

#include "pooled.h"
#include "traffic.h"

void arrivals_keep(struct arrivals *arrivals, const struct address *peer, uint64_t size, double at,
		   double since)
{
	arrivals->kept[arrivals->count++ % MOST_KEPT_ARRIVALS] =
		(struct kept_arrival){ .peer = *peer, .at = at, .since = since, .size = size };
}

static const struct kept_arrival *kept_at(const struct arrivals *arrivals, size_t age)
{
	return &arrivals->kept[(arrivals->count - 1 - age) % MOST_KEPT_ARRIVALS];
}

void judge_anew(struct traffic *traffic, const struct address *peer)
{
	const struct arrivals *arrivals = &traffic->arrivals;
	char name[ADDRESS_TEXT];
	address_format(peer, name);
	traffic_forget(traffic, name);
	forget_openings(traffic, peer);
	size_t kept = arrivals->count < MOST_KEPT_ARRIVALS ? arrivals->count : MOST_KEPT_ARRIVALS;
	bool only_probes_before = probes_are_all(&traffic->probes, peer);
	for (size_t age = kept; age-- > 0;) {
		const struct kept_arrival *arrival = kept_at(arrivals, age);
		if (!address_equal(&arrival->peer, peer) || (only_probes_before && arrival->size == SIZE_UNKNOWN) ||
		    probes_explain(&traffic->probes, peer, arrival->size, arrival->at))
			continue;
		note_opening(traffic, peer, arrival->at);
		traffic_recall(traffic, name, arrival->at, arrival->since);
	}
}
