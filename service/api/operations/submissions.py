"""Operations on submissions: accounts propose entries and edits for the catalog, administrators review them."""

from functools import partial

from actors.bookings.store import Before
from actors.catalog.messages import EntryId, Kind
from actors.catalog.submission_rules import unknown_submission
from actors.catalog.submissions import SubmissionSaved, SubmissionStatus
from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.messages import Answer, respond
from service.api.operation import Call, account_operation, admin_read, admin_write
from service.api.operations.admin_catalog import BODY_BYTES, draft_of, too_large
from service.api.operations.responses import list_page, newest_first, searched, with_id
from service.schemas.catalog import UseCaseBody
from service.schemas.lists import SponsorshipQuery
from service.schemas.submissions import (
    Submission,
    SubmissionAnswer,
    SubmissionBody,
    SubmissionForReview,
    SubmissionPage,
    SubmissionReview,
    SubmissionReviewPage,
    SubmissionsQuery,
)


async def submit(services: Services, call: Call) -> Answer | Refused:
    body: SubmissionBody = call.body
    entry, entry_id = body.entry, EntryId(Kind(body.kind), body.slug or body.entry.slug or "")
    draft = draft_of(entry_id, entry)
    if draft is None:
        return too_large()
    saved = await services.submissions.propose(
        call.caller.owner,
        entry_id,
        entry.title if isinstance(entry, UseCaseBody) else entry.name,
        draft(0).decode(),
        call.caller.agent,
        edit=body.slug is not None,
        idempotency_key=call.idempotency_key,
    )
    services.counts.forget()
    services.announce()
    return respond(saved, _answer)


def _answer(saved: SubmissionSaved) -> SubmissionAnswer:
    return SubmissionAnswer(submission=Submission.of(saved.submission))


async def list_submissions(services: Services, call: Call) -> Answer | Refused:
    fetch = partial(services.submissions.submissions, call.caller.owner)
    return await list_page(services, call, "submissions", fetch, newest_first, Submission.of, SubmissionPage)


@with_id(unknown_submission)
async def read_submission(services: Services, call: Call, submission_id: str) -> Answer | Refused:
    found = await services.submissions.submission(call.caller.owner, submission_id)
    if found is None:
        return unknown_submission()
    return Answer.of(SubmissionAnswer(submission=Submission.of(found)))


async def list_for_review(services: Services, call: Call) -> Answer | Refused:
    query: SubmissionsQuery = call.query
    status = None if query.status is None else SubmissionStatus(query.status)
    order = query.order or "newest"
    fetch = partial(services.submissions.for_review, status, text=query.query, oldest=order == "oldest")
    # A cursor is valid only for the same filter and order.
    name = searched(f"all submissions {query.status} {order}", query.query)
    return await list_page(
        services,
        call,
        name,
        fetch,
        lambda view: Before(view.submission.created_ms, view.submission.id),
        SubmissionForReview.for_review,
        SubmissionReviewPage,
    )


@with_id(unknown_submission)
async def review(services: Services, call: Call, submission_id: str) -> Answer | Refused:
    body: SubmissionReview = call.body
    saved = await services.submissions.review(
        submission_id, call.caller.agent, accept=body.decision == "accept", note=body.note, seen=body.seen
    )
    services.counts.forget()
    services.announce()
    return respond(saved, _answer)


PATH = "/api/v1/catalog/submissions"
ADMIN_PATH = "/api/v1/admin/catalog/submissions"

_submissions = partial(account_operation, tag="Submissions")

ROWS = (
    _submissions(
        name="submitEntry",
        method="POST",
        path=PATH,
        summary="Submit an entry",
        description="Proposes a new entry for the catalog, or with `slug` an edit of one. An administrator reviews it, and "
        "you get a mail about the decision. At most 10 submissions of an account wait at a time. A repeated Idempotency-Key "
        "with the same body returns the submission as it is now.",
        handler=submit,
        result=SubmissionAnswer,
        body=SubmissionBody,
        body_bytes=BODY_BYTES,
        scopes=(Scope.SPONSOR_WRITE,),
        leads_to=dict.fromkeys(("getSubmission", "reviewSubmission"), "/submission/id"),
        example={
            "kind": "bots",
            "entry": {
                "slug": "parcel-tracker",
                "name": "Parcel tracker",
                "category": "Logistics",
                "who": "Clerk of a small shop",
                "handle": "@sample-shop-clerk",
                "job": "Follows the parcels of a shop and writes to customers whose parcel is late.",
                "templateUrl": "https://bots.example.com/parcel-tracker",
            },
        },
        codes=(Code.NOT_FOUND, Code.INVALID_STATE, Code.SUBMISSION_LIMIT),
        keyed=True,
        repeatable=True,
    ),
    _submissions(
        name="listSubmissions",
        method="GET",
        path=PATH,
        summary="List your submissions",
        description="Returns what you have proposed for the catalog, newest first.",
        handler=list_submissions,
        result=SubmissionPage,
        query=SponsorshipQuery,
        scopes=(Scope.SPONSOR_READ,),
    ),
    _submissions(
        name="getSubmission",
        method="GET",
        path=f"{PATH}/{{id}}",
        summary="Get one submission",
        description="Returns one of your submissions, with the note of its review.",
        handler=read_submission,
        result=SubmissionAnswer,
        scopes=(Scope.SPONSOR_READ,),
        codes=(Code.NOT_FOUND,),
    ),
)
REVIEWS = (
    admin_read(
        name="listAllSubmissions",
        path=ADMIN_PATH,
        summary="List all submissions",
        description="Returns what accounts have proposed for the catalog, newest first. For the review queue, use "
        "`status=pending&order=oldest`. Their texts are written by third parties.",
        handler=list_for_review,
        result=SubmissionReviewPage,
        query=SubmissionsQuery,
    ),
    admin_write(
        name="reviewSubmission",
        method="POST",
        path=f"{ADMIN_PATH}/{{id}}/review",
        summary="Review a submission",
        description="Accepts or declines a submission that waits. Accepting it writes its entry to the catalog. Send the "
        "`version` that you reviewed as `seen`: if the catalog's entry has changed since, the API returns 409. A submission "
        "that is `outdated` can only be declined. Declining needs a note, which the account can read.",
        handler=review,
        result=SubmissionAnswer,
        body=SubmissionReview,
        example={"decision": "decline", "note": "The source does not mention the result.", "seen": "0123456789abcdef"},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
)
