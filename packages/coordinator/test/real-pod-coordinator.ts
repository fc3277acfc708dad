/**
 * A coordinator, its cluster and the watchers of its nodes, for a pod in another network namespace: run as a process.
 *
 *     node real-pod-coordinator.ts ADDRESS-OF-THE-POD
 *
 * First it prints "uid UID". Then it reads lines. "delete" deletes the pod. The name of a node means that this node has applied the deletion. Whatever
 * the pod reports is printed.
 */
import { createInterface } from "node:readline";
import type { TerminationListener } from "../src/termination-view.ts";
import { coordinating } from "./fixture.ts";

const [address = ""] = process.argv.slice(2);
const nodes = ["node1", "node2", "node3"];
let uid = "";
let before = "";
const say: TerminationListener = ({ reported, overruledBy }) => {
  const line = `reported ${JSON.stringify({ ...reported, overruledBy })}`;
  if (line !== before) console.log(line);
  before = line;
};
const { scene, follow } = await coordinating(
  (cluster) => {
    for (const node of nodes) cluster.node(node);
    uid = cluster.pod("web-1", address);
  },
  { flags: ["--address=0.0.0.0", "--port=8070"], listeners: [say] },
);
const following = new Set(nodes);
setInterval(() => {
  for (const node of following) void follow(node);
}, 250);
console.log(`uid ${uid}`);

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "delete") {
    following.clear();
    scene.terminate("web-1");
    scene.withdraw("web-1");
  } else following.add(line);
}
