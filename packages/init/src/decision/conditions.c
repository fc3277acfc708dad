#include "conditions.h"

#include <math.h>

/* The mirror of packages/drain/src/evaluations.ts, which holds the reasons: ms, part of the hold so far, and times as long. */
static const double least_pause = 20;
static const double close_pause = 1.0 / 64;
static const double longest_pauses = 6;

static void add_wait(struct waits *waits, double now, double until, enum waiting_for what)
{
	if (now < until)
		waits->list[waits->count++] = (struct wait){ until, what };
}

static bool uses_evidence(const struct drain *drain)
{
	return drain->config.policy == POLICY_ADAPTIVE || (drain->config.policy == POLICY_ACKNOWLEDGED && drain->release.local);
}

double conditions_evaluate(struct drain *drain, double now)
{
	if (!uses_evidence(drain) || drain->enough == drain->observed)
		return -INFINITY;
	if (now >= drain->weigh_at) {
		double above = log(drain_expected_loss(drain, now) / drain->config.loss_budget);
		double pauses = fmin(longest_pauses, fmax(1, above));
		drain->weigh_at = now + fmax(least_pause, (now - drain->terminated_at) * close_pause * pauses);
		drain->enough = above < 0 ? drain->observed : UINT64_MAX;
		if (above < 0)
			return -INFINITY;
	}
	return drain->weigh_at;
}

double conditions_evaluate_once(const struct drain *drain, double now)
{
	return uses_evidence(drain) && !drain_is_enough(drain, now) ? INFINITY : -INFINITY;
}

static void add_in_flight(struct waits *waits, const struct drain *drain, double now)
{
	add_wait(waits, now, drain->in_flight > 0 ? INFINITY : now, WAIT_IN_FLIGHT);
}

/*
 * Connections from before the hold are a second clock: they must be silent too, and nothing in flight. Once nobody opens new ones, these become fewer, and
 * a shorter silence is enough.
 */
static void add_old_connections(struct waits *waits, const struct drain *drain, double now)
{
	double quiet = drain->config.request_quiet;
	if (now >= release_settled_at(&drain->release))
		quiet = fmin(quiet, drain->config.settle);
	add_in_flight(waits, drain, now);
	if (drain->requests > 0)
		add_wait(waits, now, drain->last_request + quiet, WAIT_REQUESTS);
}

struct waits conditions_unmet(const struct drain *drain, double now, double evidence)
{
	const struct drain_config *config = &drain->config;
	double terminated_at = drain->terminated ? drain->terminated_at : now;
	double settled_at = release_settled_at(&drain->release);
	struct waits waits = { 0 };
	switch (config->policy) {
	case POLICY_FIXED:
		add_wait(&waits, now, terminated_at + config->delay, WAIT_DELAY);
		return waits;
	case POLICY_UNTIL_DEADLINE:
		add_wait(&waits, now, INFINITY, WAIT_DEADLINE);
		return waits;
	case POLICY_QUIET: {
		double last = fmax(drain->last_connection, drain->last_request);
		add_wait(&waits, now, fmax(last, terminated_at) + config->window, WAIT_SILENCE);
		add_in_flight(&waits, drain, now);
		return waits;
	}
	case POLICY_ADAPTIVE:
	case POLICY_ACKNOWLEDGED:
		break;
	}
	if (uses_evidence(drain))
		add_wait(&waits, now, fmin(evidence, settled_at), WAIT_SILENCE);
	else
		add_wait(&waits, now, settled_at, WAIT_ACKNOWLEDGEMENTS);
	add_old_connections(&waits, drain, now);
	return waits;
}
