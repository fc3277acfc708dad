#include "drain.h"

#include <math.h>
#include <string.h>

const char *const stop_reason_names[] = { "delay", "floor", "quiet", "idle", "acknowledged", "cap", "forced" };
const char *const waiting_for_names[] = { "termination", "floor",    "delay",     "deadline",
					  "silence",	 "acknowledgements", "in-flight", "requests",
					  "processor",	 "gap" };

/*
 * Evidence is weighed as often as in packages/drain/src/evaluations.ts: the pause is a part of the hold so far, and longer while the expected loss is
 * high.
 */
static const double least_pause_ms = 20;
static const double close_pause = 1.0 / 64;
static const double longest_pauses = 6;

/* Pools must have been unused for so long before a stop that all else allows. */
static const double gap_ms = 200;
/* Such a gap is waited for this long at most. */
static const double longest_gap_wait_ms = 3000;
/* Pools that were used so recently are in use. A stop while they are is put off until a processor is free. */
static const double in_use_ms = 3000;
static const double longest_busy_wait_ms = 10000;
/* The processors count as busy for so long after they were seen to be: somewhat longer than until they are looked at again. */
static const double busy_lasts_ms = 750;

/* A condition of the policy that is not met, and the earliest time at which it can be. */
struct wait {
	double until;
	enum waiting_for what;
};

/* All conditions that are not met, first the one that is waited for. */
struct waits {
	size_t count;
	struct wait list[4];
};

void drain_init(struct drain *drain, const struct drain_config *config)
{
	*drain = (struct drain){ .config = *config, .last_connection = -INFINITY, .last_request = -INFINITY,
				  .last_of_pools = -INFINITY, .last_busy = -INFINITY, .allowed_at = NAN,
				  .weigh_at = -INFINITY, .enough = UINT64_MAX };
	release_init(&drain->release, config->settle);
	for (int i = 0; i < WAIT_KINDS; i++)
		drain->met_at[i] = NAN;
}

void drain_free(struct drain *drain)
{
	senders_free(&drain->senders);
}

static void arrival(struct drain *drain, const struct observation *seen)
{
	double at = seen->at;
	drain->traffic_known = true;
	if (seen->type == SEEN_CONNECTION) {
		senders_arrival(&drain->senders, seen->name, at);
		if (!seen->old)
			release_connection(&drain->release, seen->name, at, seen->earlier);
		drain->last_connection = fmax(drain->last_connection, at);
	} else {
		drain->last_request = fmax(drain->last_request, at);
		if (drain->terminated)
			drain->requests++;
	}
}

static bool begins_watch(enum observation_type type)
{
	return type != SEEN_RELEASED && type != SEEN_UNRELEASED && type != SEEN_BUSY && type < SEEN_SETTLED;
}

