import { Option, type Command } from "commander";
import { number, whole } from "../numbers.ts";

/** What both commands may say about a scenario. */
export function addScenarioFlags(command: Command): Command {
  return command
    .option("--senders <list>", 'presets and how many of each, e.g. "ingress-nginx:3,idle-kube-proxy:40"')
    .option("--replicas <n>", "pods of the service", whole(1, 100_000))
    .option("--rate <n>", "new connections per second through the whole service", number(0, 1_000_000))
    .option("--terminations <n>", "terminations to simulate", whole(1, 100_000))
    .option("--grace <duration>", "terminationGracePeriodSeconds")
    .option("--prestop <duration>", "time spent in preStop hooks")
    .option("--arrivals <pattern>", "poisson, bursty:CV or periodic:JITTER")
    .option(
      "--clients <n>",
      "clients with addresses of their own, each behind one of the senders",
      whole(1, 100_000),
    )
    .option("--snat <n>", "addresses that all senders share (source NAT)", whole(1, 100_000))
    .option("--max-surge <n>", 'maxSurge of the Deployment, e.g. "25%"')
    .addOption(
      new Option(
        "--acknowledgements [mode]",
        "consumers report to a coordinator; availability leaves silent ones out after 10 s, consistency waits for them",
      )
        .choices(["availability", "consistency"])
        .preset("availability"),
    )
    .option(
      "--silent <n>",
      "consumers of each termination that report nothing; implies --acknowledgements",
      whole(0, 100_000),
    )
    .option(
      "--lying <n>",
      "consumers of each termination that report before they have let go; implies --acknowledgements",
      whole(0, 100_000),
    )
    .option("--seed <n>", "the same seed gives the same numbers", whole(0, 2 ** 32 - 1), 1);
}
