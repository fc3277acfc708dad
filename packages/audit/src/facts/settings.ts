import { byDefault, type Amount } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import { givenTo, secondsOf, serverIn, type Given } from "./variables.ts";

/** A time that an argument or a variable sets. */
interface Setting {
  readonly amount: Amount;
  /** Recognised by its name only, not because the program is known; or its value comes from what was not read. */
  readonly isGuess: boolean;
}

interface Known {
  /** Name of an argument (without dashes) or of a variable, in lower case, with `-` for `_` and `.`. */
  readonly name: RegExp;
  readonly of: string;
  /** Of a bare number; undefined where the program takes none, or where that is not known. */
  readonly unit?: "s" | "ms";
}

/** The app goes on serving for so long after SIGTERM. */
const delays: readonly Known[] = [
  { name: /^entrypoints-.*-transport-lifecycle-requestacceptgracetimeout$/, of: "Traefik", unit: "s" },
  { name: /^shutdown-grace-period$/, of: "ingress-nginx", unit: "s" },
  { name: /^wait-for-healthcheck-interval$/, of: "Skipper" },
  { name: /^shutdown-delay-duration$/, of: "Kubernetes' API servers" },
  { name: /^quarkus-shutdown-delay$/, of: "Quarkus", unit: "s" },
];

/** The app gives up requests in flight after so long. */
const drains: readonly Known[] = [
  { name: /^graceful-timeout$/, of: "Gunicorn, Hypercorn", unit: "s" },
  { name: /^(?:uvicorn-)?timeout-graceful-shutdown$/, of: "Uvicorn", unit: "s" },
  { name: /^(?:granian-)?workers-kill-timeout$/, of: "Granian", unit: "s" },
  { name: /^spring-lifecycle-timeout-?per-?shutdown-?phase$/, of: "Spring Boot", unit: "ms" },
  { name: /^quarkus-shutdown-timeout$/, of: "Quarkus", unit: "s" },
  { name: /^micronaut-lifecycle-graceful-?shutdown-grace-?period$/, of: "Micronaut" },
  { name: /^(?:(?:dotnet|aspnetcore)-)?shutdowntimeoutseconds$/, of: ".NET", unit: "s" },
  { name: /^hostoptions-+shutdowntimeout$/, of: ".NET" },
  { name: /^entrypoints-.*-transport-lifecycle-gracetimeout$/, of: "Traefik", unit: "s" },
  { name: /^drain-time-s$/, of: "Envoy", unit: "s" },
];

const delayLike =
  /(?:shutdown|termination|terminate|pre-?stop|drain|lame-?duck|graceful-stop)-(?:delay|sleep|wait|hold)(?:-?(?:period|duration|time))?(?:-?(?:s|ms|secs?|seconds))?$/;
const drainLike =
  /(?:shutdown|termination|graceful(?:-(?:shutdown|stop|exit))?|drain)-(?:timeout|deadline|limit)(?:-?(?:s|ms|secs?|seconds))?$/;

/** What the hook itself reads is its sleep, and no second delay. */
export function delaySetting(container: Container): Setting | undefined {
  const reads = container.hook?.reads;
  const found = settingOf(container, "delay in the app", delays, delayLike, ({ variable }) =>
    variable === undefined ? false : (reads?.has(variable) ?? false),
  );
  return found === "not read" ? { amount: byDefault("delay in the app", 0, "nobody"), isGuess: true } : found;
}

export function drainSetting(container: Container): Setting | undefined {
  const found = settingOf(container, "drain", drains, drainLike, () => false);
  if (found === "not read") return undefined;
  return found ?? drainByDefault(container);
}

/** The defaults of programs. A file or variables that were not read may say something else. */
function drainByDefault(container: Container): Setting | undefined {
  const { served, variables } = container;
  const argv = served?.argv ?? [];
  const name = serverIn(container);
  const hasFile = argv.some((word) => /^(?:-c$|--config(?:=|$))/.test(word));
  if (variables.isPartial || hasFile) return undefined;
  const exact = (seconds: number, of: string): Setting => ({
    amount: byDefault("drain", seconds, of),
    isGuess: false,
  });
  if (name === "gunicorn") return exact(30, "Gunicorn's --graceful-timeout");
  if (name === "hypercorn") return exact(3, "Hypercorn's --graceful-timeout");
  return springShutdown(container)?.value?.toLowerCase() === "graceful"
    ? exact(30, "Spring Boot's spring.lifecycle.timeout-per-shutdown-phase")
    : undefined;
}

/** What wins of Spring Boot's `server.shutdown`. */
export function springShutdown(container: Container): Given | undefined {
  return [...givenTo(container)].find(({ name }) => name === "server-shutdown");
}

function settingOf(
  container: Container,
  called: string,
  known: readonly Known[],
  like: RegExp,
  isLeftOut: (given: Given) => boolean,
): Setting | "not read" | undefined {
  for (const given of givenTo(container)) {
    const { name, value, amount } = given;
    const program = known.find((one) => one.name.test(name));
    if ((!program && !like.test(name)) || isLeftOut(given)) continue;
    if (value === undefined) return "not read";
    const seconds = secondsOf(value, name, program?.unit);
    if (seconds !== undefined) return { amount: { ...amount(called, seconds) }, isGuess: !program };
  }
  return undefined;
}
