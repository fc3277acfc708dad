#include "config.h"

#include "../base/text.h"
#include "duration.h"
#include "learnt.h"

#include <math.h>
#include <string.h>

const char *const policy_names[] = { "fixed", "until-deadline", "quiet", "adaptive", "acknowledged" };

/* An arrival is looked up among all of them. */
static const double most_senders = 4096;
static const double default_floor = 1000;
static const double default_grace = 30000;
static const double default_prestop = 0;
static const double default_reserve = 5000;
static const double default_window = 5000;
static const double default_loss_budget = 0.001;
static const double default_convergence = 4000;
static const double default_request_quiet = 1000;
static const double default_settle = 500;
static const double default_max_senders = 128;

static bool duration(const char *text, double fallback, const char *option, double *milliseconds, struct error *error)
{
	*milliseconds = fallback;
	return !text || parse_duration(text, option, milliseconds, error);
}

static bool number(const char *text, double fallback, const char *option, double *value, struct error *error)
{
	*value = fallback;
	bool negative = text && text[0] == '-';
	if (!text || parse_decimal(text + negative, strlen(text + negative), value)) {
		*value = negative ? -*value : *value;
		return true;
	}
	error_set(error, ERROR_BAD_NUMBER, option, "\"%s\" is not a number", text);
	return false;
}

static bool whole_number(const char *text, double fallback, const char *option, double least, double most,
			 size_t *value, struct error *error)
{
	double read;
	if (!number(text, fallback, option, &read, error))
		return false;
	if (floor(read) != read || read < least || read > most) {
		error_set(error, ERROR_BAD_NUMBER, option, "%.15g is not a whole number from %.15g to %.15g", read, least, most);
		return false;
	}
	*value = (size_t)read;
	return true;
}

static bool parse_policy(const struct drain_options *options, struct drain_config *config, struct error *error)
{
	const char *name = options->policy ? options->policy : "adaptive";
	size_t kind = 0;
	while (kind <= POLICY_ACKNOWLEDGED && strcmp(policy_names[kind], name) != 0)
		kind++;
	if (kind > POLICY_ACKNOWLEDGED) {
		error_set(error, ERROR_UNKNOWN_POLICY, "policy",
			  "\"%s\" is not one of fixed, until-deadline, quiet, adaptive, acknowledged", name);
		return false;
	}
	config->policy = (enum policy_kind)kind;
	/* Settings of other policies are checked as well: a mistake should not wait for the day on which the policy changes. */
	if (!duration(options->delay, 0, "delay", &config->delay, error) ||
	    !duration(options->window, default_window, "window", &config->window, error) ||
	    !duration(options->convergence, default_convergence, "convergence", &config->convergence, error))
		return false;
	if (config->convergence == 0) {
		error_set(error, ERROR_BAD_DURATION, "convergence", "must be above 0");
		return false;
	}
	if (!number(options->loss_budget, default_loss_budget, "loss-budget", &config->loss_budget, error))
		return false;
	if (config->loss_budget <= 0) {
		error_set(error, ERROR_BAD_NUMBER, "loss-budget", "%g is not a number above 0", config->loss_budget);
		return false;
	}
	config->prior = unlearnt_prior();
	struct prior learnt;
	/* What is no use is no error: it may be of another release, and the pod has to start. */
	if (options->learnt && config->policy >= POLICY_ADAPTIVE && parse_learnt(options->learnt, &learnt)) {
		config->prior = learnt;
		config->learnt = options->learnt;
	}
	if (config->policy == POLICY_FIXED && !options->delay) {
		error_set(error, ERROR_MISSING_OPTION, "delay", "the policy fixed needs a delay");
		return false;
	}
	return true;
}

bool parse_config(const struct drain_options *options, struct drain_config *config, struct error *error)
{
	*config = (struct drain_config){ 0 };
	double grace, prestop, reserve, floor_asked;
	char a[32], b[32], c[32], d[32];
	if (!duration(options->grace, default_grace, "grace", &grace, error) ||
	    !duration(options->prestop, default_prestop, "prestop", &prestop, error))
		return false;
	double left = grace - prestop;
	if (!duration(options->reserve, fmax(0, fmin(default_reserve, left / 3)), "reserve", &reserve, error))
		return false;
	double longest = left - reserve;
	if (longest <= 0) {
		error_set(error, ERROR_NO_TIME_TO_HOLD, reserve >= left && prestop < grace ? "reserve" : "grace",
			  "%s grace - %s preStop - %s reserve leaves %s to hold", format_duration(grace, a, sizeof a),
			  format_duration(prestop, b, sizeof b), format_duration(reserve, c, sizeof c),
			  format_duration(longest, d, sizeof d));
		return false;
	}
	double cap;
	if (!duration(options->cap, longest, "cap", &cap, error))
		return false;
	if (cap > longest) {
		char e[32];
		error_set(error, ERROR_CAP_ABOVE_GRACE, "cap", "%s is more than %s grace - %s preStop - %s reserve = %s",
			  format_duration(cap, a, sizeof a), format_duration(grace, b, sizeof b),
			  format_duration(prestop, c, sizeof c), format_duration(reserve, d, sizeof d),
			  format_duration(longest, e, sizeof e));
		return false;
	}
	if (cap <= 0) {
		error_set(error, ERROR_NO_TIME_TO_HOLD, "cap", "is zero");
		return false;
	}
	if (!duration(options->floor, default_floor, "floor", &floor_asked, error))
		return false;
	double floor = fmax(0, floor_asked - prestop);
	if (floor > cap && options->floor) {
		error_set(error, ERROR_FLOOR_ABOVE_CAP, "floor", "%s is above the cap of %s",
			  format_duration(floor, a, sizeof a), format_duration(cap, b, sizeof b));
		return false;
	}
	if (!parse_policy(options, config, error))
		return false;
	config->floor = fmin(floor, cap);
	config->cap = cap;
	config->prestop = prestop;
	config->reserve = reserve;
	return duration(options->request_quiet, default_request_quiet, "request-quiet", &config->request_quiet, error) &&
	       duration(options->settle, default_settle, "settle", &config->settle, error) &&
	       whole_number(options->max_senders, default_max_senders, "max-senders", 1, most_senders, &config->max_senders,
			    error);
}
