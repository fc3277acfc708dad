#include "hypotheses.h"

const double delays[HYPOTHESIS_DELAYS + 1] = { 0, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16 };
const double means[HYPOTHESIS_MEANS] = { 1.0 / 64, 1.0 / 16, 0.25, 1, 4 };
static const double delay_weights[HYPOTHESIS_DELAYS] = { 8, 1, 1, 1, 0.5, 0.2, 0.02, 0.003 };
static const double mean_weights[HYPOTHESIS_MEANS] = { 1, 1, 1, 0.5, 0.01 };

struct prior default_prior(void)
{
	struct prior prior;
	double sum = 0;
	for (int i = 0; i < HYPOTHESIS_PRIOR; i++) {
		prior.weights[i] = delay_weights[i / HYPOTHESIS_MEANS] * mean_weights[i % HYPOTHESIS_MEANS];
		sum += prior.weights[i];
	}
	for (int i = 0; i < HYPOTHESIS_PRIOR; i++)
		prior.weights[i] /= sum;
	return prior;
}
