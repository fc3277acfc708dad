import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";

import { KubernetesClient } from "@lameduck/kube";
import { loadProgram } from "../src/in-cluster/program.ts";
import { planFile, programFile, type PodPlan } from "../src/in-cluster/plan.ts";
import { random } from "@lameduck/accounting";

/** The program of a pod of the load, as it is mounted there, in a process of its own. */
export async function startPod(t: TestContext, plan: PodPlan): Promise<ChildProcess> {
  const folder = await mkdtemp(join(tmpdir(), "lameduck-load-"));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, programFile), await loadProgram());
  await writeFile(join(folder, planFile), JSON.stringify(plan));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, [join(folder, programFile)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...env, JOB_COMPLETION_INDEX: "3" },
  });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  return child;
}

/** Keeps a process's log as a kubelet does, with the times of its lines, and serves it by the log API: cut wherever chance has it. */
export async function serveLog(
  t: TestContext,
  child: ChildProcess,
  options: { readonly cutAfter: number; readonly seed: number; readonly forget?: (line: string) => boolean },
): Promise<{ readonly client: KubernetesClient; readonly cuts: () => number }> {
  const chance = random(options.seed, "cuts");
  const kept: { readonly at: number; readonly text: string }[] = [];
  const followers = new Set<(text: string) => void>();
  let cuts = 0;
  createInterface({ input: child.stdout! }).on("line", (line) => {
    if (options.forget?.(line)) return;
    kept.push({ at: Date.now(), text: `${line}\n` });
    for (const follow of followers) follow(`${line}\n`);
  });
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://api");
    const since = Date.parse(searchParams.get("sinceTime") ?? "1970-01-01T00:00:00Z");
    let left = Math.ceil(chance.exponential(options.cutAfter));
    const send = (text: string): void => {
      if (left <= 0) return;
      response.write(text.slice(0, left));
      left -= text.length;
      if (left > 0) return;
      cuts++;
      followers.delete(send);
      end(response, chance.next() < 0.5);
    };
    for (const { at, text } of kept) if (at >= since) send(text);
    followers.add(send);
    response.on("close", () => followers.delete(send));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const client = new KubernetesClient({
    context: "test",
    cluster: "test",
    server: new URL(`http://127.0.0.1:${port}`),
    namespace: "default",
    ca: undefined,
    insecure: false,
    serverName: undefined,
    proxy: undefined,
    credentials: () => Promise.resolve({ expires: Infinity }),
  });
  t.after(() => {
    client.close();
    server.closeAllConnections();
    server.close();
  });
  return { client, cuts: () => cuts };
}

/** In order, or in the middle of everything. */
function end(response: ServerResponse, orderly: boolean): void {
  if (orderly) response.end();
  else response.socket?.resetAndDestroy();
}
