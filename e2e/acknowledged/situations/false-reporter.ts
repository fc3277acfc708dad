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

interface CoordinatorAnswer {
  readonly epoch: string;
  readonly head: number;
}

async function report(origin: string, told: CoordinatorAnswer | undefined): Promise<CoordinatorAnswer> {
  const body = {
    version: 1,
    kind: "kube-proxy",
    node: plan.node,
    basis: "rules",
    epoch: told?.epoch ?? null,
    applied: told?.head ?? 0,
    known: told?.head ?? 0,
    wait: told === undefined ? 0 : 10_000,
  };
  const response = await fetch(`${origin}/v1/consumers/${plan.node}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${plan.token}` },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${origin} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as CoordinatorAnswer;
}

const first = await Promise.all(plan.coordinators.map((origin) => report(origin, undefined)));
process.stdout.write("believed\n");
await Promise.all(
  plan.coordinators.map(async (origin, index) => {
    let told = first[index];
    for (;;) told = await report(origin, told);
  }),
);
