#include "probe_classifier.h"

#include <math.h>

/* The chance that random traffic is taken for probes, at the rate at which it resembles them most. */
static const double rarely = 1.0 / 100;
static const double rarely_where_assumed = 1.0 / 500;
/* Probes of one kubelet that have the same period come at once. */
enum { MOST_AT_ONCE = 3 };

static size_t merge(const struct times *times, const struct times *before, double merged[2 * MOST_TIMES])
{
	size_t left = times_kept(times), left_before = before ? times_kept(before) : 0, count = 0;
	while (left > 0 || left_before > 0) {
		bool earlier = left_before > 0 && (left == 0 || times_at(before, left_before - 1) <= times_at(times, left - 1));
		merged[count++] = earlier ? times_at(before, --left_before) : times_at(times, --left);
	}
	return count;
}

/* One probe of a kubelet. */
struct series {
	double latest;
	double period; /* 0 while one connection is all there is of it */
};

struct attempt {
	const struct probe_periods *periods;
	struct series series[MOST_PROBE_PERIODS];
	size_t count;
	double chance; /* the chance that this many connections at random come as evenly */
	size_t even;
};

static bool is_again(const struct probe_periods *periods, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (periods->each[i] == periods->each[index])
			return true;
	return false;
}

/*
 * The chance that the next connection of random traffic continues one of the series within `off` ms. Some rate makes that likeliest. At this rate a
 * connection comes in a given millisecond with a chance of 1 / (e * period).
 */
static double chance(const struct attempt *attempt, double off)
{
	double per_ms = 0;
	for (size_t i = 0; i < attempt->periods->count; i++)
		per_ms += is_again(attempt->periods, i) ? 0 : exp(-1) / attempt->periods->each[i];
	return fmin(1, (double)attempt->count * 2 * off * per_ms);
}

static bool goes_on(struct attempt *attempt, double at)
{
	const struct probe_periods *periods = attempt->periods;
	struct series *next = NULL;
	double least = LATEST_MS, period = 0;
	for (size_t i = 0; i < attempt->count * periods->count; i++) {
		struct series *series = &attempt->series[i / periods->count];
		double candidate = periods->each[i % periods->count], off = fabs(at - series->latest - candidate);
		if (off > least || (series->period != 0 && series->period != candidate))
			continue;
		least = off;
		period = candidate;
		next = series;
	}
	if (!next)
		return false;
	attempt->chance *= chance(attempt, fmax(least, IN_TIME_MS));
	attempt->even++;
	*next = (struct series){ .latest = at, .period = period };
	return true;
}

/* The chance that a product of this many chances is as small, by Fisher's method. */
static double combined(double product, size_t count)
{
	double term = product, sum = 0;
	for (size_t i = 1; i <= count; i++) {
		sum += term;
		term *= -log(product) / (double)i;
	}
	return sum;
}

/*
 * Whether the latest of `times` is a probe, and all of them are. `before`: connections of the same address from a time when sizes were unknown; NULL
 * where there are none.
 */
static bool match(const struct probe_periods *periods, const struct times *times, const struct times *before)
{
	struct attempt attempt = { .periods = periods, .chance = 1 };
	double merged[2 * MOST_TIMES];
	size_t count = merge(times, before, merged), tick = 0;
	bool latest_goes_on = false;
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && merged[i] - merged[tick] <= IN_TIME_MS) {
			if (i - tick >= MOST_AT_ONCE)
				return false;
			continue;
		}
		tick = i;
		latest_goes_on = goes_on(&attempt, merged[i]);
		if (latest_goes_on)
			continue;
		if (attempt.count == periods->count)
			return false;
		attempt.series[attempt.count++] = (struct series){ .latest = merged[i] };
	}
	return latest_goes_on &&
	       combined(attempt.chance, attempt.even) <= (periods->assumed ? rarely_where_assumed : rarely);
}

static void set_known(struct prober *prober, bool known)
{
	if (known)
		prober->known_by = &by_periods;
	else if (prober->known_by == &by_periods)
		prober->known_by = NULL;
}

static enum probe_verdict note(const struct probe_sighting *sighting)
{
	struct prober *prober = sighting->prober, *before = sighting->without_size;
	bool was = prober->known_by == &by_periods, before_was = before && before->known_by == &by_periods;
	bool with_before = before && before->known_by != &by_regularity &&
			   match(sighting->periods, &prober->times, &before->times);
	bool is = with_before || match(sighting->periods, &prober->times, NULL);
	set_known(prober, is);
	/* Where connections of another size are the probes, those of this size say nothing about connections without a size. */
	if (with_before || (before && !is && !sighting->other_size_probes))
		set_known(before, with_before);
	bool before_is = before && before->known_by == &by_periods;
	if (is)
		return was && before_was == before_is ? A_PROBE : FIRST_KNOWN_PROBE;
	return was || (before_was && !before_is) ? NO_PROBER : NOT_RECOGNISED;
}

/* Of connections without a size all are probes, or none. */
static bool explains(const struct prober *prober, const struct probe_periods *periods, double at)
{
	for (size_t age = 0; age < times_kept(&prober->times); age++)
		for (size_t i = 0; i < periods->count; i++)
			if (fabs(fabs(times_at(&prober->times, age) - at) - periods->each[i]) <= IN_TIME_MS)
				return true;
	return !has_size(prober);
}

const struct probe_classifier by_periods = { .note = note, .explains = explains };
