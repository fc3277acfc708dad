import { format, resolveConfig } from "prettier";

const begin = "<!-- written by npm run matrix:table -- --write -->";
const end = "<!-- end of what is written by matrix:table -->";

/** The page with the tables between its two marks replaced, formatted as the repository's checks want it. */
export async function inPage(text: string, tables: string): Promise<string> {
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page lacks "${begin}" and "${end}"`);
  const whole = `${text.slice(0, from + begin.length)}\n\n${tables}\n\n${text.slice(to)}`;
  return format(whole, { ...(await resolveConfig(import.meta.filename)), parser: "markdown" });
}
