import { noScripts, shellCommandOf, type Scripts } from "./commands.ts";
import { readScript } from "./read.ts";
import { argumentsOf, assign, scopeOf, type Scope, type Variables } from "./scope.ts";
import type { Command, List } from "./syntax.ts";

/** The words of each command of a program or a script, in their order, whatever decides whether it runs. */
export function everyCommand(
  argv: readonly string[],
  variables: Variables,
  scripts: Scripts = noScripts,
): string[][] {
  const { script, rest, isFile = false } = shellCommandOf(argv, scripts) ?? {};
  if (script === undefined) return [[...argv]];
  const commands = ofList(readScript(script).list, scopeOf(variables, rest));
  // What a file runs is not looked for in files: they may run each other.
  if (isFile) return commands;
  return commands.flatMap((one) =>
    shellCommandOf(one, scripts)?.isFile ? everyCommand(one, variables, scripts) : [one],
  );
}

function ofList(list: List, scope: Scope): string[][] {
  return list.flatMap(({ pipelines }) =>
    pipelines.flatMap(({ commands }) => commands.flatMap((one) => ofCommand(one, scope))),
  );
}

function ofCommand(command: Command, scope: Scope): string[][] {
  switch (command.kind) {
    case "simple": {
      assign(command, scope);
      const words = argumentsOf(command, scope);
      const argv = words[0] === "exec" || words[0] === "command" ? words.slice(1) : words;
      return argv.length === 0 ? [] : [argv];
    }
    case "group":
      return ofList(command.body, scope);
    case "if":
      return [...command.tests, ...command.bodies].flatMap((one) => ofList(one, scope));
    case "case":
      return command.bodies.flatMap((one) => ofList(one, scope));
    case "loop":
      return [command.test, command.body].flatMap((one) => ofList(one, scope));
    case "function":
      return ofCommand(command.body, scope);
    case "test":
      return [];
  }
}
