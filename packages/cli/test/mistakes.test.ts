import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { withoutInit } from "./install-cluster.ts";
import { run, runAlone } from "./running.ts";
import { testThatEachIsTold, type Mistake } from "./told.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-cli-test-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const pod = (container: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec:\n  containers:\n    - ${container}\n`;

const mistakes: Mistake[] = [
  [
    "no such command",
    ["lab", "--", "no-such-program"],
    /no program "no-such-program".*\[LAMEDUCK_NO_SUCH_COMMAND\]/,
  ],
  [
    "no such manifest",
    ["lab", "-f", join(folder, "none.yaml")],
    /^error --file .*none\.yaml: no such file or directory \[LAMEDUCK_BAD_OPTION\]/,
  ],
  [
    "manifest that is not YAML",
    ["lab", "-f", file("a.yaml", "a: [\n")],
    /a\.yaml:\d+:\d+: .*\[LAMEDUCK_MANIFEST_NOT_YAML\]/,
  ],
  [
    "manifest without a container",
    ["lab", "-f", file("b.yaml", "apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: {}\n")],
    /b\.yaml:\d+:\d+: .*\[LAMEDUCK_MANIFEST_/,
  ],
  [
    "manifest with an image only",
    ["lab", "-f", file("c.yaml", pod("{ name: web, image: x.example/web, ports: [{ containerPort: 80 }] }"))],
    /c\.yaml:\d+:\d+: the image x\.example\/web .*(?:IMAGE_NOT_HERE|NEEDS_NAMESPACES).*command after --/,
    4,
  ],
  ...(
    [
      [["-f", "x.yaml", "--port", "80"], "--port", "the manifest"],
      [["--path", "/x"], "--path", "a server of yours"],
      [["--network", "loopback", "--allow", "localhost:1"], "--allow", "namespaces"],
      [["--network", "loopback", "--allow", "/tmp"], "--allow", "namespaces"],
      [["--image", "nginx", "--allow", "/tmp"], "--allow", "--image"],
    ] as const
  ).map(([args, place, other]): Mistake => [
    `${place} against ${other}`,
    ["lab", ...args],
    new RegExp(`^error ${place}: .*${other}.*\\[LAMEDUCK_BAD_OPTION\\]`),
  ]),
  ...(
    [
      ["lameduck audit, paths", "audit", ""],
      ["lameduck audit, paths", "audit", "web.yaml", " "],
      ["lameduck inject, paths", "inject", ""],
      ["lameduck report, after", "report", "a.json", ""],
      ["lameduck explain, file", "explain", ""],
      ["--file", "lab", "-f", ""],
      ["--file", "simulate", "-f", ""],
      ["--image", "lab", "--image", ""],
      ["--baseline", "audit", "web.yaml", "--baseline", ""],
      ["--json", "audit", "web.yaml", "--json", ""],
      ["--out", "init-binary", "-o", ""],
      ["--kubeconfig", "audit", "--kubeconfig", ""],
    ] as const
  ).map(([place, ...words]): Mistake => [
    `an empty name: ${words.join(" ")}`,
    words,
    new RegExp(`^error ${place}: an empty name was given \\[LAMEDUCK_BAD_OPTION\\].*variable`),
  ]),
  [
    "no such baseline",
    ["audit", file("e.yaml", pod("{ name: web, image: x }")), "--baseline", join(folder, "none.json")],
    /none\.json: no such file or directory \[LAMEDUCK_AUDIT_BAD_BASELINE\].* write one: lameduck audit PATHS --baseline FILE --write/,
  ],
  ["manifest and command", ["lab", "-f", "x.yaml", "--", "node", "x"], /\[LAMEDUCK_BAD_OPTION\]/],
  [
    "unknown remedy",
    ["lab", "--remedies", "magic"],
    /"magic" is none of nothing.*, sleep-N \[LAMEDUCK_UNKNOWN_REMEDY\]/,
  ],
  [
    "path without its slash",
    ["lab", "--path", "cart", "--", "node", "server.js"],
    /^error --path: "cart" is no path: it begins with \/.*\[LAMEDUCK_BAD_LOAD\]/,
  ],
  [
    "output into a folder",
    ["lab", "--json", folder, "--", "node", "server.js"],
    /^error --json .*: is a folder \[LAMEDUCK_CANNOT_WRITE\]/,
  ],
  ["unknown sender", ["lab", "--senders", "l5:1"], /"l5:1".*\[LAMEDUCK_BAD_OPTION\]/],
  ["unknown protocol", ["lab", "--protocol", "spdy"], /--protocol.*spdy/],
  [
    "protocol that the sample does not speak",
    ["lab", "--protocol", "h2"],
    /--protocol: .*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  [
    "proxy that does not speak the protocol",
    ["lab", "--protocol", "ws", "--senders", "l4:1,l7:1", "--", "node", "server.js"],
    /"ingress-1": .*l7 does not speak WebSocket.*\[LAMEDUCK_SENDER_PROTOCOL\]/,
  ],
  ["variable without a value", ["lab", "--env", "PORT"], /--env.*NAME=VALUE/],
  ["something to allow that is no address", ["lab", "--allow", "5432"], /--allow.*HOST:PORT/],
  [
    "a name to allow that nobody knows",
    ["lab", "--network", "namespaces", "--allow", "no-such-host.invalid:5432"],
    /--allow no-such-host\.invalid: .*\[LAMEDUCK_ALLOW_UNKNOWN_HOST\]|network: .*\[LAMEDUCK_NO_NAMESPACES\]/,
    4,
  ],
  [
    "the pod's own port allowed",
    ["lab", "--port", "8080", "--allow", "localhost:8080", "--", "node", "server.js"],
    /--allow: .*port 8080 .*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  ["nothing there to write to", ["lab", "--allow", join(folder, "none")], /--allow.*no such file/],
  [
    "a probe that asks somebody else",
    [
      "lab",
      "-f",
      file(
        "host.yaml",
        pod(
          "{ name: web, command: [node], ports: [{ containerPort: 80 }], readinessProbe: { httpGet: { host: example.com, port: 80 } } }",
        ),
      ),
    ],
    /container web: readiness would ask example\.com.*\[LAMEDUCK_HOST_OUTSIDE\]/,
  ],
  ["unknown propagation", ["lab", "--propagation", "telepathy"], /\[LAMEDUCK_UNKNOWN_PROPAGATION\]/],
  [
    "half a second of grace",
    ["lab", "--grace", "500ms"],
    /--grace: "500ms" is not a whole number of seconds/,
  ],
  ["negative rate", ["lab", "--rps", "-1"], /--rps/],
  ["unknown option", ["lab", "--speed", "9"], /unknown option '--speed'/],
  ["unknown command", ["labb"], /unknown command 'labb'/],
  [
    "two outputs to stdout",
    ["lab", "--json", "-", "--out", "junit=-"],
    /--out: only one .*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  [
    "two outputs of a simulation to stdout",
    ["simulate", "--json", "-", "--out", "html=-"],
    /--out: only one .*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  [
    "two outputs of simulate in one file",
    ["simulate", "--json", "same.out", "--out", "html=./same.out"],
    /--out: .*same\.out is written by --json, too.*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  [
    "two outputs of an advice to stdout",
    ["simulate", "--json", "-", "--out", "patch=-"],
    /--out: only one .*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  [
    "advice for no traffic",
    ["simulate", "--advise", "--rps", "0"],
    /no request comes.*\[LAMEDUCK_SCENARIO_IMPOSSIBLE\]/,
  ],
  [
    "output into no folder",
    ["lab", "--json", join(folder, "none", "a.json")],
    /^error --json .*a\.json: no such file or directory \[LAMEDUCK_CANNOT_WRITE\]/,
  ],
  [
    "pod that crashes",
    ["lab", "--replicas", "1", "--", "node", "-e", 'throw new Error("no database")'],
    /no database.*\[LAMEDUCK_POD_CRASHED\]/,
    4,
  ],
  [
    "pod without a probe that crashes",
    [
      "lab",
      "--replicas",
      "1",
      "-f",
      file(
        "crashes.yaml",
        pod("{ name: a, command: [sh, -c, 'echo no database; exit 3'], ports: [{ containerPort: 80 }] }"),
      ),
    ],
    /no database.*\[LAMEDUCK_POD_CRASHED\]/,
    4,
  ],
  [
    "unknown scenario file",
    ["simulate", join(folder, "none.yaml")],
    /no such file or directory \[LAMEDUCK_SCENARIO_UNREADABLE\]/,
  ],
  ["unknown preset", ["simulate", "--senders", "pigeon:3"], /pigeon.*\[LAMEDUCK_/],
  ["unknown processor", ["init-binary", "--arch", "z80"], /z80/],
  ["option of other commands", ["lab", "-n", "shop"], /--namespace: means nothing to lameduck lab/],
  [
    "kubeconfig that is not there, before the command",
    ["--kubeconfig", join(folder, "none"), "why", "web"],
    /none: .*\[LAMEDUCK_NO_KUBECONFIG\]/,
  ],
  ["JSON as another kind", ["explain", "x", "--out", "x.json"], /JSON is written by --json FILE/],
  ["a kind of file twice", ["explain", "x", "-o", "a.html", "-o", "b.html"], /another file of kind html/],
  ["unknown topic", ["help", "LAMEDUCK_NONE"], /"LAMEDUCK_NONE".*\[LAMEDUCK_UNKNOWN_TOPIC\]/],
];

testThatEachIsTold(mistakes);

test("init-binary -o - writes the binary to stdout", { skip: withoutInit }, async () => {
  const { code, out } = await runAlone(["init-binary", "-o", "-"], { cwd: folder });
  assert.equal(code, 0);
  assert.match(out, /^\u007fELF/);
});

test("--help and --version exit with 0", async () => {
  const commands = [
    ["--help"],
    ["lab", "--help"],
    ["simulate", "--help"],
    ["init-binary", "--help"],
    ["help"],
    ["help", "lab"],
    ["help", "codes"],
    ["--version"],
  ];
  for (const command of commands) assert.equal((await run(command)).code, 0, command.join(" "));
});
