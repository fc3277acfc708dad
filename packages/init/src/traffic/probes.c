#include "probes.h"

#include <math.h>

/* The kubelet's shortest period is 1 s; traffic as regular as that, and as slow, is a probe whoever sends it. */
static const double shortest_period = 900;
static const double longest_period = 65000;
static const double a_while = 5000;
/* Repetitions that make a rule: four by chance are rarer than 1 in 100. */
enum { ENOUGH = 4 };
/* Startup, readiness and liveness probe of one kubelet; more than that in one period is traffic, however regular it may look. */
enum { MOST_PER_PERIOD = 3 };
/* Probes in a row that may have left no trace. */
enum { MOST_LOST = 3 };

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

/* Room is made by who comes too often for a prober, else by who came once and not again for a while: as large a request as no other. */
static struct prober *room(struct probes *probes, double now)
{
	if (probes->count < MOST_PROBERS)
		return &probes->probers[probes->count++];
	struct prober *single = NULL;
	for (size_t i = 0; i < probes->count; i++) {
		struct prober *prober = &probes->probers[i];
		if (too_busy_for_a_prober(prober))
			return prober;
		if (prober->size != SIZE_UNKNOWN && prober->count == 1 && now - prober->times[0] > a_while)
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

/* A busy node probes, or a busy pod answers, some 50 ms late at times. */
static double tolerance_of(double period)
{
	return 50 + period * 0.05;
}

/* Whether a connection was seen `before` ago, give or take what a period is late at times. */
static bool has_predecessor(const struct prober *prober, double at, double before, double period)
{
	double tolerance = tolerance_of(period);
	for (size_t age = 0; age < kept(prober); age++)
		if (fabs(at - time_of(prober, age) - before) <= tolerance)
			return true;
	return false;
}

/* Of connections that have ended before anybody looked only those that our side closed have left a trace: some probes in between have not. */
static bool may_have_lost_predecessor(const struct prober *prober, double at, double period)
{
	for (int periods = 2; prober->size == SIZE_UNKNOWN && periods <= MOST_LOST + 1; periods++)
		if (has_predecessor(prober, at, periods * period, period))
			return true;
	return false;
}

/*
 * Several probes of one kubelet (readiness, liveness) come from one address, each at its own phase: a period fits when the
 * connections later than the first period have a predecessor just one period before.
 */
static bool fits(const struct prober *prober, double period)
{
	size_t count = kept(prober);
	double first = time_of(prober, count - 1);
	size_t repeated = 0, missed = 0;
	if ((double)count > MOST_PER_PERIOD * ((time_of(prober, 0) - first) / period + 1))
		return false;
	for (size_t age = 0; age < count; age++) {
		double at = time_of(prober, age);
		if (at - first < period - tolerance_of(period))
			continue;
		if (has_predecessor(prober, at, period, period))
			repeated++;
		else
			missed += !may_have_lost_predecessor(prober, at, period);
	}
	/* One in five may be late: the first probe of a cold server is. */
	return repeated >= ENOUGH && missed * 4 <= repeated;
}

/* Where all ask for just as much: evenly spaced, but for some that are late. By chance one in 10,000 is so. */
static double even_period(const struct prober *prober)
{
	enum { GAPS = 5 };
	if (prober->size == SIZE_UNKNOWN || kept(prober) <= GAPS)
		return 0;
	double period = (time_of(prober, 0) - time_of(prober, GAPS)) / GAPS;
	size_t exact = 0;
	for (size_t age = 0; age < GAPS; age++) {
		double off = fabs(time_of(prober, age) - time_of(prober, age + 1) - period);
		if (off > period / 2)
			return 0;
		exact += off <= tolerance_of(period);
	}
	return exact * 2 > GAPS && period >= shortest_period && period <= longest_period ? period : 0;
}

static double period_of(const struct prober *prober)
{
	size_t count = kept(prober);
	for (size_t age = 1; age < count && count > ENOUGH; age++) {
		double period = time_of(prober, 0) - time_of(prober, age);
		if (period > longest_period)
			break;
		if (period >= shortest_period && in_one_period(prober, period) <= MOST_PER_PERIOD &&
		    fits(prober, period))
			return period;
	}
	return even_period(prober);
}

static void learn(struct prober *prober, double period)
{
	prober->period = period;
	prober->per_period = in_one_period(prober, period);
}

/*
 * A busy kubelet is a third of a period late at times, and in time again with the next probe. Where all ask for just as much, that they are no more
 * than before is enough.
 */
static bool as_many_as_before(const struct prober *prober)
{
	enum { PERIODS = 4 };
	return prober->size != SIZE_UNKNOWN &&
	       in_one_period(prober, PERIODS * prober->period) <= PERIODS * prober->per_period + 1;
}

static bool expects(const struct prober *prober, double at)
{
	return prober->period > 0 && has_predecessor(prober, at, prober->period, prober->period);
}

static void note_time(struct prober *prober, double at)
{
	prober->times[prober->count++ % MOST_TIMES] = at;
}

/* The address is known for a prober by connections of which nobody knows the size: three that came so, with none of that size between, tell it. */
static bool comes_as(const struct prober *prober, double period)
{
	for (size_t age = 0; age < 2; age++)
		if (kept(prober) < 3 ||
		    fabs(time_of(prober, age) - time_of(prober, age + 1) - period) > tolerance_of(period))
			return false;
	return true;
}

bool probes_expect(const struct probes *probes, const struct address *peer, bool by_size)
{
	for (size_t i = 0; i < probes->count; i++)
		if (probes->probers[i].period > 0 && !(by_size && probes->probers[i].size == SIZE_UNKNOWN) &&
		    address_equal(&probes->probers[i].peer, peer))
			return true;
	return false;
}

enum noted probes_note(struct probes *probes, const struct address *peer, uint64_t size, double at)
{
	struct prober *any = find(probes, peer, SIZE_UNKNOWN);
	struct prober *prober = find_or_add(probes, peer, size, at);
	if (!prober)
		return NO_PROBE;
	bool of_any = any && any != prober && expects(any, at);
	bool expected = expects(prober, at);
	if (of_any)
		note_time(any, at);
	note_time(prober, at);
	if (prober->period == 0) {
		bool alike = any && any->period > 0 && comes_as(prober, any->period);
		learn(prober, alike ? any->period : period_of(prober));
		if (prober->period > 0)
			return FIRST_KNOWN_PROBE;
		return of_any && !probes_expect(probes, peer, true) ? A_PROBE : NO_PROBE;
	}
	if (expected || as_many_as_before(prober))
		return A_PROBE;
	/* Traffic from an address that also probes is traffic; when it becomes frequent, nothing from there is a probe for sure. */
	if (!fits(prober, prober->period))
		prober->period = 0;
	return NO_PROBE;
}

bool probes_explain(const struct probes *probes, const struct address *peer, uint64_t size, double at)
{
	for (size_t i = 0; i < probes->count; i++) {
		const struct prober *prober = &probes->probers[i];
		if (prober->period == 0 || !address_equal(&prober->peer, peer))
			continue;
		if (size != SIZE_UNKNOWN && same_size(prober->size, size))
			return true;
		/* How large it was nobody knows: it came as many periods before one of the others. */
		double periods = (time_of(prober, 0) - at) / prober->period;
		double off = fabs(periods - floor(periods + 0.5)) * prober->period;
		if (size == SIZE_UNKNOWN && off <= tolerance_of(prober->period))
			return true;
	}
	return false;
}

double probes_in(const struct probes *probes, const struct address *peer, double span)
{
	double count = 0;
	for (size_t i = 0; i < probes->count; i++) {
		const struct prober *prober = &probes->probers[i];
		if (prober->period > 0 && address_equal(&prober->peer, peer))
			count = fmax(count, prober->per_period * (span / prober->period + 1));
	}
	return count;
}
