#include "gaps.h"

#include <math.h>

const double gaps_horizon_ms = 120000;

/* ms. Shorter ones are stalls of a machine: those come again, and do no harm as a habit. */
static const double shortest_pause_ms = 3000;
const double fewest_of_one = 50;

/* Weight of the latest gap in the mean of recent ones. */
static const double recency = 1.0 / 8;

static void fade(struct gaps *gaps)
{
	double part = pow(0.5, ceil(log2(gaps->exposure / gaps_horizon_ms)));
	gaps->count *= part;
	gaps->exposure *= part;
	gaps->pauses *= part;
	gaps->longest_before = gaps->longest;
	gaps->longest = 0;
}

bool gaps_add(struct gaps *gaps, double gap, bool held, double coverage, double fewest)
{
	double judged = held ? gap : gap * coverage;
	struct habit usual = learnt_habit(gaps->count, gaps->exposure * coverage, gaps_longest(gaps));
	if (!held && gaps->count >= fewest && judged > shortest_pause_ms && habit_hazard(&usual, judged) > left_hazard) {
		gaps->pauses++;
		gaps->longest_pause = fmax(gaps->longest_pause, gap);
		return true;
	}
	gaps->count++;
	gaps->exposure += gap;
	gaps->longest = fmax(gaps->longest, judged);
	if (gaps->exposure > gaps_horizon_ms)
		fade(gaps);
	gaps->recent += (gaps->count == 1 ? 1 : recency) * (gap - gaps->recent);
	return false;
}

void gaps_set_coverage(struct gaps *gaps, double coverage)
{
	gaps->longest *= coverage;
	gaps->longest_before *= coverage;
}

double gaps_longest(const struct gaps *gaps)
{
	return fmax(gaps->longest, gaps->longest_before);
}

struct habit gaps_habit(const struct gaps *gaps, double exposure, double idle)
{
	struct habit habit = learnt_habit(gaps->count, exposure + idle, gaps_longest(gaps));
	habit.pause_share = gaps->pauses > 0 ? gaps->pauses / (gaps->pauses + gaps->count) : 0;
	habit.longest_pause = gaps->longest_pause;
	return habit;
}
