#include "hold_settings.h"

#include "../decision/duration.h"
#include "variables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A mistake in a flag is an error. A variable may be another program's: a mistake in it means that no coordinator is asked. */
static bool refuse_cluster(struct settings *settings, const char *name, const char *problem, struct error *error)
{
	char place[LONGEST_PLACE];
	if (!given_by_variable(settings, name, place)) {
		error_set(error, ERROR_BAD_COORDINATOR, name, "%s", problem);
		return false;
	}
	if (settings->hold.place.url)
		snprintf(settings->notice, sizeof settings->notice, "%s %s: the cluster is not asked", place, problem);
	settings->hold.place.url = NULL;
	return true;
}

/* The coordinator to ask, and the pod that asks. */
static bool read_cluster(struct settings *settings, struct error *error)
{
	struct coordinator_place *place = &settings->hold.place;
	const struct {
		const char *name, *value;
	} parts[] = { { "pod-name", place->pod }, { "pod-namespace", place->pod_namespace }, { "pod-uid", place->pod_uid } };
	settings->hold.program = settings->action == ACTION_WAIT ? "wait" : "init";
	bool known = true;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		known = known && parts[i].value;
		if (parts[i].value && !is_plain_name(parts[i].value) &&
		    !refuse_cluster(settings, parts[i].name, "is no name", error))
			return false;
	}
	if (!place->url)
		return true;
	if (!place_parse(place))
		return refuse_cluster(settings, "coordinator", "is no http://HOST:PORT", error);
	return known || refuse_cluster(settings, "coordinator", "needs the pod's name, namespace and uid", error);
}

/*
 * Without a coordinator an init cannot do what `acknowledged` waits for. A manifest that asks for it must not keep a pod from starting:
 * acknowledgements may be off, or the webhook was down when the pod was made.
 */
static bool read_policy(struct settings *settings, struct error *error)
{
	char place[LONGEST_PLACE];
	const char *policy = settings->decision.policy;
	if (!policy || strcmp(policy, policy_names[POLICY_ACKNOWLEDGED]) != 0)
		return true;
	if (settings->hold.place.url)
		return true;
	if (given_by_variable(settings, "policy", place)) {
		settings->decision.policy = NULL;
		if (!*settings->notice)
			snprintf(settings->notice, sizeof settings->notice,
				 "%s: acknowledged needs a coordinator (LAMEDUCK_COORDINATOR); adaptive decides", place);
		return true;
	}
	error_set(error, ERROR_MISSING_OPTION, "policy", "acknowledged needs a coordinator (LAMEDUCK_COORDINATOR)");
	return false;
}

/*
 * Settings that the policy does not use. A flag was typed for this program, so it is an error. A variable may be meant for all containers of many
 * pods.
 */
static bool check_use(struct settings *settings, const struct drain_number *number, struct error *error)
{
	char place[LONGEST_PLACE];
	enum policy_kind policy = settings->hold.decision.policy;
	if (!drain_number_said(number, &settings->decision) || drain_number_counts(number, policy))
		return true;
	size_t user = 0;
	while (!drain_number_counts(number, user))
		user++;
	if (given_by_variable(settings, number->flag, place)) {
		snprintf(settings->notice, sizeof settings->notice, "%s does nothing: it is of the policy %s, and the policy is %s",
			 place, policy_names[user], policy_names[policy]);
		return true;
	}
	error_set(error, ERROR_MISSING_OPTION, number->flag, "needs --policy %s, and the policy is %s", policy_names[user],
		  policy_names[policy]);
	return false;
}

static bool check_uses(struct settings *settings, struct error *error)
{
	const struct drain_config *decision = &settings->hold.decision;
	char place[LONGEST_PLACE], delay[32], cap[32];
	for (size_t i = 0; i < drain_number_count; i++)
		if (!check_use(settings, &drain_numbers[i], error))
			return false;
	if (decision->policy == POLICY_FIXED && decision->delay > decision->cap) {
		given_by_variable(settings, "delay", place);
		snprintf(settings->notice, sizeof settings->notice, "%s of %s is cut to the cap of %s", place,
			 format_duration(decision->delay, delay, sizeof delay),
			 format_duration(decision->cap, cap, sizeof cap));
	}
	return true;
}

/* A timeout without anything to wait for. */
static bool check_order(struct settings *settings, struct error *error)
{
	const struct order *order = &settings->hold.order;
	char place[LONGEST_PLACE];
	if (!settings->order_timeout || order->wait_for.count + order->wait_gone.count > 0)
		return true;
	if (given_by_variable(settings, "order-timeout", place)) {
		snprintf(settings->notice, sizeof settings->notice,
			 "%s does nothing: no file is waited for (--wait-for, --wait-gone)", place);
		return true;
	}
	error_set(error, ERROR_MISSING_OPTION, "order-timeout", "needs --wait-for FILE or --wait-gone FILE");
	return false;
}

/* Set by a flag, in an image or a manifest. */
static bool is_typed(struct settings *settings, const char *name, const char *value)
{
	char place[LONGEST_PLACE];
	return value && !given_by_variable(settings, name, place);
}

/*
 * An injection sets the pod's times by variables, and cannot see the flags of an image's entry point. If the two contradict each other, only the
 * flags count: the program must start.
 */
static bool read_decision(struct settings *settings, struct error *error)
{
	struct drain_options *options = &settings->decision;
	struct error contradiction;
	char place[LONGEST_PLACE];
	if (parse_config(options, &settings->hold.decision, error))
		return true;
	bool flags = is_typed(settings, "grace", options->grace) || is_typed(settings, "reserve", options->reserve) ||
		     is_typed(settings, "floor", options->floor) || is_typed(settings, "cap", options->cap);
	if (!flags)
		return false;
	struct drain_options typed = *options;
	if (given_by_variable(settings, "grace", place))
		typed.grace = NULL;
	if (given_by_variable(settings, "prestop", place))
		typed.prestop = NULL;
	if ((typed.grace == options->grace && typed.prestop == options->prestop) ||
	    !parse_config(&typed, &settings->hold.decision, &contradiction))
		return false;
	*options = typed;
	snprintf(settings->notice, sizeof settings->notice, "LAMEDUCK_GRACE_PERIOD and LAMEDUCK_PRESTOP are left out, as flags need more: %s",
		 error->problem);
	return true;
}

bool read_hold_settings(struct settings *settings, struct error *error)
{
	if (!read_cluster(settings, error) || !read_policy(settings, error) || !read_decision(settings, error) ||
	    !check_uses(settings, error))
		return false;
	settings->hold.order_timeout = INFINITY;
	if (settings->order_timeout &&
	    !parse_duration(settings->order_timeout, "order-timeout", &settings->hold.order_timeout, error))
		return false;
	if (!check_order(settings, error))
		return false;
	settings->hold.trace = settings->dry_run || settings->verbosity >= 2;
	return true;
}
