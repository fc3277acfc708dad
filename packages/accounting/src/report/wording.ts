/** Where there is nothing to choose among: what the rows are, what else has to be known, and what is proved instead of advice. */
export interface Wording {
  readonly title: string;
  readonly notes: readonly string[];
  readonly conclusion: string;
}
