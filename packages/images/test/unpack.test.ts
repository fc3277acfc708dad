import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { gzipSync } from "node:zlib";
import { ImageError } from "../src/errors.ts";
import { digestOf, tarOf, unpack, type Entry } from "./archives.ts";
import { Readable } from "node:stream";
import { usualLimits } from "../src/limits.ts";
import { Unpacker } from "../src/unpack.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-unpack-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let roots = 0;

/** Beside it lies what no archive may reach. */
function newRoot(): { readonly root: string; readonly outside: string; readonly untouched: () => void } {
  const place = join(folder, String(roots++));
  const root = join(place, "root");
  const outside = join(place, "outside");
  mkdirSync(root, { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, "file"), "as it was", { mode: 0o640 });
  return {
    root,
    outside,
    untouched: () => {
      assert.deepEqual(readdirSync(place).sort(), ["outside", "root"]);
      assert.deepEqual(readdirSync(outside), ["file"]);
      assert.equal(readFileSync(join(outside, "file"), "utf8"), "as it was");
      assert.equal(lstatSync(join(outside, "file")).mode & 0o777, 0o640);
      assert.equal(lstatSync(outside).mode & 0o777, 0o755);
    },
  };
}

/** "LINK -> TARGET", "FOLDER/", "FILE: TEXT", sorted. */
function listed(root: string, below = ""): string[] {
  return readdirSync(join(root, below))
    .sort()
    .flatMap((name) => {
      const path = below === "" ? name : `${below}/${name}`;
      const full = join(root, path);
      const stat = lstatSync(full);
      if (stat.isSymbolicLink()) return [`${path} -> ${readlinkSync(full)}`];
      return stat.isDirectory()
        ? [`${path}/`, ...listed(root, path)]
        : [`${path}: ${readFileSync(full, "utf8")}`];
    });
}

const kept: readonly (readonly [
  what: string,
  layers: readonly (readonly Entry[])[],
  expected: readonly string[],
])[] = [
  [
    "files, folders and links, with folders that no entry names",
    [
      [
        { path: "./a/b/c", text: "1" },
        { path: "/d", text: "2" },
        { path: "e", type: "SymbolicLink", linkpath: "../../a" },
        { path: "f", type: "Link", linkpath: "a/b/c" },
      ],
    ],
    ["a/", "a/b/", "a/b/c: 1", "d: 2", "e -> ../../a", "f: 1"],
  ],
  [
    "a later layer over an earlier one, file over folder and folder over file",
    [
      [
        { path: "x/y", text: "1" },
        { path: "z", text: "1" },
      ],
      [
        { path: "x", text: "2" },
        { path: "z", type: "Directory" },
        { path: "z/w", text: "2" },
      ],
    ],
    ["x: 2", "z/", "z/w: 2"],
  ],
  [
    "whiteouts of a file, a folder and all that was in one, but not of what the layer brings",
    [
      [
        { path: "a", text: "1" },
        { path: "b/c", text: "1" },
        { path: "d/e", text: "1" },
        { path: "d/f", text: "1" },
      ],
      [
        { path: ".wh.a" },
        { path: ".wh.b" },
        { path: "d/g", text: "2" },
        { path: "d/.wh..wh..opq" },
        { path: "d/.wh..wh.plnk" },
        { path: "h", text: "2" },
        { path: ".wh.h" },
      ],
    ],
    ["d/", "d/g: 2", "h: 2"],
  ],
  [
    "nothing of earlier layers in a folder that hides all, wherever the layer says so",
    [
      [
        { path: "a/b/c", text: "1" },
        { path: "a/d", text: "1" },
      ],
      [{ path: "a/b", type: "Directory" }, { path: "a/b/e", text: "2" }, { path: "a/.wh..wh..opq" }],
    ],
    ["a/", "a/b/", "a/b/e: 2"],
  ],
  [
    "through a link of an earlier layer that stays inside, as a process in the container would",
    [
      [
        { path: "usr/lib", type: "Directory" },
        { path: "lib", type: "SymbolicLink", linkpath: "usr/lib" },
        { path: "abs", type: "SymbolicLink", linkpath: "/usr" },
      ],
      [
        { path: "lib/x", text: "1" },
        { path: "abs/y", text: "2" },
      ],
    ],
    ["abs -> /usr", "lib -> usr/lib", "usr/", "usr/lib/", "usr/lib/x: 1", "usr/y: 2"],
  ],
  [
    "devices of /dev not at all",
    [[{ path: "dev/null", type: "CharacterDevice" }, { path: "a" }]],
    ["a: ", "dev/"],
  ],
  [
    "a path of 300 bytes",
    [[{ path: `${"d".repeat(150)}/${"e".repeat(150)}`, text: "1" }]],
    [`${"d".repeat(150)}/`, `${"d".repeat(150)}/${"e".repeat(150)}: 1`],
  ],
];

