import type { Zod } from "../base/zod.ts";
import type { Event } from "./events.ts";

const timeout = (z: Zod) => ({ timeout: z.number().optional() });

/** What an extension may ask of the client, by `method` (protocol.md, section 10). */
export const uiMethods: Record<string, Event> = {
  select: { summary: "A dialog: one of some options; `extension_ui_response` answers it.", fields: (z) => ({ title: z.string(), options: z.array(z.string()), ...timeout(z) }) },
  confirm: { summary: "A dialog: yes or no; `extension_ui_response` answers it.", fields: (z) => ({ title: z.string(), message: z.string(), ...timeout(z) }) },
  input: { summary: "A dialog: a line of text; `extension_ui_response` answers it.", fields: (z) => ({ title: z.string(), placeholder: z.string().optional(), ...timeout(z) }) },
  editor: { summary: "A dialog: a text; `extension_ui_response` answers it.", fields: (z) => ({ title: z.string(), prefill: z.string().optional() }) },
  notify: { summary: "Something to show; no answer.", fields: (z) => ({ message: z.string(), notifyType: z.enum(["info", "warning", "error"]).optional() }) },
  setStatus: { summary: "A line of status to show, or to take away; no answer.", fields: (z) => ({ statusKey: z.string(), statusText: z.string().optional() }) },
  setWidget: { summary: "Lines to show in a place of their own, or to take away; no answer.", fields: (z) => ({ widgetKey: z.string(), widgetLines: z.array(z.string()).optional(), widgetPlacement: z.string().optional() }) },
  setTitle: { summary: "A title to show; no answer.", fields: (z) => ({ title: z.string() }) },
  set_editor_text: { summary: "A text for the client's input field; no answer.", fields: (z) => ({ text: z.string() }) },
};

/** The client's answer to a dialog. */
export const uiResponse = (z: Zod) => z.looseObject({ value: z.string().optional(), confirmed: z.boolean().optional(), cancelled: z.boolean().optional() });

export const uiClosed: Event = {
  summary: "A dialog has ended without the client's answer.",
  fields: (z) => ({ id: z.string(), reason: z.enum(["timeout", "aborted", "session", "eof"]) }),
};
