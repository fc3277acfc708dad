import { isOfficialImage } from "./image-name.ts";
import { noScripts, programOf, shellCommandOf, type Shell } from "./shell/commands.ts";
import { unknown } from "./shell/scope.ts";
import { ScriptRun } from "./script-run.ts";
import type { PidOne, Served, Surroundings } from "./served.ts";
import { wrappedBy } from "./wrappers.ts";

/** Deeper than any command line that somebody wrote. */
const deepest = 12;

/** Follows a command line through wrappers, shells and entry points. */
export function servedBy(argv: readonly string[], around: Surroundings = {}, depth = 0): Served {
  const [first] = argv;
  if (depth > deepest || first === undefined) return { argv: [] };
  const inner = (words: readonly string[]): Served => servedBy(words, around, depth + 1);
  const program = programOf(first);
  if (program === "" && first.includes(unknown))
    return {
      argv: [],
      pidOne: {
        what: first.replaceAll(unknown, "..."),
        because: "which program that is cannot be seen here",
        certainty: "unknown",
      },
    };
  const wrapped = wrappedBy(argv);
  if (wrapped) return throughWrapper(inner(wrapped.argv), wrapped);
  const manager = managerOf(argv);
  if (manager !== undefined) return { argv: [], pidOne: manager };
  const command = shellCommandOf(argv, around.scripts);
  if (command?.script !== undefined) {
    const { name, script, isFile, rest } = command;
    const shell = command.shell === "sh" ? shellOf(around.image) : command.shell;
    const what = isFile ? `${name} ${rest[0]}` : `${name} -c`;
    // What a file runs is not looked for in files: they may run each other.
    const served = isFile
      ? (words: readonly string[]) => servedBy(words, { ...around, scripts: noScripts }, depth + 1)
      : inner;
    return new ScriptRun({ ...around, what, shell, script, isFile, parameters: rest, served }).end();
  }
  if (
    /^docker-(?:php-)?entrypoint(?:\.sh)?$/.test(program) &&
    isOfficialImage(around.image) &&
    argv.length > 1
  )
    return inner(argv.slice(1));
  const isFile = command !== undefined || /\.(?:sh|bash)$/.test(first);
  if (!isFile) return { argv };
  return {
    argv: [],
    pidOne: {
      what: command ? `${command.name} ${command.rest[0] ?? ""}`.trim() : program,
      because: "whether the script ends with `exec` cannot be seen here",
      certainty: "unknown",
    },
  };
}

function throughWrapper(
  served: Served,
  { by, how }: { readonly by: string; readonly how: "replaced" | "group" | "child" },
): Served {
  const { argv, pidOne } = served;
  if (how === "replaced" || pidOne === undefined) return served;
  if (how === "group") return { argv };
  const isInit = /^(?:tini|tini-static|docker-init|catatonit|dumb-init|lameduck-init)$/.test(by);
  return {
    argv,
    pidOne: {
      ...pidOne,
      ...(pidOne.certainty === "unknown"
        ? {}
        : {
            certainty: "likely",
            because: `${by} signals its child only: that ends, and the server is killed with it`,
          }),
      ...(isInit ? { instead: by === "dumb-init" ? "dumb-init without --single-child" : `${by} -g` } : {}),
      behind: by,
    },
  };
}

const managers = new Set(["npm", "npx", "yarn", "pnpm", "pnpx", "yarnpkg", "bunx"]);

/** What starts a script of package.json, or a task of a file, below a shell of its own. */
function managerOf(argv: readonly string[]): PidOne | undefined {
  const [, second = "", third = ""] = argv.filter((word, at) => at === 0 || !word.startsWith("-"));
  const program = programOf(argv[0]);
  if (managers.has(program)) return packageManager(program);
  if (program === "node" && /npm-cli|yarn/.test(argv[1] ?? "")) return packageManager(program);
  if (program === "node" && argv.some((word) => /^--run(?:=|$)/.test(word)))
    return packageManager("node --run");
  if (program === "corepack" && managers.has(second)) return packageManager(second);
  // A file that it is given, bun runs itself.
  const script = second === "run" ? third : second;
  if (program === "bun" && second !== "" && !/[./]/.test(script)) return packageManager("bun");
  if (program === "deno" && second === "task") return packageManager("deno task");
  if (/^(?:su|runuser)$/.test(program))
    return {
      what: program,
      because: `${program} of util-linux kills what it runs 2 s after it has passed SIGTERM on`,
      certainty: "likely",
      instead: "securityContext.runAsUser, setpriv or gosu",
    };
  if (
    /^(?:make|just|turbo|nx|lerna|concurrently|nodemon|forever|foreman|honcho|xvfb-run|conda|mamba)$/.test(
      program,
    )
  )
    return {
      what: program,
      because: `whether ${program} passes SIGTERM on cannot be seen here`,
      certainty: "unknown",
    };
  return undefined;
}

function packageManager(name: string): PidOne {
  return {
    what: name,
    because: `${name} starts the script through a shell of its own, which may keep SIGTERM to itself, and may end before the server has`,
    certainty: "likely",
    instead: "the command of the script in package.json, such as [node, server.js]",
  };
}

/** Which shell an image has as its `sh`, where its name says it. */
function shellOf(image = ""): Shell {
  if (/(?:^|[/:-])(?:alpine|busybox)(?![a-z])/.test(image)) return "ash";
  if (/debian|ubuntu|bookworm|bullseye|buster|trixie|slim|jammy|noble|focal/.test(image)) return "dash";
  return /(?:^|[/:-])(?:ubi\d+|centos|fedora|rockylinux|almalinux|amazonlinux|oraclelinux)(?![a-z])/.test(
    image,
  )
    ? "bash"
    : "sh";
}
