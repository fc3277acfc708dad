import { constants } from "node:os";
import { isatty } from "node:tty";
import { shown } from "@lameduck/drain/common";
import { badOption, type LameduckError } from "../errors.ts";
import { options } from "@lameduck/options";
import { valueOf, type Environment } from "./environment.ts";

/** No process can handle them. */
const uncatchable = ["SIGKILL", "SIGSTOP"];

/**
 * Which signals mean that the pod is terminated. @param value the option: true or undefined for the variable or the default.
 * @throws {LameduckError}
 */
export function parseSignals(value: unknown, environment: Environment): readonly NodeJS.Signals[] {
  if (value === false) return [];
  const text = valueOf(environment, options.signals.variable);
  if (value !== undefined && value !== true) return listOf(value, "signals");
  return text ? listOf(text.split(/[\s,]+/), options.signals.variable) : usual(environment);
}

/**
 * SIGTERM; and SIGINT where it is no key press: a container's STOPSIGNAL, or a process manager's way to stop what it has started.
 * Process 1 of a pod has no shell that sends it one.
 */
function usual(environment: Environment): readonly NodeJS.Signals[] {
  const isPod = Boolean(environment["KUBERNETES_SERVICE_HOST"]);
  return isPod && (process.pid === 1 || !isatty(0)) ? ["SIGTERM", "SIGINT"] : ["SIGTERM"];
}

function listOf(value: unknown, option: string): readonly NodeJS.Signals[] {
  const bad = (problem: string): LameduckError => badOption(option, problem);
  if (!Array.isArray(value)) throw bad(`${shown(value)} is not true, false or a list of signals`);
  if (value.length === 0) throw bad("the list is empty; false listens to none");
  for (const name of value as unknown[]) {
    if (typeof name !== "string" || !Object.hasOwn(constants.signals, name))
      throw bad(`${shown(name)} is not the name of a signal, such as SIGTERM`);
    if (uncatchable.includes(name)) throw bad(`${name} cannot be handled by any process`);
  }
  return [...new Set(value as NodeJS.Signals[])];
}
