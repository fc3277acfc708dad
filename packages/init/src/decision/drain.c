#include "drain.h"

#include "conditions.h"
#include "explain.h"

#include <math.h>

const char *const stop_reason_names[] = { "delay", "floor", "quiet", "idle", "acknowledged", "cap", "forced" };
const char *const waiting_for_names[] = { "termination", "floor",    "delay",     "deadline",
					  "silence",	 "acknowledgements", "in-flight", "requests" };

void drain_init(struct drain *drain, const struct drain_config *config)
{
	*drain = (struct drain){ .config = *config, .last_connection = -INFINITY, .last_request = -INFINITY,
				  .weigh_at = -INFINITY, .enough = UINT64_MAX };
	release_init(&drain->release, config->settle);
	for (int i = 0; i < WAIT_KINDS; i++)
		drain->met_at[i] = NAN;
}

void drain_free(struct drain *drain)
{
	senders_free(&drain->senders);
}

static void arrival(struct drain *drain, struct observation seen)
{
	double at = seen.at;
	drain->traffic_known = true;
	if (seen.type == SEEN_CONNECTION) {
		senders_arrival(&drain->senders, seen.name, at);
		if (!seen.old)
			release_connection(&drain->release, seen.name, at, seen.earlier);
		drain->last_connection = fmax(drain->last_connection, at);
	} else {
		drain->last_request = fmax(drain->last_request, at);
		if (drain->terminated)
			drain->requests++;
	}
}

/* What was told is another now, and so is perhaps what evidence says. */
static void corrected(struct drain *drain)
{
	drain->revision++;
	drain->observed++;
}

void drain_settle(struct drain *drain)
{
	corrected(drain);
	senders_settle(&drain->senders);
}

void drain_traced(struct drain *drain, double share)
{
	corrected(drain);
	senders_traced(&drain->senders, share);
}

double drain_traced_share(const struct drain *drain)
{
	return drain->senders.traced;
}

void drain_forget(struct drain *drain, const char *sender)
{
	corrected(drain);
	senders_forget(&drain->senders, sender);
	release_forget(&drain->release, sender);
}

void drain_recall(struct drain *drain, const char *sender, double at, double earlier)
{
	corrected(drain);
	senders_arrival(&drain->senders, sender, at);
	release_connection(&drain->release, sender, at, earlier);
}

void drain_observe(struct drain *drain, struct observation seen)
{
	double at = seen.at;
	drain->revision++;
	/* What is said of senders is no sight of them: it begins nothing. */
	if (!drain->watching && seen.type != SEEN_RELEASED && seen.type != SEEN_UNRELEASED) {
		senders_init(&drain->senders, drain->config.max_senders, drain->config.prestop, at,
			     &drain->config.prior);
		drain->watching = true;
	}
	switch (seen.type) {
	case SEEN_WATCHING:
		senders_watching_from(&drain->senders, at);
		return;
	case SEEN_TERMINATION:
		if (!drain->terminated) {
			drain->terminated_at = seen.at;
			senders_held_from(&drain->senders, at);
		}
		drain->terminated = true;
		return;
	case SEEN_CONNECTION:
	case SEEN_REQUEST:
		drain->observed++;
		arrival(drain, seen);
		return;
	case SEEN_IN_FLIGHT:
		drain->in_flight = fmax(0, drain->in_flight + seen.value);
		if (drain->in_flight == 0)
			drain->last_request = fmax(drain->last_request, at);
		return;
	case SEEN_RELEASED:
		release_give(&drain->release, at);
		return;
	case SEEN_UNRELEASED:
		release_withdraw(&drain->release, seen.value > 0);
		return;
	case SEEN_FORCE:
		drain->forced = true;
		return;
	}
}

bool drain_weighs(const struct drain_config *config)
{
	return config->policy == POLICY_ADAPTIVE || config->policy == POLICY_ACKNOWLEDGED;
}

double drain_expected_loss(const struct drain *drain, double now)
{
	if (!drain->watching || !drain->terminated)
		return 0;
	double convergence = drain_weighs(&drain->config) ? drain->config.convergence : DEFAULT_CONVERGENCE;
	return senders_expected_loss(&drain->senders, now, convergence);
}

bool drain_is_enough(const struct drain *drain, double now)
{
	return drain_expected_loss(drain, now) < drain->config.loss_budget;
}

static struct decision go_on(double until, double cap_at, enum waiting_for what)
{
	return (struct decision){ .stop = false, .until = fmin(until, cap_at), .waiting_for = what };
}

static struct decision stop(enum stop_reason reason)
{
	return (struct decision){ .stop = true, .reason = reason };
}

/* Whether all conditions were, and nothing came later that could tell. */
static bool was_met_by(const struct drain *drain, double at)
{
	bool is_last = fmax(drain->last_connection, drain->last_request) <= at;
	return is_last && conditions_unmet(drain, at, conditions_evaluate_once(drain, at)).count == 0;
}

static enum stop_reason reason_of(const struct drain *drain, double now, double floor_at)
{
	enum policy_kind kind = drain->config.policy;
	if (kind == POLICY_ACKNOWLEDGED && !drain->release.local)
		return STOP_ACKNOWLEDGED;
	if (kind != POLICY_FIXED && !drain->traffic_known)
		return STOP_IDLE;
	if (drain->config.floor > 0 && was_met_by(drain, floor_at))
		return STOP_FLOOR;
	if (now >= release_settled_at(&drain->release) && drain_weighs(&drain->config) && !drain_is_enough(drain, now))
		return STOP_ACKNOWLEDGED;
	return kind == POLICY_FIXED ? STOP_DELAY : STOP_QUIET;
}

static struct decision decide(struct drain *drain, double now)
{
	if (!drain->terminated)
		return (struct decision){ .stop = false, .until = INFINITY, .waiting_for = WAIT_TERMINATION };
	if (drain->forced)
		return stop(STOP_FORCED);
	/* Sums, not differences: what `until` said must be over when it comes, on a clock with fractions too. */
	double floor_at = drain->terminated_at + drain->config.floor;
	double cap_at = drain->terminated_at + drain->config.cap;
	if (now >= cap_at)
		return stop(STOP_CAP);
	if (now < floor_at)
		return go_on(floor_at, cap_at, WAIT_FLOOR);
	struct waits waits = conditions_unmet(drain, now, conditions_evaluate(drain, now));
	if (waits.count > 0)
		return go_on(waits.list[0].until, cap_at, waits.list[0].what);
	return stop(reason_of(drain, now, floor_at));
}

struct decision drain_decide(struct drain *drain, double now)
{
	struct decision decision = decide(drain, now);
	explain_decided(drain, now, &decision);
	return decision;
}
