import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import * as zlib from "node:zlib";
import { readManifest } from "@lameduck/manifests";
import {
  exposedPort,
  ImageError,
  ImageStore,
  LocalImages,
  parseImage,
  withImages,
  type LocalImage,
} from "../src/index.ts";
import { onImage } from "../src/merge.ts";
import { digestOf, dockerArchive, layoutFiles, tarOf, type Entry } from "./archives.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-images-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let stores = 0;
const newStore = (most?: number): ImageStore => new ImageStore(join(folder, `store-${stores++}`), most);

function file(name: string, bytes: Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

const layers = [
  tarOf({ path: "etc/passwd", text: "root:x:0:0::/root:/bin/sh\nweb:x:101:102::/home/web:/bin/sh\n" }),
  tarOf({ path: "bin/web", text: "#!", mode: 0o755 }),
];
const config = {
  Entrypoint: ["/bin/web"],
  Cmd: ["--port", "80"],
  StopSignal: "SIGQUIT",
  ExposedPorts: { "80/tcp": {} },
};

function open(
  given: readonly string[],
  store = newStore(),
  signal = new AbortController().signal,
): LocalImages {
  return new LocalImages({ given: given.map(parseImage), store: () => store, signal, askEngines: false });
}

function layout(name: string, files: readonly Entry[]): string {
  for (const { path, text = "" } of files) {
    mkdirSync(dirname(join(folder, name, path)), { recursive: true });
    writeFileSync(join(folder, name, path), text);
  }
  return join(folder, name);
}

const archives: readonly (readonly [what: string, path: () => string])[] = [
  ["a docker archive", () => file("docker.tar", dockerArchive(layers, { config }))],
  [
    "a docker archive, compressed as a whole",
    () => file("docker.tgz", gzipSync(dockerArchive(layers, { config }))),
  ],
  ["an OCI archive with layers by gzip", () => file("oci.tar", tarOf(...layoutFiles(layers, { config })))],
  ["an OCI layout", () => layout("layout", layoutFiles(layers, { config }))],
  [
    "an archive of two images, by its name",
    () => file("two.tar", dockerArchive(layers, { config, names: ["other:1", "docker.io/library/web:1"] })),
  ],
];

for (const [what, path] of archives)
  test(`${what} is unpacked once, and found again`, async () => {
    const store = newStore();
    const images = open([`web:1=${path()}`], store);
    const image = await images.find("web:1");
    assert.deepEqual(image?.config, {
      Entrypoint: ["/bin/web"],
      Cmd: ["--port", "80"],
      StopSignal: "SIGQUIT",
      ExposedPorts: ["80/tcp"],
    });
    assert.equal(readFileSync(join(image.root, "bin/web"), "utf8"), "#!");
    assert.deepEqual(
      store.list().map(({ name, isInUse }) => [name, isInUse]),
      [["web:1", true]],
    );
    const again = await open([`web:1=${path()}`], store).find("web:1");
    assert.equal(again?.root, image.root);
    await images.close();
    assert.equal(readdirSync(store.folder).length, 1);
  });

test(
  "layers by zstd are read where Node can",
  { skip: typeof zlib.zstdCompressSync !== "function" && "needs Node 22.15" },
  async () => {
    const path = file("zstd.tar", tarOf(...layoutFiles(layers, { config, compress: zlib.zstdCompressSync })));
    assert.ok(await open([path]).find(path));
  },
);

test("the folder of a root file system is used where it is", async () => {
  const root = join(folder, "rootfs");
  mkdirSync(join(root, "bin"), { recursive: true });
  const image = await open([root]).find(root);
  assert.deepEqual([image?.root, image?.config], [root, {}]);
});

const unfit: readonly (readonly [what: string, path: () => string, code: string, problem: RegExp])[] = [
  ["a file that is not there", () => join(folder, "nowhere.tar"), "UNREADABLE", /no such file/],
  [
    "a tar archive of something else",
    () => file("else.tar", tarOf({ path: "readme" })),
    "UNREADABLE",
    /neither manifest\.json/,
  ],
  ["a text", () => file("text.tar", Buffer.from("no archive".repeat(200))), "UNREADABLE", /./],
  [
    "an archive that ends too early",
    () => file("cut.tar", dockerArchive(layers, { config }).subarray(0, 3_000)),
    "UNREADABLE",
    /./,
  ],
  [
    "a compressed archive that ends too early",
    () => file("cut.tgz", gzipSync(dockerArchive(layers, { config })).subarray(0, 200)),
    "UNREADABLE",
    /./,
  ],
  ["bzip2", () => file("bz.tar", Buffer.from("BZh91AY&SY")), "UNREADABLE", /bzip2/],
  [
    "several images, none of them by name",
    () => file("many.tar", tarOf(...layoutFiles(layers, { names: ["a:1", "b:1"] }))),
    "UNREADABLE",
    /2 images \(a:1, b:1\)/,
  ],
  [
    "another processor",
    () => file("arch.tar", dockerArchive(layers, { architecture: "s390x" })),
    "OTHER_PLATFORM",
    /"linux"\/"s390x"/,
  ],
  [
    "a layer that its configuration does not name",
    () => file("swap.tar", dockerArchive(layers, { diffIds: ["sha256:0", "sha256:1"] })),
    "REFUSED",
    /not what the image says/,
  ],
  [
    "a blob that is not what its name says",
    () =>
      file(
        "blob.tar",
        tarOf(
          ...layoutFiles(layers, { config }).map((one) =>
            String(one.text).includes("rootfs") ? { ...one, text: `${String(one.text)} ` } : one,
          ),
        ),
      ),
    "REFUSED",
    /not what its name says/,
  ],
  [
    "two files of one name",
    () => file("twice.tar", tarOf({ path: "a" }, { path: "./a" })),
    "REFUSED",
    /twice/,
  ],
  [
    "a path that leads out",
    () => file("out.tar", tarOf({ path: "../../etc/passwd" })),
    "REFUSED",
    /leads out/,
  ],
  ["a device", () => file("device.tar", tarOf({ path: "a", type: "BlockDevice" })), "REFUSED", /no file/],
  [
    "a manifest that is no JSON",
    () => file("json.tar", tarOf({ path: "manifest.json", text: "{" })),
    "UNREADABLE",
    /no JSON/,
  ],
  [
    "a configuration of 5 MiB",
    () => file("large.tar", tarOf({ path: "manifest.json", text: Buffer.alloc(5 << 20, " ") })),
    "TOO_LARGE",
    /./,
  ],
  [
    "a hostile layer",
    () => file("hostile.tar", dockerArchive([tarOf({ path: "../x" })])),
    "REFUSED",
    /leads out/,
  ],
  [
    "a folder of something else",
    () => layout("nothing", [{ path: "readme" }]),
    "UNREADABLE",
    /neither an OCI layout nor/,
  ],
  [
    "a folder whose manifest names a file beside it",
    () => {
      const one = layers[0] ?? "";
      layout("beside", [
        { path: "config.json", text: JSON.stringify({ rootfs: { diff_ids: [digestOf(one)] } }) },
      ]);
      const manifest = [{ Config: "../beside/config.json", Layers: ["layer.tar"] }];
      return layout("docker", [
        ...layoutFiles(layers),
        { path: "layer.tar", text: one },
        { path: "manifest.json", text: JSON.stringify(manifest) },
      ]);
    },
    "UNREADABLE",
    /holds no \.\.\/beside\/config\.json/,
  ],
  [
    "a path that is longer than the kernel takes, with the folder of the store before it",
    () =>
      file("long.tar", dockerArchive([tarOf({ path: `${"d".repeat(250)}/`.repeat(16) + "f".repeat(70) })])),
    "REFUSED",
    /too long/,
  ],
  ["the root of this machine", () => "/", "UNREADABLE", /./],
];

for (const [what, path, code, problem] of unfit)
  test(`${what} is refused, and leaves nothing in the store`, async () => {
    const store = newStore();
    const source = path();
    const images = open([source], store);
    await assert.rejects(images.find(source), (error) => {
      assert.ok(error instanceof ImageError, (error as Error).stack);
      assert.equal(error.code, `LAMEDUCK_IMAGE_${code}`, error.message);
      assert.match(error.message, problem);
      return true;
    });
    await images.close();
    assert.deepEqual(readdirSync(store.folder), []);
  });

test("an interrupt in the middle leaves nothing in the store", async () => {
  const store = newStore();
  const interrupt = new AbortController();
  const path = file("slow.tar", dockerArchive([tarOf({ path: "a", text: Buffer.alloc(4 << 20) })]));
  for (const phase of [/reading/, /unpacking/]) {
    const images = new LocalImages({
      given: [parseImage(path)],
      store: () => store,
      signal: interrupt.signal,
      onProgress: (stage) => {
        if (phase.test(stage)) interrupt.abort(new Error("interrupted"));
      },
    });
    await assert.rejects(images.find(path), /interrupted/);
    await images.close();
    assert.deepEqual(readdirSync(store.folder), []);
  }
});

test("the store removes what was used longest ago, never what is in use, and what a dead process left half done", async () => {
  const store = newStore();
  const keep = async (name: string, bytes: number): Promise<string> => {
    const image = await open(
      [file(`${name}.tar`, dockerArchive([tarOf({ path: name, text: Buffer.alloc(bytes) })]))],
      store,
    ).find(join(folder, `${name}.tar`));
    return image!.root;
  };
  const [first, second, third] = [
    await keep("one", 1_000),
    await keep("two", 1_001),
    await keep("three", 1_002),
  ];
  assert.equal(store.shrink(1), 0, "all are in use");
  store.release();
  for (const [root, seconds] of [
    [first, 1],
    [second, 3],
    [third, 2],
  ] as const)
    utimesSync(dirname(root), seconds, seconds);
  assert.equal(store.shrink(2_100), 1);
  assert.deepEqual(
    [first, second, third].map((root) => existsSync(root)),
    [false, true, true],
  );
  store.use(dirname(second).split("/").at(-1)!);
  assert.equal(store.shrink(0), 1);
  assert.ok(existsSync(second));
  const dead = spawn("true");
  await once(dead, "exit");
  const left = join(store.folder, `tmp-${dead.pid}-x`);
  mkdirSync(join(left, "closed"), { recursive: true });
  chmodSync(join(left, "closed"), 0);
  writeFileSync(join(dirname(second), `used-${dead.pid}`), "");
  assert.equal(new ImageStore(store.folder).list().length, 1);
  assert.ok(!existsSync(left));
  store.release();
  await keep("empty", 0);
  store.release();
  assert.equal(store.shrink(0), 2, "who has died uses nothing, and an image may have no byte");
});

test("an image in the store that cannot be read is unpacked anew", async () => {
  const store = newStore();
  const path = file("again.tar", dockerArchive(layers, { config }));
  const { root } = (await open([path], store).find(path))!;
  store.release();
  writeFileSync(join(dirname(root), "image.json"), "");
  rmSync(join(root, "bin"), { recursive: true });
  assert.equal((await open([path], store).find(path))?.root, root);
  assert.ok(existsSync(join(root, "bin/web")));
  assert.equal(store.list().length, 1);
});

test("an image that another process has removed meanwhile is not removed twice", async () => {
  class Late extends ImageStore {
    override list(): ReturnType<ImageStore["list"]> {
      const listed = super.list();
      for (const { digest } of listed) rmSync(join(this.folder, digest), { recursive: true });
      return listed;
    }
  }
  const store = newStore();
  const path = file("late.tar", dockerArchive(layers, { config }));
  await open([path], store).find(path);
  store.release();
  assert.equal(new Late(store.folder).shrink(0), 0);
  assert.deepEqual(readdirSync(store.folder), []);
});

test("an engine is asked for an image, and what it saves is unpacked; one that fails is quoted", async () => {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const saved = file("saved.tar", dockerArchive(layers, { config }));
  const script = `#!/bin/sh
case "$1 $2 $3" in
  "image inspect web:1"|"image inspect bad:1"|"image inspect zeros:1") echo '[{"Id":"sha256:'$3'","Os":"linux","Config":{"StopSignal":"SIGQUIT"}}]' ;;
  "save web:1 ") cat ${saved} ;;
  "save bad:1 ") echo no space left >&2; exit 1 ;;
  "save zeros:1 ") exec cat /dev/zero ;;
  *) exit 1 ;;
esac
`;
  writeFileSync(join(bin, "docker"), script, { mode: 0o755 });
  const path = process.env["PATH"];
  process.env["PATH"] = [bin, path].join(delimiter);
  try {
    const store = newStore();
    const images = new LocalImages({ store: () => store, signal: new AbortController().signal });
    assert.deepEqual((await images.configOf("web:1"))?.config, { StopSignal: "SIGQUIT" });
    assert.deepEqual(store.list(), [], "nothing is unpacked for the configuration alone");
    const image = await images.find("web:1");
    assert.match(image?.origin ?? "", /^docker on this machine/);
    assert.ok(existsSync(join(image!.root, "bin/web")));
    assert.equal(await images.find("other:1"), undefined);
    await assert.rejects(images.find("bad:1"), { code: "LAMEDUCK_IMAGE_ENGINE", message: /no space left/ });
    // No name fits into it: the longest path of Linux has 4095 bytes.
    let long = join(folder, "long");
    while (long.length < 4_085) long = join(long, "x".repeat(Math.min(250, 4_085 - long.length)));
    const full = new LocalImages({
      store: () => new ImageStore(long),
      signal: new AbortController().signal,
    });
    await assert.rejects(full.find("zeros:1"), { code: "LAMEDUCK_IMAGE_CACHE" });
  } finally {
    process.env["PATH"] = path;
  }
});

test("what --image names is a file, a folder, or a name", () => {
  const cases: readonly (readonly [string, string, string | undefined, string])[] = [
    ["nginx:1.29", "nginx:1.29", undefined, "name nginx:1.29"],
    ["podman:localhost/web:1", "podman:localhost/web:1", undefined, "podman localhost/web:1"],
    ["web:1=nginx", "web:1", "web:1", "name nginx"],
    ["web:1=/x/web.tar", "web:1", "web:1", "path /x/web.tar"],
    ["./a=b.tar", "./a=b.tar", undefined, `path ${join(process.cwd(), "a=b.tar")}`],
    ["./rootfs", "./rootfs", undefined, `path ${join(process.cwd(), "rootfs")}`],
    ["web.tar.gz", "web.tar.gz", undefined, `path ${join(process.cwd(), "web.tar.gz")}`],
  ];
  for (const [text, name, wanted, expected] of cases) {
    const given = parseImage(text);
    const { source } = given;
    assert.deepEqual([given.name, given.wanted], [name, wanted]);
    assert.equal(
      source.kind === "path" ? `path ${source.path}` : `${source.engine ?? "name"} ${source.name}`,
      expected,
      text,
    );
  }
});

const root = join(folder, "merge-root");
mkdirSync(join(root, "etc"), { recursive: true });
writeFileSync(join(root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nweb:x:101:102::/home/web:/bin/sh\n");
writeFileSync(join(root, "etc/group"), "root:x:0:\nweb:x:102:\nlog:x:4:web,other\n");
const image = (own: LocalImage["config"]): LocalImage => ({
  name: "web:1",
  root,
  config: own,
  origin: "a test",
});

function container(fields: string, ofPod = "") {
  const { template } = readManifest(
    `kind: Pod\nmetadata: { name: x }\nspec: { ${ofPod}containers: [{ name: web, image: web:1, ports: [{ containerPort: 80 }], ${fields} }] }\n`,
    "m.yaml",
  );
  const [first] = template.containers;
  assert.ok(first);
  return first;
}

const merges: readonly (readonly [
  what: string,
  fields: string,
  config: LocalImage["config"],
  expected: Record<string, unknown>,
])[] = [
  [
    "the image's words",
    "",
    { Entrypoint: ["/e"], Cmd: ["c"] },
    { command: ["/e", "c"], workingDirectory: "/" },
  ],
  ["args over CMD", "args: [a]", { Entrypoint: ["/e"], Cmd: ["c"] }, { command: ["/e", "a"] }],
  [
    "command over both",
    "command: [x], args: [a]",
    { Entrypoint: ["/e"], Cmd: ["c"] },
    { command: ["x", "a"] },
  ],
  ["command without args over both", "command: [x]", { Entrypoint: ["/e"], Cmd: ["c"] }, { command: ["x"] }],
  ["CMD alone", "", { Cmd: ["c"] }, { command: ["c"] }],
  ["words of the image as they are", "", { Cmd: ["$(X)"] }, { command: ["$$(X)"] }],
  ["the image's directory", "", { Cmd: ["c"], WorkingDir: "/srv" }, { workingDirectory: "/srv" }],
  ["workingDir over it", "workingDir: /w", { Cmd: ["c"], WorkingDir: "/srv" }, { workingDirectory: "/w" }],
  ["STOPSIGNAL", "", { Cmd: ["c"], StopSignal: "QUIT" }, { stopSignal: "SIGQUIT" }],
  ["STOPSIGNAL as a number", "", { Cmd: ["c"], StopSignal: "10" }, { stopSignal: "SIGUSR1" }],
  ["STOPSIGNAL SIGTERM", "", { Cmd: ["c"], StopSignal: "SIGTERM" }, { stopSignal: undefined }],
  [
    "lifecycle.stopSignal over it",
    "lifecycle: { stopSignal: SIGINT }",
    { Cmd: ["c"], StopSignal: "SIGQUIT" },
    { stopSignal: "SIGINT" },
  ],
  ["root", "", { Cmd: ["c"] }, { user: 0, group: 0, groups: [], HOME: "/root" }],
  [
    "USER by name, with its groups",
    "",
    { Cmd: ["c"], User: "web" },
    { user: 101, group: 102, groups: [4], HOME: "/home/web" },
  ],
  ["USER by number", "", { Cmd: ["c"], User: "101" }, { user: 101, group: 102, groups: [4] }],
  ["USER that nobody has", "", { Cmd: ["c"], User: "7" }, { user: 7, group: 0, groups: [], HOME: "/" }],
  ["USER with a group", "", { Cmd: ["c"], User: "7:log" }, { user: 7, group: 4 }],
  [
    "runAsUser over it",
    "securityContext: { runAsUser: 9, runAsGroup: 8 }",
    { Cmd: ["c"], User: "web" },
    { user: 9, group: 8, groups: [] },
  ],
  [
    "variables, which the manifest's come over",
    "",
    { Cmd: ["c"], Env: ["A=b=c", "PATH=/x", "HOME=/h"] },
    { A: "b=c", PATH: "/x", HOME: "/h" },
  ],
];

for (const [what, fields, own, expected] of merges)
  test(`a container gets ${what}`, () => {
    const merged = onImage(container(fields), image(own));
    const seen: Record<string, unknown> = { ...merged, ...merged.root, ...merged.root?.env };
    for (const [key, value] of Object.entries(expected)) assert.deepEqual(seen[key], value, key);
  });

test("fsGroup and supplementalGroups of the pod are the container's, its own user wins over the pod's", () => {
  const ofPod =
    "securityContext: { fsGroup: 5, supplementalGroups: [6], runAsUser: 1, runAsNonRoot: true }, ";
  const { root: made } = onImage(
    container("securityContext: { runAsUser: 2 }", ofPod),
    image({ Cmd: ["c"] }),
  );
  assert.deepEqual([made?.user, made?.groups], [2, [6, 5]]);
});

const refused: readonly (readonly [
  what: string,
  fields: string,
  config: LocalImage["config"],
  code: string,
])[] = [
  ["no program", "", {}, "NO_PROGRAM"],
  ["a user that is not in it", "", { Cmd: ["c"], User: "nobody" }, "USER"],
  ["a group that is not in it", "", { Cmd: ["c"], User: "web:nobody" }, "USER"],
  ["root, where runAsNonRoot is set", "securityContext: { runAsNonRoot: true }", { Cmd: ["c"] }, "USER"],
  [
    "a user by name, where runAsNonRoot is set",
    "securityContext: { runAsNonRoot: true }",
    { Cmd: ["c"], User: "web" },
    "USER",
  ],
  ["a stop signal that nobody can send", "", { Cmd: ["c"], StopSignal: "SIGRTMIN+3" }, "STOP_SIGNAL"],
];

for (const [what, fields, own, code] of refused)
  test(`an image with ${what} is refused`, () => {
    assert.throws(() => onImage(container(fields), image(own)), { code: `LAMEDUCK_IMAGE_${code}` });
  });

test("a container without its image runs its command on this machine, is left out beside a given program, or is an error with the place", async () => {
  const text = (fields: string): string =>
    `kind: Pod\nmetadata: { name: x }\nspec: { containers: [{ name: a, image: web:1, ports: [{ containerPort: 80 }], command: [a] }, { name: b, image: other:1 ${fields} }] }\n`;
  const find = (name: string): Promise<LocalImage | undefined> =>
    Promise.resolve(name === "web:1" ? image({ Cmd: ["c"] }) : undefined);
  const commands = async (fields: string, given?: string[]): Promise<unknown> => {
    const { workload, notes } = await withImages(readManifest(text(fields), "m.yaml", given), find, {
      isProgramGiven: given !== undefined,
    });
    return [
      workload.template.containers.map(({ name, command, root: made }) => [
        name,
        command,
        made !== undefined,
      ]),
      notes.length,
    ];
  };
  assert.deepEqual(await commands(", command: [b]"), [
    [
      ["a", ["a"], true],
      ["b", ["b"], false],
    ],
    2,
  ]);
  assert.deepEqual(await commands("", ["node"]), [
    [
      ["a", ["a"], true],
      ["b", ["node"], false],
    ],
    1,
  ]);
  await assert.rejects(commands(""), {
    code: "LAMEDUCK_IMAGE_NOT_HERE",
    message: /^m\.yaml:3:\d+: the image other:1/,
  });
  await assert.rejects(withImages(readManifest(text(""), "m.yaml"), find, { because: "no Linux" }), {
    code: "LAMEDUCK_IMAGE_NEEDS_NAMESPACES",
    message: /no Linux/,
  });
});

test("a port is taken from an image that names one", () => {
  assert.deepEqual(
    [["80/tcp"], ["80"], ["80/tcp", "443/tcp"], ["53/udp", "80/tcp"], []].map((ExposedPorts) =>
      exposedPort({ ExposedPorts }),
    ),
    [80, 80, undefined, 80, undefined],
  );
});
