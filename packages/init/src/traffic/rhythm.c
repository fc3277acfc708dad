#include "rhythm.h"

#include <math.h>

/* The kubelet's shortest period is 1 s; traffic as regular and as slow as that is a probe, from any source. */
static const double shortest_period = 900;
/* Startup, readiness and liveness probe of one kubelet; more than that in one period is traffic, however regular it may look. */
enum { MOST_PER_PERIOD = 3 };
/* Probes in a row that may have left no trace. */
enum { MOST_LOST = 3 };
/* Over so many periods a prober sends at least one probe. Except for late ones, it sends no more than in earlier periods. */
enum { PERIODS = MOST_LOST + 1 };
/* -ln of the chance that random traffic looks as regular: one in a million. */
static const double surprising = 13.8;

size_t rhythm_kept(const struct rhythm *rhythm)
{
	return rhythm->count < MOST_TIMES ? rhythm->count : MOST_TIMES;
}

double rhythm_time(const struct rhythm *rhythm, size_t age)
{
	return rhythm->times[(rhythm->count - 1 - age) % MOST_TIMES];
}

void rhythm_note(struct rhythm *rhythm, double at)
{
	if (rhythm->count == 0)
		rhythm->first = at;
	double later = rhythm->count > 0 ? rhythm_time(rhythm, 0) : at;
	/* A connection that was found open is reported when it is over. It may have come before the latest. */
	if (at < later)
		rhythm->times[(rhythm->count - 1) % MOST_TIMES] = at;
	rhythm->times[rhythm->count++ % MOST_TIMES] = fmax(at, later);
}

double rhythm_span(const struct rhythm *rhythm)
{
	return rhythm_time(rhythm, 0) - rhythm->first;
}

static size_t within(const struct rhythm *rhythm, double span)
{
	size_t count = 0;
	for (size_t age = 0; age < rhythm_kept(rhythm); age++)
		count += rhythm_time(rhythm, 0) - rhythm_time(rhythm, age) < span;
	return count;
}

static bool came_at(const struct rhythm *rhythm, double at)
{
	for (size_t age = 0; age < rhythm_kept(rhythm); age++)
		if (fabs(rhythm_time(rhythm, age) - at) <= IN_TIME)
			return true;
	return false;
}

static bool may_have_come_at(const struct rhythm *rhythm, double at, double period, int lost)
{
	for (int periods = 1; periods <= lost + 1; periods++)
		if (came_at(rhythm, at - periods * period))
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
 * Several probes of one kubelet (readiness, liveness) come from one address, each at its own phase: a period fits when far more connections than by
 * chance have a predecessor just one period before, or up to four where some left no trace.
 */
static bool fits(const struct rhythm *rhythm, double period, int lost)
{
	double first = rhythm_time(rhythm, rhythm_kept(rhythm) - 1);
	double rate = (double)rhythm_kept(rhythm) / (rhythm_time(rhythm, 0) - first);
	double chance = 1 - exp(-rate * 2 * IN_TIME * (lost + 1));
	double trials = 0, hits = 0;
	for (size_t age = 0; age < rhythm_kept(rhythm); age++) {
		double at = rhythm_time(rhythm, age);
		if (at - first < period - IN_TIME)
			continue;
		trials++;
		hits += may_have_come_at(rhythm, at, period, lost);
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

/* How far from their places the latest are, if each is a period after the one before. */
static double spread(const struct rhythm *rhythm, size_t gaps, double period)
{
	double earliest = INFINITY, last = -INFINITY;
	for (size_t age = 0; age <= gaps; age++) {
		double place = rhythm_time(rhythm, age) + (double)age * period;
		earliest = fmin(earliest, place);
		last = fmax(last, place);
	}
	return last - earliest;
}

/* The period of the latest, where they are evenly spaced, or at most so late. */
static double even_period(const struct rhythm *rhythm, size_t gaps, double late)
{
	if (rhythm_kept(rhythm) <= gaps)
		return 0;
	double period = whole((rhythm_time(rhythm, 0) - rhythm_time(rhythm, gaps)) / (double)gaps);
	bool even = spread(rhythm, gaps, period) <= late;
	return even && period >= shortest_period ? period : 0;
}

static double fitting_period(const struct rhythm *rhythm, int lost)
{
	for (size_t age = 1; age < rhythm_kept(rhythm); age++) {
		double period = whole(rhythm_time(rhythm, 0) - rhythm_time(rhythm, age));
		if (period >= shortest_period && within(rhythm, period * 0.95) <= MOST_PER_PERIOD &&
		    (fits(rhythm, period, 0) || (lost > 0 && fits(rhythm, period, lost))))
			return period;
	}
	return 0;
}

bool rhythm_learn(struct rhythm *rhythm, bool complete)
{
	/* Few that are exact or more of which some are late: of traffic at random, if it is as slow as probes, 5 of 100 stretches of 15 s have either. */
	enum { FEW = 3, MORE = 5 };
	rhythm->period = fmax(even_period(rhythm, FEW, IN_TIME), even_period(rhythm, MORE, LATEST));
	rhythm->per_period = 1;
	if (rhythm->period > 0)
		return true;
	rhythm->period = fitting_period(rhythm, complete ? 0 : MOST_LOST);
	rhythm->per_period = within(rhythm, rhythm->period * 0.95);
	return rhythm->period > 0;
}

double rhythm_due(const struct rhythm *rhythm, double at, bool alone)
{
	double period = rhythm->period;
	for (size_t age = 0; period > 0 && age < rhythm_kept(rhythm); age++) {
		double periods = floor((at + IN_TIME - rhythm_time(rhythm, age)) / period);
		double due = rhythm_time(rhythm, age) + periods * period;
		if (periods >= 1 && periods <= PERIODS && (alone || at - due <= LATEST) && !came_at(rhythm, due))
			return due;
	}
	return NAN;
}

bool rhythm_keeps(const struct rhythm *rhythm)
{
	return within(rhythm, PERIODS * rhythm->period) <= PERIODS * rhythm->per_period + 2;
}

bool rhythm_is_lost(const struct rhythm *rhythm)
{
	bool rests = rhythm->period > 0 && within(rhythm, PERIODS * rhythm->period) == 1;
	return rests || within(rhythm, shortest_period * 0.95) > MOST_PER_PERIOD;
}

bool rhythm_explains(const struct rhythm *rhythm, double at)
{
	/* Of so many probes at least one is in time. */
	enum { LATELY = 8 };
	double latest_time = rhythm_time(rhythm, 0), earliest = 0;
	for (size_t age = 0; age < rhythm_kept(rhythm) && age < LATELY; age++)
		earliest = fmin(earliest, beside(rhythm_time(rhythm, age) - latest_time, rhythm->period));
	return fabs(beside(at - latest_time - earliest, rhythm->period)) <= IN_TIME;
}
