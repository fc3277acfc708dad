/**
 * Asks an Envoy each 20 ms for the addresses that it sends to, and writes them whenever they have changed. Ends with its input.
 * Usage: list-hosts.ts URL
 */
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** Between two looks: what a termination's oracle is known to. */
const everyMs = 20;
const url = new URL("/clusters?format=json", process.argv[2]);
const agent = new Agent({ keepAlive: true });

function ask(): Promise<string> {
  return new Promise((resolve, reject) => {
    request(url, { agent }, (response) => {
      text(response).then(resolve, reject);
    })
      .on("error", reject)
      .end();
  });
}

interface Answer {
  readonly cluster_statuses?: readonly {
    readonly host_statuses?: readonly {
      readonly address?: { readonly socket_address?: { readonly address?: string } };
      readonly health_status?: { readonly eds_health_status?: string };
    }[];
  }[];
}

/** Envoy Gateway lets terminating pods stand, as such that drain: nothing new is sent to them. */
function addressesIn(body: string): string[] {
  const { cluster_statuses: clusters = [] } = JSON.parse(body) as Answer;
  return clusters
    .flatMap(({ host_statuses: hosts = [] }) => hosts)
    .filter(({ health_status: health }) => health?.eds_health_status !== "DRAINING")
    .flatMap(({ address }) => address?.socket_address?.address ?? []);
}

process.stdin.on("end", () => process.exit(0)).resume();
let before = "";
for (;;) {
  const now = await ask()
    .then((body) => JSON.stringify(addressesIn(body)))
    .catch(() => before);
  if (now !== before) process.stdout.write(`${now}\n`);
  before = now;
  await sleep(everyMs);
}
