#include "environments.h"

#include "evidence.h"

#include <math.h>

static const double delays[ENVIRONMENT_DELAYS] = { 0, 0.125, 0.25, 0.5, 1, 2, 4, 8 };
static const double delay_weights[ENVIRONMENT_DELAYS] = { 8, 1, 1, 1, 0.5, 0.2, 0.02, 0.003 };
static const double means[ENVIRONMENT_MEANS] = { 1.0 / 64, 1.0 / 16, 0.25, 1, 4 };
static const double mean_weights[ENVIRONMENT_MEANS] = { 1, 1, 1, 0.5, 0.01 };
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

/* Of a time for which a sender goes on, what counts: one mean convergence time. */
static double counted(const struct environments *environments, double time)
{
	return fmin(environments->convergence, time);
}

static void multiply(struct environments *environments, int index, double likelihood, double log_likelihood)
{
	environments->logs[index] += log_likelihood;
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
		environments->losses[first + i] += rate_now * counted(environments, m + begin - environments->now);
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
		double quiet = alive + (1 - alive) / (1 + rate * m);
		multiply(environments, index, quiet, -before - still / m);
		double counts = counted(environments, m);
		environments->losses[index] += alive / quiet * counts * rate_now;
		double usual = (1 - laggards) * sending[mean + 1] * sending[mean + 1] * sending[mean + 1];
		double slow_alive = chance * silent[mean + 1];
		double all = usual * quiet + laggards * (slow_alive + (1 - slow_alive) / (1 + rate * slow));
		multiply(environments, index + 1, all, -before - still / slow);
		double slow_counts = counted(environments, slow);
		double to_come = usual * alive * counts + laggards * slow_alive * slow_counts;
		environments->losses[index + 1] += to_come / all * rate_now;
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

/* The chance that a Poisson sender which may let go at any time, after m on average, is silent for so long. */
static double chance_of_silence(double silence, double rate, double m)
{
	double alive = exp(-rate * silence - silence / m);
	return alive + (1 - alive) / (1 + rate * m);
}

/* -ln of the chance that all those told are silent, at equal rates: the lowest it can be. */
static double silence_of_all(const struct aggregate_seen *aggregate, double begin, double since, double m)
{
	if (aggregate->known <= 0)
		return 0;
	double each = aggregate->known_rate / aggregate->known;
	return aggregate->known_rate * begin - aggregate->known * log(chance_of_silence(since, each, m));
}

static double loss_of_aggregate(const struct environments *environments, const struct aggregate_seen *aggregate, double silence,
			    double m)
{
	double loss = expected_loss_of_aggregate(aggregate->count, aggregate->rate, silence, m);
	return loss * counted(environments, m) / m;
}

static void weigh_aggregate(struct environments *environments, const struct aggregate_seen *aggregate, double begin, double m,
			int index)
{
	double slow = step * m;
	double since = environments->now - begin;
	double still = fmax(0, aggregate->last - begin);
	double others = fmax(0, aggregate->late - 1);
	double usual_loss = loss_of_aggregate(environments, aggregate, since - still, m);
	environments->losses[index] += usual_loss;
	environments->logs[index] -= still / m;
	environments->doubts[index] = others * (still / m) + silence_of_all(aggregate, begin, since, m);
	double usual = (1 - laggards) * exp(-still / m + still / slow);
	double lagging = laggards / (usual + laggards);
	double survived = log(usual + laggards) - still / slow;
	double slow_loss = loss_of_aggregate(environments, aggregate, since - still, slow);
	environments->losses[index + 1] += (1 - lagging) * usual_loss + lagging * slow_loss;
	environments->logs[index + 1] += survived;
	environments->doubts[index + 1] = -others * survived + silence_of_all(aggregate, begin, since, slow);
}

void environments_see_aggregate(struct environments *environments, const struct aggregate_seen *aggregate)
{
	if (aggregate->count <= 0)
		return;
	environments->aggregated = true;
	for (int i = 0; i < ENVIRONMENT_COUNT; i += ENVIRONMENT_KINDS) {
		double begin = delays[i / (ENVIRONMENT_MEANS * ENVIRONMENT_KINDS)] * environments->convergence;
		double m = means[i / ENVIRONMENT_KINDS % ENVIRONMENT_MEANS] * environments->convergence;
		if (begin < environments->now) {
			weigh_aggregate(environments, aggregate, begin, m, i);
			continue;
		}
		for (int kind = 0; kind < ENVIRONMENT_KINDS; kind++) {
			environments->losses[i + kind] += aggregate->rate * counted(environments, m + begin - environments->now);
			environments->doubts[i + kind] = aggregate->known_rate * environments->now;
		}
	}
}

/* The mean loss if hypotheses that lose more than `bar` count for the most they may, the others for the least. */
static double loss_above(const struct environments *environments, double bar)
{
	double logs[ENVIRONMENT_COUNT];
	double highest = -INFINITY;
	for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
		bool most = !environments->aggregated || environments->losses[i] > bar;
		logs[i] = environments->logs[i] - (most ? 0 : environments->doubts[i]);
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

double environments_expected_loss(struct environments *environments)
{
	for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
		environments->logs[i] += log(environments->products[i]);
		environments->products[i] = 1;
	}
	double expected = loss_above(environments, -INFINITY);
	for (int round = 0; environments->aggregated && round < ENVIRONMENT_COUNT; round++) {
		double raised = loss_above(environments, expected);
		if (!(raised > expected))
			break;
		expected = raised;
	}
	return expected;
}

double environments_loss_under(const struct environments *environments, const struct environments *believed)
{
	double highest = -INFINITY;
	for (int i = 0; i < ENVIRONMENT_COUNT; i++)
		highest = fmax(highest, believed->logs[i] + log(believed->products[i]));
	double sum = 0, loss = 0;
	for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
		double weight = exp(believed->logs[i] + log(believed->products[i]) - highest);
		sum += weight;
		loss += weight * environments->losses[i];
	}
	return loss / sum;
}
