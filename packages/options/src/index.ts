export * from "./option.ts";
export * from "./readers.ts";
export * from "./table.ts";
