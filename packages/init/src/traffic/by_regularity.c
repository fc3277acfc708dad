#include "probe_classifier.h"

#include <math.h>

/* The kubelet's shortest period is 1 s; traffic as regular and as slow as that is a probe, from any source. */
static const double shortest_period_ms = 900;
/* One kubelet has a startup, a readiness and a liveness probe. More in one period is traffic, however regular it may look. */
enum { MOST_PER_PERIOD = 3 };
/* Probes in a row that may have left no trace. */
enum { MOST_LOST = 3 };
/* Over this many periods a prober sends at least one probe. It sends no more than in earlier periods, except for late ones. */
enum { PERIODS = MOST_LOST + 1 };
/* -ln of the chance that random traffic looks as regular: one in a million. */
static const double surprising = 13.8;

static size_t within(const struct times *times, double span)
{
	size_t count = 0;
	for (size_t age = 0; age < times_kept(times); age++)
		count += times_at(times, 0) - times_at(times, age) < span;
	return count;
}

static bool came_at(const struct times *times, double at)
{
	for (size_t age = 0; age < times_kept(times); age++)
		if (fabs(times_at(times, age) - at) <= IN_TIME_MS)
			return true;
	return false;
}

static bool may_have_come_at(const struct times *times, double at, double period, int lost)
{
	for (int periods = 1; periods <= lost + 1; periods++)
		if (came_at(times, at - periods * period))
			return true;
	return false;
}

/* Whether `hits` of `trials` are more than chance brings: by the bound of Chernoff. */
static bool is_surprising(double hits, double trials, double chance)
{
	if (hits <= trials * chance)
		return false;
	double misses = trials - hits;
	double surprise = hits * log(hits / (trials * chance));
	if (misses > 0)
		surprise += misses * log(misses / (trials * (1 - chance)));
	return surprise >= surprising;
}

/*
 * Several probes of one kubelet (readiness, liveness) come from one address, each at its own phase. A period fits when far more connections than by
 * chance have a predecessor just one period before. Where some probes left no trace, the predecessor may be up to four periods before.
 */
static bool fits(const struct times *times, double period, int lost)
{
	double first = times_at(times, times_kept(times) - 1);
	double rate = (double)times_kept(times) / (times_at(times, 0) - first);
	double chance = 1 - exp(-rate * 2 * IN_TIME_MS * (lost + 1));
	double trials = 0, hits = 0;
	for (size_t age = 0; age < times_kept(times); age++) {
		double at = times_at(times, age);
		if (at - first < period - IN_TIME_MS)
			continue;
		trials++;
		hits += may_have_come_at(times, at, period, lost);
	}
	return is_surprising(hits, trials, chance);
}

/* How far after the nearest multiple of `period`, or before it where negative. */
static double beside(double time, double period)
{
	return time - floor(time / period + 0.5) * period;
}

/* Whole seconds, where it is nearly that: as probers are configured. */
static double whole(double period)
{
	double seconds = period - beside(period, 1000);
	return fabs(period - seconds) <= 0.15 * seconds ? seconds : period;
}

/* How far from their places the latest connections are, if each is a period after the one before. */
static double spread(const struct times *times, size_t gaps, double period)
{
	double earliest = INFINITY, last = -INFINITY;
	for (size_t age = 0; age <= gaps; age++) {
		double place = times_at(times, age) + (double)age * period;
		earliest = fmin(earliest, place);
		last = fmax(last, place);
	}
	return last - earliest;
}

/* The period of the latest connections, where they are evenly spaced, or late by at most `late`. */
static double even_period(const struct times *times, size_t gaps, double late)
{
	if (times_kept(times) <= gaps)
		return 0;
	double period = whole((times_at(times, 0) - times_at(times, gaps)) / (double)gaps);
	bool even = spread(times, gaps, period) <= late;
	return even && period >= shortest_period_ms ? period : 0;
}

static double fitting_period(const struct times *times, int lost)
{
	for (size_t age = 1; age < times_kept(times); age++) {
		double period = whole(times_at(times, 0) - times_at(times, age));
		if (period >= shortest_period_ms && within(times, period * 0.95) <= MOST_PER_PERIOD &&
		    (fits(times, period, 0) || (lost > 0 && fits(times, period, lost))))
			return period;
	}
	return 0;
}

/* Looks for a period. Where some connections are without a size, others may have left no trace. */
static bool find_period(struct prober *prober)
{
	/* Few that are exact or more of which some are late: of traffic at random, if it is as slow as probes, 5 of 100 stretches of 15 s have either. */
	enum { FEW = 3, MORE = 5 };
	const struct times *times = &prober->times;
	prober->period = fmax(even_period(times, FEW, IN_TIME_MS), even_period(times, MORE, LATEST_MS));
	prober->per_period = 1;
	if (prober->period == 0) {
		prober->period = fitting_period(times, has_size(prober) ? 0 : MOST_LOST);
		prober->per_period = within(times, prober->period * 0.95);
	}
	if (prober->period > 0)
		prober->known_by = &by_regularity;
	else if (prober->known_by == &by_regularity)
		prober->known_by = NULL;
	return prober->period > 0;
}

static double due(const struct prober *prober, double at, bool alone)
{
	double period = prober->period;
	for (size_t age = 0; age < times_kept(&prober->times); age++) {
		double periods = floor((at + IN_TIME_MS - times_at(&prober->times, age)) / period);
		double due = times_at(&prober->times, age) + periods * period;
		if (periods >= 1 && periods <= PERIODS && (alone || at - due <= LATEST_MS) && !came_at(&prober->times, due))
			return due;
	}
	return NAN;
}

/* Whether no more connections have come per period lately than when the period was found. */
static bool keeps_its_rate(const struct prober *prober)
{
	return within(&prober->times, PERIODS * prober->period) <= PERIODS * prober->per_period + 2;
}

/* The connections come too often to find a prober among them, or they have paused, as no prober does. */
static bool forgets(const struct prober *prober)
{
	bool rests = prober->period > 0 && within(&prober->times, PERIODS * prober->period) == 1;
	return rests || within(&prober->times, shortest_period_ms * 0.95) > MOST_PER_PERIOD;
}

static enum probe_verdict note(const struct probe_sighting *sighting)
{
	struct prober *prober = sighting->prober;
	if (prober->known_by != &by_regularity)
		return find_period(prober) ? FIRST_KNOWN_PROBE : NOT_RECOGNISED;
	/* Traffic from an address that also probes is traffic. When it becomes frequent, nothing from there is a probe for sure. */
	if (forgets(prober)) {
		prober->known_by = NULL;
		prober->period = 0;
		return NO_PROBE;
	}
	if (has_size(prober))
		return keeps_its_rate(prober) ? A_PROBE : NO_PROBE;
	find_period(prober);
	return NO_PROBE;
}

/* Whether the connection came a whole number of periods after one that was not late. */
static bool explains(const struct prober *prober, const struct probe_periods *periods, double at)
{
	/* Of this many probes at least one is in time. */
	enum { LATELY = 8 };
	const struct times *times = &prober->times;
	double latest_time = times_at(times, 0), earliest = 0;
	(void)periods;
	for (size_t age = 0; age < times_kept(times) && age < LATELY; age++)
		earliest = fmin(earliest, beside(times_at(times, age) - latest_time, prober->period));
	return fabs(beside(at - latest_time - earliest, prober->period)) <= IN_TIME_MS;
}

const struct probe_classifier by_regularity = { .note = note, .explains = explains, .due = due, .forgets = forgets };
