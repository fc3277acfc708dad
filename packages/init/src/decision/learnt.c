#include "learnt.h"

#include "../base/text.h"

#include <string.h>

/* The checksum of hypotheses and prior (learning.ts). A test compares both. */
static const char version[] = "3040349972:";

/* Reads the number before `end`. Returns what comes after `end`; NULL where there is no number. */
static const char *read_number(const char *text, char end, double *value)
{
	size_t length = strcspn(text, ":,");
	if (text[length] != end || length == 0 || text[0] == '.' || !parse_decimal(text, length, value))
		return NULL;
	return text + length + (end != '\0');
}

bool parse_learnt(const char *text, struct prior *prior)
{
	double terminations, sum = 0;
	size_t known = sizeof version - 1;
	if (strlen(text) > LONGEST_LEARNT || strncmp(text, version, known) != 0)
		return false;
	text = read_number(text + known, ':', &terminations);
	for (int i = 0; text && i < HYPOTHESIS_PRIOR; i++) {
		text = read_number(text, i < HYPOTHESIS_PRIOR - 1 ? ',' : '\0', &prior->weights[i]);
		sum += text ? prior->weights[i] : 0;
	}
	for (int i = 0; text && i < HYPOTHESIS_PRIOR; i++)
		prior->weights[i] /= sum;
	return text && sum > 0;
}
