import { unknownName } from "@lameduck/drain";
import { libraryNames, rows } from "@lameduck/options";

/** Those for a user, as docs/reference/library.md lists them. */
export const documentedOptions: readonly string[] = libraryNames.filter(
  (name) => !rows[name].library?.hidden,
);

/** The first name that is no option, and the message about it. */
export function unknownOptionIn(options: object): { name: string; problem: string } | undefined {
  const name = Object.keys(options).find((each) => !(libraryNames as string[]).includes(each));
  return name === undefined ? undefined : { name, problem: unknownName("option", name, documentedOptions) };
}
