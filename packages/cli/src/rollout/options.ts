import { Option, type Command } from "commander";
import { defaultImage, loadProtocols, type LoadProtocol } from "@lameduck/load";
import type { ClusterFlags } from "../cluster/connection.ts";
import { exitCodesOfRuns } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { addOutputOptions, type OutputOptions } from "../results.ts";
import { addRequestOptions, type RequestFlags } from "../request-options.ts";
import { collect, number, whole } from "../options.ts";

/** As commander delivers them: checked one by one, not yet together. */
export interface RolloutOptions extends OutputOptions, RequestFlags, ClusterFlags {
  readonly namespace?: string;
  readonly restart?: boolean;
  readonly scale?: number;
  readonly delete?: boolean;
  readonly evict?: boolean;
  readonly drain?: string;
  readonly watch?: boolean;
  readonly pods?: number | "all";
  readonly url?: readonly string[];
  readonly protocol?: LoadProtocol;
  readonly caFile?: string;
  readonly insecure?: boolean;
  /** Pods of a Job that send the load. */
  readonly inCluster?: number;
  readonly image?: string;
  readonly rps: number;
  readonly pooled: number;
  readonly requestsMax?: number;
  readonly requests?: readonly string[];
  readonly warmUp: string;
  readonly settle: string;
  readonly timeout: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function addRolloutOptions(command: Command): Command {
  command
    .optionsGroup("What happens to the pods (one of):")
    .option("--restart", "restart the target, as kubectl rollout restart does")
    .option("--scale <n>", "scale the target, as kubectl scale does; it is not scaled back", whole(0, 10_000))
    .option("--delete", "delete pods one after another: the next when the one before has been replaced")
    .option("--evict", "evict pods one after another; a PodDisruptionBudget may delay this")
    .option("--drain <node>", "cordon this node, evict only the target's pods from it, uncordon it")
    .option("--watch", "change nothing, and follow a rollout that somebody else starts")
    .option("--pods <n|all>", "number of pods for --delete and --evict (default: 1)", podCount)
    .optionsGroup("The load (open loop):")
    .option("--url <[name=]url>", "where requests go; may be repeated for several routes", collect)
    .addOption(
      new Option("--protocol <name>", "protocol of the URLs (default: by the URL's scheme)").choices(
        loadProtocols,
      ),
    );
  addRequestOptions(command)
    .option(
      "--ca-file <file>",
      "trusted certificate authorities (PEM) for https:// and wss:// URLs, instead of those of Node",
    )
    .option("--insecure", "do not verify the certificates of URLs")
    .option("--rps <n>", "requests per second, over all URLs together", number(0.1, 20_000), 50)
    .option("--pooled <share>", "share of requests on kept-alive connections, 0 to 1", number(0, 1), 0.5)
    .option(
      "--requests-max <n>",
      "end the load after this many requests (default: from --timeout and --rps)",
      whole(1, 20_000_000),
    )
    .option(
      "--in-cluster <pods>",
      "send the load from so many pods of a Job in the target's namespace, not from this machine",
      whole(1, 100),
    )
    .option(
      "--image <name>",
      `image of these pods; it must have Node 22.2 or newer (default: ${defaultImage})`,
    )
    .option(
      "--requests <file>",
      "send nothing, and read the requests of a load tool that you run meanwhile: a file of k6 (JSON), of vegeta (JSON), or JSON lines of your own; may be repeated",
      collect,
    )
    .option("--warm-up <time>", "load before the rollout that is not counted", "5s")
    .option(
      "--settle <time>",
      "load after the last pod has gone, since a lagging sender may still lose requests",
      "10s",
    )
    .optionsGroup("The run:")
    .option("--timeout <time>", "give up a rollout that takes longer; the results so far are kept", "10m")
    .option("--dry-run", "check everything, print the plan and the rights that it needs; change nothing")
    .option("-y, --yes", "do not ask");
  return addOutputOptions(command).addHelpText("after", examples);
}

function podCount(text: string): number | "all" {
  return text === "all" ? "all" : whole(1, 10_000)(text);
}

const examples = ending(
  `
Examples:
  $ lameduck rollout deployment/web -n shop --restart --url http://shop.example/
  $ lameduck rollout deployment/web --watch --url ingress=http://shop.example/ --url service=http://10.96.3.4/
  $ lameduck rollout statefulset/db --evict --pods 2 --url http://db-gateway/health --rps 20
  $ lameduck rollout deployment/api --restart --url https://api.example/cart -H @headers.txt --in-cluster 1
  $ lameduck rollout deployment/web --restart --dry-run

It prints what it will do and send, and asks before it does (--yes for scripts).
Times have a unit: 500ms, 10s, 5m.`,
  exitCodesOfRuns,
  "docs/tools/rollout.md",
);
