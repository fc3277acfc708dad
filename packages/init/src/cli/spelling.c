#include "spelling.h"

#include <string.h>

enum { MOST_CHANGES = 2, LONGEST_NAME = 48 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The distance of Levenshtein, row by row. */
bool is_misspelt(const char *name, size_t length, const char *known)
{
	size_t row[LONGEST_NAME + 1];
	size_t columns = strlen(known);
	if (columns > LONGEST_NAME || length > LONGEST_NAME)
		return false;
	for (size_t column = 0; column <= columns; column++)
		row[column] = column;
	for (size_t at = 0; at < length; at++) {
		size_t diagonal = row[0];
		row[0] = at + 1;
		for (size_t column = 1; column <= columns; column++) {
			size_t changed = diagonal + (name[at] != known[column - 1]);
			diagonal = row[column];
			row[column] = least(changed, 1 + least(row[column], row[column - 1]));
		}
	}
	return row[columns] <= MOST_CHANGES;
}
