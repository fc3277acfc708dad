/**
 * Every command that README and docs/start show, run as written, from an empty folder with a clone installed as the pages say. The clone has
 * what is committed. `npm run test:examples` runs them with the compilers of this machine, `npm run test:start` without any: lameduck-init then
 * comes from the compiler that the pages name. `npm test` only asks that each command has a row here.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { cacheDirectory } from "../../../e2e/cluster/host/paths.ts";
import { helmHere } from "../../../e2e/cluster/host/programs.ts";
import { furnish } from "./examples-files.ts";
import { commandsOn, type Shown } from "./examples-found.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const isClone = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root }).status === 0;
const skip =
  process.env["LAMEDUCK_RUN_EXAMPLES"] !== "1"
    ? "takes minutes: npm run test:examples"
    : !isClone && "needs a clone by git";
const hidesCompilers = process.env["LAMEDUCK_WITHOUT_COMPILER"] === "1";
const minutes = hidesCompilers ? undefined : "minutes: npm run test:start";

/** What happens to the commands that a pattern fits. The first row that fits counts. */
type Row = readonly [command: RegExp, ...what: Runs | readonly [reason: string]];
type Runs = readonly [where: "clone" | "app" | "cluster", how?: How];

interface How {
  /** 0 unless given. */
  readonly exits?: readonly number[];
  /** What it writes. */
  readonly says?: RegExp;
  /** Programs that a machine may lack. */
  readonly needs?: readonly string[];
  readonly shell?: string;
  /** Why it is left out this time. */
  readonly unless?: string | undefined;
}

/** Clean, losses or findings, untested or only unknowns. */
const found = { exits: [0, 1, 5] } as const;
const lab = { ...found, says: /^remedy +pods/m } as const;

/**
 * `clone` and `app` are where a command is run. A command of `cluster` is run in the app up to the API server, which is not there: that it is
 * understood is shown here, what it then does by `npm run test:cluster`.
 */
