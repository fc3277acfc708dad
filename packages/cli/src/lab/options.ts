import { realpathSync } from "node:fs";
import { InvalidArgumentError, Option, type Command } from "commander";
import { loadProtocols, senderKinds, type LoadProtocol } from "@lameduck/load";
import { remedies, usualRemedies, type Allowed } from "@lameduck/stage";
import { presets } from "@lameduck/load/propagation";
import { exitCodesOfRuns } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { addOutputOptions, type OutputOptions } from "../results.ts";
import { collect, number, whole } from "../options.ts";
import { addRequestOptions, type RequestFlags } from "../request-options.ts";

/** As commander delivers them: checked one by one, not yet together. */
export interface LabOptions extends OutputOptions, RequestFlags {
  readonly file?: string;
  readonly image?: readonly string[];
  readonly remedies?: string;
  readonly replicas?: number;
  readonly rollouts: number;
  readonly rps: number;
  readonly pooled: number;
  readonly path?: string;
  readonly protocol: LoadProtocol;
  readonly senders?: string;
  readonly propagation: string;
  readonly port?: number;
  readonly grace?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly warmUp: string;
  /** Addresses, and paths below which writes are kept. */
  readonly allow?: readonly (Allowed | string)[];
  readonly network: "auto" | "namespaces" | "loopback";
}

export function addLabOptions(command: Command): Command {
  command
    .option(
      "-f, --file <manifest>",
      "manifest to roll: a Deployment, StatefulSet or Pod, with its Service; a command after -- runs instead of its image",
    )
    .option(
      "--image <[name=]source>",
      "image to roll: the name of one that docker, podman or nerdctl has, an OCI or docker archive, an OCI layout, or the folder of a root file system; with -f, NAME=SOURCE says where an image of the manifest is (may be repeated)",
      collect,
    )
    .option(
      "--remedies <names>",
      `remedies to run, with commas between: ${remedies.map(({ name }) => name).join(", ")}, sleep-N; usual: ${usualRemedies.join(", ")} (default: nothing,adaptive)`,
    )
    .option("--replicas <n>", "number of pods (default: the manifest's, else 4)", whole(1, 100))
    .option("--rollouts <n>", "how many times every pod is replaced", whole(1, 1_000), 1)
    .option("--rps <n>", "requests per second over all pods, open loop", number(0.1, 50_000), 400)
    .option("--pooled <share>", "share of requests on kept-alive connections, 0 to 1", number(0, 1), 0.5)
    .option("--path <path>", 'path of the requests (default: "/")')
    .addOption(
      new Option("--protocol <name>", "protocol that the server speaks (docs/reference/protocols.md)")
        .choices(loadProtocols)
        .default("http"),
    );
  addRequestOptions(command)
    .option(
      "--senders <list>",
      `senders and how many of each, as KIND:NUMBER,KIND:NUMBER; kinds: ${senderKinds.join(", ")} (default: l4:2,l7:1,client:1; without l7 if the protocol is not http)`,
    )
    .option(
      "--propagation <preset>",
      `how late senders learn of a deletion: a preset (${Object.keys(presets).join(", ")}), a delay such as "3s", or a range such as "1s..10s"`,
      "busy-iptables",
    )
    .option(
      "--port <n>",
      "port that the server listens on; the variable PORT holds it (default: that of the image, else 8080)",
      whole(1, 65_535),
    )
    .option(
      "--grace <duration>",
      "terminationGracePeriodSeconds, such as 30s (default: the manifest's, else 30s)",
    )
    .option(
      "--env <NAME=VALUE>",
      "set a variable in every container; it wins over the manifest; may be repeated",
      variables,
    )
    .option("--warm-up <duration>", "load before the first rollout that is not counted", "3s")
    .addOption(
      new Option("--network <kind>", "network of the pods: a namespace for each, or one shared loopback")
        .choices(["auto", "namespaces", "loopback"])
        .default("auto"),
    )
    .option(
      "--allow <HOST:PORT|path>",
      "let pods reach this address outside their namespaces, such as localhost:5432, or keep what they write below this path, such as ./data (default: writes are discarded); may be repeated",
      allowed,
    );
  return addOutputOptions(command).addHelpText("after", examples);
}

function variables(
  text: string,
  former: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, name, value] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError("It must be NAME=VALUE; NAME= sets it to nothing.");
  return { ...former, [name]: value };
}

function allowed(text: string, former: readonly (Allowed | string)[] = []): readonly (Allowed | string)[] {
  return [...former, /^[./~]/.test(text) ? pathOf(text) : endpointOf(text)];
}

function endpointOf(text: string): Allowed {
  const [, six, name, digits] = /^(?:\[([\da-fA-F:.]+)\]|([^\s:/]+)):(\d+)$/.exec(text) ?? [];
  const host = six ?? name;
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535)
    throw new InvalidArgumentError(
      "It must be HOST:PORT, such as localhost:5432 or [fd00::5]:6379, or a path, such as ./data.",
    );
  return { host, port };
}

function pathOf(text: string): string {
  try {
    return realpathSync(text);
  } catch {
    throw new InvalidArgumentError("There is no such file or folder.");
  }
}

const examples = ending(
  `
Examples:
  $ lameduck lab -- node server.js
  $ lameduck lab --remedies usual --out report.html -- node server.js
  $ lameduck lab --protocol grpc --path /shop.Cart/Get -- node server.js
  $ lameduck lab --path /orders -H 'content-type: application/json' --body '{"n":1}' -- node server.js
  $ lameduck lab --image nginx:1.29 --port 80
  $ lameduck lab -f deployment.yaml                        # its own images, if this machine has them
  $ lameduck lab -f deployment.yaml --image web:1=web.tar  # an image from a file
  $ lameduck lab -f deployment.yaml -- node server.js      # a program of this machine instead
  $ lameduck lab -f deployment.yaml --senders haproxy:1,l4:3 --propagation 1s..10s
  $ lameduck lab --remedies sleep-5,adaptive --rollouts 25 --rps 1000

The server runs unchanged, in pods on this machine. Lameduck is added from
outside: the library (by --import) to Node programs, lameduck-init to all others.
Images are never pulled: \`docker pull\` them first. They take Linux, as root or with
unprivileged user namespaces. \`lameduck images\` lists and removes what was unpacked.
Requests never leave this machine. It needs Linux for network namespaces.`,
  exitCodesOfRuns,
  "docs/tools/lab.md",
);
