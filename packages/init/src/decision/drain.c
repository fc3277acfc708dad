#include "drain.h"

#include <math.h>
#include <string.h>

const char *const stop_reason_names[] = { "delay", "floor", "quiet", "idle", "acknowledged", "cap", "forced" };
const char *const waiting_for_names[] = { "termination", "floor",    "delay",	  "deadline",
					  "silence",	 "requests", "in-flight", "acknowledgements" };

/* What the policy still waits for, and until when at least; `waits` is false once it is content. */
struct wait {
	bool waits;
	double until;
	enum waiting_for what;
};

static const struct wait content = { .waits = false };

void drain_init(struct drain *drain, const struct drain_config *config)
{
	*drain = (struct drain){ .config = *config, .last_connection = -INFINITY, .last_request = -INFINITY };
	for (int i = 0; i < WAIT_KINDS; i++)
		drain->met_at[i] = NAN;
}

void drain_free(struct drain *drain)
{
	senders_free(&drain->senders);
}

static void arrival(struct drain *drain, struct observation seen, double at)
{
	bool held = drain->terminated;
	drain->traffic_known = true;
	if (seen.type == SEEN_CONNECTION) {
		senders_arrival(&drain->senders, seen.name, (struct moment){ at, seen.at });
		drain->last_connection = fmax(drain->last_connection, at);
		if (held)
			drain->connections++;
	} else {
		drain->last_request = fmax(drain->last_request, at);
		if (held)
			drain->requests++;
	}
	drain->last_arrival = drain->any_arrival ? fmax(drain->last_arrival, seen.at) : seen.at;
	drain->any_arrival = true;
}

void drain_settle(struct drain *drain)
{
	drain->revision++;
	senders_settle(&drain->senders);
}

void drain_traced(struct drain *drain, double share)
{
	drain->revision++;
	senders_traced(&drain->senders, share);
}

double drain_traced_share(const struct drain *drain)
{
	return drain->senders.traced;
}

void drain_forget(struct drain *drain, const char *sender)
{
	drain->revision++;
	senders_forget(&drain->senders, sender);
}

void drain_recall(struct drain *drain, const char *sender, double at)
{
	drain->revision++;
	senders_arrival(&drain->senders, sender, (struct moment){ at - drain->blind, at });
}

void drain_observe(struct drain *drain, struct observation seen)
{
	double at = seen.at - drain->blind;
	drain->revision++;
	if (!drain->watching) {
		senders_init(&drain->senders, drain->config.max_senders, at);
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
		arrival(drain, seen, at);
		return;
	case SEEN_RATE:
		drain->traffic_known = drain->traffic_known || seen.value > 0;
		senders_rate(&drain->senders, seen.name, seen.value / 1000, at);
		return;
	case SEEN_IN_FLIGHT:
		drain->in_flight = fmax(0, drain->in_flight + seen.value);
		if (drain->in_flight == 0)
			drain->last_request = fmax(drain->last_request, at);
		return;
	case SEEN_ACKNOWLEDGEMENT:
		for (size_t i = 0; i < drain->config.consumer_count; i++)
			if (strcmp(drain->config.consumers[i], seen.name) == 0)
				drain->acknowledged[i] = true;
		return;
	case SEEN_BLIND:
		drain->blind += fmax(0, seen.at - seen.value);
		return;
	case SEEN_FORCE:
		drain->forced = true;
		return;
	}
}

static struct wait later(double now, double until, enum waiting_for what)
{
	return now < until ? (struct wait){ true, until, what } : content;
}

static double loss_at(const struct drain *drain, double now)
{
	if (!drain->watching || !drain->terminated)
		return 0;
	double convergence = drain->config.policy == POLICY_ADAPTIVE ? drain->config.convergence : 4000;
	return senders_expected_loss(&drain->senders, now - drain->blind,
				     drain->terminated_at - drain->config.prestop, convergence);
}

double drain_expected_loss(const struct drain *drain, double now)
{
	return loss_at(drain, now);
}

/* After so many, halving is sure. */
static const int interpolations = 12;
/* How far below 0 counts as at it: 2 % of a loss is nothing, and takes as many steps to find as all the rest. */
static const double close_enough = 0.02;

static double lowered(double moved, double before)
{
	double rest = 1 - moved / before;
	return rest > 0 ? rest : 0.5;
}

/* How far to look next: a little farther than a straight line goes on, but not much farther than before. */
static double reach(double before, double above_over, double above_under)
{
	double straight = ceil(1.1 * before * above_under / (above_over - above_under));
	return straight > 0 ? fmin(16 * before, fmax(before, straight)) : 4 * before;
}

/* How far the loss is above the budget, as a logarithm. */
static double above(const struct drain *drain, double from, double hold)
{
	return fmax(-1e3, log(loss_at(drain, from + hold)) - log(drain->config.loss_budget));
}

/*
 * A whole millisecond of the hold at which the expected loss, falling in silence, is just below the budget; its logarithm is nearly straight, so it is
 * interpolated as in packages/drain/src/crossing.ts.
 */
