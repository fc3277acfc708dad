/**
 * The C files form no circle: neither single files nor the folders below src. A file is a unit with its header. C needs a declaration for every call, and a
 * header declares only what its own file defines. So includes between units are all ways in which one can call another by name.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, test } from "node:test";
import { packageRoot } from "../toolchain/compile.ts";

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

const sources: ReadonlyMap<string, string> = new Map(
  globSync("src/**/*.{c,h}", { cwd: packageRoot })
    .sort()
    .map((path) => [path, readFileSync(join(packageRoot, path), "utf8")]),
);

/** The readers of flags and variables fill the struct of this header, and the file of its name calls the readers. */
const apart: ReadonlySet<string> = new Set(["src/cli/settings.h"]);

function unitOf(path: string): string {
  return apart.has(path) ? path : path.replace(/\.[ch]$/, "");
}

/** What each node includes, where files are joined to nodes by `nodeOf`. */
function graphOf(files: ReadonlyMap<string, string>, nodeOf: (path: string) => string): Graph {
  const graph = new Map<string, Set<string>>();
  for (const [path, text] of files) {
    const node = nodeOf(path);
    const included = graph.get(node) ?? new Set<string>();
    graph.set(node, included);
    for (const [, name = ""] of text.matchAll(/^#include "([^"]+)"/gm)) {
      const other = nodeOf(normalize(join(dirname(path), name)));
      if (other !== node) included.add(other);
    }
  }
  return graph;
}

/** One circle, as the nodes on it, or undefined. */
function circleIn(graph: Graph): readonly string[] | undefined {
  const done = new Set<string>();
  function visit(node: string, above: readonly string[]): readonly string[] | undefined {
    const at = above.indexOf(node);
    if (at >= 0) return [...above.slice(at), node];
    if (done.has(node)) return undefined;
    for (const next of graph.get(node) ?? []) {
      const circle = visit(next, [...above, node]);
      if (circle) return circle;
    }
    done.add(node);
    return undefined;
  }
  for (const node of graph.keys()) {
    const circle = visit(node, []);
    if (circle) return circle;
  }
  return undefined;
}

/** Functions that a header declares and does not define. */
function declaredIn(header: string): string[] {
  const plain = header.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/__attribute__\(\(.*?\)\)\)?/g, "");
  return [...plain.matchAll(/^(?!typedef|static|#)[a-z][\w\s*]*?[\s*](\w+)\([^;{]*\);/gm)].map(
    ([, name = ""]) => name,
  );
}

function definesIn(source: string, name: string): boolean {
  return new RegExp(`^(?!static|typedef|\\s)[\\w\\s*]*[\\s*]${name}\\([^;{]*\\)\\s*\\{`, "m").test(source);
}

describe("the C files", () => {
  test("the includes of C files form no circle of files", () => {
    assert.deepEqual(circleIn(graphOf(sources, unitOf)), undefined);
  });

  test("the includes of C files form no circle of folders", () => {
    const folderOf = (path: string): string => (dirname(path) === "src" ? unitOf(path) : dirname(path));
    assert.deepEqual(circleIn(graphOf(sources, folderOf)), undefined);
  });

  test("a C header declares only functions that the file of its name defines", () => {
    const misplaced = [...sources]
      .filter(([path]) => path.endsWith(".h"))
      .flatMap(([path, header]) => {
        const own = sources.get(path.replace(/h$/, "c")) ?? "";
        return declaredIn(header)
          .filter((name) => !definesIn(own, name))
          .map((name) => `${path}: ${name}`);
      });
    assert.deepEqual(misplaced, []);
  });

  test("traffic reaches the decision by tell.h alone", () => {
    const others = [...sources].filter(([path]) => /^src\/traffic\/(?!tell\.)/.test(path));
    assert.ok(others.length > 0);
    assert.deepEqual(
      others
        .filter(([, text]) => /"[^"]*\/decision\/|\bdrain\b|\bdrain_\w+\(/.test(text))
        .map(([path]) => path),
      [],
    );
  });

  test("the search for circles finds two headers, a file and a header, and a misplaced declaration", () => {
    const headers = new Map([
      ["src/a/one.h", '#include "two.h"\n'],
      ["src/a/two.h", '#include "../b/three.h"\n'],
      ["src/b/three.h", '#include "../a/one.h"\n'],
    ]);
    assert.deepEqual(circleIn(graphOf(headers, unitOf)), [
      "src/a/one",
      "src/a/two",
      "src/b/three",
      "src/a/one",
    ]);
    const files = new Map([
      ["src/a.h", ""],
      ["src/a.c", '#include "b.h"\n'],
      ["src/b.h", '#include "a.h"\n'],
    ]);
    assert.deepEqual(circleIn(graphOf(files, unitOf)), ["src/a", "src/b", "src/a"]);
    const header = "/* f(x); */\nvoid f(int a,\n\t\tint b);\nconst char *g(void);\ntypedef void h(int);\n";
    assert.deepEqual(declaredIn(header), ["f", "g"]);
    assert.ok(definesIn("const char *g(void)\n{\n}\n", "g"));
    assert.ok(!definesIn("static const char *g(void)\n{\n}\nint k(void)\n{\n\tg();\n}\n", "g"));
  });
});
