#include "config.h"

#include "../base/text.h"
#include "duration.h"

#include <math.h>
#include <string.h>

const char *const policy_names[] = { "fixed", "until-deadline", "quiet", "adaptive", "acknowledged" };

#define ROW(member, flag, in_code, form, fallback, least, most, users) \
	{ flag, in_code, form, fallback, least, most, users, offsetof(struct drain_options, member), \
	  offsetof(struct drain_config, member) },
const struct drain_number drain_numbers[] = { DRAIN_NUMBERS(ROW) };
#undef ROW
const size_t drain_number_count = sizeof drain_numbers / sizeof *drain_numbers;

bool drain_number_counts(const struct drain_number *number, enum policy_kind policy)
{
	return number->users >> policy & 1;
}

double drain_number_of(const struct drain_number *number, const struct drain_config *config)
{
	return *(const double *)((const char *)config + number->kept);
}

const char *drain_number_said(const struct drain_number *number, const struct drain_options *options)
{
	return *(const char *const *)((const char *)options + number->said);
}

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

static bool check(const struct drain_number *number, double value, struct error *error)
{
	if (number->form == POSITIVE_DURATION && value == 0)
		error_set(error, ERROR_BAD_DURATION, number->flag, "must be above 0");
	else if (number->form == POSITIVE && value <= 0)
		error_set(error, ERROR_BAD_NUMBER, number->flag, "%g is not a number above 0", value);
	else if (number->form == WHOLE && (floor(value) != value || value < number->least || value > number->most))
		error_set(error, ERROR_BAD_NUMBER, number->flag, "%.15g is not a whole number from %.15g to %.15g", value,
			  number->least, number->most);
	else
		return true;
	return false;
}

/* Options of other policies are checked as well: a mistake should not wait for the day on which the policy changes. */
static bool parse_numbers(const struct drain_options *options, struct drain_config *config, struct error *error)
{
	for (const struct drain_number *one = drain_numbers; one < drain_numbers + drain_number_count; one++) {
		const char *said = drain_number_said(one, options);
		double *value = (double *)((char *)config + one->kept);
		bool is_duration = one->form == DURATION || one->form == POSITIVE_DURATION;
		if (!(is_duration ? duration : number)(said, one->fallback, one->flag, value, error) || !check(one, *value, error))
			return false;
		if (isnan(*value) && drain_number_counts(one, config->policy)) {
			error_set(error, ERROR_MISSING_OPTION, one->flag, "the policy %s needs a %s", policy_names[config->policy],
				  one->flag);
			return false;
		}
	}
	return true;
}

static bool parse_policy(const struct drain_options *options, struct drain_config *config, struct error *error)
{
	const char *name = options->policy ? options->policy : DEFAULT_POLICY;
	size_t kind = 0;
	while (kind <= POLICY_ACKNOWLEDGED && strcmp(policy_names[kind], name) != 0)
		kind++;
	if (kind > POLICY_ACKNOWLEDGED) {
		error_set(error, ERROR_UNKNOWN_POLICY, "policy",
			  "\"%s\" is not one of fixed, until-deadline, quiet, adaptive, acknowledged", name);
		return false;
	}
	config->policy = (enum policy_kind)kind;
	return true;
}

bool parse_config(const struct drain_options *options, struct drain_config *config, struct error *error)
{
	*config = (struct drain_config){ 0 };
	double grace, prestop, reserve, floor_asked;
	char a[32], b[32], c[32], d[32];
	if (!duration(options->grace, DEFAULT_GRACE, "grace", &grace, error) ||
	    !duration(options->prestop, DEFAULT_PRESTOP, "prestop", &prestop, error))
		return false;
	double left = grace - prestop;
	if (!duration(options->reserve, fmax(0, fmin(DEFAULT_RESERVE, left / 3)), "reserve", &reserve, error))
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
	if (!duration(options->floor, DEFAULT_FLOOR, "floor", &floor_asked, error))
		return false;
	double floor = fmax(0, floor_asked - prestop);
	if (floor > cap && options->floor) {
		error_set(error, ERROR_FLOOR_ABOVE_CAP, "floor", "%s is above the cap of %s",
			  format_duration(floor, a, sizeof a), format_duration(cap, b, sizeof b));
		return false;
	}
	if (!parse_policy(options, config, error) || !parse_numbers(options, config, error))
		return false;
	config->floor = fmin(floor, cap);
	config->cap = cap;
	config->prestop = prestop;
	config->reserve = reserve;
	return true;
}
