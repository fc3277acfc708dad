/** What to execute, before and after it is wrapped for the place where it runs. */
export interface Launch {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
}
