#include "flags.h"

#include "flag_readers.h"
#include "spelling.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind {
	SWITCH,	/* no value; sets a bool */
	TEXT,	/* keeps the value */
	ACT,	/* calls the reader without a value */
	LIST,	/* calls the reader with the value; the environment has several, separated by commas or spaces */
};

/* Personalities that know a short flag; long ones are known to all, as neither tini nor dumb-init has others by these names. */
enum { OWN = 1 << PERSONALITY_OWN, TINI = 1 << PERSONALITY_TINI, DUMB = 1 << PERSONALITY_DUMB_INIT };

struct flag {
	const char *name; /* long; NULL where there is only a short one */
	char letter;	  /* 0 where there is none */
	unsigned knows_letter;
	enum kind kind;
	bool of_hold; /* asking for it asks tini and dumb-init to hold */
	size_t offset;
	flag_reader *read;
};

#define AT(field) offsetof(struct settings, field)

static const struct flag flags[] = {
	{ "subreaper", 's', OWN | TINI, SWITCH, false, AT(subreaper), NULL },
	{ "group", 'g', OWN | TINI, SWITCH, false, AT(group), NULL },
	{ "warn-on-reap", 'w', OWN | TINI, SWITCH, false, AT(warn_on_reap), NULL },
	{ "single-child", 'c', OWN | DUMB, SWITCH, false, AT(single_child), NULL },
	{ "parent-death", 'p', OWN | TINI, TEXT, false, AT(parent_death), NULL },
	{ "expect", 'e', OWN | TINI, LIST, false, 0, read_expected_code },
	{ "verbose", 'v', OWN | TINI | DUMB, ACT, false, 0, read_verbose },
	{ "rewrite", 'r', OWN | DUMB, LIST, false, 0, read_rewrite },
	{ "license", 'l', OWN | TINI, ACT, false, 0, read_license },
	{ "help", 'h', OWN | TINI | DUMB, ACT, false, 0, read_help },
	{ "version", 'V', OWN | DUMB, ACT, false, 0, read_version },
	{ "signal", 0, 0, LIST, false, 0, read_translation },
	{ "stop-signal", 0, 0, LIST, true, 0, read_stop_signal },
	{ "then", 0, 0, LIST, false, 0, read_then },
	{ "policy", 0, 0, TEXT, true, AT(decision.policy), NULL },
	{ "floor", 0, 0, TEXT, true, AT(decision.floor), NULL },
	{ "cap", 0, 0, TEXT, true, AT(decision.cap), NULL },
	{ "grace", 0, 0, TEXT, true, AT(decision.grace), NULL },
	{ "grace-period", 0, 0, TEXT, true, AT(decision.grace), NULL },
	{ "prestop", 0, 0, TEXT, true, AT(decision.prestop), NULL },
	{ "reserve", 0, 0, TEXT, true, AT(decision.reserve), NULL },
	{ "delay", 0, 0, TEXT, true, AT(decision.delay), NULL },
	{ "window", 0, 0, TEXT, true, AT(decision.window), NULL },
	{ "loss-budget", 0, 0, TEXT, true, AT(decision.loss_budget), NULL },
	{ "convergence", 0, 0, TEXT, true, AT(decision.convergence), NULL },
	{ "request-quiet", 0, 0, TEXT, true, AT(decision.request_quiet), NULL },
	{ "max-senders", 0, 0, TEXT, true, AT(decision.max_senders), NULL },
	{ "port", 0, 0, LIST, true, 0, read_port },
	{ "ignore-port", 0, 0, LIST, true, 0, read_ignored_port },
	{ "ignore-peer", 0, 0, LIST, true, 0, read_ignored_peer },
	{ "ignore-socket", 0, 0, LIST, true, 0, read_ignored_socket },
	{ "streams", 0, 0, TEXT, true, AT(streams), NULL },
	{ "ready-file", 0, 0, TEXT, false, AT(hold.order.ready_file), NULL },
	{ "done-file", 0, 0, TEXT, false, AT(hold.order.done_file), NULL },
	{ "wait-for", 0, 0, LIST, true, 0, read_wait_for },
	{ "wait-gone", 0, 0, LIST, true, 0, read_wait_gone },
	{ "order-timeout", 0, 0, TEXT, false, AT(order_timeout), NULL },
	{ "no-hold", 0, 0, SWITCH, false, AT(no_hold), NULL },
	{ "dry-run", 0, 0, SWITCH, true, AT(dry_run), NULL },
	{ "log", 0, 0, TEXT, false, AT(log), NULL },
};

