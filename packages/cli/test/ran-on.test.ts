import assert from "node:assert/strict";
import { test } from "node:test";
import { ranOn } from "../src/ran-on.ts";

test("a command is kept as it was typed, without what may be a secret", () => {
  const typed = [
    "lab",
    "-H",
    "authorization: Bearer x",
    "--env=TOKEN=y",
    "--body",
    "secret",
    "--",
    "node",
    "my server.js",
  ];
  assert.equal(
    ranOn(typed).command,
    "lameduck lab -H authorization... --env=TOKEN... --body ... -- node 'my server.js'",
  );
});
