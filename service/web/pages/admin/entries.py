"""The entries of the catalog, as lists and forms for administrators, with a preview of the page as it will be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from actors.catalog.messages import Kind
from actors.values import Code, Refused
from service.api.errors import status_of
from service.api.messages import NO_STORE
from service.api.operations.admin_catalog import BODY_BYTES
from service.web.pages.parts.entry_form import FORMS, VALUE_KINDS, at_fields, entry_of, typed_of
from service.web.pages.parts.forms import Field, Form, above, in_one_line, moment_of, moment_text, text_of
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.parts.paging import placed

PAGE_SIZE, MAX_FOUND = 50, 100
MOMENT = "Write a date and time such as 2026-12-31T18:00."
SEARCH = Form({"q": Field("Search")})

_TIME = {"addedAt": Field("Added", right=MOMENT)}


@dataclass(frozen=True, slots=True)
class Shelf:
    """One of the two lists: its kind, its path, the words for one entry and for all, the field that names an entry, and its
    operations."""

    kind: Kind
    path: str
    new: str
    one: str
    many: str
    title: str
    lists: str
    named: str
    part: str

    async def show_list(self, request: PageRequest) -> Template:
        q, cursor = request.query.get("q", "").strip(), request.query.get("cursor", "")
        query = {"q": q or None, "cursor": cursor or None, "limit": MAX_FOUND if q else PAGE_SIZE}
        result = await request.ask(self.lists, query=query)
        values: dict[str, object] = {"shelf": self, "shelves": SHELVES, "q": q, "entries": ()}
        values["counts_of"] = (await request.ask("countCatalog")).or_raise()
        if result.refused is not None:
            if result.refused.code is not Code.INVALID_REQUEST:
                result.or_raise()
            values["problem"] = in_one_line(result.refused, SEARCH, request.query)
            return Template("admin_entries.html", values, status_of(result.refused), [*NO_STORE])
        values["entries"] = entries = result.json["data"]
        if not q:
            place = (await request.ask("placeInCatalog", path={"kind": self.kind}, query=query)).or_raise()
            values["paging"] = placed(self.path, {}, place, len(entries), result.json["nextCursor"])
        retired = (await request.ask("listRetired")).or_raise()["items"]
        values["retired"] = [each for each in retired if each["kind"] == self.kind] if not cursor and not q else ()
        return Template("admin_entries.html", values)

    # A new entry.

    async def show_new(self, request: PageRequest) -> Template:
        return self._form(request, None, request.form)

    async def create(self, request: PageRequest) -> SeeOther | FormError:
        body = self.body(request.form)
        slug = body["slug"]
        result = await request.ask(f"put{self.named}", path={"slug": slug}, body=body, condition={"if-none-match": "*"})
        if result.refused is not None and result.refused.code is Code.PRECONDITION_FAILED:
            return FormError.at(slug=f"A {self.one} has this slug already. Choose another one, or edit that one.")
        return self._saved(request, result.refused, slug)

    # An entry that exists, or was retired.

    async def show(self, request: PageRequest) -> Template:
        """The form of an entry. A refused form comes back with the typed values, and names what others have changed."""
        stored, etag = await self._stored(request)
        if request.problem is None or request.form.get("do") == "retire":
            return self._form(request, stored, self.typed(stored[self.part]), etag)
        template = self._form(request, stored, request.form, etag)
        if request.problem.code is not Code.PRECONDITION_FAILED:
            # The version that the form began with stays its own: what others change meanwhile is a conflict.
            return replace(template, values={**template.values, "etag": request.form.get("etag", "")})
        now, fields = self.typed(stored[self.part]), self.fields
        mine = {**request.form, "slug": now["slug"]}
        theirs = [(each.label, now[name]) for name, each in fields.items() if now[name] != (text_of(mine, name) or "")]
        return replace(template, values={**template.values, "theirs": theirs})

    async def save(self, request: PageRequest) -> SeeOther | FormError:
        """Save the form over the version that it began with. That of a retired entry creates it again."""
        slug, etag = request.path_values["slug"], request.form.get("etag", "")
        condition = {"if-match": etag} if etag else {"if-none-match": "*"}
        path, body = {"slug": slug}, self.body(request.form, slug)
        result = await request.ask(f"put{self.named}", path=path, body=body, condition=condition)
        return self._saved(request, result.refused, slug)

    async def retire(self, request: PageRequest) -> SeeOther | FormError:
        result = await request.ask(
            f"retire{self.named}", path=request.path_values, condition={"if-match": request.form.get("etag", "") or "*"}
        )
        return result.see_other(self.path, "entry_retired")

    async def preview(self, request: PageRequest) -> Template | FormError:
        """The public page as it will be, with the form in hidden fields. Nothing is saved."""
        body = self.body(request.form, request.path_values.get("slug", ""))
        slug = body["slug"]
        result = await request.ask(f"preview{self.named}", path={"slug": slug}, body=body)
        if result.refused is not None:
            return FormError(self._placed(result.refused, request.form))
        shown = [(name, value) for name, value in request.form.items() if name != "do"]
        preview = {"action": request.path, "fields": shown, "do": "save" if "slug" in request.path_values else "create"}
        values = {"entry": result.json[self.part], "preview": preview, "alternate": f"/api/v1/{self.kind}/{slug}"}
        missing = result.json[self.part].get("guide", {}).get("botSlugs", ()) if self.kind is Kind.USECASES else ()
        return Template("usecase.html" if self.kind is Kind.USECASES else "bot.html", values | {"missing": missing})

    async def edit_on(self, request: PageRequest) -> Template:
        """Back from the preview to the form, with what was typed."""
        if "slug" not in request.path_values:
            return self._form(request, None, request.form)
        stored, _ = await self._stored(request)
        return self._form(request, stored, request.form, request.form.get("etag", ""))

    # Forms.

    @property
    def fields(self) -> Mapping[str, Field]:
        """The fields of a form, in the order of the page."""
        return {**FORMS[self.kind].fields, **_TIME}

    def typed(self, entry: Mapping[str, Any]) -> dict[str, str]:
        """An entry as form values."""
        return typed_of(self.kind, entry) | {"addedAt": moment_text(entry["addedAt"])}

    def body(self, form: Mapping[str, str], slug: str = "") -> dict[str, Any]:
        """The body of the operation. A time that cannot be read stays as it is, and the operation refuses it."""
        added = form.get("addedAt", "").strip()
        added_ms = moment_of(added)
        # The form shows no milliseconds; those of the entry stay unless somebody types another time.
        exact = form.get("added_ms", "")
        if added == form.get("was_addedAt") and exact.isascii() and exact.isdigit() and len(exact) < 20:
            added_ms = int(exact)
        typed = {**form, "slug": slug} if slug else form
        return entry_of(self.kind, typed, (added or None) if added_ms is None else added_ms)

    def _form(
        self, request: PageRequest, stored: Mapping[str, Any] | None, typed: Mapping[str, str], etag: str = ""
    ) -> Template:
        values: dict[str, object] = {"shelf": self, "typed": typed, "etag": etag, "entry": None, "page": request.path}
        values["value_kinds"] = VALUE_KINDS
        if stored is not None:
            entry = stored[self.part]
            values |= {"entry": entry, "retired_at": stored.get("retiredAt"), "was": self.typed(entry)}
        return Template("admin_entry.html", values)

    async def _stored(self, request: PageRequest) -> tuple[Mapping[str, Any], str]:
        """The entry as it is stored, and its ETag, empty if it was retired."""
        result = await request.ask(f"getStored{self.named}", path={"slug": request.path_values["slug"]})
        return result.or_raise(), next((value for name, value in result.headers if name == "etag"), "")

    def _saved(self, request: PageRequest, refused: Refused | None, slug: str) -> SeeOther | FormError:
        if refused is not None:
            return FormError(self._placed(refused, request.form))
        return SeeOther(f"{self.path}/{slug}", "entry_saved")

    def _placed(self, refused: Refused, form: Mapping[str, str]) -> Refused:
        """The refusal with each problem at a field of the form."""
        if refused.code is Code.PAYLOAD_TOO_LARGE:
            return above(refused.code, "All texts together are too long. Shorten them.")
        return at_fields(refused, self.kind, form)

    @property
    def pages(self) -> Sequence[Page]:
        form = Form(self.fields)
        edit = {"save": self.save, "retire": self.retire, "preview": self.preview, "edit": self.edit_on}
        make = {"create": self.create, "preview": self.preview, "edit": self.edit_on}
        admin = Audience.ADMIN
        return (
            Page(self.path, self.show_list, who=admin),
            Page(self.new, self.show_new, make, admin, forms={"create": form, "preview": form}, body_bytes=BODY_BYTES),
            Page(
                f"{self.path}/{{slug}}",
                self.show,
                edit,
                admin,
                forms={"save": form, "preview": form},
                body_bytes=BODY_BYTES,
            ),
        )


SHELVES = (
    Shelf(
        Kind.USECASES,
        "/admin/usecases",
        "/admin/new-usecase",
        "use case",
        "Use cases",
        "title",
        "listUseCases",
        "UseCase",
        "useCase",
    ),
    Shelf(
        Kind.BOTS,
        "/admin/bots",
        "/admin/new-bot",
        "bot template",
        "Bot templates",
        "name",
        "listBots",
        "Bot",
        "bot",
    ),
)

PAGES = tuple(page for shelf in SHELVES for page in shelf.pages)
