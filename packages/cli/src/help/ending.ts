/** Terminals of 80 columns are the narrowest that anybody reads help in; commander wraps options there, too. */
const width = 80;

function wrapped(text: string): string {
  return text.replaceAll(new RegExp(`(.{1,${width}})(?:\\s+|$)`, "g"), "$1\n").trimEnd();
}

/**
 * The end of every `--help`.
 * @param body examples that work, and what the options do not say.
 * @param exits the exit codes, as "0 clean, 2 usage".
 * @param page where to read on; the address of a page takes the place of its path when it is printed.
 */
export function ending(body: string, exits: string, page: string): string {
  return `
${body.trim()}

${wrapped(`Exit codes: ${exits}.`)}
\`lameduck help CODE\` explains an error code. More: ${page}`;
}
