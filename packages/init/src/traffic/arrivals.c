#include "arrivals.h"

#include <math.h>

/* A probe's request is a line and a few headers. */
static const uint64_t largest_probe = 2048;
/* A kubelet's usual time-out. */
static const double longest_probe_ms = 1000;
/* Nothing is decided in the first moment of what may be a probe. */
static const double moment_ms = 250;

void arrivals_begin(struct arrivals *arrivals, struct teller *teller, struct pools *pools, const struct probe_periods *configured)
{
	arrivals->teller = teller;
	arrivals->pools = pools;
	arrivals->undecided_until = -INFINITY;
	probes_begin(&arrivals->probes, configured);
}

static void keep(struct arrivals *arrivals, const struct address *peer, uint64_t size, double at, double since)
{
	arrivals->kept[arrivals->kept_count++ % MOST_KEPT_ARRIVALS] =
		(struct kept_arrival){ .peer = *peer, .size = size, .at = at, .since = since };
}

/* What is known of `peer` as a prober has changed. */
static void reclassify_probes(struct arrivals *arrivals, const struct address *peer)
{
	char name[ADDRESS_TEXT];
	address_format(peer, name);
	tell_forget(arrivals->teller, name);
	pools_forget_openings(arrivals->pools, peer);
	size_t kept = arrivals->kept_count < MOST_KEPT_ARRIVALS ? arrivals->kept_count : MOST_KEPT_ARRIVALS;
	bool only_probes_before = probes_are_all(&arrivals->probes, peer);
	for (size_t age = kept; age-- > 0;) {
		const struct kept_arrival *arrival = &arrivals->kept[(arrivals->kept_count - 1 - age) % MOST_KEPT_ARRIVALS];
		if (!address_equal(&arrival->peer, peer) || (only_probes_before && arrival->size == SIZE_UNKNOWN) ||
		    probes_explain(&arrivals->probes, peer, arrival->size, arrival->at))
			continue;
		pools_note_opening(arrivals->pools, peer, arrival->at);
		tell_recall(arrivals->teller, name, arrival->at, arrival->since);
	}
}

/* The end of the peer's data counts as a byte: one that sent nothing asked for nothing. */
static bool is_empty(const struct sighting *sighting)
{
	return sighting->size <= 1;
}

/* `at`: when it came, or ended. */
static bool is_probe(struct arrivals *arrivals, const struct sighting *sighting, double at)
{
	if (sighting->bytes >= largest_probe)
		return false;
	enum probe_verdict verdict = probes_note(&arrivals->probes, &sighting->peer, sighting->size, at);
	bool is = verdict == A_PROBE || verdict == FIRST_KNOWN_PROBE;
	/* A later connection may show that it is no probe. */
	if (is && !is_empty(sighting))
		keep(arrivals, &sighting->peer, sighting->size, at, at);
	if (verdict == FIRST_KNOWN_PROBE || verdict == NO_PROBER)
		reclassify_probes(arrivals, &sighting->peer);
	return is;
}

static void arrive(struct arrivals *arrivals, const struct sighting *sighting)
{
	const struct address *peer = &sighting->peer;
	double at = sighting->at, since = sighting->since;
	char name[ADDRESS_TEXT];
	/* In a young pod the kubelet's probes are not known yet. What may be one is told as if it might have come before: so it disproves no release. */
	if (sighting->size != SIZE_UNKNOWN && probes_may_be(&arrivals->probes, peer, at))
		since = 0;
	keep(arrivals, peer, sighting->size, at, since);
	pools_note_opening(arrivals->pools, peer, at);
	tell_connection(arrivals->teller, address_format(peer, name), at, since);
}

bool arrivals_take_open(struct arrivals *arrivals, const struct sighting *sighting, double now)
{
	bool prober = probes_know(&arrivals->probes, &sighting->peer);
	bool may_be_probe = prober ? sighting->bytes < largest_probe : sighting->bytes == 0;
	if (may_be_probe && now < sighting->at + longest_probe_ms) {
		if (!prober)
			arrivals->undecided_until = fmax(arrivals->undecided_until, sighting->at + moment_ms);
		return false;
	}
	if (is_probe(arrivals, sighting, sighting->at))
		arrivals->probes_seen++;
	else
		arrive(arrivals, sighting);
	return true;
}

void arrivals_take_ended(struct arrivals *arrivals, const struct sighting *sighting, double ended_at)
{
	if (is_probe(arrivals, sighting, ended_at) || is_empty(sighting))
		arrivals->probes_seen++;
	else
		arrive(arrivals, sighting);
}

static bool was_probe(const struct probes *probes, const struct past_connection *past)
{
	return probes_explain(probes, &past->peer, SIZE_UNKNOWN, past->at) || probes_are_all(probes, &past->peer);
}

void arrivals_take_past(struct arrivals *arrivals, const struct past_connection *past, size_t count, double settled_at, bool young)
{
	char name[ADDRESS_TEXT];
	bool has_settled = false;
	/*
	 * Nobody sends to a pod before a probe has found it ready. So the first to connect was the kubelet: many networks have a gateway from which it does
	 * not probe.
	 */
	if (young && count > 0)
		probes_come_from(&arrivals->probes, &past[0].peer);
	for (size_t i = 0; i < count; i++)
		probes_note(&arrivals->probes, &past[i].peer, SIZE_UNKNOWN, past[i].at);
	for (size_t i = 0; i < count; i++) {
		const struct address *peer = &past[i].peer;
		double at = past[i].at;
		if (past[i].ignored)
			continue;
		bool probe = was_probe(&arrivals->probes, &past[i]);
		if (at >= settled_at && !probe && !has_settled) {
			has_settled = true;
			tell_settle(arrivals->teller);
		}
		if (at >= settled_at)
			keep(arrivals, peer, SIZE_UNKNOWN, at, at);
		if (probe)
			continue;
		if (has_settled)
			pools_note_opening(arrivals->pools, peer, at);
		/* Not counted: it came before the hold. */
		tell(arrivals->teller, (struct observation){ .type = SEEN_CONNECTION, .at = at, .name = address_format(peer, name) });
	}
}
