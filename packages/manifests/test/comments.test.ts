import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse } from "yaml";
import { appendItems, applyEdits, type Field, insertField, readStream } from "../src/index.ts";

function only(text: string): Field {
  const { objects, failures } = readStream(text, "pod.yaml", (kind) => kind === "Pod");
  assert.deepEqual(failures, []);
  const [pod] = objects;
  assert.ok(pod);
  return pod;
}

/** A field for each mapping and an item for each list that injection adds to. */
function edited(text: string): string {
  const spec = only(text).at("spec");
  const [container] = spec.at("containers").items();
  assert.ok(container);
  const edits = [
    insertField(text, spec, "NEWg", "9"),
    insertField(text, spec, "NEWinit", [{ NEWn: "a", NEWm: "b" }]),
    insertField(text, container, "NEWlifecycle", { NEWpreStop: { NEWsleep: "5" } }),
    appendItems(text, container.at("env"), [{ NEWname: "B", NEWvalue: "c" }]),
    appendItems(text, container.at("mounts"), [{ NEWname: "m" }]),
    appendItems(text, spec.at("volumes"), [{ NEWname: "v", NEWempty: {} }]),
  ];
  const written = applyEdits(
    text,
    edits.map((edit) => edit!),
  );
  assert.ok(written !== undefined);
  return written;
}

const indented = `kind: Pod
spec:
  containers:
    - name: web
      image: x
      env:
        - name: A
          value: |
            text

            more
      mounts:
        - name: m
          path: /m
      ports:
        - port: 80
  volumes:
    - name: v
      empty: {}
  last: 1`;
const flush = `kind: Pod
spec:
  last: 1
  containers:
  - image: x
    env:
    - name: A
      value: b
    mounts:
    - { name: m }
    name: web
  volumes:
  - name: v
    deep:
      deeper: 1`;

const isNew = (line: string): boolean => line.includes("NEW");
const column = (line = ""): number => line.search(/[^ \t]/);
const isComment = (line: string): boolean => line[column(line)] === "#";
const isContent = (line: string): boolean => line.trim() !== "" && !isComment(line);

const nextTo = (lines: readonly string[], at: number): string | undefined => lines.slice(at).find(isContent);
const above = (lines: readonly string[], at: number): string | undefined =>
  lines.slice(0, at).findLast((one) => isContent(one) && column(one) <= column(lines[at]));

/** A comment belongs to the next line; where that is indented less, to the last one before that is not indented further. */
function staysWithItsOwn(before: readonly string[], after: readonly string[]): void {
  for (const [at, line] of before.entries()) {
    if (!isComment(line)) continue;
    const next = nextTo(before, at);
    const ownerIn = next !== undefined && column(next) >= column(line) ? nextTo : above;
    const now = ownerIn(after, after.indexOf(line));
    assert.equal(now, ownerIn(before, at), `${line.trim()}\n${after.join("\n")}`);
  }
}

const comment = fc.record({ at: fc.nat(), column: fc.nat({ max: 13 }), blank: fc.boolean() });

/** Texts of several lines are no place for a comment. Those that belong to the line above stand right below it. */
function commented(
  base: string,
  comments: readonly { at: number; column: number; blank: boolean }[],
): string[] {
  const all = comments.reduce((lines, { at, column: indent, blank }, index) => {
    const places = [...lines.keys()].filter(
      (one) => one > 0 && !/^ {10,}(?:text|more)|^$/.test(lines[one] ?? ""),
    );
    const place = places[at % places.length] ?? 1;
    return lines.toSpliced(place, 0, ...(blank ? [" "] : []), `${" ".repeat(indent)}# comment ${index}`);
  }, base.split("\n"));
  const isFiller = (line = "x"): boolean => isComment(line) || line === " ";
  const begins = (one: number): boolean => !isFiller(all[one]) || !isFiller(all[one - 1]);
  return [...all.keys()].filter(begins).flatMap((from) => {
    const to = all.findIndex((_, at) => at > from && begins(at));
    return all.slice(from, to === -1 ? all.length : to).sort((a, b) => column(b) - column(a));
  });
}

for (const [what, base] of [
  ["with indented lists", indented],
  ["with lists that are not indented", flush],
] as const)
  for (const lineBreak of ["\n", "\r\n"])
    test(`comments stay with what they belong to in YAML ${what}, with lines that end in ${JSON.stringify(lineBreak)}`, () => {
      fc.assert(
        fc.property(fc.array(comment, { maxLength: 8 }), fc.boolean(), (comments, isEnded) => {
          const before = commented(base, comments);
          const text = before.join(lineBreak) + (isEnded ? lineBreak : "");
          const after = edited(text);
          const left = after.split(lineBreak).filter((line) => !isNew(line));
          assert.equal(left.join(lineBreak), text, "without the new lines the file is what it was");
          const { spec } = parse(after) as {
            spec: { NEWg: number; containers: { env: unknown[]; mounts: unknown[] }[] };
          };
          const [container] = spec.containers;
          assert.deepEqual([spec.NEWg, container?.env.length, container?.mounts.length], [9, 2, 2]);
          staysWithItsOwn(before, after.split(lineBreak));
        }),
        { numRuns: 400 },
      );
    });

test("the comment of the last item stays behind it in braces and brackets", () => {
  const text = `kind: Pod
spec: { # of the spec
  containers: [{ name: web, # of the name
    env: [
      { name: A }, # one
      { name: C } # two
    ], mounts: [ { name: m }, ] # three
  }],
  volumes: [ { name: v } ] # four
}
`;
  const after = edited(text);
  for (const [one, owner] of [
    ["# two", "{ name: C }"],
    ["# one", "{ name: A }"],
    ["# four", "volumes"],
  ] as const)
    assert.ok(
      after.split("\n").some((line) => line.includes(owner) && line.endsWith(one)),
      `${one}\n${after}`,
    );
  const { spec } = parse(after) as { spec: { containers: { env: unknown[] }[] } };
  assert.equal(spec.containers[0]?.env.length, 3);
});
