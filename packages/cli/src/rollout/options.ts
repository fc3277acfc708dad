import { Option, type Command } from "commander";
import { defaultImage, loadProtocols, type LoadProtocol } from "@lameduck/load";
import { exitCodesText } from "../exit-codes.ts";
import { addOutputOptions, type OutputOptions } from "../outputs.ts";
import { number, whole } from "../numbers.ts";

/** As commander delivers them: checked one by one, not yet together. */
export interface RolloutOptions extends OutputOptions {
  readonly namespace?: string;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
  readonly restart?: boolean;
  readonly scale?: number;
  readonly delete?: boolean;
  readonly evict?: boolean;
  readonly drain?: string;
  readonly watch?: boolean;
  readonly pods?: number | "all";
  readonly url?: readonly string[];
  readonly protocol?: LoadProtocol;
  readonly header?: readonly string[];
  readonly method?: string;
  readonly bodyFile?: string;
  readonly caFile?: string;
  readonly insecure?: boolean;
  readonly inCluster?: boolean;
  readonly parallel?: number;
  readonly image?: string;
  readonly rps: number;
  readonly mode: "new" | "pooled" | "mixed";
  readonly duration?: string;
  readonly requestsMax?: number;
  readonly requestTimeout: string;
  readonly requests?: readonly string[];
  readonly requestsZone?: string;
  readonly warmUp: string;
  readonly settle: string;
  readonly timeout: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly seed: number;
}

export function addRolloutOptions(command: Command): Command {
  command
    .option("-n, --namespace <name>", "of the target (default: the context's)")
    .option("--context <name>", "of the kubeconfig (default: its current one)")
    .option("--kubeconfig <file>", "default: KUBECONFIG, ~/.kube/config, or the pod's service account")
    .option("--as <name>", "act as this user, as kubectl does")
    .option("--as-group <name>", "and as a member of this group; several times", collect)
    .optionsGroup("What happens to the pods (one of):")
    .option("--restart", "as kubectl rollout restart")
    .option("--scale <n>", "as kubectl scale; it is not scaled back", whole(0, 10_000))
    .option("--delete", "pods are deleted one after another, each when the one before is replaced")
    .option("--evict", "the same by eviction, which PodDisruptionBudgets may delay")
    .option("--drain <node>", "cordon it, evict the target's pods from it (no others), and uncordon it")
    .option("--watch", "change nothing: follow a rollout that somebody else starts")
    .option("--pods <n|all>", "how many --delete and --evict take (default: 1)", podCount)
    .optionsGroup("The load (open loop):")
    .option("--url <[name=]url>", "where requests go; may be given several times", collect)
    .addOption(
      new Option("--protocol <name>", "what is spoken there (default: what the URL says)").choices(
        loadProtocols,
      ),
    )
    .option(
      "-H, --header <'name: value'>",
      "of every request, or @FILE with one a line; several times",
      collect,
    )
    .option("--method <name>", "of every request (default: GET)")
    .option("--body-file <file>", "the body of every request, with a --method that has one")
    .option(
      "--ca-file <file>",
      "certificate authorities (PEM) for https:// and wss:// URLs, instead of the well-known ones",
    )
    .option("--insecure", "do not verify their certificates")
    .option("--rps <n>", "requests per second, all URLs together", number(0.1, 20_000), 50)
    .addOption(
      new Option("--mode <kind>", "a connection for each request, kept-alive ones, or half and half")
        .choices(["new", "pooled", "mixed"])
        .default("mixed"),
    )
    .option(
      "--duration <time>",
      "the load ends by itself after this, whatever the rollout does (default: as long as that may take, by --timeout)",
    )
    .option("--requests-max <n>", "and after this many requests (default: by --rps)", whole(1, 20_000_000))
    .option("--request-timeout <time>", "a request without an answer for that long is lost", "10s")
    .option("--in-cluster", "the load runs in the cluster, as a Job in the target's namespace")
    .option("--parallel <n>", "in so many pods (default: 1)", whole(1, 100))
    .option("--image <name>", `of these pods, with Node 22 or newer (default: ${defaultImage})`)
    .option(
      "--requests <file>",
      "instead of a load of its own: what k6 (JSON, CSV), vegeta or another tool wrote that sends meanwhile; several times",
      collect,
    )
    .option("--requests-zone <zone>", "of times in there that name none: Z, +02:00, Europe/Berlin")
    .option("--warm-up <time>", "load that is not counted, before anything happens", "5s")
    .option(
      "--settle <time>",
      "load after the last pod has gone: a lagging sender may still lose requests",
      "10s",
    )
    .optionsGroup("The run:")
    .option("--timeout <time>", "the rollout is given up after this; what was seen is kept", "10m")
    .option("--dry-run", "check everything, say what would be done and which rights it takes; change nothing")
    .option("-y, --yes", "do not ask")
    .option("--seed <n>", "the same seed gives the same load", whole(0, 2 ** 32 - 1), 1);
  return addOutputOptions(command).addHelpText("after", examples);
}

function collect(value: string, former: readonly string[] = []): string[] {
  return [...former, value];
}

function podCount(text: string): number | "all" {
  return text === "all" ? "all" : whole(1, 10_000)(text);
}

const examples = `
Examples:
  $ lameduck rollout deployment/web -n shop --restart --url http://shop.example/
  $ lameduck rollout deployment/web --watch --url ingress=http://shop.example/ --url service=http://10.96.3.4/
  $ lameduck rollout statefulset/db --evict --pods 2 --url http://db-gateway/health --rps 20
  $ lameduck rollout deployment/api --restart --url https://api.example/cart -H @headers.txt --in-cluster
  $ lameduck rollout deployment/web --restart --dry-run

Says what it will do and send, and asks before it does (--yes for scripts). docs/rollout.md has the rest.
Exit codes: ${exitCodesText}.`;
