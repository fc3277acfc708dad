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

/* Evidence is weighed no more often, ms. */
static const double shortest_pause = 20;

static const struct wait content = { .waits = false };

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
	bool held = drain->terminated;
	drain->traffic_known = true;
	if (seen.type == SEEN_CONNECTION) {
		senders_arrival(&drain->senders, seen.name, at);
		if (!seen.old)
			release_connection(&drain->release, seen.name, at, seen.earlier);
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
	drain->told++;
	senders_settle(&drain->senders);
}

void drain_traced(struct drain *drain, double share)
{
	drain->revision++;
	drain->told++;
	senders_traced(&drain->senders, share);
}

double drain_traced_share(const struct drain *drain)
{
	return drain->senders.traced;
}

void drain_forget(struct drain *drain, const char *sender)
{
	drain->revision++;
	drain->told++;
	senders_forget(&drain->senders, sender);
	release_forget(&drain->release, sender);
}

void drain_recall(struct drain *drain, const char *sender, double at, double earlier)
{
	drain->revision++;
	drain->told++;
	senders_arrival(&drain->senders, sender, at);
	release_connection(&drain->release, sender, at, earlier);
}

void drain_observe(struct drain *drain, struct observation seen)
{
	double at = seen.at;
	drain->revision++;
	/* What is said of senders is no sight of them: it begins nothing. */
	if (!drain->watching && seen.type != SEEN_RELEASED && seen.type != SEEN_UNRELEASED) {
		senders_init(&drain->senders, drain->config.max_senders, drain->config.prestop, at);
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
		drain->told++;
		arrival(drain, seen);
		return;
	case SEEN_RATE:
		drain->traffic_known = drain->traffic_known || seen.value > 0;
		drain->told++;
		senders_rate(&drain->senders, seen.name, seen.value / 1000);
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
	case SEEN_RELEASED:
		release_give(&drain->release, at);
		return;
	case SEEN_UNRELEASED:
		release_withdraw(&drain->release, seen.value > 0);
		return;
	case SEEN_BLIND:
		/* What waited in the kernel meanwhile is seen by now: silence that it ends in was silence. */
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

/* Policies that weigh evidence, always or where they must. */
static bool weighs(const struct drain_config *config)
{
	return config->policy == POLICY_ADAPTIVE || config->by_cluster;
}

double drain_expected_loss(const struct drain *drain, double now)
{
	if (!drain->watching || !drain->terminated)
		return 0;
	double convergence = weighs(&drain->config) ? drain->config.convergence : 4000;
	return senders_expected_loss(&drain->senders, now, convergence);
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
	return later(now, drain->last_request + drain->config.request_quiet, WAIT_REQUESTS);
}

/*
 * Evidence is weighed some twenty times in a hold, whatever comes in between: again after a sixty-fourth of the hold where the loss is close to the
 * budget, and after six of them where it is far above. What is enough remains so until something is seen.
 */
static struct wait wait_for_evidence(struct drain *drain, double now)
{
	if (drain->enough == drain->told)
		return content;
	if (now >= drain->weigh_at) {
		double above = log(drain_expected_loss(drain, now) / drain->config.loss_budget);
		double held = now - drain->terminated_at;
		drain->weigh_at = now + fmax(shortest_pause, held / 64 * fmin(6, fmax(1, above)));
		drain->enough = above < 0 ? drain->told : UINT64_MAX;
		if (above < 0)
			return content;
	}
	return (struct wait){ true, drain->weigh_at, WAIT_SILENCE };
}

/* Evidence says so, or the cluster, whichever comes first. */
static struct wait wait_until_all_let_go(struct drain *drain, double now)
{
	struct wait evidence = wait_for_evidence(drain, now);
	double settled_at = release_settled_at(&drain->release);
	if (!evidence.waits || now >= settled_at)
		return content;
	evidence.until = fmin(evidence.until, settled_at);
	return evidence;
}

static struct wait wait_for_release(struct drain *drain, double now)
{
	if (drain->release.local)
		return wait_until_all_let_go(drain, now);
	return later(now, release_settled_at(&drain->release), WAIT_ACKNOWLEDGEMENTS);
}

static struct wait wait_of_policy(struct drain *drain, double now)
{
	const struct drain_config *config = &drain->config;
	double terminated_at = drain->terminated ? drain->terminated_at : now;
	switch (config->policy) {
	case POLICY_FIXED:
		return later(now, terminated_at + config->delay, WAIT_DELAY);
	case POLICY_UNTIL_DEADLINE:
		return (struct wait){ true, INFINITY, WAIT_DEADLINE };
	case POLICY_QUIET: {
		double last = fmax(drain->last_connection, drain->last_request);
		struct wait wait = later(now, fmax(last, terminated_at) + config->window, WAIT_SILENCE);
		return wait.waits ? wait : wait_in_flight(drain);
	}
	case POLICY_ADAPTIVE: {
		struct wait wait = wait_until_all_let_go(drain, now);
		return wait.waits ? wait : wait_for_old_connections(drain, now);
	}
	case POLICY_ACKNOWLEDGED: {
		if (config->by_cluster) {
			struct wait wait = wait_for_release(drain, now);
			return wait.waits ? wait : wait_for_old_connections(drain, now);
		}
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

static bool is_enough(const struct drain *drain, double now)
{
	return drain_expected_loss(drain, now) < drain->config.loss_budget;
}

static bool content_at(struct drain *drain, double now)
{
	if (!weighs(&drain->config))
		return !wait_of_policy(drain, now).waits;
	bool all_let_go = now >= release_settled_at(&drain->release) || is_enough(drain, now);
	return all_let_go && !wait_for_old_connections(drain, now).waits;
}

static enum stop_reason reason_of(struct drain *drain, double now, double floor_at)
{
	enum policy_kind kind = drain->config.policy;
	if (kind == POLICY_ACKNOWLEDGED && !(drain->config.by_cluster && drain->release.local))
		return STOP_ACKNOWLEDGED;
	if (kind != POLICY_FIXED && !drain->traffic_known)
		return STOP_IDLE;
	bool fired_by = fmax(drain->last_connection, drain->last_request) <= floor_at;
	if (drain->config.floor > 0 && fired_by && content_at(drain, floor_at))
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
	return stop(reason_of(drain, now, floor_at));
}

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

struct decision drain_decide(struct drain *drain, double now)
{
	struct decision decision = decide(drain, now);
	enum waiting_for waiting = decision.stop ? WAIT_TERMINATION : decision.waiting_for;
	bool ended = decision.stop && (decision.reason == STOP_CAP || decision.reason == STOP_FORCED);
	if (drain->waiting != WAIT_TERMINATION && drain->waiting != waiting && !ended)
		drain->met_at[drain->waiting] = met_at(drain, now);
	if (waiting != WAIT_TERMINATION)
		drain->met_at[waiting] = INFINITY;
	drain->waiting = waiting;
	return decision;
}

struct explanation drain_explain(const struct drain *drain, double now)
{
	struct explanation explanation = { .expected_loss = drain_expected_loss(drain, now) };
	memcpy(explanation.met_at, drain->met_at, sizeof drain->met_at);
	if (!drain->watching || !drain->terminated || !weighs(&drain->config))
		return explanation;
	double met = drain->met_at[WAIT_SILENCE];
	double at = isfinite(met) ? drain->terminated_at + met : now;
	explanation.suspect = senders_suspect(&drain->senders, at, drain->config.convergence);
	return explanation;
}
