import { Refusal } from "../../base/refusal.ts";
import { command } from "../command.ts";
import { nothing } from "../shapes.ts";
import { uiResponse } from "../ui.ts";

export const dialogs = {
  extension_ui_response: command({
    summary: "Answer a dialog; an accepted answer gets no response.",
    when: "always",
    urgent: true,
    params: uiResponse,
    data: nothing,
    run: (_app, _answer, { id }) => {
      if (typeof id !== "string") throw new Refusal("invalid", "Invalid command: id: is required (string)");
      throw new Refusal("not_found", `No dialog with the id ${JSON.stringify(id)} is open`);
    },
  }),
};
