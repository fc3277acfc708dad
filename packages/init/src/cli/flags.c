#include "flags.h"

#include <stdio.h>
#include <string.h>

bool flag_takes_value(const struct flag *flag)
{
	return flag->kind == TEXT || flag->kind == LIST;
}

const char **flag_text(struct settings *settings, const struct flag *flag)
{
	return (const char **)((char *)settings + flag->offset);
}

bool flag_apply(struct settings *settings, const struct flag *flag, const char *value, struct error *error)
{
	settings->any_hold_option = settings->any_hold_option || flag->of_hold;
	switch (flag->kind) {
	case SWITCH:
		*(bool *)((char *)settings + flag->offset) = true;
		return true;
	case TEXT:
		*flag_text(settings, flag) = value;
		return true;
	case ACT:
	case LIST:
		return flag->read(settings, value, error);
	}
	return false;
}

bool fail_at(struct error *error, const char *place)
{
	snprintf(error->option, sizeof error->option, "%s", place);
	return false;
}

const struct flag *long_flag(const char *name, size_t length)
{
	for (size_t i = 0; i < flag_count; i++)
		if (strlen(flags[i].name) == length && memcmp(flags[i].name, name, length) == 0)
			return &flags[i];
	return NULL;
}

const struct flag *short_flag(char letter, enum personality personality)
{
	for (size_t i = 0; i < flag_count; i++)
		if (flags[i].letter == letter && flags[i].knows_letter >> personality & 1)
			return &flags[i];
	return NULL;
}
