#include "environments.h"

#include "evidence.h"

#include <math.h>

static const double delays[ENVIRONMENT_DELAYS] = { 0, 0.125, 0.25, 0.5, 1, 2, 4, 8 };
static const double delay_weights[ENVIRONMENT_DELAYS] = { 8, 1, 1, 1, 0.5, 0.2, 0.05, 0.01 };
static const double means[ENVIRONMENT_MEANS] = { 1.0 / 64, 1.0 / 16, 0.25, 1, 4 };
static const double mean_weights[ENVIRONMENT_MEANS] = { 1, 1, 1, 1, 0.04 };
static const double step = 4;
static const double laggards = 0.02;
static const double kinds[ENVIRONMENT_KINDS] = { 0.7, 0.3 };

static double weight_of(int index)
{
	return delay_weights[index / (ENVIRONMENT_MEANS * ENVIRONMENT_KINDS)] *
	       mean_weights[index / ENVIRONMENT_KINDS % ENVIRONMENT_MEANS] * kinds[index % ENVIRONMENT_KINDS];
}

void environments_init(struct environments *environments, double convergence, double now)
{
	*environments = (struct environments){ .convergence = convergence, .now = now };
	double sum = 0;
	for (int i = 0; i < ENVIRONMENT_COUNT; i++)
		sum += weight_of(i);
	for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
		environments->logs[i] = log(weight_of(i) / sum);
		environments->products[i] = 1;
	}
}

static void multiply(struct environments *environments, int index, double likelihood, double logarithm)
{
	environments->logs[index] += logarithm;
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

static void not_yet(struct environments *environments, double rate_now, double surprise, double begin, int first)
{
	for (int i = 0; i < ENVIRONMENT_MEANS * ENVIRONMENT_KINDS; i++) {
		double m = means[i / ENVIRONMENT_KINDS] * environments->convergence;
		environments->logs[first + i] -= surprise;
		environments->losses[first + i] += rate_now * (m + begin - environments->now);
	}
}

static void weigh(struct environments *environments, const struct seen *sender, double rate_now, double whole,
		  double begin, int first)
{
	double still = fmax(0, sender->last - begin);
	double silence = environments->now - begin - still;
	double before = sender->last < begin ? sender->surprise(sender->habit, begin - sender->last) : 0;
	double after = whole - before;
	double chance = exp(-after);
	double rate = silence > 0 ? fmin(sender->rate, after / silence) : sender->rate;
	double slowest = means[ENVIRONMENT_MEANS - 1] * step * environments->convergence;
	double silent[ENVIRONMENT_MEANS + 1], sending[ENVIRONMENT_MEANS + 1];
	powers(silent, exp(-silence / slowest));
	powers(sending, exp(-still / slowest));
	for (int mean = 0; mean < ENVIRONMENT_MEANS; mean++) {
		int index = first + mean * ENVIRONMENT_KINDS;
		double m = means[mean] * environments->convergence;
		double slow = step * m;
		double alive = chance * silent[mean];
		double either = alive + (1 - alive) / (1 + rate * m);
		multiply(environments, index, either, -before - still / m);
		environments->losses[index] += alive / either * m * rate_now;
		double usual = (1 - laggards) * sending[mean + 1] * sending[mean + 1] * sending[mean + 1];
		double slow_alive = chance * silent[mean + 1];
		double all = usual * either + laggards * (slow_alive + (1 - slow_alive) / (1 + rate * slow));
		multiply(environments, index + 1, all, -before - still / slow);
		environments->losses[index + 1] += (usual * alive * m + laggards * slow_alive * slow) / all * rate_now;
	}
}

void environments_see(struct environments *environments, const struct seen *sender, double alike)
{
	double rate_now = sender->rate_now * alike;
	double whole = sender->surprise(sender->habit, environments->now - sender->last);
	for (int delay = 0; delay < ENVIRONMENT_DELAYS; delay++) {
		double begin = delays[delay] * environments->convergence;
		int first = delay * ENVIRONMENT_MEANS * ENVIRONMENT_KINDS;
		if (begin < environments->now)
			weigh(environments, sender, rate_now, whole, begin, first);
		else
			not_yet(environments, rate_now, whole, begin, first);
	}
}

void environments_add_crowd(struct environments *environments, double count, double rate, double silence)
{
	for (int i = 0; i < ENVIRONMENT_COUNT; i += ENVIRONMENT_KINDS) {
		double delay = delays[i / (ENVIRONMENT_MEANS * ENVIRONMENT_KINDS)];
		double mean = means[i / ENVIRONMENT_KINDS % ENVIRONMENT_MEANS] * environments->convergence;
		double since = environments->now - delay * environments->convergence;
		double quiet = fmin(silence, since);
		double usual = since > 0 ? expected_loss_of_crowd(count, rate, quiet, mean) : rate * (mean - since);
		double slow = since > 0 ? expected_loss_of_crowd(count, rate, quiet, step * mean) : usual;
		environments->losses[i] += usual;
		environments->losses[i + 1] += (1 - laggards) * usual + laggards * slow;
	}
}

double environments_expected_loss(struct environments *environments)
{
	double highest = -INFINITY;
	for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
		environments->logs[i] += log(environments->products[i]);
		environments->products[i] = 1;
		highest = fmax(highest, environments->logs[i]);
	}
	double sum = 0, loss = 0;
	for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
		double weight = exp(environments->logs[i] - highest);
		sum += weight;
		loss += weight * environments->losses[i];
	}
	return loss / sum;
}
