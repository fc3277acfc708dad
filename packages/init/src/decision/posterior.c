#include "posterior.h"

#include <math.h>

static const double delays[HYPOTHESIS_DELAYS] = { 0, 0.125, 0.25, 0.5, 1, 2, 4, 8 };
static const double delay_weights[HYPOTHESIS_DELAYS] = { 8, 1, 1, 1, 0.5, 0.2, 0.02, 0.003 };
static const double means[HYPOTHESIS_MEANS] = { 1.0 / 64, 1.0 / 16, 0.25, 1, 4 };
static const double mean_weights[HYPOTHESIS_MEANS] = { 1, 1, 1, 0.5, 0.01 };
static const double step = 4;
static const double laggards = 0.02;
static const double kinds[HYPOTHESIS_KINDS] = { 0.7, 0.3 };
/* Stands for the logarithm of 0, with which sums are still numbers. */
static const double impossible = -1000;

enum { PER_DELAY = HYPOTHESIS_MEANS * HYPOTHESIS_KINDS };

static double weight_of(int delay, int rest)
{
	return delay_weights[delay] * mean_weights[rest / HYPOTHESIS_KINDS] * kinds[rest % HYPOTHESIS_KINDS];
}

/* The delay of the latest arrival is as likely as the time until the next was due is part of the way between two of the prior. */
static void add_latest(struct posterior *posterior, double latest, double rate, double sum)
{
	int before = HYPOTHESIS_DELAYS - 1;
	while (before > 0 && posterior->begins[before] > latest)
		before--;
	double next = before + 1 < HYPOTHESIS_DELAYS ? delays[before + 1] : 2 * delays[HYPOTHESIS_DELAYS - 1];
	double way = (next - delays[before]) * posterior->convergence;
	double share = latest > 0 ? fmin(1, 1 / (rate * way)) : 0;
	posterior->begins[HYPOTHESIS_DELAYS] = latest;
	for (int i = 0; i < PER_DELAY; i++)
		posterior->logs[HYPOTHESIS_DELAYS * PER_DELAY + i] =
		    fmax(impossible, log(share * (weight_of(before, i) / sum)));
}

void posterior_init(struct posterior *posterior, double convergence, double now, double latest, double rate)
{
	*posterior = (struct posterior){ .convergence = convergence, .now = now };
	double sum = 0;
	for (int i = 0; i < HYPOTHESIS_DELAYS * PER_DELAY; i++)
		sum += weight_of(i / PER_DELAY, i % PER_DELAY);
	for (int i = 0; i < HYPOTHESIS_DELAYS * PER_DELAY; i++)
		posterior->logs[i] = log(weight_of(i / PER_DELAY, i % PER_DELAY) / sum);
	for (int i = 0; i < HYPOTHESIS_DELAYS; i++)
		posterior->begins[i] = delays[i] * convergence;
	add_latest(posterior, latest, rate, sum);
	for (int i = 0; i < HYPOTHESIS_COUNT; i++)
		posterior->products[i] = 1;
}

/* Of a time for which a sender goes on, what counts: one mean convergence time. */
static double counted(const struct posterior *posterior, double time)
{
	return fmin(posterior->convergence, time);
}

static void multiply(struct posterior *posterior, int index, double likelihood)
{
	double product = posterior->products[index] * likelihood;
	if (product > 1e-200) {
		posterior->products[index] = product;
		return;
	}
	posterior->logs[index] += log(posterior->products[index]) + log(likelihood);
	posterior->products[index] = 1;
}

/* From the slowest mean's exponential to those of the faster ones, by fourth powers. */
static void powers(double into[HYPOTHESIS_MEANS + 1], double slowest)
{
	double power = slowest;
	for (int i = HYPOTHESIS_MEANS; i >= 0; i--) {
		into[i] = power;
		power *= power;
		power *= power;
	}
}

/* A sender of which is known what is alike for all hypotheses. */
struct seen {
	double rate, rate_now;
	double last;
};

/* Nobody can have let go yet: silence speaks against the hypothesis, and everything is still to come. */
static void not_yet(struct posterior *posterior, const struct seen *seen, double hazard, double begin, int first)
{
	for (int i = 0; i < PER_DELAY; i++) {
		double m = means[i / HYPOTHESIS_KINDS] * posterior->convergence;
		posterior->logs[first + i] -= hazard;
		posterior->losses[first + i] += seen->rate_now * counted(posterior, m + begin - posterior->now);
	}
}

static void update_delay(struct posterior *posterior, const struct seen *seen, double before, double after, double begin,
		  int first)
{
	double still = fmax(0, seen->last - begin);
	double silence = posterior->now - begin - still;
	double chance = exp(-after);
	double rate = silence > 0 ? fmin(seen->rate, after / silence) : seen->rate;
	double slowest = means[HYPOTHESIS_MEANS - 1] * step * posterior->convergence;
	double silent[HYPOTHESIS_MEANS + 1], sending[HYPOTHESIS_MEANS + 1];
	powers(silent, exp(-silence / slowest));
	powers(sending, exp(-still / slowest));
	for (int mean = 0; mean < HYPOTHESIS_MEANS; mean++) {
		int index = first + mean * HYPOTHESIS_KINDS;
		double m = means[mean] * posterior->convergence;
		double slow = step * m;
		double alive = chance * silent[mean];
		double quiet = alive + (1 - alive) / (1 + rate * m);
		posterior->logs[index] -= before + still / m;
		multiply(posterior, index, quiet);
		double counts = counted(posterior, m);
		posterior->losses[index] += alive / quiet * counts * seen->rate_now;
		double usual = (1 - laggards) * sending[mean + 1] * sending[mean + 1] * sending[mean + 1];
		double slow_alive = chance * silent[mean + 1];
		double all = usual * quiet + laggards * (slow_alive + (1 - slow_alive) / (1 + rate * slow));
		posterior->logs[index + 1] -= before + still / slow;
		multiply(posterior, index + 1, all);
		double to_come = usual * alive * counts + laggards * slow_alive * counted(posterior, slow);
		posterior->losses[index + 1] += to_come / all * seen->rate_now;
	}
}

void posterior_update(struct posterior *posterior, const struct habit *habit, double last)
{
	double until = fmin(last, posterior->now);
	double silence = posterior->now - until;
	struct seen seen = {
		.rate = habit->rate,
		.rate_now = habit_rate_after(habit, silence),
		.last = until,
	};
	double whole = habit_hazard(habit, silence);
	for (int delay = 0; delay <= HYPOTHESIS_DELAYS; delay++) {
		double begin = posterior->begins[delay];
		double before = until < begin ? habit_hazard(habit, begin - until) : 0;
		if (begin < posterior->now)
			update_delay(posterior, &seen, before, whole - before, begin, delay * PER_DELAY);
		else
			not_yet(posterior, &seen, whole, begin, delay * PER_DELAY);
	}
}

double posterior_loss_under(const struct posterior *posterior, const struct posterior *believed)
{
	double highest = -INFINITY;
	double logs[HYPOTHESIS_COUNT];
	for (int i = 0; i < HYPOTHESIS_COUNT; i++) {
		logs[i] = believed->logs[i] + log(believed->products[i]);
		highest = fmax(highest, logs[i]);
	}
	double sum = 0, loss = 0;
	for (int i = 0; i < HYPOTHESIS_COUNT; i++) {
		double weight = exp(logs[i] - highest);
		sum += weight;
		loss += weight * posterior->losses[i];
	}
	return loss / sum;
}