void drain_observe(struct drain *drain, const struct observation *seen)
{
	double at = seen->at;
	drain->revision++;
	/* The watch begins with the first observation of the pod itself. */
	if (!drain->watching && begins_watch(seen->type)) {
		senders_init(&drain->senders, drain->config.max_senders, drain->config.prestop, at);
		drain->watching = true;
	}
	switch (seen->type) {
	case SEEN_WATCHING:
		drain->senders.watching_from = at;
		return;
	case SEEN_TERMINATION:
		if (!drain->terminated) {
			drain->terminated_at = seen->at;
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
		drain->in_flight = fmax(0, drain->in_flight + seen->value);
		if (drain->in_flight == 0)
			drain->last_request = fmax(drain->last_request, at);
		return;
	case SEEN_RELEASED:
		release_give(&drain->release, at);
		return;
	case SEEN_UNRELEASED:
		release_withdraw(&drain->release, seen->value > 0, at, seen->assumed);
		return;
	case SEEN_FORCE:
		drain->forced = true;
		return;
	case SEEN_POOL:
		drain->traffic_known = true;
		drain->last_of_pools = fmax(drain->last_of_pools, at);
		return;
	case SEEN_BUSY:
		drain->last_busy = fmax(drain->last_busy, at);
		return;
	case SEEN_SETTLED:
		senders_settle(&drain->senders);
		break;
	case SEEN_COVERAGE:
		senders_set_coverage(&drain->senders, seen->value);
		break;
	case SEEN_FORGOTTEN:
		senders_forget(&drain->senders, seen->name);
		release_forget(&drain->release, seen->name);
		break;
	case SEEN_AGAIN:
		senders_arrival(&drain->senders, seen->name, at);
		release_connection(&drain->release, seen->name, at, seen->earlier);
		break;
	}
	/* A correction: the evidence is weighed anew. */
	drain->observed++;
}

/* Whether the policy weighs evidence, always or where it must. */
static bool weighs(const struct drain_config *config)
{
	return config->policy == POLICY_ADAPTIVE || config->policy == POLICY_ACKNOWLEDGED;
}

double drain_convergence(const struct drain_config *config)
{
	return weighs(config) ? config->convergence : DEFAULT_CONVERGENCE;
}

double drain_expected_loss(const struct drain *drain, double now)
{
	if (!drain->watching || !drain->terminated)
		return 0;
	return senders_expected_loss(&drain->senders, now, drain_convergence(&drain->config));
}

static bool is_enough(const struct drain *drain, double now)
{
	return drain_expected_loss(drain, now) < drain->config.loss_budget;
}

static void add_wait(struct waits *waits, double now, double until, enum waiting_for what)
{
	if (now < until)
		waits->list[waits->count++] = (struct wait){ until, what };
}

static bool uses_evidence(const struct drain *drain)
{
	return drain->config.policy == POLICY_ADAPTIVE || (drain->config.policy == POLICY_ACKNOWLEDGED && drain->release.local);
}

/* The time until which senders are waited for at least; -INFINITY where enough is known of them. */
static double evaluate(struct drain *drain, double now)
{
	if (!uses_evidence(drain) || drain->enough == drain->observed)
		return -INFINITY;
	if (now >= drain->weigh_at) {
		double above = log(drain_expected_loss(drain, now) / drain->config.loss_budget);
		double pauses = fmin(longest_pauses, fmax(1, above));
		drain->weigh_at = now + fmax(least_pause_ms, (now - drain->terminated_at) * close_pause * pauses);
		drain->enough = above < 0 ? drain->observed : UINT64_MAX;
		if (above < 0)
			return -INFINITY;
	}
	return drain->weigh_at;
}

/* The same, without a change of the time at which evidence is weighed next. */
static double evaluate_once(const struct drain *drain, double now)
{
	return uses_evidence(drain) && !is_enough(drain, now) ? INFINITY : -INFINITY;
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

/* The conditions that are not met, if senders are waited for until `evidence`, or until the cluster says that all have let go. */
static struct waits unmet_conditions(const struct drain *drain, double now, double evidence)
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
	/* One that sends rarely leaves too little evidence: it is waited for as long as it is assumed to take. */
	if (uses_evidence(drain)) {
		add_wait(&waits, now, fmin(evidence, settled_at), WAIT_SILENCE);
		add_wait(&waits, now, release_assumed_until(&drain->release), WAIT_ACKNOWLEDGEMENTS);
	} else
		add_wait(&waits, now, settled_at, WAIT_ACKNOWLEDGEMENTS);
	add_old_connections(&waits, drain, now);
	return waits;
}

static bool chooses_moment(const struct drain *drain)
{
	return !isnan(drain->allowed_at) && drain->config.policy != POLICY_FIXED;
}

/* Until when a stop is put off for the processors, as far as is known now. */
static double busy_until(const struct drain *drain)
{
	return fmin(drain->last_busy + busy_lasts_ms, drain->allowed_at + longest_busy_wait_ms);
}

/* A server closes slowly while other programs take the processors. It answers nothing meanwhile. That costs requests only where pools are in use. */
static double processor_at(const struct drain *drain)
{
	return chooses_moment(drain) ? fmin(busy_until(drain), drain->last_of_pools + in_use_ms) : -INFINITY;
}

/* The latest connection of a pool is used first. A gap says that it leads elsewhere for the moment: who closes then loses no request on its way. */
static double gap_at(const struct drain *drain)
{
	if (!chooses_moment(drain))
		return -INFINITY;
	double from = fmax(drain->allowed_at, busy_until(drain));
	return fmin(drain->last_of_pools + gap_ms, from + longest_gap_wait_ms);
}

static struct decision go_on(double until, double cap_at, enum waiting_for what)
{
	return (struct decision){ .stop = false, .until = fmin(until, cap_at), .waiting_for = what };
}

static struct decision stop(enum stop_reason reason)
{
	return (struct decision){ .stop = true, .reason = reason };
}

/* Whether all conditions were met at `at`, and nothing has come since. */
static bool was_met_by(const struct drain *drain, double at)
{
	bool is_last = fmax(drain->last_connection, drain->last_request) <= at;
	return is_last && unmet_conditions(drain, at, evaluate_once(drain, at)).count == 0;
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
	if (now >= release_settled_at(&drain->release) && weighs(&drain->config) && !is_enough(drain, now))
		return STOP_ACKNOWLEDGED;
	return kind == POLICY_FIXED ? STOP_DELAY : STOP_QUIET;
}

static struct decision decide(struct drain *drain, double now)
{
	if (!drain->terminated)
		return (struct decision){ .stop = false, .until = INFINITY, .waiting_for = WAIT_TERMINATION };
	if (drain->forced)
		return stop(STOP_FORCED);
	/* Absolute times, not differences: when `until` has come, `now < until` must be false in spite of rounding. */
	double floor_at = drain->terminated_at + drain->config.floor;
	double cap_at = drain->terminated_at + drain->config.cap;
	if (now >= cap_at)
		return stop(STOP_CAP);
	if (now < floor_at)
		return go_on(floor_at, cap_at, WAIT_FLOOR);
	struct waits waits = unmet_conditions(drain, now, evaluate(drain, now));
	if (waits.count > 0)
		return go_on(waits.list[0].until, cap_at, waits.list[0].what);
	if (isnan(drain->allowed_at))
		drain->allowed_at = now;
	if (now < processor_at(drain))
		return go_on(processor_at(drain), cap_at, WAIT_PROCESSOR);
	if (now < gap_at(drain))
		return go_on(gap_at(drain), cap_at, WAIT_GAP);
	return stop(reason_of(drain, now, floor_at));
}

/* When the condition that is waited for was met, since the termination. Floor and delay end at their own times, even if that was noticed later. */
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

/* Remembers when which condition was met. */
static void note_decision(struct drain *drain, double now, const struct decision *decision)
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

struct decision drain_decide(struct drain *drain, double now)
{
	struct decision decision = decide(drain, now);
	note_decision(drain, now, &decision);
	return decision;
}

/* Marks the condition that is waited for, and all others that are not met. */
static void mark_unmet(const struct drain *drain, double now, double marks[WAIT_KINDS])
{
	if (!drain->terminated || drain->met)
		return;
	if (drain->waiting != WAIT_TERMINATION)
		marks[drain->waiting] = INFINITY;
	if (now < drain->terminated_at + drain->config.floor)
		marks[WAIT_FLOOR] = INFINITY;
	struct waits waits = unmet_conditions(drain, now, evaluate_once(drain, now));
	for (size_t i = 0; i < waits.count; i++)
		marks[waits.list[i].what] = INFINITY;
	if (now < processor_at(drain))
		marks[WAIT_PROCESSOR] = INFINITY;
	if (now < gap_at(drain))
		marks[WAIT_GAP] = INFINITY;
}

struct explanation drain_explain(const struct drain *drain, double now)
{
	struct explanation explanation = { .expected_loss = drain_expected_loss(drain, now) };
	memcpy(explanation.met_at, drain->met_at, sizeof drain->met_at);
	mark_unmet(drain, now, explanation.met_at);
	if (!drain->watching || !drain->terminated || !weighs(&drain->config))
		return explanation;
	double met = explanation.met_at[WAIT_SILENCE];
	double at = isfinite(met) ? drain->terminated_at + met : now;
	explanation.pending = senders_pending(&drain->senders, at, drain->config.convergence);
	return explanation;
}
