/* Flags, each of which is an environment variable, too. Their table is options.c, written from packages/options/src/table.ts. */
#pragma once

#include "flag_readers.h"

#include <stddef.h>

enum flag_kind {
	SWITCH,	/* no value; sets a bool */
	TEXT,	/* keeps the value */
	ACT,	/* calls the reader without a value */
	LIST,	/* calls the reader with the value; the environment has several, separated by commas or spaces */
};

struct flag {
	const char *name;	/* the long name, which all personalities know */
	const char *variable;	/* NULL where there is none */
	char letter;		/* 0 where there is none */
	unsigned knows_letter;	/* the personalities that know it, a bit for each */
	enum flag_kind kind;
	bool of_hold;		/* the flag asks for a hold where tini or dumb-init is the name */
	bool told;		/* the library for Node reads the variable as an option of its own decision */
	const char *choices[2];	/* the values of a TEXT; the first is the default */
	size_t offset;
	flag_reader *read;
};

extern const struct flag flags[];
extern const size_t flag_count;
/* Variables that the library for Node alone reads; NULL ends them. */
extern const char *const library_variables[];
/* The options in --help. */
extern const char option_help[];

const struct flag *long_flag(const char *name, size_t length);
const struct flag *short_flag(char letter, enum personality personality);

bool flag_takes_value(const struct flag *flag);

/* The member that keeps the value of a flag of kind TEXT. */
const char **flag_text(struct settings *settings, const struct flag *flag);

bool flag_apply(struct settings *settings, const struct flag *flag, const char *value, struct error *error);

/* Notes the flag or variable that `error` is about. Always false. */
bool fail_at(struct error *error, const char *place);
