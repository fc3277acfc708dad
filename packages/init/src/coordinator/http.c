#include "http.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "../base/text.h"

/* What is left to read. */
struct rest {
	const char *at;
	size_t size;
};

struct framing {
	bool has_length;
	uint64_t length;
	bool chunked;
};

/* The next line without its end; false where it has not ended yet. A line is a part of `rest`, and no text. */
static bool take_line(struct rest *rest, struct rest *line)
{
	const char *end = memchr(rest->at, '\n', rest->size);
	if (!end)
		return false;
	*line = (struct rest){ rest->at, (size_t)(end - rest->at) };
	rest->size -= line->size + 1;
	rest->at = end + 1;
	if (line->size > 0 && line->at[line->size - 1] == '\r')
		line->size--;
	return true;
}

static bool begins(const struct rest *line, const char *with)
{
	return line->size >= strlen(with) && strncasecmp(line->at, with, strlen(with)) == 0;
}

/* A number at the beginning of a line, to base 10 or 16. False where there is none, or where it is above `most`. */
static bool number_in(const char *at, size_t size, unsigned base, uint64_t most, uint64_t *value)
{
	size_t read = 0;
	for (*value = 0; read < size && *value <= most; read++) {
		int digit = hex_digit(at[read]);
		if (digit < 0 || (unsigned)digit >= base)
			break;
		*value = *value * base + (unsigned)digit;
	}
	return read > 0 && *value <= most;
}

static bool read_header(const struct rest *line, struct framing *framing)
{
	static const char length[] = "content-length:", encoding[] = "transfer-encoding:";
	struct rest value = *line;
	bool is_length = begins(line, length);
	if (!is_length && !begins(line, encoding))
		return true;
	size_t name = is_length ? sizeof length - 1 : sizeof encoding - 1;
	for (value.at += name, value.size -= name; value.size > 0 && *value.at == ' '; value.at++)
		value.size--;
	if (is_length)
		framing->has_length = true;
	else
		framing->chunked = true;
	return is_length ? number_in(value.at, value.size, 10, HTTP_BODY - 1, &framing->length) : begins(&value, "chunked");
}

static enum http_parsed take_part(struct rest *rest, size_t length, char *body, size_t *used)
{
	if (*used + length >= HTTP_BODY)
		return HTTP_BAD;
	if (rest->size < length)
		return HTTP_MORE;
	memcpy(body + *used, rest->at, length);
	*used += length;
	body[*used] = '\0';
	rest->at += length;
	rest->size -= length;
	return HTTP_WHOLE;
}

/* Trailers after the last chunk are ignored: the connection is closed. */
static enum http_parsed take_chunks(struct rest rest, char *body)
{
	struct rest line;
	uint64_t length;
	size_t used = 0;
	while (take_line(&rest, &line)) {
		if (!number_in(line.at, line.size, 16, HTTP_BODY, &length))
			return HTTP_BAD;
		if (length == 0)
			return HTTP_WHOLE;
		enum http_parsed part = take_part(&rest, length, body, &used);
		if (part != HTTP_WHOLE)
			return part;
		if (!take_line(&rest, &line))
			return HTTP_MORE;
	}
	return HTTP_MORE;
}

static enum http_parsed parse(struct rest rest, bool ended, struct http_answer *answer)
{
	struct framing framing = { 0 };
	struct rest line;
	uint64_t status;
	size_t used = 0;
	if (!take_line(&rest, &line))
		return HTTP_MORE;
	if (!begins(&line, "HTTP/1.") || line.size < 12 || !number_in(line.at + 9, 3, 10, 599, &status) || status < 200)
		return HTTP_BAD;
	answer->status = (int)status;
	do {
		if (!take_line(&rest, &line))
			return HTTP_MORE;
		if (!read_header(&line, &framing))
			return HTTP_BAD;
	} while (line.size > 0);
	if (framing.chunked)
		return take_chunks(rest, answer->body);
	if (framing.has_length)
		return take_part(&rest, framing.length, answer->body, &used);
	return ended ? take_part(&rest, rest.size, answer->body, &used) : HTTP_MORE;
}

enum http_parsed http_parse(const char *data, size_t size, bool ended, struct http_answer *answer)
{
	answer->status = 0;
	answer->body[0] = '\0';
	enum http_parsed parsed = parse((struct rest){ data, size }, ended, answer);
	return parsed == HTTP_MORE && ended ? HTTP_BAD : parsed;
}