const rows: readonly Row[] = [
  [/^git clone REPOSITORY lameduck && cd lameduck && npm ci$/, "clone"],
  [/^npm ci$/, "a part of the line with `git clone`, which is run"],
  [/^git pull && npm ci$/, "a clone of this moment has nothing to pull"],
  [/^python3 -m pip install .* ziglang==/, "clone", { needs: ["python3"], unless: minutes }],
  [/^npm run install-into /, "clone", { says: /^installed lameduck/m }],
  [/npm run image /, "app", { unless: minutes }],
  [/^npm install @lameduck\/node$/, "what the page warns of"],
  [
    /^npm install --save-dev node@/,
    "for a machine whose Node is too old; the app would have it from then on",
  ],
  [/^npm uninstall lameduck /, "app"],
  [/^cd \.\.\/my-app && npx lameduck --help$/, "app", { says: /^Usage: lameduck/m }],
  [/^npx lameduck init-binary .* -o lameduck-init$/, "app"],
  [
    /^(?:npx )?lameduck (?:why POD|(?:inject|install|lab) --[\w-]*(?: COMMAND)?)$/,
    "names a way, and leaves out on what",
  ],
  [/^npx lameduck lab .*-- node /, "app", lab],
  [/^npx lameduck lab .*-- haproxy /, "app", { ...lab, needs: ["haproxy"] }],
  [/^npx lameduck lab -f /, "app", lab],
  [/^(?:npx )?lameduck help /, "app"],
  [/--prove$/, "needs the image of the workload on this machine: packages/cli/test/server-images.test.ts"],
  [/^(?:npx )?lameduck audit (?:-n|--all-namespaces)/, "cluster"],
  [/^helm .*\| npx lameduck audit -$/, "app", { ...found, needs: ["helm"] }],
  [/^kustomize .*\| npx lameduck audit -$/, "app", { ...found, needs: ["kustomize"] }],
  [/^npx lameduck audit /, "app", found],
  [/^(?:npx )?lameduck (?:check|install|report|rollout|status|uninstall|why)\b/, "cluster"],
  [/^kubectl lameduck /, "cluster", { needs: ["kubectl"] }],
  [/^kubectl /, "cluster", { needs: ["kubectl"], says: /refused/ }],
  [/^source <\(lameduck completion bash\)$/, "app"],
  [/^source <\(lameduck completion zsh\)$/, "app", { shell: "zsh", needs: ["zsh"] }],
  [/^lameduck completion fish \| source$/, "app", { shell: "fish", needs: ["fish"] }],
  [
    /^node --import @lameduck\/node\/register server\.js$/,
    "stays until it is ended: the lab starts it like that",
  ],
  [/^docker stop /, "ends a container of the reader's"],
  [/^skopeo copy .* docker:\/\//, "pushes to a registry of the reader's"],
];

const pages = ["README.md", ...globSync("docs/start/*.md", { cwd: root }).sort()];
const shown = pages.flatMap((page) =>
  commandsOn(readFileSync(join(root, page), "utf8")).map((commands) => ({ page, commands })),
);
const rowOf = (command: string): Row | undefined => rows.find(([pattern]) => pattern.test(command));

test("each command of README and docs/start has a row that says how it is run or why not", () => {
  const all = shown.flatMap(({ commands }) => commands);
  assert.ok(all.length > 40, `${all.length} commands`);
  assert.deepEqual(
    all.filter((command) => rowOf(command) === undefined),
    [],
    "write a row for these commands",
  );
  assert.deepEqual(
    rows.filter((row) => !all.some((command) => rowOf(command) === row)).map(([pattern]) => String(pattern)),
    [],
    "no page shows what these rows are for",
  );
});

const folder = skip ? "" : mkdtempSync(join(tmpdir(), "lameduck-start-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const places = {
  clone: join(folder, "lameduck"),
  app: join(folder, "my-app"),
  cluster: join(folder, "my-app"),
};

/** The programs of this machine by links, some of them left out. */
function pathHere(leftOut: RegExp): string {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const from of [dirname(process.execPath), ...(process.env["PATH"] ?? "").split(delimiter)])
    for (const name of existsSync(from) ? readdirSync(from) : [])
      if (!leftOut.test(name) && !existsSync(join(bin, name)))
        try {
          symlinkSync(join(from, name), join(bin, name));
        } catch (error) {
          // A link to nowhere was there already.
          if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
        }
  return bin;
}

let environment: NodeJS.ProcessEnv = {};
before(async () => {
  if (skip) return;
  const bin = pathHere(hidesCompilers ? /^(?:.*-)?(?:g?cc|clang|c99|c89|tcc|zig)(?:-[\d.]+)?$/ : /^$/);
  const helm = await helmHere(cacheDirectory());
  if (helm !== undefined && !existsSync(join(bin, "helm"))) symlinkSync(helm, join(bin, "helm"));
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_.*|INIT_CWD|NODE_TEST_CONTEXT|NODE_OPTIONS|LAMEDUCK_.*|KUBECONFIG)$/i.test(name),
  );
  environment = {
    ...Object.fromEntries(inherited),
    ...(process.env["LAMEDUCK_CACHE"] === undefined ? {} : { LAMEDUCK_CACHE: process.env["LAMEDUCK_CACHE"] }),
    PATH: [join(places.app, "node_modules/.bin"), bin].join(delimiter),
    KUBECONFIG: join(folder, "config"),
  };
  writeFileSync(
    join(folder, "config"),
    `{ current-context: dev, clusters: [{ name: c, cluster: { server: "http://127.0.0.1:1" } }],
    contexts: [{ name: dev, context: { cluster: c } }] }`,
  );
});

/** Pages are run side by side, and some show the same command: who comes second waits for its end. */
const done = new Map<string, Promise<unknown>>();