static double crossing(const struct drain *drain, double now)
{
	double from = drain->terminated ? drain->terminated_at : now;
	double cap = ceil(drain->config.cap);
	double over = floor(now - from);
	double above_over = above(drain, from, now - from);
	double under = over;
	double above_under = above_over;
	for (double ahead = 250; above_under >= 0; ahead = reach(ahead, above_over, above_under)) {
		if (under == cap)
			return from + cap;
		over = under;
		above_over = above_under;
		under = fmin(cap, over + ahead);
		above_under = above(drain, from, under);
	}
	double nearest = above_under;
	for (int step = 0; under - over > 1 && nearest < -close_enough; step++) {
		double part = step < interpolations ? above_over / (above_over - above_under) : 0.5;
		double middle = fmin(under - 1, fmax(over + 1, ceil(over + part * (under - over))));
		double above_middle = above(drain, from, middle);
		if (above_middle < 0) {
			above_over *= lowered(above_middle, above_under);
			under = middle;
			above_under = above_middle;
			nearest = above_middle;
		} else {
			above_under *= lowered(above_middle, above_over);
			over = middle;
			above_over = above_middle;
		}
	}
	return from + under;
}

static struct wait wait_in_flight(const struct drain *drain)
{
	return drain->in_flight > 0 ? (struct wait){ true, INFINITY, WAIT_IN_FLIGHT } : content;
}

static struct wait wait_for_old_connections(const struct drain *drain, double now)
{
	struct wait wait = wait_in_flight(drain);
	if (wait.waits || drain->requests <= 0)
		return wait;
	return later(now, drain->last_request + drain->blind + drain->config.request_quiet, WAIT_REQUESTS);
}

static struct wait wait_of_policy(const struct drain *drain, double now)
{
	const struct drain_config *config = &drain->config;
	double terminated_at = drain->terminated ? drain->terminated_at : now;
	switch (config->policy) {
	case POLICY_FIXED:
		return later(now, terminated_at + config->delay, WAIT_DELAY);
	case POLICY_UNTIL_DEADLINE:
		return (struct wait){ true, INFINITY, WAIT_DEADLINE };
	case POLICY_QUIET: {
		double last = fmax(drain->last_connection, drain->last_request) + drain->blind;
		struct wait wait = later(now, fmax(last, terminated_at) + config->window, WAIT_SILENCE);
		return wait.waits ? wait : wait_in_flight(drain);
	}
	case POLICY_ADAPTIVE:
		if (loss_at(drain, now) < config->loss_budget)
			return wait_for_old_connections(drain, now);
		return (struct wait){ true, crossing(drain, now), WAIT_SILENCE };
	case POLICY_ACKNOWLEDGED: {
		size_t confirmed = 0;
		for (size_t i = 0; i < config->consumer_count; i++)
			confirmed += drain->acknowledged[i];
		if (confirmed < config->quorum)
			return (struct wait){ true, INFINITY, WAIT_ACKNOWLEDGEMENTS };
		return wait_for_old_connections(drain, now);
	}
	}
	return content;
}

static struct decision go_on(double until, double cap_at, enum waiting_for what)
{
	return (struct decision){ .stop = false, .until = fmin(until, cap_at), .waiting_for = what };
}

static struct decision stop(enum stop_reason reason)
{
	return (struct decision){ .stop = true, .reason = reason };
}

static enum stop_reason reason_after(const struct drain *drain, double floor_at)
{
	enum policy_kind kind = drain->config.policy;
	if (kind == POLICY_ACKNOWLEDGED)
		return STOP_ACKNOWLEDGED;
	if (kind != POLICY_FIXED && !drain->traffic_known)
		return STOP_IDLE;
	bool fired_by = fmax(drain->last_connection, drain->last_request) + drain->blind <= floor_at;
	if (!wait_of_policy(drain, floor_at).waits && drain->config.floor > 0 && fired_by)
		return STOP_FLOOR;
	return kind == POLICY_FIXED ? STOP_DELAY : STOP_QUIET;
}

static struct decision decide(const struct drain *drain, double now)
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
	struct wait wait = wait_of_policy(drain, now);
	if (wait.waits)
		return go_on(wait.until, cap_at, wait.what);
	return stop(reason_after(drain, floor_at));
}

struct decision drain_decide(struct drain *drain, double now)
{
	struct decision decision = decide(drain, now);
	enum waiting_for waiting = decision.stop ? WAIT_TERMINATION : decision.waiting_for;
	bool ended = decision.stop && (decision.reason == STOP_CAP || decision.reason == STOP_FORCED);
	if (drain->waiting != WAIT_TERMINATION && drain->waiting != waiting && !ended)
		drain->met_at[drain->waiting] = now - drain->terminated_at;
	if (waiting != WAIT_TERMINATION)
		drain->met_at[waiting] = INFINITY;
	drain->waiting = waiting;
	return decision;
}

struct explanation drain_explain(const struct drain *drain, double now)
{
	struct explanation explanation = { .expected_loss = loss_at(drain, now) };
	memcpy(explanation.met_at, drain->met_at, sizeof drain->met_at);
	if (!drain->watching || !drain->terminated || drain->config.policy != POLICY_ADAPTIVE)
		return explanation;
	double met = drain->met_at[WAIT_SILENCE];
	double at = isfinite(met) ? drain->terminated_at + met : now;
	explanation.suspect = senders_suspect(&drain->senders, at - drain->blind,
					      drain->terminated_at - drain->config.prestop, drain->config.convergence);
	return explanation;
}
