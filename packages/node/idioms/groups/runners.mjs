/** Test runners: a program's own tests end its server, and the runner goes on. */
const test = (command, more = {}) => ({
  client: "none",
  signal: "none",
  holds: false,
  env: { IDIOM_HOOK: "none" },
  command,
  ignores: /duration|Duration|Start at|Time:|\bms\b|passing|^\d+$|[\d.]+s\b|^\s*at /,
  ...more,
});

export default {
  "node:test": {
    what: "a file that ends its server in a test, and has more tests",
    ...test(["node", "--test", "--test-reporter=tap", "fixtures/runners/node.test.mjs"]),
  },
  "node:test, one process": {
    what: "the same by `node file.test.js`",
    ...test(["node", "fixtures/runners/node.test.mjs"]),
  },
  "node:test, a child process": {
    what: "a test starts the server as a process, and sends SIGTERM",
    ...test(["node", "--test", "--test-reporter=tap", "fixtures/runners/child.test.mjs"]),
  },
  jest: {
    what: "the same in jest",
    needs: ["jest"],
    ...test(
      [
        "node",
        "--experimental-vm-modules",
        "node_modules/jest/bin/jest.js",
        "--rootDir",
        "fixtures/runners",
        "--testMatch",
        "**/jest.test.mjs",
        "--watchman=false",
      ],
      {
        // Times, which jest gives where they are not 0.
        ignores: /ExperimentalWarning|node --trace-warnings|Time:|✓|s$/,
      },
    ),
  },
  vitest: {
    what: "the same in vitest",
    needs: ["vitest"],
    ...test(["vitest", "run", "--root", "fixtures/runners", "--reporter=tap-flat", "vitest.spec.mjs"]),
  },
  mocha: {
    what: "the same in mocha",
    needs: ["mocha"],
    ...test(["mocha", "--reporter", "tap", "fixtures/runners/mocha.mjs"]),
  },
  "mocha --exit": {
    what: "the same with `--exit`",
    needs: ["mocha"],
    ...test(["mocha", "--exit", "--reporter", "tap", "fixtures/runners/mocha.mjs"]),
  },
};
