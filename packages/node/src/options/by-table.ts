import { shown } from "@lameduck/drain/common";
import { options, rows } from "@lameduck/options";
import { badOption } from "../errors.ts";
import { valueOf, type Environment } from "./environment.ts";

type Choice = "otherHandlers" | "crashes" | "mode";

/** One of the choices in the table: from code, from the variable, or the default. @throws {LameduckError} naming the place. */
export function choiceOf<Name extends Choice>(
  name: Name,
  inCode: unknown,
  environment: Environment,
): (typeof options)[Name]["choices"][number] {
  const { choices = [], variable, default: usual } = rows[name];
  const said = variable && inCode === undefined ? valueOf(environment, variable) : undefined;
  const value = inCode === undefined ? (said ?? usual) : inCode;
  if (choices.includes(value as string)) return value as (typeof options)[Name]["choices"][number];
  const place = said === undefined ? name : (variable ?? name);
  throw badOption(place, `${shown(value)} is not ${choices.map((one) => JSON.stringify(one)).join(" or ")}`);
}

/** @throws {LameduckError} */
export function switchOf(name: "exit", inCode: unknown): boolean {
  const value = inCode === undefined ? options[name].default : inCode;
  if (typeof value === "boolean") return value;
  throw badOption(name, `${shown(value)} is not true or false`);
}
