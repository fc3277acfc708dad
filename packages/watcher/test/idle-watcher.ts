import { Poller } from "../src/poller.ts";
import { Replicas } from "../src/replicas.ts";

export interface IdleWatcher extends AsyncDisposable {
  readonly failures: readonly unknown[];
}

/** The watcher of node1, which uses no address, before the coordinator at this port. */
export function idleWatcher(port: number, tokenFile: string): IdleWatcher {
  const nothing = new Set<string>();
  const stillUsed = (): Promise<ReadonlySet<string>> => Promise.resolve(nothing);
  const poller = new Poller({ kind: "kube-proxy", basis: "rules", stillUsed }, () => undefined);
  const failures: unknown[] = [];
  const replicas = new Replicas({
    coordinators: [new URL(`http://127.0.0.1:${port}`)],
    tokenFile,
    name: "kube-proxy/node1",
    node: "node1",
    poller,
    onFailure: (_place, error) => failures.push(error),
  });
  return {
    failures,
    async [Symbol.asyncDispose]() {
      await replicas.stop();
      await poller.stop();
    },
  };
}
