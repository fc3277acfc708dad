#include "environments.h"

#include "evidence.h"

#include <math.h>

static const double delays[ENVIRONMENT_DELAYS] = { 0, 0.125, 0.25, 0.5, 1, 2, 4, 8 };
static const double delay_weights[ENVIRONMENT_DELAYS] = { 8, 1, 1, 1, 0.5, 0.2, 0.05, 0.01 };
static const double means[ENVIRONMENT_MEANS] = { 1.0 / 64, 1.0 / 16, 0.25, 1, 4 };
static const double mean_weights[ENVIRONMENT_MEANS] = { 1, 1, 1, 1, 0.04 };
static const double step = 4;
static const double laggards = 0.02;

void environments_init(struct environments *environments, double convergence, double now)
{
	*environments = (struct environments){ .convergence = convergence, .now = now };
	double sum = 0;
	for (int i = 0; i < ENVIRONMENT_COUNT; i++)
		sum += delay_weights[i / ENVIRONMENT_MEANS] * mean_weights[i % ENVIRONMENT_MEANS];
	for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
		double weight = delay_weights[i / ENVIRONMENT_MEANS] * mean_weights[i % ENVIRONMENT_MEANS];
		environments->logs[i] = log(weight / sum);
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
	for (int mean = 0; mean < ENVIRONMENT_MEANS; mean++) {
		environments->logs[first + mean] -= surprise;
		environments->losses[first + mean] +=
			rate_now * (means[mean] * environments->convergence + begin - environments->now);
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
		double m = means[mean] * environments->convergence;
		double slow = step * m;
		double alive = chance * silent[mean];
		double slow_alive = chance * silent[mean + 1];
		double usual = (1 - laggards) * sending[mean + 1] * sending[mean + 1] * sending[mean + 1];
		double alive_part = usual * alive;
		double laggard_part = laggards * slow_alive;
		double gone_part =
			usual * (1 - alive) / (1 + rate * m) + laggards * (1 - slow_alive) / (1 + rate * slow);
		double all = alive_part + laggard_part + gone_part;
		multiply(environments, first + mean, all, -before - still / slow);
		environments->losses[first + mean] += (alive_part * m + laggard_part * slow) / all * rate_now;
	}
}

void environments_see(struct environments *environments, const struct seen *sender, double alike)
{
	double rate_now = sender->rate_now * alike;
	double whole = sender->surprise(sender->habit, environments->now - sender->last);
	for (int delay = 0; delay < ENVIRONMENT_DELAYS; delay++) {
		double begin = delays[delay] * environments->convergence;
		int first = delay * ENVIRONMENT_MEANS;
		if (begin < environments->now)
			weigh(environments, sender, rate_now, whole, begin, first);
		else
			not_yet(environments, rate_now, whole, begin, first);
	}
}

void environments_add_crowd(struct environments *environments, double count, double rate, double silence)
{
	for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
		double since = environments->now - delays[i / ENVIRONMENT_MEANS] * environments->convergence;
		double mean = means[i % ENVIRONMENT_MEANS] * environments->convergence;
		double quiet = fmin(silence, since);
		environments->losses[i] +=
			since > 0 ? (1 - laggards) * expected_loss_of_crowd(count, rate, quiet, mean) +
					    laggards * expected_loss_of_crowd(count, rate, quiet, step * mean)
				  : rate * (mean - since);
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