for (const [what, layers, expected] of kept)
  test(`unpacking keeps ${what}`, async () => {
    const { root, untouched } = newRoot();
    await unpack(
      root,
      layers.map((layer) => tarOf(...layer)),
    );
    assert.deepEqual(listed(root), expected);
    untouched();
  });

test("set-user-ID and set-group-ID are not kept, the sticky bit is; folders get their permissions at last", async () => {
  const { root } = newRoot();
  await unpack(root, [
    tarOf(
      { path: "tmp", type: "Directory", mode: 0o1777 },
      { path: "su", mode: 0o6755 },
      { path: "ro", type: "Directory", mode: 0o555 },
      { path: "ro/x", text: "1" },
    ),
  ]);
  const mode = (path: string): string => (lstatSync(join(root, path)).mode & 0o7777).toString(8);
  assert.equal(mode("tmp"), "1777");
  assert.equal(mode("su"), "755");
  assert.match(mode("ro"), /^[57]55$/);
});

const up = "../".repeat(8);

const hostile: readonly (readonly [
  what: string,
  layers: (outside: string) => readonly Buffer[],
  code: string,
])[] = [
  ["a path that leads out", (outside) => [tarOf({ path: `${up}${outside}/file`, text: "no" })], "REFUSED"],
  [
    "a path that leads out in its middle",
    (outside) => [tarOf({ path: `a/${up}${outside}/file`, text: "no" })],
    "REFUSED",
  ],
  [
    "a link that leads out, and a file through it",
    () => [
      tarOf({ path: "a", type: "SymbolicLink", linkpath: "../outside" }, { path: "a/file", text: "no" }),
    ],
    "REFUSED",
  ],
  [
    "the same in two layers",
    () => [
      tarOf({ path: "a", type: "SymbolicLink", linkpath: "../outside" }),
      tarOf({ path: "a/file", text: "no" }),
    ],
    "REFUSED",
  ],
  [
    "a whiteout through a link that leads out",
    () => [tarOf({ path: "a", type: "SymbolicLink", linkpath: "../outside" }, { path: "a/.wh.file" })],
    "REFUSED",
  ],
  [
    "an opaque whiteout through a link that leads out",
    () => [tarOf({ path: "a", type: "SymbolicLink", linkpath: "../outside" }, { path: "a/.wh..wh..opq" })],
    "REFUSED",
  ],
  ["whiteouts of the folder itself and the one above", () => [tarOf({ path: "a/.wh..." })], "REFUSED"],
  ["a whiteout of no name", () => [tarOf({ path: "a/.wh." })], "REFUSED"],
  [
    "a hard link to a file outside",
    (outside) => [tarOf({ path: "a", type: "Link", linkpath: `${up}${outside}/file` })],
    "REFUSED",
  ],
  [
    "a hard link through a link that leads out",
    () => [
      tarOf(
        { path: "a", type: "SymbolicLink", linkpath: "../outside" },
        { path: "b", type: "Link", linkpath: "a/file" },
      ),
    ],
    "REFUSED",
  ],
  [
    "a hard link to what is not there",
    () => [tarOf({ path: "a", type: "Link", linkpath: "etc/shadow" })],
    "REFUSED",
  ],
  [
    "links in a circle on the way",
    () => [
      tarOf(
        { path: "a", type: "SymbolicLink", linkpath: "b" },
        { path: "b", type: "SymbolicLink", linkpath: "a" },
        { path: "a/x", text: "no" },
      ),
    ],
    "REFUSED",
  ],
  ["a block device", () => [tarOf({ path: "sda", type: "BlockDevice" })], "REFUSED"],
  ["a character device", () => [tarOf({ path: "mem", type: "CharacterDevice" })], "REFUSED"],
  ["a pipe", () => [tarOf({ path: "p", type: "FIFO" })], "REFUSED"],
  ["a file in a file", () => [tarOf({ path: "a", text: "1" }, { path: "a/b", text: "no" })], "REFUSED"],
  ["a name of 256 bytes", () => [tarOf({ path: "n".repeat(256) })], "REFUSED"],
  ["129 folders in each other", () => [tarOf({ path: "d/".repeat(128) + "f" })], "REFUSED"],
  [
    "more bytes than allowed",
    () => [tarOf({ path: "a", text: "1".repeat(600) }), tarOf({ path: "b", text: "1".repeat(600) })],
    "TOO_LARGE",
  ],
  [
    "more entries than allowed",
    () => [tarOf(...Array.from({ length: 12 }, (_, index) => ({ path: `f${index}` })))],
    "TOO_LARGE",
  ],
  [
    "an end in the middle of a file",
    () => [tarOf({ path: "a", text: "1", size: 5_000 }).subarray(0, 1_024)],
    "UNREADABLE",
  ],
  ["text instead of an archive", () => [Buffer.from("hello, world".repeat(100))], "UNREADABLE"],
  ["nothing", () => [Buffer.alloc(0)], "UNREADABLE"],
];

