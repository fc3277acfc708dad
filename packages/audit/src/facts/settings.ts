import { assumed, byDefault, fromField, type Amount } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import { programOf } from "../model/shell.ts";

/** A time that an argument or a variable sets. */
export interface Setting {
  readonly amount: Amount;
  /** Recognised by its name only, not because the program is known. */
  readonly isGuess: boolean;
}

interface Known {
  /** Name of an argument (without dashes) or of a variable, in lower case, with `-` for `_` and `.`. */
  readonly name: RegExp;
  readonly of: string;
}

/** The app goes on serving for so long after SIGTERM. */
const delays: readonly Known[] = [
  { name: /^entrypoints-.*-transport-lifecycle-requestacceptgracetimeout$/, of: "Traefik" },
  { name: /^shutdown-grace-period$/, of: "ingress-nginx" },
  { name: /^wait-for-healthcheck-interval$/, of: "Skipper" },
  { name: /^shutdown-delay-duration$/, of: "Kubernetes' API servers" },
];

/** The app gives up requests in flight after so long. */
const drains: readonly Known[] = [
  { name: /^graceful-timeout$/, of: "Gunicorn" },
  { name: /^timeout-graceful-shutdown$/, of: "Uvicorn" },
  { name: /^spring-lifecycle-timeout-?per-?shutdown-?phase$/, of: "Spring Boot" },
  { name: /^quarkus-shutdown-timeout$/, of: "Quarkus" },
  { name: /^(?:dotnet-|aspnetcore-)?shutdowntimeoutseconds$/, of: ".NET" },
  { name: /^entrypoints-.*-transport-lifecycle-gracetimeout$/, of: "Traefik" },
  { name: /^drain-time-s$/, of: "Envoy" },
];

const delayLike =
  /(?:shutdown|termination|terminate|pre-?stop|drain|lame-?duck|graceful-stop)-(?:delay|sleep|wait|hold)(?:-?(?:period|duration|time))?(?:-?(?:s|ms|secs?|seconds))?$/;
const drainLike =
  /(?:shutdown|termination|graceful(?:-(?:shutdown|stop|exit))?|drain)-(?:timeout|deadline|limit)(?:-?(?:s|ms|secs?|seconds))?$/;

export function delaySetting(container: Container): Setting | undefined {
  return settingOf(container, "delay in the app", delays, delayLike);
}

export function drainSetting(container: Container): Setting | undefined {
  const found = settingOf(container, "drain", drains, drainLike);
  if (found) return found;
  const program = programOf(container.argv?.[0]);
  if (program === "gunicorn")
    return { amount: byDefault("drain", 30, "Gunicorn's --graceful-timeout"), isGuess: false };
  return undefined;
}

function settingOf(
  container: Container,
  called: string,
  known: readonly Known[],
  like: RegExp,
): Setting | undefined {
  for (const { name, value, amount } of timesIn(container)) {
    const isKnown = known.some((one) => one.name.test(name));
    if (!isKnown && !like.test(name)) continue;
    const seconds = secondsOf(value, name);
    if (seconds !== undefined) return { amount: { ...amount(called, seconds) }, isGuess: !isKnown };
  }
  return undefined;
}

interface NamedTime {
  readonly name: string;
  readonly value: string;
  readonly amount: (called: string, seconds: number) => Amount;
}

function* timesIn({ argv, field, env, envFields }: Container): Iterable<NamedTime> {
  const words = [...field.at("command").items(), ...field.at("args").items()];
  for (const [index, word] of words.entries()) {
    const [, name = "", inline] = /^-{1,2}([\w.-]+)(?:=(.*))?$/s.exec(word.text() ?? "") ?? [];
    if (name === "") continue;
    const value = inline ?? words[index + 1]?.text() ?? "";
    yield { name: plain(name), value, amount: (called, seconds) => fromField(called, seconds, word) };
  }
  // The image's own command counts where the manifest gives none.
  for (const word of words.length > 0 ? [] : (argv ?? [])) {
    const [, name = "", value = ""] = /^-{1,2}([\w.-]+)=(.*)$/s.exec(word) ?? [];
    if (name !== "")
      yield {
        name: plain(name),
        value,
        amount: (called, seconds) => assumed(called, seconds, `the image says ${word}`),
      };
  }
  for (const [name, value] of env)
    yield {
      name: plain(name),
      value,
      amount: (called, seconds) => fromField(called, seconds, envFields.get(name) ?? field),
    };
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[_.]/g, "-");
}

/** "20s", "20", "20000" of something in milliseconds, "1m30s", "PT20S". */
function secondsOf(value: string, name: string): number | undefined {
  const text = value.trim().toLowerCase().replace(/^pt/, "");
  if (/^\d+(?:\.\d+)?$/.test(text)) {
    const number = Number(text);
    return /(?:-|\b)ms$|millis/.test(name) || number >= 1_000 ? number / 1_000 : number;
  }
  const units: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join("") !== text) return undefined;
  return parts.reduce((sum, [, digits, unit]) => sum + Number(digits) * units[unit!]!, 0);
}
