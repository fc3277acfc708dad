import type { Field } from "@lameduck/manifests";
import { exposureOf } from "../facts/serving.ts";
import { springShutdown } from "../facts/settings.ts";
import { stopSignalOf } from "../facts/stop-signal.ts";
import { fixOf, setStopSignal } from "./edits.ts";
import { askedOnce } from "../model/asked-once.ts";
import type { Container } from "../model/container.ts";
import { stopsGracefully, stopsAtOnce, type Software } from "../model/software.ts";
import { programOf } from "../model/shell/commands.ts";
import type { RuleFinding } from "../finding.ts";
import type { Workload } from "../model/workload.ts";
import type { Context, Rule } from "../rule.ts";

export const termNotGraceful: Rule = {
  id: "term-not-graceful",
  isOfLinux: true,
  title: "SIGTERM stops the program hard",
  meaning: `SIGTERM is not a graceful stop for every program. nginx closes all connections at once. HAProxy ends at once. PostgreSQL waits for its
last client, for as long as the grace period lasts. Each has another signal, or a command, that stops it gracefully. Some official images set that
signal as STOPSIGNAL, and the runtime then sends it instead of SIGTERM. Your own image or command may not have it.

The audit knows the STOPSIGNAL of the official images, also below a Dockerfile's FROM. It takes no mirror of another registry for one of them. For
other images it asks docker, podman and nerdctl of this machine. Without them give \`--image IMAGE=FILE\`: an archive, a Dockerfile, or what
\`docker inspect\` prints.

PHP-FPM's graceful signal cuts requests, too, while \`process_control_timeout\` is 0, its default (measured with 8.2).

A hook may send the signal itself. With \`shareProcessNamespace\` PID 1 is the pause process: \`kill -QUIT 1\` never reaches the server, and
\`kill 1\` ends all processes of the pod at once.`,
  remedy:
    "Send the program's own signal: STOPSIGNAL in the image, a preStop hook, or `lameduck-init --signal TERM=USR1`",
  references: [
    "https://nginx.org/en/docs/control.html",
    "https://docs.haproxy.org/3.2/management.html#4",
    "https://httpd.apache.org/docs/2.4/stopping.html",
    "https://www.postgresql.org/docs/current/server-shutdown.html",
    "https://docs.spring.io/spring-boot/reference/web/graceful-shutdown.html",
    "https://www.php.net/manual/en/install.fpm.configuration.php",
  ],
  symptom: { causes: ["C4"] },
  *check(workload, context) {
    const { kubernetes } = context;
    if (exposureOf(workload) === "none") return;
    for (const container of workload.containers) {
      const { software } = container;
      yield* lostSignals(container);
      yield* toldToCut(container);
      if (software === undefined) continue;
      yield* missingSetting(workload, container, software, context);
      if (isStoppedOtherwise(container, software)) continue;
      const { hook } = container;
      if (hook && stopsAtOnce(software, hook, container.isPidShared)) {
        yield {
          severity: "warning",
          message: `the preStop hook stops ${software.name} as SIGTERM does: it ${termOf(software, container)}`,
          at: hook.field,
          container: container.name,
          remedy: `let the hook send ${software.graceful}`,
        };
        continue;
      }
      const stop = stopSignalOf(container, kubernetes);
      const { graceful } = software;
      const asked = container.lifecycle.at("stopSignal");
      const isGraceful = graceful !== undefined && stop?.signal === graceful;
      // Whether it is taken decides, where one of both signals is graceful and the other one is not.
      const isAsked =
        asked.text() !== undefined && kubernetes === undefined && isGraceful !== (asked.text() === graceful);
      if (isGraceful && !isAsked) continue;
      const remedy = remedyOf(software);
      const term = termOf(software, container);
      const base = {
        at: container.argvField,
        container: container.name,
        ...(graceful === undefined
          ? {}
          : fixOf(`stop signal ${graceful}`, setStopSignal(workload, container, graceful, context))),
      };
      if (isAsked)
        yield {
          ...base,
          at: asked,
          severity: "unknown",
          message: `whether the cluster takes lifecycle.stopSignal (its gate is off by default before 1.37): at ${isGraceful ? asked.text() : "SIGTERM"} ${software.name} ${term}`,
          answers: ['kubernetes: "1.37" in .lameduck-audit.yaml', remedy],
        };
      else if (container.hook?.runsFile)
        yield {
          ...base,
          severity: "unknown",
          message: `whether the script that the hook runs stops ${software.name} gracefully: at ${stop?.signal ?? "SIGTERM"} it ${term}`,
          answers: ['annotation lameduck.dev/ignore-term-not-graceful: "it does"', remedy],
        };
      else if (stop === undefined && software.graceful !== undefined)
        yield {
          ...base,
          severity: "unknown",
          message: `whether the image's STOPSIGNAL is ${software.graceful}: at SIGTERM ${software.name} ${term}`,
          answers: ["--image IMAGE=FILE (an archive, a Dockerfile or `docker inspect`)", remedy],
        };
      else
        yield {
          ...base,
          severity: stop === undefined ? "warning" : "error",
          message: `at ${stop?.signal ?? "SIGTERM"}${stop ? ` (${stop.from})` : ""} ${software.name} ${term}`,
          remedy,
        };
    }
  },
};

