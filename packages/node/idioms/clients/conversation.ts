export interface Conversation {
  readonly port: number;
  /** Everything is in flight: the signal may come. */
  readonly begun: () => void;
  readonly signalled: Promise<void>;
  /**
   * @param begunAt given for what is served for sure in the hold of a pod, whatever the program does at its end: when it began, in
   * milliseconds since 1970.
   */
  readonly note: (what: string, isAnswered: boolean, begunAt?: number) => void;
}

export type Client = (conversation: Conversation) => Promise<void>;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** In flight at the signal: one ends in the hold, the other after it. */
export const slowMs = 700;
export const longMs = 2_200;
