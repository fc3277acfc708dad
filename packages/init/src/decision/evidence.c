#include "evidence.h"

#include <math.h>

static const double highest_rate = 10000;

struct habit known_habit(double rate, double silence)
{
	double bounded = fmin(rate, highest_rate);
	return (struct habit){ .rate = bounded, .rate_now = bounded, .surprise = bounded * silence };
}

/* How much more slowly than their longest gap tells the tail of bursty gaps falls. */
static const double burstiness = 0.4;

struct habit learnt_habit(double gaps, double exposure, double longest_gap, double silence)
{
	double t = fmax(exposure, 1 / highest_rate);
	double rate = fmin(gaps / t, highest_rate);
	double predictive = gaps * log1p(silence / t);
	double expected = log(fmax(gaps, 1)) + 0.577;
	double bursts = exp(burstiness * log(fmax(1, longest_gap * rate / expected)));
	return (struct habit){
		.rate = rate,
		.rate_now = fmin(gaps / (t + silence), highest_rate),
		.surprise = longest_gap > 0 ? fmin(predictive, silence * expected / longest_gap / bursts) : predictive,
	};
}

/* How many gaps a mean of recent gaps is worth. */
static const double recent_gaps = 10;

double recent_surprise(double mean_gap, double silence)
{
	return recent_gaps * log1p(silence / (recent_gaps * mean_gap));
}

double alive_probability(struct habit habit, double silence, double convergence)
{
	double u = 1 / convergence;
	double total = habit.rate + u;
	double log_converged = log(u / total) + log(1 - exp(-total * silence));
	return 1 / (1 + exp(log_converged + u * silence + habit.surprise));
}

double expected_loss(struct habit habit, double silence, double convergence)
{
	return alive_probability(habit, silence, convergence) * habit.rate_now * convergence;
}

static double loss_at(double rate, double silence, double convergence)
{
	return expected_loss(known_habit(rate, silence), silence, convergence);
}

/* The rate at which a single sender's expected loss peaks, by golden section on the logarithm. */
static double worst_rate(double silence, double convergence)
{
	const double ratio = (sqrt(5) - 1) / 2;
	double low = log(1e-9);
	double high = log(highest_rate);
	for (int step = 0; step < 32; step++) {
		double left = high - ratio * (high - low);
		double right = low + ratio * (high - low);
		if (loss_at(exp(left), silence, convergence) < loss_at(exp(right), silence, convergence))
			low = left;
		else
			high = right;
	}
	return exp(high);
}

double expected_loss_of_aggregate(double count, double total_rate, double silence, double convergence)
{
	if (count <= 0 || total_rate <= 0)
		return 0;
	double rate = fmin(total_rate / count, worst_rate(silence, convergence));
	return count * loss_at(rate, silence, convergence);
}
