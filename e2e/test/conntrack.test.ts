import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { promisify } from "node:util";
import { destinationsIn } from "../matrix/load/conntrack.ts";

const entry = (called: string, answering: string, port = 40_000): string =>
  `tcp      6 118 SYN_SENT src=198.18.0.15 dst=${called} sport=${port} dport=80 [UNREPLIED] src=${answering} dst=198.18.0.15 sport=8080 dport=${port} mark=0 use=1\n`;

it("the reader of connections reads from the kernel's table where connections were sent, by their local ports", () => {
  assert.deepEqual(
    destinationsIn(entry("198.19.3.4", "198.18.129.7") + entry("198.19.3.4", "198.18.130.9", 40_001)),
    new Map([
      [40_000, "198.18.129.7"],
      [40_001, "198.18.130.9"],
    ]),
  );
});

it("the reader of connections knows no target where nothing was rewritten, where two entries disagree, and where there is no entry", () => {
  const disagreeing = entry("198.19.3.4", "198.18.129.7") + entry("198.19.3.4", "198.18.130.9");
  for (const listing of [entry("198.18.129.7", "198.18.129.7"), disagreeing, disagreeing + disagreeing, ""])
    assert.deepEqual(destinationsIn(listing), new Map());
});

/** In a network of its own: a Service with one pod, then with another, and what answers two calls from one local port. `how` the first pod ends the first call. */
async function answersFromOnePort(how: "resetAndDestroy" | "end"): Promise<string> {
  const program = `
    import { execSync } from "node:child_process";
    import { once } from "node:events";
    import { connect, createServer } from "node:net";
    const service = "198.18.1.1", pods = ["198.18.0.1", "198.18.0.2"];
    const run = (command) => execSync(command, { stdio: "pipe" });
    run("ip link set lo up");
    for (const address of pods) run("ip address add " + address + "/32 dev lo");
    run("ip route add 198.18.1.0/24 dev lo");
    const lead = (pod) => run("iptables -t nat -F OUTPUT && iptables -t nat -A OUTPUT -d " + service + " -p tcp -j DNAT --to " + pod + ":8080");
    for (const pod of pods)
      await once(createServer((socket) => socket.on("error", () => {}).once("data", () => {
        socket.write(pod, () => setTimeout(() => socket.${how}(), 50));
      })).listen(8080, pod), "listening");
    const call = () => new Promise((resolve) => {
      const socket = connect({ host: service, port: 80, localAddress: "198.18.0.9", localPort: 40000 });
      let answer = "";
      socket.on("error", () => {}).on("data", (bytes) => (answer += bytes)).on("close", () => resolve(answer)).write("?");
    });
    run("ip address add 198.18.0.9/32 dev lo");
    lead(pods[0]);
    const first = await call();
    lead(pods[1]);
    process.stdout.write(first + " " + await call());
    process.exit();`;
  const command = ["--net", process.execPath, "--input-type=module", "--eval", program];
  return (await promisify(execFile)("unshare", command, { timeout: 30_000 })).stdout;
}

it("the kernel leads a new connection to the pod that has just reset one from the same local port, whatever the rules say now", async () => {
  assert.equal(await answersFromOnePort("resetAndDestroy"), "198.18.0.1 198.18.0.1");
  assert.equal(await answersFromOnePort("end"), "198.18.0.1 198.18.0.2");
});
