/** What the operator knows of the cluster, in a process of its own: how much memory it takes, and how long it stands still. */
import { KubernetesClient } from "@lameduck/kube";
import { connectionTo } from "../../kube/test/api-server.ts";
import { ClusterView } from "../src/cluster-view.ts";
import { until } from "../../cluster/test/operator-api.ts";

const [url = ""] = process.argv.slice(2);
const client = new KubernetesClient(connectionTo(url));
const leftOut: string[] = [];
const problems: string[] = [];
const view = new ClusterView(client, {
  retryMs: 50,
  onLeftOut: (part, { namespace, name }, why) => leftOut.push(`${part} ${namespace}/${name} ${why}`),
  onProblem: (part, error) => problems.push(`${part}: ${String(error)}`),
});
const spent = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const atFirst = spent();
const before = process.memoryUsage().rss;
let longestTurn = 0;
let last = spent();
const turn = setInterval(() => {
  const now = spent();
  longestTurn = Math.max(longestTurn, now - last);
  last = now;
}, 1);
view.start();
await until(() => view.isRead, "everything read");
clearInterval(turn);
const toRead = spent() - atFirst;
const labels = {
  app: "web",
  ...Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`k${index}`, "v"])),
};
// The shortest one counts: a busy machine only adds.
const times = Array.from({ length: 5 }, () => {
  const began = spent();
  view.pathsTo("shop", labels);
  return spent() - began;
});
const kept = [...view.sizes().values()].reduce((sum, one) => sum + one, 0);
console.log(
  JSON.stringify({
    before: before / 1_048_576,
    peak: process.resourceUsage().maxRSS / 1_024,
    toRead,
    longestTurn,
    leftOut: leftOut.length,
    why: leftOut[0],
    question: Math.min(...times),
    kept,
    exposed: view.pathsTo("shop", { app: "web" })?.exposedBy.length,
    problems,
  }),
);
await view.stop();
client.close();