/** Runs one line in a shell. @returns what it wrote, its exit code, and the folder that the shell was in at its end. */
async function typed(
  line: string,
  cwd: string,
  shell = "bash",
): Promise<{ code: number | null; said: string; cwd: string }> {
  const script = line.replace("REPOSITORY", root);
  const last = join(folder, `cwd-${Math.random()}`);
  const child = spawn(shell, ["-c", `${script}\ncode=$?; pwd >'${last}'; exit $code`], {
    cwd,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.on("error", reject).on("close", resolve),
  );
  return { code, said, cwd: existsSync(last) ? readFileSync(last, "utf8").trim() : cwd };
}

/** The commands of one block, one after the other: `cd` counts for those behind it. */
async function inOrder(context: TestContext, commands: Shown): Promise<void> {
  let at: string | undefined;
  for (const command of commands)
    await context.test(command, async (one) => {
      const [, where, how = {}] = rowOf(command) ?? [];
      if (where !== "clone" && where !== "app" && where !== "cluster") return one.skip(where);
      const missing = (how.needs ?? []).filter((name) => !existsSync(join(folder, "bin", name)));
      const gone = how.unless ?? (missing.length > 0 ? `needs ${missing.join(", ")}` : undefined);
      if (gone !== undefined) return one.skip(gone);
      // In the clone, what stands before it in its block may change what it does.
      const before = at === undefined || where !== "clone" ? done.get(command) : undefined;
      if (before !== undefined) {
        await before;
        return one.skip("has been run");
      }
      at ??= command.startsWith("git clone") ? folder : places[where];
      const running = typed(command, at, how.shell);
      done.set(command, running);
      const { code, said, cwd } = await running;
      at = cwd;
      if (where === "cluster") {
        assert.match(said, how.says ?? /\[LAMEDUCK_API_UNREACHABLE\]/);
        return;
      }
      assert.ok((how.exits ?? [0]).includes(code ?? -1), `${code}: ${said}`);
      if (how.says !== undefined) assert.match(said, how.says);
    });
}

const isOf = (pattern: RegExp | "clone", { commands }: (typeof shown)[number]): boolean =>
  commands.some((command) => (pattern === "clone" ? rowOf(command)?.[1] === pattern : pattern.test(command)));
const cloning = shown.filter((one) => isOf(/^git clone/, one));
const removing = shown.filter((one) => isOf(/^npm uninstall/, one));
const installing = shown.filter((one) => isOf("clone", one) && !cloning.includes(one));
const others = shown.filter((one) => ![cloning, removing, installing].some((some) => some.includes(one)));

describe("into an empty folder", { skip }, () => {
  for (const { page, commands } of [...cloning, ...installing])
    test(page, (context) => inOrder(context, commands));
});

// Labs mostly wait.
describe("in the folder of an app", { skip, concurrency: 3 }, () => {
  before(() => {
    furnish(places.app, "http");
    writeFileSync(join(places.app, "server.js"), serverOfPage());
    symlinkSync(join(root, "packages/operator/chart/lameduck"), join(places.app, "chart"));
    mkdirSync(join(places.app, "overlays/prod"), { recursive: true });
    writeFileSync(
      join(places.app, "overlays/prod/kustomization.yaml"),
      "resources: [../../deploy/web.yaml]\n",
    );
  });
  for (const [page, blocks] of Map.groupBy(others, ({ page }) => page))
    test(page, async (context) => {
      for (const { commands } of blocks) await inOrder(context, commands);
    });
});

describe("away again", { skip }, () => {
  for (const { page, commands } of removing) test(page, (context) => inOrder(context, commands));
});

/** The server that the page of the library begins with. */
function serverOfPage(): string {
  const page = readFileSync(join(root, "docs/start/node.md"), "utf8");
  const servers = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, code = ""]) => code);
  const server = servers.find((code) => code.includes(".listen(") && code.includes("SIGTERM"));
  assert.ok(server, "docs/start/node.md has no server that closes at SIGTERM");
  return server;
}
