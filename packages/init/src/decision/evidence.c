#include "evidence.h"

#include <math.h>

const double left_hazard = 20.72326583694641;

static const double highest_rate = 10000;
/* A shorter time shows no habit: a pool that opens several connections at once is no sender of thousands a second. */
static const double least_exposure_ms = 1000;
/* Exponent by which the tail of bursty gaps falls more slowly than their longest gap suggests. */
static const double burstiness = 0.4;

struct habit learnt_habit(double gaps, double exposure, double longest_gap)
{
	double time = fmax(exposure, least_exposure_ms);
	double rate = fmin(gaps / time, highest_rate);
	double expected = log(fmax(gaps, 1)) + 0.577;
	double bursts = pow(fmax(1, longest_gap * rate / expected), burstiness);
	double slope = longest_gap > 0 ? expected / longest_gap / bursts : INFINITY;
	return (struct habit){ .rate = rate, .slope = slope, .gaps = gaps, .time = time };
}

double habit_hazard(const struct habit *habit, double silence)
{
	if (silence <= 0)
		return 0;
	double hazard = fmin(habit->gaps * log1p(silence / habit->time), silence * habit->slope);
	if (habit->pause_share > 0) {
		/* Both chances are taken relative to the larger one, so that neither vanishes in rounding. */
		double pause = silence / habit->longest_pause;
		double least = fmin(hazard, pause);
		hazard = least - log((1 - habit->pause_share) * exp(least - hazard) +
				       habit->pause_share * exp(least - pause));
	}
	if (habit->recent_gap > 0)
		hazard = fmin(hazard, habit->recent_worth * log1p(silence / (habit->recent_worth * habit->recent_gap)));
	return hazard;
}

double habit_rate_after(const struct habit *habit, double silence)
{
	return fmin(habit->gaps / (habit->time + silence), highest_rate);
}
