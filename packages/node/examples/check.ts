/**
 * Installs and terminates each example under load, new and pooled connections, while its callers have not noticed. Exits with 1 if a
 * single request was lost.
 *
 *     node packages/node/examples/check.ts [example ...]
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { Child, cleanEnvironment, inPod } from "../test/child.ts";
import { between, client, tally } from "../test/clients.ts";

const folder = import.meta.dirname;
const examples =
  process.argv.length > 2
    ? process.argv.slice(2)
    : readdirSync(folder).filter((name) => existsSync(join(folder, name, "package.json")));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function accepts(port: number): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on ${port}`);
}

async function check(example: string): Promise<boolean> {
  const cwd = join(folder, example);
  const { scripts, dependencies } = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8")) as {
    scripts: { start: string; build?: string };
    dependencies: Record<string, string>;
  };
  if (Object.keys(dependencies).length > 0 && !existsSync(join(cwd, "node_modules")))
    execFileSync("npm", ["install", "--no-package-lock", "--no-audit", "--no-fund"], {
      cwd,
      stdio: "inherit",
    });
  if ("build" in scripts && !existsSync(join(cwd, "dist")))
    execFileSync("npm", ["run", "build"], { cwd, stdio: "inherit" });
  const port = await freePort();
  const args = scripts.start.split(" ").slice(1);
  const env = cleanEnvironment({ ...inPod, LAMEDUCK_FLOOR: "1s", PORT: String(port) });
  await using child = new Child(spawn(process.execPath, args, { cwd, env, stdio: "pipe" }));
  await accepts(port);
  const [total, stop] = [tally(), new AbortController()];
  const get = { port, method: "GET" };
  const running = [
    ...Array.from({ length: 10 }, () =>
      client({ ...get, think: between(20, 80), fresh: true }, total, stop.signal),
    ),
    ...Array.from({ length: 20 }, () => client({ ...get, think: between(5, 30) }, total, stop.signal)),
  ];
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  child.kill();
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  stop.abort();
  await Promise.all(running);
  const { code, signal } = await child.exited;
  const closed = child.event("closed");
  const failures = [...total.failures].map(([what, count]) => `${count} x ${what}`).join(", ");
  process.stdout.write(
    `${example.padEnd(10)} sent ${total.sent}, lost ${total.failed}${failures && ` (${failures})`}, hold ${child.event("closing")?.hold} ms, ${closed?.reason}, exit ${code ?? signal}\n`,
  );
  // Next.js makes 143 of a SIGTERM that it has handled, and Nest sends it to itself.
  const isGood =
    total.failed === 0 && (code === 0 || code === 143 || signal === "SIGTERM") && closed?.reason === "done";
  if (!isGood) process.stderr.write(child.stdout + child.stderr);
  return isGood;
}

let isGood = true;
for (const example of examples) isGood = (await check(example)) && isGood;
process.exitCode = isGood ? 0 : 1;
