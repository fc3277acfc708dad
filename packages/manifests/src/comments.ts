/** Where a line ends, without its line break. */
export function endOfLine(text: string, from: number): number {
  return from + (/\r?\n|$/.exec(text.slice(from))?.index ?? 0);
}

/**
 * The end of a line, or of the last comment below it that belongs to it. Such a comment is indented at least as far as `least`, and further
 * than the line after it. @param lineEnd where the line ends, without its line break.
 */
export function endWithComments(text: string, lineEnd: number, least: number): number {
  const below: { readonly indent: number; readonly end: number }[] = [];
  let next = -1;
  for (let at = lineEnd; at < text.length;) {
    const start = text.indexOf("\n", at) + 1;
    if (start === 0) break;
    const end = endOfLine(text, start);
    const line = text.slice(start, end);
    const indent = line.search(/[^ \t]/);
    if (line[indent] === "#") below.push({ indent, end });
    else if (indent !== -1) {
      next = /^(?:---|\.\.\.)(?:\s|$)/.test(line) ? -1 : indent;
      break;
    }
    at = end;
  }
  const others = below.findIndex(({ indent }) => indent < least || indent <= next);
  return (others === -1 ? below : below.slice(0, others)).at(-1)?.end ?? lineEnd;
}

/** Where the comments above a line begin that are indented no further than it; without such comments, where the line begins. */
export function startWithComments(text: string, lineStart: number, indent: number): number {
  let start = lineStart;
  for (let at = lineStart; at > 0;) {
    const above = text.lastIndexOf("\n", at - 2) + 1;
    const line = text.slice(above, at - 1);
    const column = line.search(/[^ \t\r]/);
    if (column !== -1 && (line[column] !== "#" || column > indent)) break;
    if (column !== -1) start = above;
    at = above;
  }
  return start;
}
