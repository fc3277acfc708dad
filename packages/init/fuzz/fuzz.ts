/**
 * `npm run fuzz -w packages/init -- [SECONDS] [HARNESS...]`: feeds the parsers what nobody would send, under AddressSanitizer and
 * UBSan, for which it needs clang with libFuzzer. And decides random holds in C and in TypeScript. 10 seconds each unless told otherwise.
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { compile, librarySources, packageRoot } from "../toolchain/compile.ts";
import { clang, isInstalled } from "../toolchain/compilers.ts";
import { fuzzDecision } from "./decision.ts";

const flags = "-g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all".split(" ");
const seconds = Number(process.argv[2] ?? 10);
const wanted = process.argv.slice(3);
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name);
const parsers = globSync("fuzz/*.c", { cwd: packageRoot })
  .map((path) => basename(path, ".c"))
  .filter(isWanted)
  .sort();

if (!Number.isFinite(seconds) || seconds <= 0 || (parsers.length === 0 && !isWanted("decision"))) {
  process.stderr.write("usage: fuzz.ts [SECONDS] [arguments|cluster|decision|netlink|proc ...]\n");
  process.exitCode = 2;
} else {
  if (isWanted("decision") && !fuzzDecision(seconds)) process.exitCode = 1;
  if (parsers.length > 0 && !isInstalled("clang"))
    process.stderr.write(
      "no fuzzing of parsers here: install clang with libFuzzer (Debian: clang, libclang-rt-14-dev)\n",
    );
  else if (!parsers.map(fuzz).every(Boolean)) process.exitCode = 1;
}

function fuzz(name: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-fuzz-"));
  try {
    const program = join(folder, name);
    compile(clang, flags, [...librarySources(), join(packageRoot, "fuzz", `${name}.c`)], program);
    const corpus = join(folder, "corpus");
    mkdirSync(corpus);
    seeds(name).forEach((seed, index) => writeFileSync(join(corpus, `seed-${index}`), seed, "latin1"));
    const options = [
      `-max_total_time=${seconds}`,
      "-max_len=4096",
      "-print_final_stats=1",
      `-artifact_prefix=${folder}/`,
    ];
    const { status, stderr } = spawnSync(program, [...options, corpus], {
      encoding: "utf8",
      // What flags_from_environment copies lives as long as the process, by intention.
      env: { ...process.env, ASAN_OPTIONS: "detect_leaks=0" },
      maxBuffer: 1 << 28,
    });
    const runs = /number_of_executed_units: (\d+)/.exec(stderr)?.[1] ?? "?";
    process.stdout.write(
      `${name}: ${runs} inputs in ${seconds} s, ${status === 0 ? "no finding" : "A FINDING"}\n`,
    );
    if (status !== 0) process.stderr.write(`${stderr.slice(-6_000)}\n`);
    return status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Real inputs to start from. */
function seeds(name: string): (string | Uint8Array)[] {
  if (name === "proc")
    return ["/proc/net/snmp", "/proc/net/tcp", "/proc/net/tcp6", "/proc/net/unix", "/proc/net/route"].flatMap(
      (path, index) => {
        const text = readFileSync(path, "utf8");
        const choice = String.fromCharCode(index);
        return [
          choice + text.slice(0, 2_000),
          ...text
            .split("\n")
            .slice(1, 4)
            .map((line) => choice + line),
        ];
      },
    );
  if (name === "arguments")
    return [
      "-s -g -e 143 -p SIGTERM -vv -w -- true",
      "-c -r 15:10 --rewrite 1:0 true",
      "--policy quiet --window 3s --grace 60s --prestop 5s --reserve 5s --floor 1s --cap 20s true",
      "--signal TERM=USR1 --port 80 --ignore-peer 10.0.0.0/8 --ignore-peer fd00::/8 --streams wait true",
      "wait --wait-for /a --wait-gone /b --order-timeout 3s --dry-run --log json",
      "--coordinator http://c:8070 --pod-name a --pod-namespace b --pod-uid c --policy acknowledged true",
      "LAMEDUCK_PORT=80,443 LAMEDUCK_GRACE_PERIOD=30s LAMEDUCK_LOSS_BUDGET=2e-4 true",
    ].map((line) => line.replaceAll(" ", "\0"));
  if (name === "cluster") return clusterSeeds();
  return [destroyedSocket()];
}

/** The first byte says for which parser: HTTP, the protocol, DNS, /etc/resolv.conf, the URL. */
function clusterSeeds(): string[] {
  const body =
    "lameduck 1\nstate: released\nreleased-ms: 100\nconsumers: 5/5\nlast: kube-proxy/node5\nmode: availability\n";
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
  return [
    `\0${ok}Content-Length: ${body.length}\r\n\r\n${body}`,
    `\0${ok}Transfer-Encoding: chunked\r\n\r\n${chunk}`,
    `\0HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\nno`,
    `\x01${body}`,
    "\x01lameduck 1\nstate: waiting\nwithdrawn-ms: 1200\nconsumers: 4/5\nbehind: kube-proxy/node5 (rules)\n",
    "\x02\x01\xc0\x0c\0\x01\0\x01\0\0\0\x05\0\x04\x0a\x60\x01\x02",
    "\x03nameserver 10.96.0.10",
    "\x03search shop.svc.cluster.local svc.cluster.local cluster.local",
    "\x03options ndots:5 timeout:1",
    "\x0310.0.0.1 coordinator # comment",
    "\x04http://lameduck-coordinator.lameduck-system.svc:8070",
    "\x04http://[fd00::1]:8070/",
  ];
}

/** A datagram as the kernel sends it: header, socket, and a tcp_info attribute. */
function destroyedSocket(): Uint8Array {
  const info = 232;
  const datagram = Buffer.alloc(16 + 72 + 4 + info);
  datagram.writeUInt32LE(datagram.length, 0);
  datagram.writeUInt16LE(20, 4);
  datagram.writeUInt8(2, 16);
  datagram.writeUInt16LE(4 + info, 88);
  datagram.writeUInt16LE(2, 90);
  return datagram;
}