const isInMap = askedOnce(({ isIn }: NonNullable<Software["setting"]>) =>
  askedOnce((configMap: Field) =>
    configMap
      .at("data")
      .entries()
      .some(([, one]) => isIn.test(one.text() ?? "")),
  ),
);

/** A line of a configuration file. Only ConfigMaps can be read here, and no files of the image. */
function* missingSetting(
  { object }: Workload,
  container: Container,
  { name, graceful, setting }: Software,
  { inventory }: Context,
): Iterable<RuleFinding> {
  if (setting === undefined) return;
  const isSet = inventory.objects.some(
    ({ type, namespace, field }) =>
      type === "/ConfigMap" && namespace === object.namespace && isInMap(setting)(field),
  );
  if (isSet) return;
  yield {
    severity: "unknown",
    message: `whether ${name} finishes its requests: without \`${setting.line}\` it cuts them at ${graceful}, too`,
    at: container.argvField,
    container: container.name,
    answers: [
      `a ConfigMap with \`${setting.line}\``,
      'annotation lameduck.dev/ignore-term-not-graceful: "it is set"',
    ],
  };
}

/** A hook, an init or an argument sees to it. */
function isStoppedOtherwise({ argv = [], hook, env, isPidShared }: Container, software: Software): boolean {
  const { remapped, graceful: signal } = software;
  const words = [...argv, ...[...env].flat()].join(" ");
  if (remapped?.test(words)) return true;
  if (hook && stopsGracefully(software, hook, isPidShared)) return true;
  const short = signal?.replace("SIG", "");
  if (short === undefined) return false;
  const init = programOf(argv[0]);
  if (init === "lameduck-init") return new RegExp(`TERM=(?:SIG)?${short}\\b`).test(words);
  return init === "dumb-init" && /--rewrite|-r\b/.test(words);
}

/** Spring Boot finishes requests by default since 3.4. */
function* toldToCut(container: Container): Iterable<RuleFinding> {
  const given = springShutdown(container);
  if (given?.value?.toLowerCase() !== "immediate") return;
  yield {
    severity: "warning",
    message: "at SIGTERM Spring Boot cuts requests in flight, as server.shutdown is immediate",
    at: container.envFields.get(given.variable ?? "") ?? container.argvField,
    container: container.name,
    remedy: "set server.shutdown to graceful",
  };
}

/** Signals of the hook that are sent to PID 1 where that is not the server. */
function* lostSignals({ hook, isPidShared, name, field }: Container): Iterable<RuleFinding> {
  const lost = isPidShared
    ? hook?.signals.find((sent) => sent.isPidOne && sent.signal !== "SIG0")
    : undefined;
  if (hook === undefined || lost === undefined) return;
  const endsPause = /^SIG(?:TERM|INT|KILL)$/.test(lost.signal);
  yield {
    severity: "warning",
    message: `the preStop hook sends ${lost.signal} to PID 1, which is not the server where the containers share their processes: ${
      endsPause
        ? "it is the pause process, which ends at it, and all processes of the pod are killed with it"
        : "the server never gets it"
    }`,
    at: hook.field.exists ? hook.field : field,
    container: name,
    remedy: `signal the server by its name: pkill -${lost.signal.replace("SIG", "")} -o NAME`,
  };
}

function termOf({ term, asPidOne, programs }: Software, { argv, isPidShared }: Container): string {
  const isPidOne = argv !== undefined && !isPidShared && programs.includes(programOf(argv[0]));
  return asPidOne && isPidOne && !argv.some((word) => asPidOne.unless.test(word)) ? asPidOne.term : term;
}

function remedyOf({ graceful, instead }: Software): string {
  if (graceful === undefined) return instead ?? "drain it in a preStop hook";
  return `send ${graceful}: STOPSIGNAL ${graceful} in the Dockerfile, or lameduck-init wait --then ${graceful.replace("SIG", "")} as the preStop hook`;
}
