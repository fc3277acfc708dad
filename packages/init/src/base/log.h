/* Messages on stderr: one line each, as text or JSON. Writing never waits for a reader that has stopped reading. */
#pragma once

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_NOTE, LOG_DETAIL, LOG_TRACE };

struct logger {
	const char *name; /* of the program, as it was called */
	enum log_level most;
	bool json;
	int also; /* where each line goes besides stderr; -1: nowhere */
};

__attribute__((format(printf, 3, 4))) void log_line(const struct logger *logger, enum log_level level, const char *format,
					       ...);

/* A line with machine-readable `fields` ("\"a\":1,\"b\":2") beside the text; in text mode the fields are not shown. */
void log_with(const struct logger *logger, enum log_level level, const char *fields, const char *text);

/* Escapes what JSON forbids in strings; cuts what does not fit. */
const char *json_escape(const char *text, char *buffer, unsigned size);
