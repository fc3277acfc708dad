/* What the init tells on stderr: one line a message, as text or JSON, and never a wait for a reader who has stopped reading. */
#ifndef LAMEDUCK_SAY_H
#define LAMEDUCK_SAY_H

#include <stdbool.h>

enum say_level { SAY_ERROR, SAY_WARNING, SAY_NOTE, SAY_DETAIL, SAY_TRACE };

struct speaker {
	const char *name; /* of the program, as it was called */
	enum say_level most;
	bool json;
	int also; /* where each line goes besides stderr; -1: nowhere */
};

__attribute__((format(printf, 3, 4))) void say(const struct speaker *speaker, enum say_level level, const char *format,
					       ...);

/* A line with machine-readable `fields` ("\"a\":1,\"b\":2") beside the text; in text mode the fields are not shown. */
void say_with(const struct speaker *speaker, enum say_level level, const char *fields, const char *text);

/* Escapes what JSON forbids in strings; cuts what does not fit. */
const char *json_escape(const char *text, char *buffer, unsigned size);

#endif
