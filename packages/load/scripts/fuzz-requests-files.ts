/** Fuzzes the parsers of `--requests` for as many seconds as told (default 60), with a new seed each second. */
import { fuzz } from "../test/requests-file-fuzz.ts";

const seconds = Number(process.argv[2] ?? 60);
const end = Date.now() + seconds * 1_000;
let runs = 0;
while (Date.now() < end) {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const stop = Date.now() + 1_000;
  const { read, refused } = fuzz(seed, (run) => run % 100 === 0 && Date.now() > stop);
  runs += read + refused;
}
process.stdout.write(`${runs} files read or refused by line, in ${seconds} s\n`);
