import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Field, ManifestError, readStream, type Stream } from "../src/index.ts";

const read = (text: string): Stream =>
  readStream(text, "all.yaml", (kind) => ["Pod", "Service"].includes(kind));
const names = (stream: Stream): (string | undefined)[] =>
  stream.objects.map((one) => one.at("metadata").at("name").text());
const object = (name: string, kind = "Pod"): string => `kind: ${kind}\nmetadata:\n  name: ${name}\n`;

function assertFails(act: () => unknown): ManifestError {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof ManifestError);
    return error;
  }
  assert.fail("it was read");
}

describe("files that nobody named", () => {
  const found = (text: string): Stream => readStream(text, "x.yaml", (kind) => kind === "Pod", true);
  for (const [what, text] of [
    ["values of a chart", "replicas: 3\nimage: { tag: 1 }\n"],
    ["values that hold a kind further in", "deployment:\n  kind: DaemonSet\n"],
    ["a list", "- kind: Pod\n- 1\n"],
    ["no YAML at all", "// settings\n{ a: [ }\n"],
  ] as const)
    test(`files found in a folder that hold ${what} are counted and left alone`, () => {
      const { objects, failures, skipped } = found(text);
      assert.deepEqual([objects.length, failures.length, skipped.get("without a kind")], [0, 0, 1]);
    });

  test("a file found in a folder with an alias that has no anchor is a failure", () => {
    const { objects, failures } = found("kind: Pod\nmetadata: { name: *x }\n");
    assert.equal(objects.length, 0);
    assert.match(failures[0]?.message ?? "", /x\.yaml:2:19: there is no anchor &x/);
  });

  test("a file found in a folder with a mistyped or broken manifest is a failure", () => {
    assert.equal(found("knd: Pod\nspec: {}\n").failures.length, 1);
    assert.equal(found("kind: Pod\nspec: [\n").failures.length, 1);
    assert.equal(found("").failures.length, 0);
  });
});

describe("as kubectl reads it, which is YAML 1.1", () => {
  const spec = (text: string): Field => {
    const [pod] = read(`kind: Pod\nspec: { field: ${text} }\n`).objects;
    assert.ok(pod);
    return pod.at("spec").at("field");
  };

  test("yes and on without quotes are read as true, as kubectl does", () => {
    for (const text of ["true", "yes", "On"]) assert.ok(spec(text).isTrue(), text);
    for (const text of ['"yes"', "no", "off", "1", "~"]) assert.ok(!spec(text).isTrue(), text);
  });

  test("a number that could be octal, is too large or is a text is refused with the reason", () => {
    assert.equal(spec("60").whole(0, 1), 60);
    assert.equal(spec("0").whole(0, 1), 0);
    for (const [text, why] of [
      ["060", /octal/],
      ["99999999999999999999", /whole number/],
      ['"30"', /not the text "30"/],
      ["-5", /not -5/],
      ["2.5", /not 2\.5/],
    ] as const)
      assert.throws(() => spec(text).whole(0, 1), why);
  });
});

