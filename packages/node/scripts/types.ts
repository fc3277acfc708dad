/**
 * Packs this package as it is published, installs it in a temporary folder, and has users' programs type-checked against it by the
 * oldest TypeScript supported and the newest; then publint and arethetypeswrong look at it. Needs the npm registry.
 *
 *     npm run test:types -w packages/node
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
/** 5.4 is of March 2024, a month before Node 22; the types of Node themselves want 5.2 at least. */
const compilers = ["5.4", "latest"];

const program = `
import { createServer } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import { lameduck, lameduckAll, LameduckError, type LameduckOptions, type State } from "@lameduck/node";
import { parseEvents, type ClosedEvent } from "@lameduck/node/events";

const options: LameduckOptions = { policy: "quiet", window: "5s", probes: { paths: ["/healthz"] }, log: console };
const duck = lameduck([createServer(), createHttp2()], options);
duck.hook("closed", "pool", async (signal: AbortSignal) => void signal.aborted, { timeout: 3000, after: [] });
duck.on("closing", (event) => {
  if (event.phase === "closing") event.hold.toFixed();
});
const state: State = duck.state();
const phase: "serving" | "lame-duck" | "closing" | "closed" = state.phase;
export const closed: Promise<ClosedEvent> = duck.terminate(phase);
export const events = parseEvents("").length;
export function release(): void {
  const lease = duck.busy();
  lease[Symbol.dispose]();
}
// @ts-expect-error no such option
lameduckAll({ flor: 3 });
// @ts-expect-error no such phase
duck.hook("later", "x", () => {});
// @ts-expect-error no server
lameduck({});
export const isOurs = (error: unknown): boolean => error instanceof LameduckError && error.code.length > 0;
`;

/** Declarations of the frameworks are not ours to check, and need the newest compiler. */
const frameworks = `
import { fastify } from "fastify";
import { lameduckPlugin } from "@lameduck/node/fastify";
import { Lameduck, LameduckModule } from "@lameduck/node/nest";

const app = fastify();
await app.register(lameduckPlugin, { floor: "2s" });
export const status: 200 | 503 = app.lameduck.readiness().status;
// @ts-expect-error no such option
app.register(lameduckPlugin, { flor: "2s" });
export const imports = [LameduckModule.forRoot({ floor: "2s" })];
export const phaseOf = (duck: Lameduck): string => duck.phase;
`;
const frameworkPackages = [
  "fastify@5",
  "@nestjs/common@11",
  "@nestjs/core@11",
  "rxjs@7",
  "reflect-metadata@0.2",
];

/** Ways in which users compile; the libraries' own declarations are checked, too. */
const users = {
  "nodenext, ES module": { type: "module", module: "nodenext", moduleResolution: "nodenext" },
  bundler: { type: "module", module: "esnext", moduleResolution: "bundler" },
  "nodenext, CommonJS": { type: "commonjs", module: "nodenext", moduleResolution: "nodenext" },
  // Where TypeScript holds, in any version, that CommonJS cannot require() an ES module (TS1479).
  "node16, CommonJS": { type: "commonjs", module: "node16", moduleResolution: "node16" },
  "node16, ES module": { type: "module", module: "node16", moduleResolution: "node16" },
} as const;

const folder = mkdtempSync(join(tmpdir(), "lameduck-types-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

function run(command: string, args: readonly string[], cwd: string): { isGood: boolean; output: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  return { isGood: status === 0, output: `${stdout}${stderr}` };
}

function must(command: string, args: readonly string[], cwd: string): void {
  const { isGood, output } = run(command, args, cwd);
  if (isGood) return;
  process.stderr.write(`${command} ${args.join(" ")}\n${output}\n`);
  process.exit(1);
}

let failures = 0;
function verdict(what: string, { isGood, output }: { isGood: boolean; output: string }): void {
  process.stdout.write(`${isGood ? "ok  " : "FAIL"} ${what}\n`);
  if (isGood) return;
  failures++;
  process.stderr.write(`${output}\n`);
}

must("npm", ["pack", "-w", "packages/node", "--pack-destination", folder], root);
const ours = readdirSync(folder).map((name) => join(folder, name))[0] ?? "";
const quietly = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"];

for (const compiler of compilers) {
  const project = join(folder, compiler);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), "{}");
  must("npm", ["install", ...quietly, ours, `typescript@${compiler}`, "@types/node@22"], project);
  for (const [title, { type, module, moduleResolution }] of Object.entries(users)) {
    const user = join(project, title.replace(/\W+/g, "-"));
    mkdirSync(user);
    const compilerOptions = {
      target: "es2022",
      lib: ["es2022"],
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
      module,
      moduleResolution,
    };
    writeFileSync(join(user, "package.json"), JSON.stringify({ type }));
    writeFileSync(join(user, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["main.ts"] }));
    writeFileSync(join(user, "main.ts"), program);
    const tsc = ["../node_modules/typescript/bin/tsc"];
    verdict(`TypeScript ${compiler}, ${title}`, run("node", tsc, user));
    if (compiler !== "latest" || type !== "module") continue;
    must("npm", ["install", ...quietly, ...frameworkPackages], project);
    writeFileSync(join(user, "main.ts"), frameworks);
    verdict(
      `TypeScript ${compiler}, ${title}, Fastify and Nest`,
      run("node", [...tsc, "--skipLibCheck"], user),
    );
  }
}

const tools = join(folder, "tools");
mkdirSync(tools);
writeFileSync(join(tools, "package.json"), "{}");
must("npm", ["install", ...quietly, "publint@^0.3.0", "@arethetypeswrong/cli@^0.18.0"], tools);
const tool = (name: string): string => join(tools, "node_modules/.bin", name);
verdict("publint", run(tool("publint"), [ours, "--strict"], tools));
// The file for ConfigMaps is none for programs: it has no declarations.
const look = [ours, "--exclude-entrypoints", "lameduck-register.cjs"];
verdict("arethetypeswrong", run(tool("attw"), look, tools));
process.exitCode = failures > 0 ? 1 : 0;
