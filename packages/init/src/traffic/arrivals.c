#include "arrivals.h"

#include "unattributed.h"

#include <math.h>

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

static void keep(struct arrivals *arrivals, struct sighting sighting)
{
	arrivals->kept[arrivals->kept_count++ % MOST_KEPT_ARRIVALS] = sighting;
}

/* Called when the knowledge about `peer` as a prober has changed. */
static void reclassify_probes(struct arrivals *arrivals, const struct address *peer)
{
	char name[ADDRESS_TEXT];
	address_format(peer, name);
	tell(arrivals->teller, &(struct observation){ .type = SEEN_FORGOTTEN, .name = name });
	pools_forget_openings(arrivals->pools, peer);
	size_t kept = arrivals->kept_count < MOST_KEPT_ARRIVALS ? arrivals->kept_count : MOST_KEPT_ARRIVALS;
	bool only_probes_before = probes_are_all(&arrivals->probes, peer);
	for (size_t age = kept; age-- > 0;) {
		const struct sighting *arrival = &arrivals->kept[(arrivals->kept_count - 1 - age) % MOST_KEPT_ARRIVALS];
		if (!address_equal(&arrival->peer, peer) || (only_probes_before && arrival->size == SIZE_UNKNOWN) ||
		    probes_explain(&arrivals->probes, peer, arrival->size, arrival->at))
			continue;
		pools_note_opening(arrivals->pools, peer, arrival->at);
		tell_again(arrivals->teller, name, arrival->at, arrival->since);
	}
}

/* The end of the peer's data counts as a byte. A connection that brought no byte asked for nothing. */
static bool is_empty(const struct sighting *sighting)
{
	return sighting->size <= 1;
}

/*
 * In a young pod the kubelet's probes are not known yet. A connection that may be a probe is reported as if it might have come before the release, so
 * that it disproves no release.
 */
static void arrive(struct arrivals *arrivals, struct sighting sighting, bool may_be_probe)
{
	char name[ADDRESS_TEXT];
	if (may_be_probe)
		sighting.since = 0;
	keep(arrivals, sighting);
	pools_note_opening(arrivals->pools, &sighting.peer, sighting.at);
	tell_connection(arrivals->teller, address_format(&sighting.peer, name), sighting.at, sighting.since);
}

/* `noted_at`: when the connection came, or ended. `empty_are_none`: a connection that asked for nothing is no arrival. */
static void classify(struct arrivals *arrivals, const struct sighting *sighting, double noted_at, bool empty_are_none)
{
	const struct address *peer = &sighting->peer;
	struct probe_answer answer = probes_note(&arrivals->probes, peer, sighting->size, noted_at, sighting->at);
	bool is_probe = answer.verdict == A_PROBE || answer.verdict == FIRST_KNOWN_PROBE;
	/* A later connection may show that this one is no probe. */
	if (is_probe && !is_empty(sighting))
		keep(arrivals, (struct sighting){ *peer, sighting->size, noted_at, noted_at });
	if (answer.verdict == FIRST_KNOWN_PROBE || answer.verdict == NO_PROBER)
		reclassify_probes(arrivals, peer);
	if (is_probe || (empty_are_none && is_empty(sighting)))
		arrivals->probes_seen++;
	else
		arrive(arrivals, *sighting, answer.may_be_probe);
}

bool arrivals_take_open(struct arrivals *arrivals, const struct sighting *sighting, bool with_events, double now)
{
	/* Dumps alone find a few addresses by chance. These would look like senders that hardly ever come. */
	if (!with_events) {
		tell_connection(arrivals->teller, unattributed_sender, sighting->at, sighting->since);
		return true;
	}
	bool prober = probes_know(&arrivals->probes, &sighting->peer);
	bool may_be_probe = sighting->size == SIZE_UNKNOWN || sighting->size == 0 || (prober && sighting->size < LARGEST_PROBE);
	if (may_be_probe && now < sighting->at + longest_probe_ms) {
		if (!prober)
			arrivals->undecided_until = fmax(arrivals->undecided_until, sighting->at + moment_ms);
		return false;
	}
	classify(arrivals, sighting, sighting->at, false);
	return true;
}

void arrivals_take_ended(struct arrivals *arrivals, const struct sighting *sighting, double ended_at)
{
	classify(arrivals, sighting, ended_at, true);
}

void arrivals_take_past(struct arrivals *arrivals, const struct past_connection *past, size_t count, double settled_at, bool young)
{
	char name[ADDRESS_TEXT];
	bool has_settled = false;
	/*
	 * No sender uses a pod before a probe has found it ready. So the first peer was the kubelet: many networks have a gateway from which it does not
	 * probe.
	 */
	if (young && count > 0)
		probes_come_from(&arrivals->probes, &past[0].peer);
	for (size_t i = 0; i < count; i++)
		probes_note(&arrivals->probes, &past[i].peer, SIZE_UNKNOWN, past[i].at, past[i].at);
	for (size_t i = 0; i < count; i++) {
		const struct address *peer = &past[i].peer;
		double at = past[i].at;
		if (past[i].ignored)
			continue;
		bool probe = probes_explain(&arrivals->probes, peer, SIZE_UNKNOWN, at) || probes_are_all(&arrivals->probes, peer);
		if (at >= settled_at && !probe && !has_settled) {
			has_settled = true;
			tell(arrivals->teller, &(struct observation){ .type = SEEN_SETTLED });
		}
		if (at >= settled_at)
			keep(arrivals, (struct sighting){ *peer, SIZE_UNKNOWN, at, at });
		if (probe)
			continue;
		if (has_settled)
			pools_note_opening(arrivals->pools, peer, at);
		/* Not counted: it came before the hold. */
		tell(arrivals->teller, &(struct observation){ .type = SEEN_CONNECTION, .at = at, .name = address_format(peer, name) });
	}
}
