#include "environments.h"

#include <math.h>

static const double delays[ENVIRONMENT_DELAYS] = { 0, 0.125, 0.25, 0.5, 1, 2, 4, 8 };
static const double delay_weights[ENVIRONMENT_DELAYS] = { 8, 1, 1, 1, 0.5, 0.2, 0.02, 0.003 };
static const double means[ENVIRONMENT_MEANS] = { 1.0 / 64, 1.0 / 16, 0.25, 1, 4 };
static const double mean_weights[ENVIRONMENT_MEANS] = { 1, 1, 1, 0.5, 0.01 };
static const double step = 4;
static const double laggards = 0.02;
static const double kinds[ENVIRONMENT_KINDS] = { 0.7, 0.3 };
/* Stands for the logarithm of 0, with which sums are still numbers. */
static const double impossible = -1000;

enum { PER_DELAY = ENVIRONMENT_MEANS * ENVIRONMENT_KINDS };

static double weight_of(int delay, int rest)
{
	return delay_weights[delay] * mean_weights[rest / ENVIRONMENT_KINDS] * kinds[rest % ENVIRONMENT_KINDS];
}

/* The delay of the latest arrival is as likely as the time until the next was due is part of the way between two of the prior. */
static void add_latest(struct environments *environments, double latest, double rate, double sum)
{
	int before = ENVIRONMENT_DELAYS - 1;
	while (before > 0 && environments->begins[before] > latest)
		before--;
	double next = before + 1 < ENVIRONMENT_DELAYS ? delays[before + 1] : 2 * delays[ENVIRONMENT_DELAYS - 1];
	double way = (next - delays[before]) * environments->convergence;
	double share = latest > 0 ? fmin(1, 1 / (rate * way)) : 0;
	environments->begins[ENVIRONMENT_DELAYS] = latest;
	for (int i = 0; i < PER_DELAY; i++)
		environments->logs[ENVIRONMENT_DELAYS * PER_DELAY + i] =
		    fmax(impossible, log(share * (weight_of(before, i) / sum)));
}

void environments_init(struct environments *environments, double convergence, double now, double latest, double rate)
{
	*environments = (struct environments){ .convergence = convergence, .now = now };
	double sum = 0;
	for (int i = 0; i < ENVIRONMENT_DELAYS * PER_DELAY; i++)
		sum += weight_of(i / PER_DELAY, i % PER_DELAY);
	for (int i = 0; i < ENVIRONMENT_DELAYS * PER_DELAY; i++)
		environments->logs[i] = log(weight_of(i / PER_DELAY, i % PER_DELAY) / sum);
	for (int i = 0; i < ENVIRONMENT_DELAYS; i++)
		environments->begins[i] = delays[i] * convergence;
	add_latest(environments, latest, rate, sum);
	for (int i = 0; i < ENVIRONMENT_COUNT; i++)
		environments->products[i] = 1;
}

/* Of a time for which a sender goes on, what counts: one mean convergence time. */
static double counted(const struct environments *environments, double time)
{
	return fmin(environments->convergence, time);
}

static void multiply(struct environments *environments, int index, double likelihood)
{
	double product = environments->products[index] * likelihood;
	if (product > 1e-200) {
		environments->products[index] = product;
		return;
	}
	environments->logs[index] += log(environments->products[index]) + log(likelihood);
	environments->products[index] = 1;
}

/* From the slowest mean's exponential to those of the faster ones, by fourth powers. */
static void powers(double into[ENVIRONMENT_MEANS + 1], double slowest)
{
	double power = slowest;
	for (int i = ENVIRONMENT_MEANS; i >= 0; i--) {
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
static void not_yet(struct environments *environments, const struct seen *seen, double surprise, double begin, int first)
{
	for (int i = 0; i < PER_DELAY; i++) {
		double m = means[i / ENVIRONMENT_KINDS] * environments->convergence;
		environments->logs[first + i] -= surprise;
		environments->losses[first + i] += seen->rate_now * counted(environments, m + begin - environments->now);
	}
}

static void weigh(struct environments *environments, const struct seen *seen, double before, double after, double begin,
		  int first)
{
	double still = fmax(0, seen->last - begin);
	double silence = environments->now - begin - still;
	double chance = exp(-after);
	double rate = silence > 0 ? fmin(seen->rate, after / silence) : seen->rate;
	double slowest = means[ENVIRONMENT_MEANS - 1] * step * environments->convergence;
	double silent[ENVIRONMENT_MEANS + 1], sending[ENVIRONMENT_MEANS + 1];
	powers(silent, exp(-silence / slowest));
	powers(sending, exp(-still / slowest));
	for (int mean = 0; mean < ENVIRONMENT_MEANS; mean++) {
		int index = first + mean * ENVIRONMENT_KINDS;
		double m = means[mean] * environments->convergence;
		double slow = step * m;
		double alive = chance * silent[mean];
		double quiet = alive + (1 - alive) / (1 + rate * m);
		environments->logs[index] -= before + still / m;
		multiply(environments, index, quiet);
		double counts = counted(environments, m);
		environments->losses[index] += alive / quiet * counts * seen->rate_now;
		double usual = (1 - laggards) * sending[mean + 1] * sending[mean + 1] * sending[mean + 1];
		double slow_alive = chance * silent[mean + 1];
		double all = usual * quiet + laggards * (slow_alive + (1 - slow_alive) / (1 + rate * slow));
		environments->logs[index + 1] -= before + still / slow;
		multiply(environments, index + 1, all);
		double to_come = usual * alive * counts + laggards * slow_alive * counted(environments, slow);
		environments->losses[index + 1] += to_come / all * seen->rate_now;
	}
}

void environments_see(struct environments *environments, const struct habit *habit, double last)
{
	double until = fmin(last, environments->now);
	double silence = environments->now - until;
	struct seen seen = {
		.rate = habit->rate,
		.rate_now = habit_rate_after(habit, silence),
		.last = until,
	};
	double whole = habit_surprise(habit, silence);
	for (int delay = 0; delay <= ENVIRONMENT_DELAYS; delay++) {
		double begin = environments->begins[delay];
		double before = until < begin ? habit_surprise(habit, begin - until) : 0;
		if (begin < environments->now)
			weigh(environments, &seen, before, whole - before, begin, delay * PER_DELAY);
		else
			not_yet(environments, &seen, whole, begin, delay * PER_DELAY);
	}
}

double environments_loss_under(const struct environments *environments, const struct environments *believed)
{
	double highest = -INFINITY;
	double logs[ENVIRONMENT_COUNT];
	for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
		logs[i] = believed->logs[i] + log(believed->products[i]);
		highest = fmax(highest, logs[i]);
	}
	double sum = 0, loss = 0;
	for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
		double weight = exp(logs[i] - highest);
		sum += weight;
		loss += weight * environments->losses[i];
	}
	return loss / sum;
}
