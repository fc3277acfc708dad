#include "flags.h"

#include "flag_readers.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
	SWITCH,	/* no value; sets a bool */
	TEXT,	/* keeps the value */
	READ,	/* calls the reader with the value */
	ACT,	/* calls the reader without a value */
	LIST,	/* as READ; the environment has several, separated by commas or spaces */
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
	return flag->kind == TEXT || flag->kind == READ || flag->kind == LIST;
}

static bool apply(struct settings *settings, const struct flag *flag, const char *value, struct error *error)
{
	settings->any_hold_option = settings->any_hold_option || flag->of_hold;
	switch (flag->kind) {
	case SWITCH:
		*(bool *)((char *)settings + flag->offset) = true;
		return true;
	case TEXT:
		*(const char **)((char *)settings + flag->offset) = value;
		return true;
	case READ:
	case ACT:
	case LIST:
		return flag->read(settings, value, error);
	}
	return false;
}

static void variable_of(const struct flag *flag, char *name, size_t size)
{
	snprintf(name, size, "LAMEDUCK_%s", flag->name);
	for (char *at = name; *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
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

bool flags_from_environment(struct settings *settings, struct error *error)
{
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		const struct flag *flag = &flags[i];
		char name[48];
		variable_of(flag, name, sizeof name);
		const char *value = getenv(name);
		if (!value || !*value || flag->read == read_help || flag->read == read_version ||
		    flag->read == read_license)
			continue;
		bool off = strcmp(value, "0") == 0 || strcmp(value, "false") == 0;
		if (!takes_value(flag) && off)
			continue;
		bool done = flag->kind == LIST ? apply_list(settings, flag, value, error) :
						 apply(settings, flag, value, error);
		if (!done) {
			snprintf(error->option, sizeof error->option, "%s", name);
			return false;
		}
	}
	return true;
}

static const struct flag *long_flag(const char *name, size_t length)
{
	for (size_t i = 0; i < FLAG_COUNT; i++)
		if (strlen(flags[i].name) == length && memcmp(flags[i].name, name, length) == 0)
			return &flags[i];
	return NULL;
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
	if (!flag || (equals && !takes_value(flag)))
		return unknown(error, argument);
	const char *value = equals ? equals + 1 : NULL;
	if (takes_value(flag) && !value) {
		if (*next + 1 >= argc)
			return needs_value(error, argument);
		value = argv[++*next];
	}
	return apply(settings, flag, value, error);
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
		return apply(settings, flag, value, error);
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