enum { FLAG_COUNT = sizeof flags / sizeof *flags };

static bool takes_value(const struct flag *flag)
{
	return flag->kind == TEXT || flag->kind == LIST;
}

static const char **text_of(struct settings *settings, const struct flag *flag)
{
	return (const char **)((char *)settings + flag->offset);
}

static bool apply(struct settings *settings, const struct flag *flag, const char *value, struct error *error)
{
	settings->any_hold_option = settings->any_hold_option || flag->of_hold;
	switch (flag->kind) {
	case SWITCH:
		*(bool *)((char *)settings + flag->offset) = true;
		return true;
	case TEXT:
		*text_of(settings, flag) = value;
		return true;
	case ACT:
	case LIST:
		return flag->read(settings, value, error);
	}
	return false;
}

enum { LONGEST_VARIABLE = 48 };

static const char *variable_of(const struct flag *flag, char name[LONGEST_VARIABLE])
{
	snprintf(name, LONGEST_VARIABLE, "LAMEDUCK_%s", flag->name);
	for (char *at = name; *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
	return name;
}

static bool is_variable(const struct flag *flag)
{
	return flag->read != read_help && flag->read != read_version && flag->read != read_license;
}

static bool fail_at(struct error *error, const char *place)
{
	snprintf(error->option, sizeof error->option, "%s", place);
	return false;
}

/* Several values in one variable; the parts must outlive this call, as paths among them are kept. */
static bool apply_list(struct settings *settings, const struct flag *flag, const char *values, struct error *error)
{
	char *copy = strdup(values);
	char *rest = NULL;
	for (char *part = copy ? strtok_r(copy, ", ", &rest) : NULL; part; part = strtok_r(NULL, ", ", &rest))
		if (!apply(settings, flag, part, error))
			return false;
	return true;
}

static bool apply_variable(struct settings *settings, const struct flag *flag, const char *value, struct error *error)
{
	if (flag->kind == LIST)
		return apply_list(settings, flag, value, error);
	if (flag->kind != SWITCH || strcmp(value, "1") == 0 || strcmp(value, "true") == 0)
		return apply(settings, flag, value, error);
	if (strcmp(value, "0") == 0 || strcmp(value, "false") == 0)
		return true;
	error_set(error, ERROR_BAD_CHOICE, "", "\"%s\" is none of 1, true, 0, false", value);
	return false;
}

/* A Service that is named as our variables begin brings some of its own into every pod of its namespace: LAMEDUCK_PORT=tcp://10.0.0.1:80. */
static bool is_of_service(const char *name, const char *value)
{
	static const char *const schemes[] = { "tcp://", "udp://", "sctp://" };
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if (strncmp(value, schemes[i], strlen(schemes[i])) == 0)
			return true;
	const char *port = strstr(name, "_PORT_");
	return strstr(name, "_SERVICE_HOST") || strstr(name, "_SERVICE_PORT") ||
	       (port && isdigit((unsigned char)port[strlen("_PORT_")]));
}

bool flags_from_environment(struct settings *settings, struct error *error)
{
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		char name[LONGEST_VARIABLE];
		const char *value = getenv(variable_of(&flags[i], name));
		/* Manifests often leave variables empty: as if unset. */
		if (!value || !*value || !is_variable(&flags[i]) || is_of_service(name, value))
			continue;
		if (!apply_variable(settings, &flags[i], value, error))
			return fail_at(error, name);
	}
	return true;
}

/* Of the library for Node, which may run below, and near one of ours. */
static const char of_library[] = "LAMEDUCK_SIGNALS";

static bool is_known(const char *name, size_t length)
{
	if (strlen(of_library) == length && memcmp(of_library, name, length) == 0)
		return true;
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		char known[LONGEST_VARIABLE];
		if (strlen(variable_of(&flags[i], known)) == length && memcmp(known, name, length) == 0)
			return true;
	}
	return false;
}

static void warn_of(const char *name, size_t length, const struct logger *logger)
{
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		char known[LONGEST_VARIABLE];
		if (!is_variable(&flags[i]) || !is_misspelt(name, length, variable_of(&flags[i], known)))
			continue;
		log_line(logger, LOG_WARNING, "%.*s is unknown; did you mean %s?", (int)length, name, known);
		return;
	}
}

