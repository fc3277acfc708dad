/* A text that is written by appending; what does not fit is cut. */
#ifndef LAMEDUCK_WRITER_H
#define LAMEDUCK_WRITER_H

#include <stddef.h>

struct writer {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) void text_add(struct writer *text, const char *format, ...);

#endif
