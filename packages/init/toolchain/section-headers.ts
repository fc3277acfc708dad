import { readFileSync, writeFileSync } from "node:fs";

/** Offsets of fields in the header of a 64-bit ELF file, and in each of its program headers. */
const header = {
  programsAt: 0x20,
  sectionsAt: 0x28,
  programSize: 0x36,
  programCount: 0x38,
  sectionCount: 0x3c,
};
const program = { at: 0x08, size: 0x20 };

/**
 * Cuts off what no loader reads: the table of sections, their names and the compiler's. Of a binary that has to stay below 100 kB that is one in a hundred;
 * the linker can leave it out by itself only in later versions than Debian's.
 */
export function dropSectionHeaders(file: string): void {
  const bytes = readFileSync(file);
  const count = bytes.readUInt16LE(header.programCount);
  let end = 0;
  for (let index = 0; index < count; index++) {
    const entry =
      Number(bytes.readBigUInt64LE(header.programsAt)) + index * bytes.readUInt16LE(header.programSize);
    const loaded = bytes.readBigUInt64LE(entry + program.at) + bytes.readBigUInt64LE(entry + program.size);
    end = Math.max(end, Number(loaded));
  }
  bytes.writeBigUInt64LE(0n, header.sectionsAt);
  // Their count, and which of them has the names.
  bytes.writeUInt32LE(0, header.sectionCount);
  writeFileSync(file, bytes.subarray(0, end));
}
