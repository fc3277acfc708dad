/**
 * What a dying program said, in one line: the line that names the error, where one does (a stack follows it in Node and precedes
 * it in Python), else its last three.
 */
export function lastWords(lines: readonly string[]): string {
  const named = lines.findLast((line) => /^\s*(\w+\.)*\w*(Error|Exception|Exit)\b.*[:\]]/.test(line));
  const mentioned = lines.findLast((line) => /\b(error|fatal|panic|cannot|denied|failed)\b/i.test(line));
  return (
    (
      named ??
      mentioned ??
      lines
        .slice(-3)
        .map((line) => line.trim())
        .join(" | ")
    ).trim() || "no output"
  );
}
