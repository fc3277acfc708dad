#include "writer.h"

#include <stdarg.h>
#include <stdio.h>

void text_add(struct writer *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text->at, text->left, format, arguments);
	va_end(arguments);
	size_t taken = length < 0 ? 0 : (size_t)length < text->left ? (size_t)length : text->left - 1;
	text->at += taken;
	text->left -= taken;
}
