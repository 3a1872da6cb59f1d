/**
 * Errors, which Pegboard sends as problem details (RFC 9457).
 *
 * No message contains the key or anything of the request but its path.
 */

/** Base class of this client's errors. */
export class PegboardError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Pegboard could not be reached or timed out. `cause` is the error of `fetch`. */
export class NoAnswer extends PegboardError {}

/** An invalid field of the request, with the reason. */
export interface FieldError {
  field: string;
  reason: string;
}

interface Details {
  type?: string;
  title?: string;
  detail?: string;
  field?: string;
  errors?: FieldError[];
  request_id?: string;
}

/** Pegboard refused the request or failed. */
export class Problem extends PegboardError {
  readonly status: number;
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly field: string | undefined;
  readonly errors: readonly FieldError[];
  readonly requestId: string | undefined;
  /** Seconds to wait before the next request. */
  readonly retryAfter: number | undefined;

  constructor(response: Response, details: Details) {
    const title = details.title || response.statusText || "No known status";
    const detail = details.detail || title;
    super(`${response.status} ${title}: ${detail} (request ${details.request_id ?? "unknown"})`);
    this.status = response.status;
    this.type = details.type || "about:blank";
    this.title = title;
    this.detail = detail;
    this.field = details.field;
    this.errors = details.errors ?? [];
    this.requestId = details.request_id;
    const wait = response.headers.get("Retry-After") ?? "";
    this.retryAfter = /^\d+$/.test(wait) ? Number(wait) : undefined;
  }
}

/** 400: a field is invalid or unknown. */
export class InvalidInput extends Problem {}
/** 401: the key is missing or invalid. */
export class NotAuthenticated extends Problem {}
/** 403: a scope is missing, or the key may not act for this caller. */
export class NotAllowed extends Problem {}
/** 404: it does not exist for this caller. */
export class NotFound extends Problem {}
/** 409: the resource is not in the state that the request assumes. */
export class Conflict extends Problem {}
/** 422: the idempotency key belongs to another call. */
export class NotProcessable extends Problem {}
/** 429: retry after `retryAfter` seconds. */
export class TooManyRequests extends Problem {}
/** 502, 503, 504: retry later. */
export class Unavailable extends Problem {}

const KINDS: Record<number, typeof Problem> = {
  400: InvalidInput,
  401: NotAuthenticated,
  403: NotAllowed,
  404: NotFound,
  409: Conflict,
  422: NotProcessable,
  429: TooManyRequests,
  502: Unavailable,
  503: Unavailable,
  504: Unavailable,
};

/** Build the error for an error response, even if a proxy sent it. */
export async function problemOf(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => undefined);
  const details = typeof body === "object" && body !== null && !Array.isArray(body) ? body : {};
  return new (KINDS[response.status] ?? Problem)(response, details);
}
