/* An answer of HTTP/1.1, as far as one to a small question needs it. No I/O. */
#ifndef LAMEDUCK_HTTP_H
#define LAMEDUCK_HTTP_H

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_BODY = 2048 };

enum http_parsed {
	HTTP_MORE, /* it goes on */
	HTTP_WHOLE,
	HTTP_BAD,
};

struct http_answer {
	int status;
	char body[HTTP_BODY]; /* a text */
};

/* What has come so far, `ended` where no more will come. It is parsed from its beginning each time. */
enum http_parsed http_parse(const char *data, size_t size, bool ended, struct http_answer *answer);

#endif
