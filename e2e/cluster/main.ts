import { spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { Cluster, leftovers, stateDirectory, tearDown, type ProxyMode } from "./index.ts";
import { interruption, runMain, say } from "../program.ts";

const usage = `usage: npm run cluster -- COMMAND

  up [--nodes 5] [--proxy-lag 1s,1s,2s,5s,10s] [--proxy-mode iptables|nftables]
     [--network-policies] [--audit-log FILE]
                         bring up a Kubernetes of several nodes in namespaces of this machine
  down                   end it, and remove everything that it left
  status [--json]        show the components, their state and memory
  kubectl -- ARGS        run kubectl on it
  exec MACHINE -- CMD    run a command in the namespaces of a machine: node1, node2 ... or fabric
  pause | resume | kill | restart NAME
                         stop, continue, kill or restart one component
`;

const print = (text: string): void => void process.stdout.write(text);
const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;

async function up(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: "5" },
      "proxy-lag": { type: "string", default: "1s" },
      "proxy-mode": { type: "string", default: "iptables" },
      "network-policies": { type: "boolean", default: false },
      "audit-log": { type: "string" },
    },
  });
  const cluster = await Cluster.up({
    nodes: Number(values.nodes),
    proxyLag: values["proxy-lag"].split(","),
    proxyMode: values["proxy-mode"] as ProxyMode,
    networkPolicies: values["network-policies"],
    ...(values["audit-log"] === undefined ? {} : { auditLog: values["audit-log"] }),
    detached: true,
    signal: interruption(),
    say,
  });
  say(`memory: ${megabytes(sum(await cluster.memory()))} in ${cluster.componentNames.length} components`);
  print(`export KUBECONFIG=${cluster.kubeconfig}\n`);
  cluster.api.close();
  return 0;
}

const sum = (amounts: ReadonlyMap<string, number>): number =>
  [...amounts.values()].reduce((a, b) => a + b, 0);

async function down(): Promise<number> {
  await tearDown(stateDirectory());
  const left = await leftovers(stateDirectory());
  for (const line of left) say(`left behind: ${line}`);
  return left.length === 0 ? 0 : 3;
}

async function status(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { json: { type: "boolean", default: false } } });
  const cluster = await Cluster.attach();
  const memory = await cluster.memory();
  const rows = await Promise.all(
    cluster.componentNames.map(async (name) => ({
      name,
      state: await cluster.stateOf(name),
      memory: memory.get(name) ?? 0,
      log: cluster.logOf(name),
    })),
  );
  cluster.api.close();
  if (values.json)
    print(
      `${JSON.stringify({ settings: cluster.settings, kubeconfig: cluster.kubeconfig, components: rows }, null, 2)}\n`,
    );
  else {
    for (const row of rows)
      print(
        `${row.name.padEnd(20)} ${row.state.padEnd(8)} ${megabytes(row.memory).padStart(9)}  ${row.log}\n`,
      );
    print(`${"all".padEnd(20)} ${"".padEnd(8)} ${megabytes(sum(memory)).padStart(9)}\n`);
  }
  return rows.every((row) => row.state === "running") ? 0 : 1;
}

/** Hands the terminal to a program and ends as it ends. */
function become(program: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "inherit" });
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 3));
  });
}

const withoutSeparator = (args: readonly string[]): readonly string[] =>
  args[0] === "--" ? args.slice(1) : args;

async function kubectl(args: readonly string[]): Promise<number> {
  const cluster = await Cluster.attach();
  cluster.api.close();
  return become(cluster.program("kubectl"), ["--kubeconfig", cluster.kubeconfig, ...withoutSeparator(args)]);
}

async function execute([machine = "", ...command]: readonly string[]): Promise<number> {
  const cluster = await Cluster.attach();
  cluster.api.close();
  const { program, args } = cluster.commandInside(machine, withoutSeparator(command));
  return become(program, args);
}

async function change(
  verb: "pause" | "resume" | "kill" | "restart",
  [name = ""]: readonly string[],
): Promise<number> {
  const cluster = await Cluster.attach();
  await cluster[verb](name);
  cluster.api.close();
  return 0;
}

function dispatch([command, ...args]: readonly string[]): Promise<number> {
  switch (command) {
    case "up":
      return up(args);
    case "down":
      return down();
    case "status":
      return status(args);
    case "kubectl":
      return kubectl(args);
    case "exec":
      return execute(args);
    case "pause":
    case "resume":
    case "kill":
    case "restart":
      return change(command, args);
    case "--help":
    case "-h":
      print(usage);
      return Promise.resolve(0);
    default:
      say(usage);
      return Promise.resolve(2);
  }
}

await runMain(() => dispatch(process.argv.slice(2)));
