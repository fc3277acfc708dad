import { programOfRoute } from "@lameduck/senders";
import { assumed, byDefault, fromField, type Amount } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import { annotationOf } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";
import { factOf, type Facts } from "./facts.ts";
import { givenTo, secondsOf, serverIn } from "./variables.ts";

/** How long the proxy in front keeps an idle connection; undefined where none that keeps connections is known. */
export function upstreamIdleOf(workload: Workload, facts: Facts): Amount | undefined {
  const given = factOf(workload, "upstream-idle", facts);
  if (given) return { ...given, name: "the sender before it" };
  for (const { seen, field } of workload.routes) {
    const idle = programOfRoute(seen)?.keepsIdle;
    if (idle === undefined) continue;
    const { name, seconds, defaultOf, because = "", annotation } = idle;
    const told = annotation && annotationOf(field, annotation[0]);
    const [, value] = annotation?.[1].exec(told?.text() ?? "") ?? [];
    if (told && value !== undefined) return fromField(name, Number(value), told);
    return defaultOf === undefined ? assumed(name, seconds, because) : byDefault(name, seconds, defaultOf);
  }
  return undefined;
}

/** Defaults of servers, in seconds. */
const defaults: Readonly<Record<string, readonly [value: number, of: string]>> = {
  uvicorn: [5, "Uvicorn (--timeout-keep-alive)"],
  gunicorn: [2, "Gunicorn (--keep-alive)"],
  hypercorn: [5, "Hypercorn (keep_alive_timeout)"],
  puma: [65, "Puma (persistent_timeout)"],
  nginx: [75, "nginx (keepalive_timeout)"],
};

/** Arguments, variables and properties that set it, by the unit of a number without one. */
const settings: Readonly<Record<"s" | "ms", RegExp>> = {
  s: /^(?:(?:uvicorn-)?timeout-keep-alive|keep-alive|persistent-timeout)$/,
  // Spring's, Tomcat's own attribute, and Node's.
  ms: /^(?:keepalivetimeout|server-tomcat-(?:keep-alive|connection)-timeout|server-jetty-connection-idle-timeout|server-netty-idle-timeout)$/,
};

/** By the fact, by a known program's argument or variable, by its default. What Node's servers do stands in their code. */
export function serverKeepAliveOf(
  workload: Workload,
  container: Container,
  facts: Facts,
): Amount | undefined {
  const called = "server's keep-alive";
  const given = factOf(workload, "keep-alive", facts);
  if (given) return { ...given, name: called };
  const argv = container.served?.argv ?? [];
  const program = serverIn(container);
  // A configuration file, or variables that were not read, may say anything.
  const mayBeElsewhere =
    program === "nginx" ||
    container.variables.isPartial ||
    argv.some((word) => /^(?:-c|--config)/.test(word));
  if (program === "gunicorn") {
    const worker = workerOf(container);
    if (worker === undefined && mayBeElsewhere) return undefined;
    if (worker === undefined || worker === "sync")
      return byDefault(called, 0, "Gunicorn's sync worker, which closes each connection itself");
  }
  for (const { name, value, amount } of givenTo(container)) {
    const unit = (["s", "ms"] as const).find((one) => settings[one].test(name));
    if (unit === undefined) continue;
    const seconds = value === undefined ? undefined : secondsOf(value, name, unit);
    return seconds === undefined ? undefined : amount(called, seconds);
  }
  const known = Object.hasOwn(defaults, program) ? defaults[program] : undefined;
  return known === undefined || mayBeElsewhere ? undefined : byDefault(called, known[0], known[1]);
}

/** Gunicorn's kind of worker, where it is said: with threads, `sync` means `gthread`. */
function workerOf(container: Container): string | undefined {
  let worker: string | undefined;
  for (const { name, value = "?" } of givenTo(container)) {
    if (name === "k" || name === "worker-class") worker ??= value;
    if (name === "threads" && Number(value) > 1 && (worker ?? "sync") === "sync") return "gthread";
  }
  return worker;
}
