import { fields, initFlags, libraryVariables, releaseFields } from "../src/index.ts";

/** Names that stand for two options, each as a line: "flag --settle: settle and settleAfter". */
export function doubles(): readonly string[] {
  const ofInit = new Map(initFlags.map(({ variable, name }) => [variable, name]));
  return [
    ...twice("flag", initFlags, ({ flag }) => flag),
    ...twice("letter", initFlags, ({ letter }) => letter),
    ...twice("variable of lameduck-init", initFlags, ({ variable }) => variable),
    ...twice("variable of the library", libraryVariables, ({ variable }) => variable),
    ...twice("field", fields, ({ name }) => name),
    ...twice("annotation", fields, ({ annotation }) => annotation),
    ...twice("field of acknowledgements", releaseFields, ({ name }) => name),
    // What both read is the same option to both.
    ...libraryVariables.flatMap(({ variable, name }) => {
      const other = ofInit.get(variable) ?? name;
      return other === name ? [] : [`variable ${variable}: ${other} and ${name}`];
    }),
  ];
}

function twice<Row extends { readonly name: string }>(
  what: string,
  rows: readonly Row[],
  nameOf: (row: Row) => string | undefined,
): string[] {
  const first = new Map<string, string>();
  return rows.flatMap((row) => {
    const name = nameOf(row);
    if (name === undefined) return [];
    const known = first.get(name);
    first.set(name, known ?? row.name);
    return known === undefined ? [] : [`${what} ${name}: ${known} and ${row.name}`];
  });
}
