import { shorten } from "../base/text.ts";
import { RequestFailed } from "./failure.ts";
import { parseLenient } from "./lenient-json.ts";

/** The object that an event's data is, raw control characters in its strings allowed; `{}` for any other JSON. Throws RequestFailed. */
export function eventJson(data: string): Record<string, any> {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    const { value, fault } = parseLenient(data);
    if (fault) throw new RequestFailed({ kind: "server", message: `The server sent an event that is not JSON: ${shorten(data, 100)}` });
    event = value;
  }
  return typeof event === "object" && event !== null ? event : {};
}
