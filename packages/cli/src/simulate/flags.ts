import { Option, type Command } from "commander";
import { number, whole } from "../options.ts";

/** What both commands may say about a scenario. */
export function addScenarioFlags(command: Command): Command {
  return command
    .option(
      "--senders <list>",
      'senders and how many of each: presets such as "ingress-nginx:3,idle-kube-proxy:40" (default: idle-kube-proxy:3)',
    )
    .option("--replicas <n>", "pods of the service (default: 10)", whole(1, 100_000))
    .option(
      "--rate <n>",
      "new connections per second through the whole service (default: 50 for each pod)",
      number(0, 1_000_000),
    )
    .option("--terminations <n>", "terminations to simulate (default: 200)", whole(1, 100_000))
    .option("--grace <duration>", "terminationGracePeriodSeconds, such as 30s (default: 30s)")
    .option("--prestop <duration>", "part of the grace period that preStop hooks use (default: 0s)")
    .option(
      "--arrivals <pattern>",
      "arrival process: poisson, bursty:CV (coefficient of variation) or periodic:JITTER (default: poisson)",
    )
    .option(
      "--clients <n>",
      "clients with addresses of their own, each behind one of the senders (default: none, the senders themselves)",
      whole(1, 100_000),
    )
    .option(
      "--snat <n>",
      "number of addresses that all senders share, by source NAT (default: no NAT)",
      whole(1, 100_000),
    )
    .option("--max-surge <n>", 'maxSurge of the Deployment, a number or a share (default: "25%")')
    .addOption(
      new Option(
        "--acknowledgements [mode]",
        "add consumers that report to a coordinator; silent ones are left out after 10 s (availability) or waited for (consistency)",
      )
        .choices(["availability", "consistency"])
        .preset("availability"),
    )
    .option(
      "--silent <n>",
      "number of consumers that report nothing, in each termination; implies --acknowledgements",
      whole(0, 100_000),
    )
    .option(
      "--lying <n>",
      "number of consumers that report too early, in each termination; implies --acknowledgements",
      whole(0, 100_000),
    )
    .option("--seed <n>", "the same seed gives the same numbers", whole(0, 2 ** 32 - 1), 1);
}
