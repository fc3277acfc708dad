import { replaceScalar } from "@lameduck/manifests";
import { compare, sumOf } from "../facts/arithmetic.ts";
import { capOf, optionFor, ownReserveOf, ownStopOf, spreadOf, type OwnStop } from "../facts/lameduck.ts";
import { fixOf, quotedLike } from "./edits.ts";
import { seconds } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import type { RuleFinding } from "../finding.ts";
import type { Workload } from "../model/workload.ts";
import { harmOf } from "../model/served.ts";
import type { Context, Rule } from "../rule.ts";

export const lameduckMisconfigured: Rule = {
  id: "lameduck-misconfigured",
  title: "Lameduck is configured for another grace period than the pod has",
  meaning: `A container cannot find out the pod's grace period. Lameduck assumes 30 s, the default of Kubernetes, unless
\`LAMEDUCK_GRACE_PERIOD\` or \`--grace\` gives another value. If the value is too long, SIGKILL cuts the hold. If it is too short, the hold may end
too early. The library, and the init as PID 1, start at SIGTERM, so they cannot know how much time a preStop hook has used:
\`LAMEDUCK_PRESTOP\` or \`--prestop\` gives that. Below a shell that does not pass SIGTERM on, the hold never begins.`,
  remedy:
    "Set LAMEDUCK_GRACE_PERIOD to the pod's grace period, and LAMEDUCK_PRESTOP to the time of its hook if there is one",
  references: [],
  symptom: { causes: ["C1", "C2", "C4", "C5"], killed: true },
  *check(workload, context) {
    for (const container of workload.containers) {
      const own = ownStopOf(container);
      if (own === undefined) continue;
      yield* grace(workload, container, own, context);
      yield* preStop(container, own);
      yield* cap(workload, container, own);
      yield* spread(workload, container);
      const pidOne = own.by === "library" ? container.served?.pidOne : undefined;
      if (pidOne && pidOne.certainty !== "unknown")
        yield {
          severity: pidOne.certainty === "certain" ? "error" : "warning",
          message: `Lameduck's library runs below \`${pidOne.what}\`, and ${harmOf(pidOne)}: ${pidOne.because}`,
          at: container.argvField,
          container: container.name,
          ...(pidOne.instead === undefined ? {} : { remedy: `use ${pidOne.instead}` }),
        };
    }
  },
};

function* grace(
  { grace: own, pod }: Workload,
  container: Container,
  stop: OwnStop,
  context: Context,
): Iterable<RuleFinding> {
  const option = optionFor(container, stop, "--grace", "LAMEDUCK_GRACE_PERIOD");
  if (option?.amount === undefined) {
    if (option?.isWhole && !/\$\(/.test(option.field.text() ?? ""))
      yield {
        severity: "warning",
        message: `"${option.field.text()}" is no duration, so Lameduck does not get the grace period of ${seconds(own.value)} s`,
        at: option.field,
        container: container.name,
        remedy: `write ${seconds(own.value)}s, with its unit`,
      };
    // From a ConfigMap or the downward API: not to be seen here.
    if (option || own.value === 30) return;
    yield {
      severity: own.value < 30 ? "error" : "warning",
      message: `Lameduck assumes a grace period of 30 s, but it is ${seconds(own.value)} s`,
      at: pod.at("terminationGracePeriodSeconds"),
      container: container.name,
      remedy:
        stop.by === "wait hook"
          ? `add --grace ${seconds(own.value)}s to the hook`
          : `set LAMEDUCK_GRACE_PERIOD to ${seconds(own.value)}s`,
    };
    return;
  }
  if (option.amount.value === own.value) return;
  yield {
    severity: option.amount.value > own.value ? "error" : "warning",
    message: `Lameduck is configured for ${seconds(option.amount.value)} s, but the pod has ${seconds(own.value)} s`,
    at: option.field,
    container: container.name,
    arithmetic: compare([option.amount], "is not", own),
    remedy: `write ${seconds(own.value)}s`,
    ...(option.isWhole
      ? fixOf(`grace period configured: ${seconds(own.value)}s`, [
          replaceScalar(option.field, quotedLike(option.field, `${seconds(own.value)}s`, context)),
        ])
      : {}),
  };
}

function* preStop(container: Container, stop: OwnStop): Iterable<RuleFinding> {
  const { hook } = container;
  if (stop.by === "wait hook" || hook === undefined || hook.least.value === 0) return;
  const option = optionFor(container, stop, "--prestop", "LAMEDUCK_PRESTOP");
  if (option && (option.amount === undefined || option.amount.value >= hook.least.value)) return;
  yield {
    severity: "warning",
    message: `the preStop hook uses ${seconds(hook.least.value)} s of the grace period; Lameduck is configured for ${option?.amount ? `${seconds(option.amount.value)} s` : "none"}`,
    at: hook.field,
    container: container.name,
    arithmetic: compare(
      [hook.least],
      ">",
      option?.amount ?? { name: "configured", value: 0, origin: { kind: "default", of: "Lameduck" } },
    ),
    remedy: `set LAMEDUCK_PRESTOP to ${seconds(hook.least.value)}s, or drop the hook: Lameduck holds by itself`,
  };
}

function* cap({ grace: own }: Workload, container: Container, stop: OwnStop): Iterable<RuleFinding> {
  const option = capOf(container, stop);
  const before = stop.by === "wait hook" ? 0 : (container.hook?.least.value ?? 0);
  if (option?.amount === undefined || option.amount.value <= own.value - before) return;
  yield {
    severity: "error",
    message: `the cap of ${seconds(option.amount.value)} s is longer than the ${seconds(own.value - before)} s that are left of the grace period`,
    at: option.field,
    container: container.name,
    arithmetic: compare([option.amount], ">", {
      ...own,
      name: before > 0 ? `grace - preStop` : "grace",
      value: own.value - before,
    }),
    remedy: "drop the cap: it follows from the grace period",
  };
}

/** The library refuses to start where nothing is left to hold. */
function* spread({ grace: own }: Workload, container: Container): Iterable<RuleFinding> {
  const amount = spreadOf(container);
  if (amount === undefined || amount === "not read" || amount.value === 0) return;
  const before = container.hook?.least;
  const others = [...(before && before.value > 0 ? [before] : []), ownReserveOf(container, own.value)];
  const all = [amount, ...others];
  if (sumOf(all) < own.value) return;
  yield {
    severity: "error",
    message: `the spread of ${seconds(amount.value)} s leaves no time to hold: the program does not start`,
    at: container.envFields.get("LAMEDUCK_SPREAD") ?? container.field.at("name"),
    container: container.name,
    arithmetic: compare(all, ">=", own),
    remedy: `set terminationGracePeriodSeconds and LAMEDUCK_GRACE_PERIOD to ${Math.ceil(sumOf(all)) + 25}, or lower LAMEDUCK_SPREAD`,
  };
}
