#include "probes.h"

#include <math.h>

/* The kubelet's shortest period is 1 s; traffic as regular as that, and as slow, is a probe whoever sends it. */
static const double shortest_period = 900;
static const double longest_period = 65000;
/* Repetitions without an exception that make a rule: three by chance are rarer than 1 in 100. */
enum { ENOUGH = 3 };
/* Startup, readiness and liveness probe of one kubelet; more than that in one period is traffic, however regular it may look. */
enum { MOST_PER_PERIOD = 3 };

bool probes_ignore(const struct probes *probes, const struct address *peer)
{
	for (size_t i = 0; i < probes->ignored.count; i++)
		if (address_in_range(peer, &probes->ignored.ranges[i]))
			return true;
	return false;
}

static size_t kept(const struct prober *prober)
{
	return prober->count < MOST_TIMES ? prober->count : MOST_TIMES;
}

/* `age` 0 is the latest. */
static double time_of(const struct prober *prober, size_t age)
{
	return prober->times[(prober->count - 1 - age) % MOST_TIMES];
}

static size_t in_one_period(const struct prober *prober, double period)
{
	size_t count = 0;
	for (size_t age = 0; age < kept(prober); age++)
		count += time_of(prober, 0) - time_of(prober, age) < period * 0.95;
	return count;
}

static bool too_busy_for_a_prober(const struct prober *prober)
{
	return in_one_period(prober, shortest_period) > MOST_PER_PERIOD;
}

static struct prober *prober_of(struct probes *probes, const struct address *peer)
{
	struct prober *room = NULL;
	for (size_t i = 0; i < probes->count; i++) {
		struct prober *prober = &probes->probers[i];
		if (address_equal(&prober->peer, peer))
			return prober;
		if (!room && too_busy_for_a_prober(prober))
			room = prober;
	}
	if (probes->count < MOST_PROBERS)
		room = &probes->probers[probes->count++];
	if (room)
		*room = (struct prober){ .peer = *peer };
	return room;
}

/* Whether a connection was seen one period before `at`. A busy node answers a probe some 50 ms late at times. */
static bool has_predecessor(const struct prober *prober, double at, double period)
{
	double tolerance = 50 + period * 0.01;
	for (size_t age = 0; age < kept(prober); age++)
		if (fabs(at - time_of(prober, age) - period) <= tolerance)
			return true;
	return false;
}

/*
 * Several probes of one kubelet (readiness, liveness) come from one address, each at its own phase: a period fits when every
 * connection later than the first period has a predecessor exactly one period before.
 */
static bool fits(const struct prober *prober, double period)
{
	size_t count = kept(prober);
	double first = time_of(prober, count - 1);
	size_t repeated = 0;
	for (size_t age = 0; age < count; age++) {
		double at = time_of(prober, age);
		if (at - first < period - (50 + period * 0.01))
			continue;
		if (!has_predecessor(prober, at, period))
			return false;
		repeated++;
	}
	return repeated >= ENOUGH;
}

static void learn(struct prober *prober)
{
	size_t count = kept(prober);
	prober->period = 0;
	if (count <= ENOUGH)
		return;
	double latest = time_of(prober, 0);
	for (size_t age = 1; age < count; age++) {
		double period = latest - time_of(prober, age);
		if (period > longest_period)
			return;
		if (period >= shortest_period && in_one_period(prober, period) <= MOST_PER_PERIOD &&
		    fits(prober, period)) {
			prober->period = period;
			return;
		}
	}
}

bool probes_note(struct probes *probes, const struct address *peer, double at)
{
	struct prober *prober = prober_of(probes, peer);
	if (!prober)
		return false;
	bool expected = prober->period > 0 && has_predecessor(prober, at, prober->period);
	prober->times[prober->count++ % MOST_TIMES] = at;
	if (!expected)
		learn(prober);
	return expected || prober->period > 0;
}

bool probes_expect(const struct probes *probes, const struct address *peer)
{
	for (size_t i = 0; i < probes->count; i++)
		if (address_equal(&probes->probers[i].peer, peer))
			return probes->probers[i].period > 0;
	return false;
}

double probes_rate(const struct probes *probes)
{
	double rate = 0;
	for (size_t i = 0; i < probes->count; i++) {
		const struct prober *prober = &probes->probers[i];
		if (prober->period == 0)
			continue;
		rate += (double)in_one_period(prober, prober->period) / prober->period;
	}
	return rate;
}
