#include "variables.h"

#include "spelling.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tells the program that a lameduck-init is its parent, or an ancestor, and which process that is. */
static const char of_init[] = "LAMEDUCK_INIT";

/* Reads several values of one variable. The parts must outlive this call, as paths among them are kept. */
static bool apply_list(struct settings *settings, const struct flag *flag, const char *values, struct error *error)
{
	char *copy = strdup(values);
	char *rest = NULL;
	for (char *part = copy ? strtok_r(copy, ", ", &rest) : NULL; part; part = strtok_r(NULL, ", ", &rest))
		if (!flag_apply(settings, flag, part, error))
			return false;
	return true;
}

static bool apply_variable(struct settings *settings, const struct flag *flag, const char *value, struct error *error)
{
	if (flag->kind == LIST)
		return apply_list(settings, flag, value, error);
	if (flag->kind != SWITCH || strcmp(value, "1") == 0 || strcmp(value, "true") == 0)
		return flag_apply(settings, flag, value, error);
	if (strcmp(value, "0") == 0 || strcmp(value, "false") == 0)
		return true;
	error_set(error, ERROR_BAD_CHOICE, "", "\"%s\" is none of 1, true, 0, false", value);
	return false;
}

/* A Service named lameduck sets variables in every pod of its namespace, such as LAMEDUCK_PORT=tcp://10.0.0.1:80. */
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

/* Without the spaces around the value, as the library for Node reads it. A text in a manifest or a ConfigMap often ends with a new line. */
static const char *trimmed(const char *name)
{
	const char *value = getenv(name);
	if (!value)
		return NULL;
	const char *begin = value + strspn(value, " \t\r\n");
	size_t length = strlen(begin);
	while (length > 0 && strchr(" \t\r\n", begin[length - 1]))
		length--;
	char *copy = length == strlen(value) ? NULL : strndup(begin, length);
	if (copy)
		setenv(name, copy, 1);
	free(copy);
	return getenv(name);
}

bool flags_from_environment(struct settings *settings, struct error *error)
{
	for (size_t i = 0; i < flag_count; i++) {
		const char *name = flags[i].variable;
		const char *value = name ? trimmed(name) : NULL;
		/* An empty variable counts as unset, as manifests often leave variables empty. */
		if (!value || !*value || is_of_service(name, value))
			continue;
		if (!apply_variable(settings, &flags[i], value, error))
			return fail_at(error, name);
	}
	return true;
}

void tell_program(const struct settings *settings)
{
	char pid[16];
	for (size_t i = 0; i < flag_count; i++) {
		const char *value = flags[i].told ? *flag_text((struct settings *)settings, &flags[i]) : NULL;
		/* To set a variable to its own text may free that text, and the settings still point there. */
		if (value && value != getenv(flags[i].variable))
			setenv(flags[i].variable, value, 1);
	}
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	setenv(of_init, pid, 1);
}

static bool is_called(const char *known, const char *name, size_t length)
{
	return known && strlen(known) == length && memcmp(known, name, length) == 0;
}

static bool is_known(const char *name, size_t length)
{
	for (size_t i = 0; i < flag_count; i++)
		if (is_called(flags[i].variable, name, length))
			return true;
	for (const char *const *other = library_variables; *other; other++)
		if (is_called(*other, name, length))
			return true;
	return is_called(of_init, name, length);
}

static void warn_of(const char *name, size_t length, const struct logger *logger)
{
	for (size_t i = 0; i < flag_count; i++) {
		const char *known = flags[i].variable;
		if (!known || !is_misspelt(name, length, known))
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

bool given_by_variable(struct settings *settings, const char *name, char place[LONGEST_PLACE])
{
	const struct flag *named = long_flag(name, strlen(name));
	snprintf(place, LONGEST_PLACE, "%s%s", named ? "--" : "", name);
	for (size_t i = 0; named && i < flag_count; i++) {
		const char *value = flags[i].variable ? getenv(flags[i].variable) : NULL;
		bool same = named->kind == TEXT && flags[i].kind == TEXT && flags[i].offset == named->offset;
		if (!value || (same ? value != *flag_text(settings, named) : &flags[i] != named))
			continue;
		snprintf(place, LONGEST_PLACE, "%s", flags[i].variable);
		return true;
	}
	return false;
}
