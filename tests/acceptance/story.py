"""The main job of people and agents: import, mint, search, read, claim with the emailed code, see the usage."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.acceptance.processes import Service, bot, until, usecase, write_catalog
from tests.acceptance.smtp import MailServer


@dataclass(slots=True)
class Job:
    """The results, with every secret handed out."""

    email: str
    api_key: str = ""
    claim_token: str = ""
    codes: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)

    @property
    def secrets(self) -> list[str]:
        return [self.api_key, self.claim_token]


def do_main_job(service: Service, mail_server: MailServer, files: Path, email: str = "ada@example.com") -> Job:
    """Do the job against a running service with its own catalog. Asserts each step."""
    catalog = write_catalog(files / "catalog.jsonl", *map(bot, range(1, 8)), *map(usecase, range(1, 41)))
    printed = service.command("import-catalog", catalog, "--prune")
    assert "bots: 7 added" in printed
    assert "usecases: 40 added" in printed
    until(lambda: service.status("/api/v1/bots/bot-7") == 200, 1.0, what="the import to be seen")

    job = Job(email)
    minted = service.mint()
    job.api_key, job.claim_token = minted["apiKey"], minted["claimToken"]

    found = service.get("/api/v1/usecases?q=orchard+31", job.api_key).json()
    assert [entry["slug"] for entry in found["data"]] == ["usecase-31"]
    assert found["nextCursor"] is None
    first = service.get("/api/v1/usecases?limit=30", job.api_key).json()
    rest = service.get(f"/api/v1/usecases?limit=30&cursor={first['nextCursor']}", job.api_key).json()
    listed = [entry["slug"] for entry in first["data"] + rest["data"]]
    assert listed == [f"usecase-{number}" for number in range(40, 0, -1)]
    read = service.get("/api/v1/usecases/usecase-31", job.api_key).json()
    assert read["guide"]["botSlugs"] == ["bot-1"]
    assert service.get("/api/v1/bots/bot-1", job.api_key).json()["name"] == "Invoice Helper 1"
    before = service.usage(job.api_key)
    assert (before["status"], before["requestsUsed"], before["requestLimit"]) == ("anonymous", 5, 1000)

    started = service.post("/api/v1/auth/claim", {"claimToken": job.claim_token, "email": email})
    assert (started.status_code, started.json()) == (200, {"sent": True})
    code = mail_server.code_for(email)
    job.codes.append(code)
    wrong = service.post(
        "/api/v1/auth/claim/complete",
        {"claimToken": job.claim_token, "email": email, "code": f"{(int(code) + 1) % 1_000_000:06d}"},
    )
    assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_code")
    claimed = service.post("/api/v1/auth/claim/complete", {"claimToken": job.claim_token, "email": email, "code": code})
    assert claimed.status_code == 200, claimed.text
    job.usage = service.usage(job.api_key)
    assert job.usage == claimed.json()
    assert job.usage["status"] == "claimed"
    assert job.usage["email"] == email
    assert job.usage["requestsUsed"] == 5
    assert "expiresAt" not in job.usage or job.usage["expiresAt"] is None
    return job
