import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { run } from "./running.ts";

const script = async (shell: string): Promise<string> => {
  const { code, out, err } = await run(["completion", shell]);
  assert.equal(code, 0, err);
  return out;
};

const missing = (shell: string): string | false =>
  spawnSync(shell, ["--version"]).error ? `${shell} is not installed` : false;

function complete(shell: string, program: string): string[] {
  const { status, stdout, stderr } = spawnSync(shell, ["-c", program], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.equal(stderr, "");
  return stdout.split(/\s+/).filter((word) => word !== "");
}

test("bash completes commands, options and values", { skip: missing("bash") }, async () => {
  const own = await script("bash");
  const typed = (...words: string[]): string[] => {
    const list = words.map((word) => `'${word}'`).join(" ");
    return complete(
      "bash",
      `compopt() { :; }; ${own}\nCOMP_WORDS=(lameduck ${list}); COMP_CWORD=${words.length}; _lameduck; echo "\${COMPREPLY[@]}"`,
    );
  };
  assert.deepEqual(typed("ro"), ["rollout"]);
  assert.deepEqual(typed(""), [
    "lab",
    "rollout",
    "simulate",
    "explain",
    "audit",
    "check",
    "install",
    "status",
    "report",
    "why",
    "end",
    "uninstall",
    "inject",
    "images",
    "init-binary",
    "completion",
    "help",
  ]);
  assert.deepEqual(typed("rollout", "deployment/web", "--re"), ["--restart", "--requests-max", "--requests"]);
  assert.deepEqual(typed("rollout", "--protocol", "ht"), ["http", "https"]);
  assert.deepEqual(typed("rollout", "--kubeconfig", "p"), [], "files are the shell's own");
});

test("zsh takes the script, and completes", { skip: missing("zsh") }, async () => {
  const own = await script("zsh");
  const told = complete(
    "zsh",
    `compdef() { : }; _describe() { print -l $commands }; _arguments() { print -l $@ }; ${own}
words=(lameduck ""); CURRENT=2; _lameduck; words=(lameduck rollout ""); CURRENT=3; _lameduck`,
  ).join(" ");
  assert.match(told, /rollout:Restart, scale/);
  assert.match(told, /\*--protocol\[.*\]:value:\(http https .*\)/);
  assert.match(told, /\*--kubeconfig\[.*\]:file:_files/);
});

test("fish takes the script, and completes", { skip: missing("fish") }, async () => {
  const own = await script("fish");
  const typed = (line: string): string[] =>
    complete("fish", `${own}\ncomplete -C '${line}' | string replace -r '\\t.*' ''`);
  assert.deepEqual(typed("lameduck ro"), ["rollout"]);
  assert.deepEqual(typed("lameduck rollout --protocol ht"), ["http", "https"]);
  assert.deepEqual(typed("lameduck rollout --requests-m"), ["--requests-max"]);
});

test("an unknown shell is an error that names the shells that are known", async () => {
  const { code, err } = await run(["completion", "tcsh"]);
  assert.equal(code, 2);
  assert.match(err, /tcsh.*bash, zsh, fish.*\[LAMEDUCK_BAD_OPTION\]/);
});
