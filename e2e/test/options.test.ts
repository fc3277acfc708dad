import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { ClusterError } from "../cluster/index.ts";
import { attempt } from "../cluster/host/run.ts";
import { cacheDirectory, stateDirectory } from "../cluster/host/paths.ts";
import { settle } from "../cluster/options.ts";

const refuses = (options: Parameters<typeof settle>[0], words: RegExp): void =>
  assert.throws(
    () => settle(options),
    (error) => {
      assert.ok(error instanceof ClusterError);
      assert.equal(error.code, "LAMEDUCK_CLUSTER_BAD_OPTION");
      assert.match(error.message, words);
      return true;
    },
  );

it("the test cluster refuses numbers of nodes, modes and lags that make no sense, and says which", () => {
  refuses({ nodes: 0 }, /nodes: 0 is not between 1 and 9/);
  refuses({ nodes: 10 }, /between 1 and 9/);
  refuses({ nodes: Number.NaN }, /nodes/);
  refuses({ proxyLag: ["1 s"] }, /"1 s" is not a Go duration/);
  refuses({ proxyMode: "ipvs" as never }, /neither iptables nor nftables/);
});

it("the test cluster gives the last lag to all nodes that follow", () => {
  assert.deepEqual(settle({ nodes: 4, proxyLag: ["1s", "10s"] }).proxyLag, ["1s", "10s", "10s", "10s"]);
});

it("the test cluster finds the cache where LAMEDUCK_CACHE, XDG_CACHE_HOME or the home directory says", () => {
  assert.equal(cacheDirectory({ LAMEDUCK_CACHE: "/a", XDG_CACHE_HOME: "/b" }), "/a");
  assert.equal(cacheDirectory({ XDG_CACHE_HOME: "/b" }), "/b/lameduck");
  assert.match(cacheDirectory({}), /\.cache\/lameduck$/);
});

it("the test cluster refuses a state directory that the nodes would hide", () => {
  assert.throws(() => stateDirectory({ LAMEDUCK_CLUSTER_STATE: "/run/x" }), {
    code: "LAMEDUCK_CLUSTER_BAD_OPTION",
  });
  assert.equal(stateDirectory({ LAMEDUCK_CLUSTER_STATE: "/running/x" }), "/running/x");
});

it("every program says in one line which of its options is wrong, before it starts anything", async () => {
  const e2e = join(import.meta.dirname, "..");
  for (const [program, args, words] of [
    ["injected/main.ts", ["--situations", "nope"], /--situations: "nope" is not one of rollout, /],
    ["injected/main.ts", ["--times", "some"], /--times: "some" is no number above 0/],
    ["matrix/main.ts", ["--scenarios", "nope"], /--scenarios: "nope" is not one of rollout, /],
    ["matrix/main.ts", ["--rps", "0"], /--rps: "0" is no number above 0/],
    ["acknowledged/main.ts", ["--ways", "nope"], /--ways: "nope" is not one of library, /],
    ["acknowledged/soak.ts", ["--every", "0"], /--every: "0" is no number above 0/],
    ["acknowledged/scale/main.ts", ["--lag", "5"], /--lag: "" is no number above 0/],
    ["conformance/main.ts", ["nope"], /SCENARIO: "nope" is not one of /],
    ["cluster/main.ts", ["up", "--nodes", "0"], /nodes: 0 is not between 1 and 9/],
    ["cluster/main.ts", ["up", "--nope"], /Unknown option '--nope'/],
  ] as const) {
    const { status, stderr } = await attempt(process.execPath, [join(e2e, program), ...args]);
    assert.equal(status, 2, `${program}: ${stderr}`);
    assert.match(stderr, words);
    assert.match(stderr, /^LAMEDUCK_CLUSTER_BAD_OPTION /);
    assert.doesNotMatch(stderr, /^ +at /m, "no stack trace");
  }
});

it("the test cluster deploys into no cluster that is not named, whatever a kubeconfig's current context is", async () => {
  const main = join(import.meta.dirname, "..", "matrix", "main.ts");
  for (const [args, environment] of [
    [["--existing"], {}],
    [[], { E2E_KUBECONFIG: "/nowhere" }],
  ] as const) {
    const { status, stderr } = await attempt(process.execPath, [main, ...args], { environment });
    assert.equal(status, 2);
    assert.match(stderr, /LAMEDUCK_CLUSTER_BAD_OPTION --existing: .*--context NAME/);
  }
});

it("a program that fails exits with 3 and names the error, also where the error's code is another program's exit code", async () => {
  const script = `import { runMain } from ${JSON.stringify(join(import.meta.dirname, "..", "program.ts"))};
    await runMain(() => Promise.reject(Object.assign(new Error("Command failed: kubectl"), { code: 1 })));`;
  const { status, stderr } = await attempt(process.execPath, ["--input-type=module", "--eval", script]);
  assert.equal(status, 3);
  assert.match(stderr, /^Error: Command failed: kubectl$/m);
});
