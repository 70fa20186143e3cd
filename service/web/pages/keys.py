"""The forms of the dashboard that rename keys, move their ends and rotate them."""

from collections.abc import Mapping

from actors.clock import DAY_MS
from actors.values import Code
from service.web.pages.field_errors import Field, Form
from service.web.pages.page import FormError, PageRequest, SeeOther, Template

LIVES = (7, 30, 90, 365)
"""The lives of a key to choose from, in days."""

NEVER = "never"
GRACES: Mapping[int, str] = {
    0: "ends now",
    3_600: "works for 1 hour",
    86_400: "works for 1 day",
    604_800: "works for 7 days",
}
"""How long the old key of a rotation can work, in seconds."""


async def shown(request: PageRequest) -> Mapping[str, object]:
    """The values of the page about keys, besides their list."""
    usage = (await request.ask("listUsageByKey", query={"days": request.query.get("days")})).or_refused()
    return {
        "ends": [("", "never"), *((days, f"after {days} days") for days in LIVES)],
        "new_ends": [("keep", "as it is"), (NEVER, "never"), *((days, f"{days} days from now") for days in LIVES)],
        "graces": GRACES,
        "used_by": {item["id"]: item["used"] for item in usage["items"]},
        "used_otherwise": sum(day["used"] for day in usage["other"]),
        "now_ms": request.now_ms,
    }


def end_of_life(request: PageRequest) -> dict[str, object]:
    """The end of a new key, from its life in days."""
    days = request.form.get("days", "")
    return {"expiresAt": request.now_ms + int(days) * DAY_MS} if days in map(str, LIVES) else {}


async def edit(request: PageRequest) -> SeeOther | FormError:
    """Rename a key or move its end. An empty name stays as it was."""
    body = end_of_life(request)
    if request.form.get("days") == NEVER:
        body = {"expiresAt": None}
    if name := request.form.get("key_name", "").strip():
        body["name"] = name
    if not body:
        return FormError.at(key_name="Write a name, or choose when the key expires.")
    result = await request.ask("editAccountKey", path={"id": request.form.get("id", "")}, body=body)
    return result.see_other("/dashboard", "key_changed")


async def rotate(request: PageRequest) -> Template | SeeOther | FormError:
    """Replace a key. Only the answer to this form shows the new one."""
    grace = request.form.get("grace", "")
    if grace not in map(str, GRACES):
        return FormError.at(grace="Choose how long the old key works.")
    result = await request.ask(
        "rotateAccountKey",
        path={"id": request.form.get("id", "")},
        body={"graceSeconds": int(grace)},
        idempotency_key=request.form.get("form_id"),
    )
    if result.refused is None:
        rotated = result.json
        values = {
            "api_key": rotated["apiKey"],
            "name": rotated.get("name"),
            "scopes": rotated.get("scopes"),
            "expires": rotated.get("expiresAt"),
            "old_ends": rotated["previousEndsAt"],
            "rotated": True,
        }
        return Template("key_made.html", values)
    if result.refused.code is Code.IDEMPOTENCY_CONFLICT:
        return SeeOther("/dashboard", "key_rotated_already")
    return FormError(result.refused)


KEY_NAME = "Write a name for the key."
FORMS = {
    "edit-key": Form(
        {
            "key_name": Field("Name", KEY_NAME, of="name", id="name-of-{id}"),
            "days": Field("Expires", of="expiresAt", id="end-of-{id}"),
        }
    ),
    "rotate-key": Form({"grace": Field("The old key", of="graceSeconds", id="grace-of-{id}")}),
}
ACTIONS = {"edit-key": edit, "rotate-key": rotate}
