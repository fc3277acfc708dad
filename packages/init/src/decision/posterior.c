#include "posterior.h"

#include <math.h>

/* Stands for the logarithm of 0, with which sums are still numbers. */
static const double impossible = -1000;

void posterior_init(struct posterior *posterior, const struct prior *prior, double convergence, double now, double latest,
		    double rate)
{
	*posterior = (struct posterior){ .convergence = convergence, .now = now };
	int before = 0; /* the longest delay that ends before the latest arrival */
	for (int delay = 0; delay < HYPOTHESIS_DELAYS; delay++) {
		posterior->begins[delay] = delays[delay] * convergence;
		if (posterior->begins[delay] <= latest)
			before = delay;
	}
	posterior->begins[HYPOTHESIS_DELAYS] = latest;
	/*
	 * The delay of the latest arrival gets a share of the weight of the delay before it. The share is the time in which the next arrival was due, as a
	 * part of the interval.
	 */
	double way = (delays[before + 1] - delays[before]) * convergence;
	double share = latest > 0 ? fmin(1, 1 / (rate * way)) : 0;
	for (int i = 0; i < HYPOTHESIS_COUNT; i++) {
		int delay = i / HYPOTHESIS_MEANS;
		double weight = delay < HYPOTHESIS_DELAYS ? prior->weights[i] :
							    share * prior->weights[before * HYPOTHESIS_MEANS + i % HYPOTHESIS_MEANS];
		posterior->logs[i] = fmax(impossible, log(weight));
	}
}

void posterior_update(struct posterior *posterior, const struct habit *habit, double last)
{
	double now = posterior->now;
	double until = fmin(last, now);
	double rate_now = habit_rate_after(habit, now - until);
	double whole = habit_hazard(habit, now - until);
	int index = 0;
	for (int delay = 0; delay <= HYPOTHESIS_DELAYS; delay++) {
		double begin = posterior->begins[delay];
		/* A silence before the sender may have let go speaks against the delay. */
		double before = until < begin ? habit_hazard(habit, fmin(begin, now) - until) : 0;
		double silence = fmax(0, now - fmax(begin, until));
		double rate = silence > 0 ? fmin(habit->rate, (whole - before) / silence) : habit->rate;
		for (int mean = 0; mean < HYPOTHESIS_MEANS; mean++) {
			double m = means[mean] * posterior->convergence;
			double sends = exp(before - whole - silence / m);
			double likelihood = sends + (1 - sends) / (1 + rate * m);
			double to_come = fmin(posterior->convergence, m + fmax(0, begin - now));
			posterior->logs[index] += log(likelihood) - before - fmax(0, until - begin) / m;
			posterior->losses[index++] += sends / likelihood * rate_now * to_come;
		}
	}
}

double posterior_loss_under(const struct posterior *posterior, const struct posterior *believed)
{
	double highest = -INFINITY;
	for (int i = 0; i < HYPOTHESIS_COUNT; i++)
		highest = fmax(highest, believed->logs[i]);
	double sum = 0, loss = 0;
	for (int i = 0; i < HYPOTHESIS_COUNT; i++) {
		double weight = exp(believed->logs[i] - highest);
		sum += weight;
		loss += weight * posterior->losses[i];
	}
	return loss / sum;
}
