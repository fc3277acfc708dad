/* What the fuzzer gives, as a text: its first byte chooses what is fed with the rest. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All but the first byte, to be freed; NULL where there is none. */
static inline char *text_of(const uint8_t *data, size_t size)
{
	char *text = size > 0 ? malloc(size) : NULL;
	if (!text)
		return NULL;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	return text;
}
