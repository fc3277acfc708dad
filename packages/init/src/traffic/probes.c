#include "probes.h"

#include <math.h>

static const double a_while = 5000;

bool probes_ignore(const struct probes *probes, const struct address *peer)
{
	for (size_t i = 0; i < probes->ignored.count; i++)
		if (address_in_range(peer, &probes->ignored.ranges[i]))
			return true;
	return false;
}

/* The end of the peer's data counts as a byte where it came before ours. */
static bool same_size(uint64_t one, uint64_t other)
{
	if (one == SIZE_UNKNOWN || other == SIZE_UNKNOWN)
		return one == other;
	return one > other ? one - other <= 1 : other - one <= 1;
}

static struct prober *find(struct probes *probes, const struct address *peer, uint64_t size)
{
	for (size_t i = 0; i < probes->count; i++)
		if (same_size(probes->probers[i].size, size) && address_equal(&probes->probers[i].peer, peer))
			return &probes->probers[i];
	return NULL;
}

/* To make room, an address that is surely no prober is dropped; else one that came once and not again for a while. */
static struct prober *room(struct probes *probes, double now)
{
	if (probes->count < MOST_PROBERS)
		return &probes->probers[probes->count++];
	struct prober *single = NULL;
	for (size_t i = 0; i < probes->count; i++) {
		struct prober *prober = &probes->probers[i];
		if (rhythm_is_lost(&prober->rhythm))
			return prober;
		if (prober->size != SIZE_UNKNOWN && prober->rhythm.count == 1 && now - prober->rhythm.times[0] > a_while)
			single = prober;
	}
	return single;
}

static struct prober *find_or_add(struct probes *probes, const struct address *peer, uint64_t size, double at)
{
	struct prober *prober = find(probes, peer, size);
	if (prober)
		return prober;
	prober = room(probes, at);
	if (prober)
		*prober = (struct prober){ .peer = *peer, .size = size };
	return prober;
}

static bool is_known(const struct prober *prober)
{
	return prober->rhythm.period > 0 || prober->by_period;
}

bool probes_expect(const struct probes *probes, const struct address *peer, bool by_size)
{
	for (size_t i = 0; i < probes->count; i++)
		if (is_known(&probes->probers[i]) && !(by_size && probes->probers[i].size == SIZE_UNKNOWN) &&
		    address_equal(&probes->probers[i].peer, peer))
			return true;
	return false;
}

/* Notes one that was due as if it had come in time: being late once must not make the next one early. */
static bool note_due(struct prober *prober, double at, bool alone)
{
	double due = rhythm_due(&prober->rhythm, at, alone);
	if (!isnan(due))
		rhythm_note(&prober->rhythm, due);
	return !isnan(due);
}

/* Decides by the configured periods. `any`: connections of the same address of unknown size; NULL if `prober` is those. */
static enum noted note_by_period(struct probes *probes, struct prober *prober, struct prober *any)
{
	bool was = prober->by_period, any_was = any && any->by_period;
	bool with_any = any && any->rhythm.period == 0 &&
			probe_periods_match(&probes->periods, &prober->rhythm, &any->rhythm);
	prober->by_period = with_any || probe_periods_match(&probes->periods, &prober->rhythm, NULL);
	/* Where another size is that of the probes, this one says nothing of those of unknown size. */
	if (any && (with_any || !probes_expect(probes, &prober->peer, true)))
		any->by_period = with_any;
	if (prober->by_period)
		return was && any_was == (any && any->by_period) ? A_PROBE : FIRST_KNOWN_PROBE;
	return was || (any_was && !any->by_period) ? NO_PROBER : NO_PROBE;
}

enum noted probes_note(struct probes *probes, const struct address *peer, uint64_t size, double at)
{
	bool sized = size != SIZE_UNKNOWN;
	struct prober *any = sized ? find(probes, peer, SIZE_UNKNOWN) : NULL;
	struct prober *prober = find_or_add(probes, peer, size, at);
	if (!prober)
		return NO_PROBE;
	struct rhythm *rhythm = &prober->rhythm;
	if (!sized && note_due(prober, at, false))
		return A_PROBE;
	/* The address was recognised as a prober by connections of unknown size. */
	bool of_any = any && !probes_expect(probes, peer, true) &&
		      note_due(any, at, probes_are_all(probes, peer));
	rhythm_note(rhythm, at);
	if (rhythm->period == 0) {
		if (rhythm_learn(rhythm, sized)) {
			prober->by_period = false;
			return FIRST_KNOWN_PROBE;
		}
		return of_any ? A_PROBE : note_by_period(probes, prober, any);
	}
	/* Traffic from an address that also probes is traffic; when it becomes frequent, nothing from there is a probe for sure. */
	if (rhythm_is_lost(rhythm))
		rhythm->period = 0;
	else if (sized && rhythm_keeps(rhythm))
		return A_PROBE;
	else if (!sized)
		rhythm_learn(rhythm, sized);
	return NO_PROBE;
}

/* For connections of unknown size: where the configured periods decide, all of them are probes, or none. */
static bool explains(const struct probes *probes, const struct prober *prober, double at)
{
	if (prober->rhythm.period > 0)
		return rhythm_explains(&prober->rhythm, at);
	return prober->size == SIZE_UNKNOWN || probe_periods_explain(&probes->periods, &prober->rhythm, at);
}

bool probes_explain(const struct probes *probes, const struct address *peer, uint64_t size, double at)
{
	for (size_t i = 0; i < probes->count; i++) {
		const struct prober *prober = &probes->probers[i];
		if (!is_known(prober) || !address_equal(&prober->peer, peer))
			continue;
		if (size == SIZE_UNKNOWN ? explains(probes, prober, at) : same_size(prober->size, size))
			return true;
	}
	return false;
}

bool probes_are_all(struct probes *probes, const struct address *peer)
{
	const struct prober *any = find(probes, peer, SIZE_UNKNOWN);
	double most = 0;
	for (size_t i = 0; any && i < probes->count; i++) {
		const struct rhythm *rhythm = &probes->probers[i].rhythm;
		if (rhythm->period > 0 && address_equal(&probes->probers[i].peer, peer))
			most = fmax(most, (double)rhythm->per_period * (rhythm_span(&any->rhythm) / rhythm->period + 1));
	}
	return any && (double)any->rhythm.count <= most;
}

void probes_come_from(struct probes *probes, const struct address *peer)
{
	if (probes->likely_count < MOST_LIKELY)
		probes->likely[probes->likely_count++] = *peer;
}

static bool is_likely(const struct probes *probes, const struct address *peer)
{
	for (size_t i = 0; i < probes->likely_count; i++)
		if (address_equal(&probes->likely[i], peer))
			return true;
	return false;
}

bool probes_may_be(const struct probes *probes, const struct address *peer, double at)
{
	double first = at;
	size_t count = 0, most = 0;
	if (!is_likely(probes, peer))
		return false;
	for (size_t i = 0; i < probes->count; i++) {
		const struct prober *prober = &probes->probers[i];
		if (!address_equal(&prober->peer, peer))
			continue;
		count += prober->rhythm.count;
		first = fmin(first, prober->rhythm.first);
	}
	for (size_t i = 0; i < probes->periods.count; i++)
		most += 1 + (size_t)((at - first + LATEST) / probes->periods.each[i]);
	return count <= most;
}
