#include "arguments.h"

#include "spelling.h"
#include "variables.h"

#include <stdio.h>
#include <string.h>

static bool unknown(struct error *error, const char *argument)
{
	error_set(error, ERROR_UNKNOWN_OPTION, argument, "there is no such option");
	return false;
}

static bool unknown_long(struct error *error, const char *argument, size_t length)
{
	for (size_t i = 0; i < flag_count; i++)
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

/* The next argument, unless it ends the options. */
static const char *next_value(int argc, char *const *argv, int *next)
{
	return *next + 1 < argc && strcmp(argv[*next + 1], "--") != 0 ? argv[++*next] : NULL;
}

static bool read_long(struct settings *settings, int argc, char *const *argv, int *next, struct error *error)
{
	const char *argument = argv[*next];
	const char *equals = strchr(argument, '=');
	size_t length = equals ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
	const struct flag *flag = long_flag(argument + 2, length);
	if (!flag)
		return unknown_long(error, argument, length);
	if (equals && !flag_takes_value(flag)) {
		error_set(error, ERROR_UNKNOWN_OPTION, argument, "takes no value");
		return false;
	}
	const char *value = equals ? equals + 1 : NULL;
	if (flag_takes_value(flag) && !value && !(value = next_value(argc, argv, next)))
		return needs_value(error, argument);
	char place[LONGEST_PLACE];
	snprintf(place, sizeof place, "--%s", flag->name);
	return flag_apply(settings, flag, value, error) || fail_at(error, place);
}

/* "-vg", "-e143", "-e 143". */
static bool read_short(struct settings *settings, int argc, char *const *argv, int *next, struct error *error)
{
	for (const char *letter = argv[*next] + 1; *letter; letter++) {
		const struct flag *flag = short_flag(*letter, settings->personality);
		if (!flag)
			return unknown(error, argv[*next]);
		if (!flag_takes_value(flag)) {
			if (!flag_apply(settings, flag, NULL, error))
				return false;
			continue;
		}
		const char *value = letter[1] ? letter + 1 : next_value(argc, argv, next);
		if (!value)
			return needs_value(error, argv[*next]);
		const char place[] = { '-', *letter, '\0' };
		return flag_apply(settings, flag, value, error) || fail_at(error, place);
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
