#include "probes.h"

#include <math.h>

/* In order: the first that recognises a prober decides. */
static const struct probe_classifier *const classifiers[] = { &by_regularity, &by_periods };
enum { CLASSIFIERS = sizeof classifiers / sizeof *classifiers };

static const double a_while_ms = 5000;

void probes_begin(struct probes *probes, const struct probe_periods *configured)
{
	probes->periods = *configured;
	if (configured->count == 0)
		probes->periods = (struct probe_periods){ .each = { 10000, 10000, 10000 }, .count = 3, .assumed = true };
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

static bool may_be_forgotten(const struct prober *prober)
{
	for (int i = 0; i < CLASSIFIERS; i++)
		if (classifiers[i]->forgets && classifiers[i]->forgets(prober))
			return true;
	return false;
}

/* To make room, an address is dropped that is surely no prober. Where there is none, one is dropped that came once and not again for a while. */
static struct prober *room(struct probes *probes, double now)
{
	if (probes->count < MOST_PROBERS)
		return &probes->probers[probes->count++];
	struct prober *single = NULL;
	for (size_t i = 0; i < probes->count; i++) {
		struct prober *prober = &probes->probers[i];
		if (may_be_forgotten(prober))
			return prober;
		if (has_size(prober) && prober->times.count == 1 && now - prober->times.first > a_while_ms)
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

bool probes_know(const struct probes *probes, const struct address *peer)
{
	for (size_t i = 0; i < probes->count; i++)
		if (probes->probers[i].known_by && address_equal(&probes->probers[i].peer, peer))
			return true;
	return false;
}

static bool has_other_size_probes(const struct probes *probes, const struct prober *than)
{
	for (size_t i = 0; i < probes->count; i++) {
		const struct prober *prober = &probes->probers[i];
		if (prober != than && prober->known_by && has_size(prober) && address_equal(&prober->peer, &than->peer))
			return true;
	}
	return false;
}

/* Notes a late probe as if it had come in time: being late once must not make the next one early. */
static bool note_due(struct prober *prober, double at, bool alone)
{
	bool has_ticks = prober->known_by && prober->known_by->due;
	double due = has_ticks ? prober->known_by->due(prober, at, alone) : NAN;
	if (!isnan(due))
		times_note(&prober->times, due);
	return !isnan(due);
}

bool probes_are_all(struct probes *probes, const struct address *peer)
{
	const struct prober *without_size = find(probes, peer, SIZE_UNKNOWN);
	double most = 0;
	for (size_t i = 0; without_size && i < probes->count; i++) {
		const struct prober *prober = &probes->probers[i];
		double span = times_at(&without_size->times, 0) - without_size->times.first;
		if (prober->period > 0 && address_equal(&prober->peer, peer))
			most = fmax(most, (double)prober->per_period * (span / prober->period + 1));
	}
	return without_size && (double)without_size->times.count <= most;
}

static enum probe_verdict verdict_on(struct probes *probes, const struct address *peer, uint64_t size, double at)
{
	struct prober *prober = find_or_add(probes, peer, size, at);
	if (!prober)
		return NOT_RECOGNISED;
	bool sized = has_size(prober);
	if (!sized && note_due(prober, at, false))
		return A_PROBE;
	const struct probe_sighting sighting = { .prober = prober,
						 .without_size = sized ? find(probes, peer, SIZE_UNKNOWN) : NULL,
						 .other_size_probes = has_other_size_probes(probes, prober),
						 .periods = &probes->periods };
	/* The address is known by connections without a size. */
	bool was_due = sighting.without_size && !prober->known_by && !sighting.other_size_probes &&
		       note_due(sighting.without_size, at, probes_are_all(probes, peer));
	times_note(&prober->times, at);
	for (int i = 0; i < CLASSIFIERS; i++) {
		enum probe_verdict verdict = classifiers[i]->note(&sighting);
		if (verdict != NOT_RECOGNISED)
			return verdict;
		if (was_due)
			return A_PROBE;
	}
	return NOT_RECOGNISED;
}

static bool is_likely(const struct probes *probes, const struct address *peer)
{
	for (size_t i = 0; i < probes->likely_count; i++)
		if (address_equal(&probes->likely[i], peer))
			return true;
	return false;
}

static bool may_be_probe(const struct probes *probes, const struct address *peer, double at)
{
	double first = at;
	size_t count = 0, most = 0;
	if (!is_likely(probes, peer))
		return false;
	for (size_t i = 0; i < probes->count; i++) {
		const struct prober *prober = &probes->probers[i];
		if (!address_equal(&prober->peer, peer))
			continue;
		count += prober->times.count;
		first = fmin(first, prober->times.first);
	}
	for (size_t i = 0; i < probes->periods.count; i++)
		most += 1 + (size_t)((at - first + LATEST_MS) / probes->periods.each[i]);
	return count <= most;
}

struct probe_answer probes_note(struct probes *probes, const struct address *peer, uint64_t size, double at, double came_at)
{
	struct probe_answer answer = { .verdict = NOT_RECOGNISED };
	if (size == SIZE_UNKNOWN || size < LARGEST_PROBE)
		answer.verdict = verdict_on(probes, peer, size, at);
	bool is = answer.verdict == A_PROBE || answer.verdict == FIRST_KNOWN_PROBE;
	answer.may_be_probe = !is && size != SIZE_UNKNOWN && may_be_probe(probes, peer, came_at);
	return answer;
}

bool probes_explain(const struct probes *probes, const struct address *peer, uint64_t size, double at)
{
	for (size_t i = 0; i < probes->count; i++) {
		const struct prober *prober = &probes->probers[i];
		if (!prober->known_by || !address_equal(&prober->peer, peer))
			continue;
		if (size == SIZE_UNKNOWN ? prober->known_by->explains(prober, &probes->periods, at) : same_size(prober->size, size))
			return true;
	}
	return false;
}

void probes_come_from(struct probes *probes, const struct address *peer)
{
	if (probes->likely_count < MOST_LIKELY_PROBERS)
		probes->likely[probes->likely_count++] = *peer;
}
