/**
 * Records `lameduck lab` at work for README.md, in docs/pictures/lab.svg: the terminal as it was, animated by CSS, without JavaScript. Who
 * wants no motion sees the last frame. It needs Linux, `script` of util-linux 2.35, and a
 * minute in which the machine has nothing else to do.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine } from "./command-line.ts";
import { svg } from "./pictures/drawing.ts";
import { film } from "./pictures/film.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    // times as fast as it was
    speed: { type: "string", default: "4" },
    // the command's file
    lameduck: {
      type: "string",
      default: join(import.meta.dirname, "..", "packages", "cli", "bin", "lameduck.js"),
    },
  },
});

/** The server of docs/start/node.md. */
const server = `import { createServer } from "node:http";
const server = createServer((request, response) => response.end("hello\\n"));
server.listen(Number(process.env.PORT ?? 8080), process.env.HOST);
process.on("SIGTERM", () => server.close());
`;
const size = { columns: 92, rows: 24 };
/** What is longer is looked at less often. */
const mostBytes = 50_000;

/** What the terminal was sent, and when. */
function record(): { readonly at: number; readonly bytes: Buffer }[] {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-recording-"));
  try {
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "server.js"), server);
    const inside = `stty cols ${size.columns} rows ${size.rows}; exec "$NODE" "$LAMEDUCK" lab -- node server.js`;
    const { error, status, stderr } = spawnSync(
      "script",
      ["--quiet", "--flush", "--return", "--log-out", "out", "--log-timing", "timing", "--command", inside],
      {
        cwd: folder,
        encoding: "utf8",
        stdio: ["ignore", "ignore", "pipe"],
        env: {
          PATH: process.env["PATH"],
          HOME: process.env["HOME"],
          TERM: "xterm-256color",
          NODE: process.execPath,
          LAMEDUCK: values.lameduck,
        },
      },
    );
    if (error) throw new Error("there is no `script`: apt-get install bsdutils", { cause: error });
    // 1: requests were lost, which is what the first remedy is there for.
    if (status !== 0 && status !== 1)
      throw new Error(`the lab ended with ${status}: ${stderr}${readFileSync(join(folder, "out"), "utf8")}`);
    const whole = readFileSync(join(folder, "out"));
    let offset = whole.indexOf("\n") + 1;
    let at = 0;
    return readFileSync(join(folder, "timing"), "utf8")
      .trim()
      .split("\n")
      .map((line) => {
        const [wait = 0, length = 0] = line.split(" ").map(Number);
        at += wait;
        const bytes = whole.subarray(offset, offset + length);
        offset += length;
        return { at, bytes };
      });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const chunks = record();
for (let frame = 0.1; ; frame += 0.05) {
  const picture = await film({
    prompt: "$ npx lameduck lab -- node server.js",
    chunks,
    size,
    speed: Number(values.speed),
    frame,
  });
  const text = svg(picture);
  if (text.length > mostBytes) continue;
  writeFileSync(new URL("../docs/pictures/lab.svg", import.meta.url), text);
  process.stdout.write(`${picture.description}\n${text.length} bytes\n`);
  break;
}