void warn_of_misspelt_variables(const struct logger *logger)
{
	for (char **variable = environ; *variable; variable++) {
		const char *equals = strchr(*variable, '=');
		size_t length = equals ? (size_t)(equals - *variable) : 0;
		if (strncmp(*variable, "LAMEDUCK_", 9) == 0 && equals && !is_known(*variable, length) &&
		    !is_of_service(*variable, equals + 1))
			warn_of(*variable, length, logger);
	}
}

static const struct flag *long_flag(const char *name, size_t length)
{
	for (size_t i = 0; i < FLAG_COUNT; i++)
		if (strlen(flags[i].name) == length && memcmp(flags[i].name, name, length) == 0)
			return &flags[i];
	return NULL;
}

bool said_in_environment(struct settings *settings, const char *name, char place[LONGEST_PLACE])
{
	const struct flag *named = long_flag(name, strlen(name));
	snprintf(place, LONGEST_PLACE, "%s%s", named ? "--" : "", name);
	for (size_t i = 0; named && i < FLAG_COUNT; i++) {
		char variable[LONGEST_VARIABLE];
		const char *value = getenv(variable_of(&flags[i], variable));
		bool same = named->kind == TEXT && flags[i].kind == TEXT && flags[i].offset == named->offset;
		if (!value || (same ? value != *text_of(settings, named) : &flags[i] != named))
			continue;
		snprintf(place, LONGEST_PLACE, "%s", variable);
		return true;
	}
	return false;
}

static const struct flag *short_flag(char letter, enum personality personality)
{
	for (size_t i = 0; i < FLAG_COUNT; i++)
		if (flags[i].letter == letter && flags[i].knows_letter >> personality & 1)
			return &flags[i];
	return NULL;
}

static bool unknown(struct error *error, const char *argument)
{
	error_set(error, ERROR_UNKNOWN_OPTION, argument, "there is no such option");
	return false;
}

static bool unknown_long(struct error *error, const char *argument, size_t length)
{
	for (size_t i = 0; i < FLAG_COUNT; i++)
		if (is_misspelt(argument + 2, length, flags[i].name)) {
			error_set(error, ERROR_UNKNOWN_OPTION, argument,
				  "there is no such option (did you mean --%s?)", flags[i].name);
			return false;
		}
	return unknown(error, argument);
}

static bool needs_value(struct error *error, const char *argument)
{
	error_set(error, ERROR_MISSING_OPTION, argument, "needs a value");
	return false;
}

static bool read_long(struct settings *settings, int argc, char *const *argv, int *next, struct error *error)
{
	const char *argument = argv[*next];
	const char *equals = strchr(argument, '=');
	size_t length = equals ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
	const struct flag *flag = long_flag(argument + 2, length);
	if (!flag)
		return unknown_long(error, argument, length);
	if (equals && !takes_value(flag)) {
		error_set(error, ERROR_UNKNOWN_OPTION, argument, "takes no value");
		return false;
	}
	const char *value = equals ? equals + 1 : NULL;
	if (takes_value(flag) && !value) {
		if (*next + 1 >= argc)
			return needs_value(error, argument);
		value = argv[++*next];
	}
	char place[LONGEST_PLACE];
	snprintf(place, sizeof place, "--%s", flag->name);
	return apply(settings, flag, value, error) || fail_at(error, place);
}

/* "-vg", "-e143", "-e 143". */
static bool read_short(struct settings *settings, int argc, char *const *argv, int *next, struct error *error)
{
	for (const char *letter = argv[*next] + 1; *letter; letter++) {
		const struct flag *flag = short_flag(*letter, settings->personality);
		if (!flag)
			return unknown(error, argv[*next]);
		if (!takes_value(flag)) {
			if (!apply(settings, flag, NULL, error))
				return false;
			continue;
		}
		const char *value = letter + 1;
		if (!*value) {
			if (*next + 1 >= argc)
				return needs_value(error, argv[*next]);
			value = argv[++*next];
		}
		const char place[] = { '-', *letter, '\0' };
		return apply(settings, flag, value, error) || fail_at(error, place);
	}
	return true;
}

bool flags_from_arguments(struct settings *settings, int argc, char *const *argv, int *next, struct error *error)
{
	for (; *next < argc; ++*next) {
		const char *argument = argv[*next];
		if (argument[0] != '-' || argument[1] == '\0')
			return true;
		if (strcmp(argument, "--") == 0) {
			++*next;
			return true;
		}
		bool done = argument[1] == '-' ? read_long(settings, argc, argv, next, error) :
						 read_short(settings, argc, argv, next, error);
		if (!done)
			return false;
	}
	return true;
}