for (const [what, layers, code] of hostile)
  test(`unpacking refuses ${what}, and changes nothing outside`, async () => {
    const { root, outside, untouched } = newRoot();
    const limits =
      code === "TOO_LARGE" ? { bytes: what.includes("bytes") ? 4_096 : 1 << 20, entries: 10 } : {};
    const small = what.includes("bytes than") ? { ...limits, bytes: 2_100 } : limits;
    await assert.rejects(unpack(root, layers(outside), { limits: small }), (error) => {
      assert.ok(error instanceof ImageError, String(error));
      assert.equal(error.code, `LAMEDUCK_IMAGE_${code}`, error.message);
      return true;
    });
    untouched();
  });

test("a folder that becomes a link later gives its permissions to nothing outside", async () => {
  const { root, untouched } = newRoot();
  await unpack(root, [
    tarOf(
      { path: "a/b", type: "Directory", mode: 0o777, uid: 4_242 },
      { path: "c", type: "Directory", mode: 0o777, uid: 4_242 },
      { path: "a", type: "SymbolicLink", linkpath: "../outside/.." },
      { path: "c", type: "SymbolicLink", linkpath: "../outside" },
    ),
  ]);
  untouched();
});

test("a bomb is refused before it has grown, whatever its compression", async () => {
  const { root } = newRoot();
  const layer = tarOf({ path: "zeros", text: Buffer.alloc(8 << 20) });
  const packed = gzipSync(layer);
  const unpacker = new Unpacker(root, {
    limits: { ...usualLimits, freeBytes: 1 << 20, ratio: 50 },
    signal: new AbortController().signal,
    owners: false,
    onProgress: () => undefined,
  });
  const bomb = { place: "bomb", digest: digestOf(layer), open: () => Readable.from([packed]) };
  await assert.rejects(unpacker.layer(bomb), { code: "LAMEDUCK_IMAGE_TOO_LARGE" });
  assert.ok(unpacker.bytes < 2 << 20, String(unpacker.bytes));
});

test("a layer that is not what the image says is refused", async () => {
  const { root } = newRoot();
  const unpacker = new Unpacker(root, {
    limits: usualLimits,
    signal: new AbortController().signal,
    owners: false,
    onProgress: () => undefined,
  });
  const layer = {
    place: "layer",
    digest: digestOf("else"),
    open: () => Readable.from([tarOf({ path: "a" })]),
  };
  await assert.rejects(unpacker.layer(layer), { code: "LAMEDUCK_IMAGE_REFUSED" });
});

const name = fc.constantFrom("a", "b", "c", "..", ".", "", "/", ".wh.a", ".wh..wh..opq", ".wh...", "dev");
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
const linkpath = fc.oneof(
  path,
  fc.constantFrom("../outside", "../../outside/file", "/", "/a", "../root/../outside"),
);
const type = fc.constantFrom(
  "File",
  "Directory",
  "SymbolicLink",
  "Link",
  "CharacterDevice",
  "FIFO",
) as fc.Arbitrary<NonNullable<Entry["type"]>>;
const entry: fc.Arbitrary<Entry> = fc.record({ path, type, linkpath, mode: fc.nat(0o7777) });
const change = fc.tuple(fc.nat(), fc.nat(255));

test("whatever an archive holds, and whatever has been changed in it, nothing outside changes, and errors are the image's", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(entry, { maxLength: 8 }), { minLength: 1, maxLength: 3 }),
      fc.array(change, { maxLength: 4 }),
      fc.boolean(),
      async (layers, changes, isCut) => {
        const { root, untouched } = newRoot();
        const bytes = layers.map((entries) =>
          tarOf(...entries.map((one) => (one.type === "File" ? { ...one, text: "text" } : one))),
        );
        for (const [at, value] of changes) {
          const [layer] = bytes;
          if (layer && layer.length > 0) layer[at % layer.length] = value;
        }
        try {
          await unpack(root, isCut ? bytes.map((one) => one.subarray(0, Math.floor(one.length / 3))) : bytes);
        } catch (error) {
          assert.ok(error instanceof ImageError, (error as Error).stack);
        }
        untouched();
        rmSync(join(root, ".."), { recursive: true });
        assert.ok(!existsSync(root));
      },
    ),
    { numRuns: 400 },
  );
});
