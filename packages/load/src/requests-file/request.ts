/** A request as a load tool reports it, before it is a record. Times are milliseconds since 1970, fractions included. */
export interface ReportedRequest {
  /** When the tool began it; equal to `finished` where the tool does not report a duration. */
  readonly begun: number;
  readonly finished: number;
  /** When it was written to the socket, if the tool reports it. */
  readonly sent?: number | undefined;
  readonly url?: string | undefined;
  /** 0 or absent where no answer came. */
  readonly status?: number | undefined;
  /** The tool's own words for what went wrong. */
  readonly error?: string | undefined;
  /** The answer had begun when it failed. */
  readonly answerBegun?: boolean | undefined;
  /** The tool's script expects this status. */
  readonly meant?: boolean | undefined;
  /** Whether the connection had carried a request before; absent where the tool does not report it. */
  readonly reused?: boolean | undefined;
  readonly received?: number | undefined;
  /** Named by the app's header, or by the person's own tag. */
  readonly pod?: string | undefined;
  /** What a proxy says it chose: a name or an address with port. */
  readonly upstream?: string | undefined;
  /** Address the connection led to. */
  readonly address?: string | undefined;
  /** The tool never sent it, although its schedule asked for it. */
  readonly dropped?: boolean | undefined;
}

/** Reads one format line by line. */
export interface Parser {
  /** A line without its end. @throws {BadLine} */
  line(text: string, number: number): void;
  /** Nothing follows: gives out what was still being put together. */
  end(): void;
}

export interface ParserContext {
  readonly emit: (request: ReportedRequest) => void;
  /** Times that are known only to that many milliseconds. */
  readonly coarse: (milliseconds: number) => void;
}
