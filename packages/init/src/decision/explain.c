#include "explain.h"

#include "conditions.h"

#include <math.h>
#include <string.h>

/* Since the termination. A length is over when it is, also where that is noticed later. */
static double met_at(const struct drain *drain, double now)
{
	switch (drain->waiting) {
	case WAIT_FLOOR:
		return drain->config.floor;
	case WAIT_DELAY:
		return drain->config.delay;
	default:
		return now - drain->terminated_at;
	}
}

void explain_decided(struct drain *drain, double now, const struct decision *decision)
{
	enum waiting_for waiting = decision->stop ? WAIT_TERMINATION : decision->waiting_for;
	bool cut_short = decision->stop && (decision->reason == STOP_CAP || decision->reason == STOP_FORCED);
	drain->met = decision->stop && !cut_short;
	if (cut_short || (!decision->stop && waiting == WAIT_TERMINATION))
		return;
	if (drain->waiting != WAIT_TERMINATION && drain->waiting != waiting)
		drain->met_at[drain->waiting] = met_at(drain, now);
	drain->waiting = waiting;
}

/* What was waited for last, and whatever else a stop would lack. */
static void mark_unmet(const struct drain *drain, double now, double marks[WAIT_KINDS])
{
	if (!drain->terminated || drain->met)
		return;
	if (drain->waiting != WAIT_TERMINATION)
		marks[drain->waiting] = INFINITY;
	if (now < drain->terminated_at + drain->config.floor)
		marks[WAIT_FLOOR] = INFINITY;
	struct waits waits = conditions_unmet(drain, now, conditions_evaluate_once(drain, now));
	for (size_t i = 0; i < waits.count; i++)
		marks[waits.list[i].what] = INFINITY;
}

struct explanation drain_explain(const struct drain *drain, double now)
{
	struct explanation explanation = { .expected_loss = drain_expected_loss(drain, now) };
	memcpy(explanation.met_at, drain->met_at, sizeof drain->met_at);
	mark_unmet(drain, now, explanation.met_at);
	if (!drain->watching || !drain->terminated || !drain_weighs(&drain->config))
		return explanation;
	double met = explanation.met_at[WAIT_SILENCE];
	double at = isfinite(met) ? drain->terminated_at + met : now;
	explanation.suspect = senders_suspect(&drain->senders, at, drain->config.convergence);
	return explanation;
}
