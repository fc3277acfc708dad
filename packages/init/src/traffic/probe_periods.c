#include "probe_periods.h"

#include <math.h>

/* How likely random traffic may be taken for probes, at the rate at which it resembles them most. */
static const double rarely = 1.0 / 100;
static const double rarely_where_assumed = 1.0 / 500;
/* Probes of one kubelet that have the same period come at once. */
enum { MOST_AT_ONCE = 3 };

void probe_periods_default(struct probe_periods *periods)
{
	if (periods->count == 0)
		*periods = (struct probe_periods){ .each = { 10000, 10000, 10000 }, .count = 3, .assumed = true };
}

static size_t merge(const struct rhythm *rhythm, const struct rhythm *before, double times[2 * MOST_TIMES])
{
	size_t left = rhythm_kept(rhythm), left_before = before ? rhythm_kept(before) : 0, count = 0;
	while (left > 0 || left_before > 0) {
		bool earlier = left_before > 0 && (left == 0 || rhythm_time(before, left_before - 1) <= rhythm_time(rhythm, left - 1));
		times[count++] = earlier ? rhythm_time(before, --left_before) : rhythm_time(rhythm, --left);
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
	double chance; /* that as many connections at random come as evenly */
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
 * The chance that the next connection of random traffic continues one of the series within `off` ms. At the rate at which that is likeliest,
 * it comes in one given millisecond with a chance of 1 / (e * period).
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
	double least = LATEST, period = 0;
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
	attempt->chance *= chance(attempt, fmax(least, IN_TIME));
	attempt->even++;
	*next = (struct series){ .latest = at, .period = period };
	return true;
}

/* The chance that a product of so many chances is as small, by Fisher's method. */
static double combined(double product, size_t count)
{
	double term = product, sum = 0;
	for (size_t i = 1; i <= count; i++) {
		sum += term;
		term *= -log(product) / (double)i;
	}
	return sum;
}

bool probe_periods_match(const struct probe_periods *periods, const struct rhythm *rhythm, const struct rhythm *before)
{
	struct attempt attempt = { .periods = periods, .chance = 1 };
	double times[2 * MOST_TIMES];
	size_t count = merge(rhythm, before, times), tick = 0;
	bool latest_goes_on = false;
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && times[i] - times[tick] <= IN_TIME) {
			if (i - tick >= MOST_AT_ONCE)
				return false;
			continue;
		}
		tick = i;
		latest_goes_on = goes_on(&attempt, times[i]);
		if (latest_goes_on)
			continue;
		if (attempt.count == periods->count)
			return false;
		attempt.series[attempt.count++] = (struct series){ .latest = times[i] };
	}
	return latest_goes_on &&
	       combined(attempt.chance, attempt.even) <= (periods->assumed ? rarely_where_assumed : rarely);
}

bool probe_periods_explain(const struct probe_periods *periods, const struct rhythm *rhythm, double at)
{
	for (size_t age = 0; age < rhythm_kept(rhythm); age++)
		for (size_t i = 0; i < periods->count; i++)
			if (fabs(fabs(rhythm_time(rhythm, age) - at) - periods->each[i]) <= IN_TIME)
				return true;
	return false;
}
