/* Parses an HTTP/1.1 answer with a small body. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_BODY = 2048 };

enum http_parsed {
	HTTP_MORE, /* the answer goes on */
	HTTP_WHOLE,
	HTTP_BAD,
};

struct http_answer {
	int status;
	char body[HTTP_BODY]; /* a text */
};

/* Parses what has come so far, from its beginning each time. `ended`: the connection brings no more. */
enum http_parsed http_parse(const char *data, size_t size, bool ended, struct http_answer *answer);
