/**
 * Requests and their repetition. It talks to Pegboard alone.
 *
 * The key is sent in a header and appears nowhere else: not in messages, and not where the client is
 * printed. Redirects are not followed.
 */
import { NoAnswer, PegboardError, problemOf, TooManyRequests, Unavailable } from "./problems.ts";

/** Number of repetitions and the pauses between them, in seconds: they double, with jitter. */
export interface Retries {
  times: number;
  firstPause: number;
  longestPause: number;
}

export interface Options {
  /** Seconds that a request may take, beside the time that Pegboard itself waits. */
  timeout?: number;
  retries?: Partial<Retries>;
  /** Replaces the global `fetch`, for proxies and certificates. */
  fetch?: typeof fetch;
}

/** A request to send. A `repeatable` one may be sent twice, and changes nothing by that. */
export interface ApiRequest {
  method: "GET" | "POST";
  path: string;
  body?: object;
  query?: object;
  headers?: Record<string, string>;
  repeatable?: boolean;
  waitSeconds?: number;
}

// Failures before anything was sent, after which any request may be repeated.
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** Address, key and timeouts of a Pegboard. */
export class Transport {
  readonly #baseUrl: string;
  readonly #key: string;
  readonly #timeout: number;
  readonly #retries: Retries;
  readonly #fetch: typeof fetch;

  constructor(baseUrl: string, apiKey: string, options: Options) {
    // Checked here, since the error of `fetch` would contain the key.
    if (!/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new TypeError("An API key has visible ASCII characters only.");
    }
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#key = apiKey;
    this.#timeout = options.timeout ?? 30;
    this.#retries = { times: 2, firstPause: 0.25, longestPause: 8, ...options.retries };
    this.#fetch = options.fetch ?? fetch;
  }

  /** Send a request, again where that changes nothing, and return the answer's JSON. */
  async send<Answer>(request: ApiRequest): Promise<Answer> {
    for (let attempts = 1; ; attempts++) {
      try {
        return (await this.#sendOnce(request)) as Answer;
      } catch (error) {
        const pause = this.#pauseAfter(error, request, attempts);
        if (pause === undefined) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause * 1000));
      }
    }
  }

  async #sendOnce(request: ApiRequest): Promise<unknown> {
    const url = new URL(`${this.#baseUrl}/api/v1${request.path}`);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const seconds = this.#timeout + (request.waitSeconds ?? 0);
    const body = request.body && JSON.stringify(request.body);
    try {
      const response = await this.#fetch(url, {
        method: request.method,
        headers: {
          Authorization: `Bearer ${this.#key}`,
          Accept: "application/json",
          "User-Agent": "pegboard-client/0.2.0 (typescript)",
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...request.headers,
        },
        ...(body === undefined ? {} : { body }),
        redirect: "manual",
        signal: AbortSignal.timeout(seconds * 1000),
      });
      if (!response.ok) throw await problemOf(response);
      return await response.json();
    } catch (error) {
      if (error instanceof PegboardError) throw error;
      if (error instanceof SyntaxError) {
        throw new PegboardError("The answer is not JSON: is this the address of Pegboard?");
      }
      const kind = nameOf(error) === "TimeoutError" ? "did not answer in time" : "is not there";
      const message = `Pegboard ${kind}: ${request.method} ${url.pathname}`;
      throw new NoAnswer(message, { cause: error });
    }
  }

  #pauseAfter(error: unknown, request: ApiRequest, attempts: number): number | undefined {
    const { times, firstPause, longestPause } = this.#retries;
    if (attempts > times || !mayRepeat(error, request)) return undefined;
    const told = (error as { retryAfter?: number }).retryAfter;
    if (told !== undefined) return told <= longestPause ? told : undefined;
    return Math.min(firstPause * 2 ** (attempts - 1), longestPause) * (0.5 + Math.random() / 2);
  }
}

/** Tell whether the request was refused unread, or changes nothing when it comes again. */
function mayRepeat(error: unknown, request: ApiRequest): boolean {
  if (error instanceof TooManyRequests) return true;
  const repeatable = request.repeatable ?? false;
  if (error instanceof NoAnswer) return repeatable || NOT_SENT.has(codeOf(error.cause));
  return error instanceof Unavailable && repeatable;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "";
}

/** Return the code of the failure that `fetch` hides in its error's cause. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return String((cause as { code?: unknown } | undefined)?.code ?? "");
}
