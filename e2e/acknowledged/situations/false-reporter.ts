import { request } from "node:http";
import {
  type CoordinatorAnswer,
  LineReader,
  parseCoordinatorAnswer,
  parseStreamAnswer,
  streamProtocol,
  writeConsumerReport,
} from "@lameduck/protocol";

/**
 * Reports as a node's kube-proxy, to each replica of the coordinator, that everything is applied as soon as it hears of it. Usage: false-reporter.ts
 * PLAN; says a line when each replica has answered once, and ends with its input.
 */
export interface FalseReporterPlan {
  readonly node: string;
  readonly token: string;
  /** Origins. */
  readonly coordinators: readonly string[];
}

const plan = JSON.parse(process.argv[2] ?? "") as FalseReporterPlan;
process.stdin.on("end", () => process.exit(0)).resume();

/** Resolves with the first answer, and goes on. */
function reportTo(origin: string): Promise<void> {
  const path = `/v1/consumers/${plan.node}`;
  const headers = { authorization: `Bearer ${plan.token}`, connection: "Upgrade", upgrade: streamProtocol };
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, origin), { headers, agent: false });
    asked.on("upgrade", (_response, socket, head) => {
      const reader = new LineReader(2 ** 23);
      const report = (told?: CoordinatorAnswer): void => {
        const line = writeConsumerReport({
          kind: "kube-proxy",
          node: plan.node,
          basis: "rules",
          epoch: told?.epoch ?? null,
          applied: told?.head ?? 0,
          also: [],
          known: told?.head ?? 0,
          waitMs: told === undefined ? 0 : 10_000,
          serves: [],
          problem: undefined,
          reason: undefined,
        });
        socket.write(`${line}\n`);
      };
      const take = (chunk: Buffer): void => {
        for (const line of reader.take(chunk)) {
          const { status = 0, text = "" } = parseStreamAnswer(line ?? "") ?? {};
          if (status !== 200) throw new Error(`${origin} answered ${status}: ${text}`);
          resolve();
          report(parseCoordinatorAnswer(text));
        }
      };
      socket
        .on("data", take)
        .on("error", reject)
        .on("close", () => process.exit(1));
      report();
      take(head);
    });
    asked.on("response", ({ statusCode }) => reject(new Error(`${origin} answered ${statusCode}`)));
    asked.on("error", reject).end();
  });
}

await Promise.all(plan.coordinators.map(reportTo));
process.stdout.write("believed\n");