describe("stream", () => {
  const shapes: [shape: string, text: string, expected: string[]][] = [
    ["several documents", `${object("a")}---\n${object("b")}`, ["a", "b"]],
    [
      "comment after the mark, empty documents",
      `--- # first\n${object("a")}---\n---\n# nothing\n---\n${object("b")}...\n`,
      ["a", "b"],
    ],
    [
      "a List",
      `kind: List\nitems:\n- kind: Pod\n  metadata: { name: a }\n- kind: Pod\n  metadata: { name: b }\n`,
      ["a", "b"],
    ],
    [
      "a PodList of the API server",
      JSON.stringify({ kind: "PodList", items: [{ kind: "Pod", metadata: { name: "a" } }] }),
      ["a"],
    ],
    [
      "JSON objects in a row",
      ["a", "b"].map((name) => JSON.stringify({ kind: "Pod", metadata: { name } })).join("\n"),
      ["a", "b"],
    ],
    ["a byte order mark", `\uFEFF${object("a")}`, ["a"]],
    ["--- inside a text", `${object("a")}data: |\n  ---\n  kind: Pod\n`, ["a"]],
    ["CRLF", `${object("a")}---\n${object("b")}`.replaceAll("\n", "\r\n"), ["a", "b"]],
  ];
  for (const [shape, text, expected] of shapes)
    test(`a stream of manifests is read: ${shape}`, () => assert.deepEqual(names(read(text)), expected));

  test("a broken document fails alone, and the failure says where", () => {
    const { objects, failures } = read(
      `${object("a")}---\nkind: Pod\nmetadata:\n\tname: tab\n---\n${object("b")}`,
    );
    assert.equal(objects.length, 2);
    assert.equal(failures.length, 1);
    assert.equal(failures[0]?.code, "LAMEDUCK_MANIFEST_NOT_YAML");
    assert.match(failures[0]?.place ?? "", /^all\.yaml:7:/);
  });

  test("a key given twice is a mistake, as it is for the API server", () => {
    assert.match(read("kind: Pod\nspec: 1\nspec: 2\n").failures[0]?.message ?? "", /unique/);
  });

  test("a template that was not rendered is named as such, with its place", () => {
    for (const text of [
      "kind: Pod\nmetadata:\n  name: {{ .Values.name }}\n",
      "kind: Pod\n{{- if .Values.on }}\nspec: {}\n{{- end }}\n",
      "{{ range .Values.list }}\nkind: Pod\n{{ end }}\n",
    ]) {
      const [failure] = read(text).failures;
      assert.equal(failure?.code, "LAMEDUCK_MANIFEST_TEMPLATE");
      assert.match(failure.remedy, /helm template/);
    }
    assert.deepEqual(read(`${object("a")}data:\n  text: "{{ not ours }}"\n`).failures, []);
  });

  test("a document whose aliases would fill the memory is refused", () => {
    const levels = Array.from(
      { length: 9 },
      (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(",")}]`,
    );
    const [failure] = read(`kind: Pod\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n${levels.join("\n")}\n`).failures;
    assert.equal(failure?.code, "LAMEDUCK_MANIFEST_ALIASES");
  });

  test("objects of kinds that were not asked for are counted", () => {
    assert.deepEqual(
      [...read(`${object("a", "ConfigMap")}---\n${object("b", "ConfigMap")}---\n${object("c")}`).skipped],
      [["ConfigMap", 2]],
    );
  });

  test("a document with hundreds of aliases is read, and one with more is refused at once", () => {
    const many = (count: number): Stream =>
      read(`kind: Pod\nspec: [&a x, ${Array.from({ length: count }, () => "*a").join(", ")}]\n`);
    const [pod] = many(300).objects;
    assert.equal(pod?.at("spec").items().length, 301);
    assert.equal(JSON.stringify(pod?.at("spec").plain()).length, 301 * 4 + 1);
    assert.equal(many(20_000).failures[0]?.code, "LAMEDUCK_MANIFEST_ALIASES");
  });

  for (const [mark, how] of [
    ['"{{ replicas }}"', "helm template"],
    ["{{ .Values.replicas }}", "helm template"],
    ["{% if x %}3{% endif %}", "Jinja"],
    ["<%= replicas %>", "ERB"],
    ["#@ data.values.replicas", "ytt"],
    ["$(REPLICAS)", "kubectl kustomize"],
    ["${REPLICAS:-3}", "envsubst"],
    ["$REPLICAS", "envsubst"],
    ["__REPLICAS__", "put the values"],
    ["@REPLICAS@", "put the values"],
    ["%%REPLICAS%%", "put the values"],
    ["<replicas>", "put the values"],
    ["[[ replicas ]]", "put the values"],
    ["REPLACE_ME", "put the values"],
  ] as const)
    for (const [where, text] of [
      ["in a block", `kind: Pod\nspec:\n  replicas: ${mark}\n`],
      ["in braces", `kind: Pod\nspec: { replicas: ${mark} }\n`],
    ] as const)
      test(`${mark} ${where} is named as a template that was not rendered, where a number should be`, () => {
        const { objects, failures } = read(text);
        const [failure] = failures;
        const error = failure ?? assertFails(() => objects[0]?.at("spec").at("replicas").whole(0, 1));
        assert.equal(error.code, "LAMEDUCK_MANIFEST_TEMPLATE", error.message);
        assert.ok(error.remedy.includes(how), error.remedy);
      });

  test("a value that is merely wrong is not called a template", () => {
    for (const value of ["three", "1.5", "-1", "[3]", "50%"]) {
      const error = assertFails(() =>
        read(`kind: Pod\nspec: { replicas: ${value} }\n`).objects[0]?.at("spec").at("replicas").whole(0, 1),
      );
      assert.equal(error.code, "LAMEDUCK_MANIFEST_INVALID", value);
    }
  });

  test("deeply nested brackets are a mistake and no crash", () => {
    assert.equal(read(`kind: Pod\nspec: ${"[".repeat(20_000)}`).failures.length, 1);
  });

  test("any text gives objects or mistakes with a code", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "kind: Pod\n",
        "---\n",
        "&a",
        "*a",
        "<<: ",
        "{{ x }}",
        "- ",
        "  ",
        "{",
        "}",
        "[",
        "]",
        '"',
        ": ",
        "\t",
        "|\n",
        "!!int ",
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        for (const { code, place } of read(pieces.join("")).failures) {
          assert.match(code, /^LAMEDUCK_MANIFEST_/);
          assert.match(place, /^all\.yaml(?::\d+:\d+)?/);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
