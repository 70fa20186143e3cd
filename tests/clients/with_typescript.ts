// A client of openapi-fetch with types that openapi-typescript generated, used as an agent and as a sponsor. `make clients` compiles
// it, and runs it with CATALOG_URL and CATALOG_KEY, the key of an account.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type ErrorBody = components["schemas"]["CatalogError"] | components["schemas"]["SponsorshipError"];
type Answer<T> = { data?: T; error?: ErrorBody; response: Response };

const baseUrl = process.env["CATALOG_URL"] ?? "";

function clientOf(key?: string) {
  const headers: Record<string, string> = { "X-Request-Id": "with-typescript" };
  if (key !== undefined) headers["Authorization"] = `Bearer ${key}`;
  return createClient<paths>({ baseUrl, headers });
}

const reader = clientOf();
const sponsor = clientOf(process.env["CATALOG_KEY"] ?? "");

// The body of a success.
async function found<T>(asked: Promise<Answer<T>>): Promise<T> {
  const { data, response, error } = await asked;
  assert.equal(response.status, 200, JSON.stringify(error));
  assert.ok(data !== undefined);
  return data;
}

// The body of a refusal.
async function refused(status: number, code: string, asked: Promise<Answer<unknown>>): Promise<ErrorBody> {
  const { response, error } = await asked;
  assert.equal(response.status, status, JSON.stringify(error));
  assert.ok(error !== undefined);
  assert.equal(error.error, code);
  assert.ok(error.message.length > 0);
  return error;
}

// Read the catalog without a key and with one.
async function reads(): Promise<void> {
  const first = await found(reader.GET("/api/v1/usecases", { params: { query: { limit: 2 } } }));
  assert.equal(first.data.length, 2);
  const cursor = first.nextCursor;
  const second = await found(reader.GET("/api/v1/usecases", { params: { query: { limit: 2, cursor } } }));
  assert.notEqual(first.data[0]?.slug, second.data[0]?.slug);
  const slug = first.data[0]?.slug ?? "";
  const usecase = await found(reader.GET("/api/v1/usecases/{slug}", { params: { path: { slug } } }));
  assert.equal(usecase.title, first.data[0]?.title);
  const bots = await found(reader.GET("/api/v1/bots", { params: { query: { q: "invoice" } } }));
  assert.equal(bots.nextCursor, null);
  const bot = { params: { path: { slug: bots.data[0]?.slug ?? "" } } };
  assert.ok((await found(reader.GET("/api/v1/bots/{slug}", bot))).name);
  const nothing = { params: { path: { slug: "no-such-bot" } } };
  await refused(404, "not_found", reader.GET("/api/v1/bots/{slug}", nothing));
  await refused(400, "invalid_request", reader.GET("/api/v1/bots", { params: { query: { limit: 1_000 } } }));

  const minted = await found(reader.POST("/api/v1/auth/agent"));
  const agent = clientOf(minted.apiKey);
  await found(agent.GET("/api/v1/bots"));
  const usage = await found(agent.GET("/api/v1/usage"));
  assert.deepEqual([usage.status, usage.requestsUsed], ["anonymous", 1]);
  await refused(401, "invalid_api_key", clientOf("cs_anon_unknown").GET("/api/v1/usage"));
  const unauthorized = await refused(401, "unauthorized", reader.GET("/api/v1/usage"));
  assert.equal("hint" in unauthorized && unauthorized.hint, "/api/v1/auth/agent");
  const claim = { claimToken: "clm_unknown", email: "owner@example.com" };
  await refused(400, "invalid_claim", reader.POST("/api/v1/auth/claim", { body: claim }));
}

// Start a device login, and poll before anybody approves it.
async function signsIn(): Promise<void> {
  const started = await found(reader.POST("/api/v1/auth/device"));
  const body = { device_code: started.device_code };
  await refused(400, "authorization_pending", reader.POST("/api/v1/auth/device/token", { body }));
}

// Save a profile, create a campaign, and book a slot.
async function sells(): Promise<void> {
  const profile = { name: "Example Tools", website: "https://tools.example.com" };
  const saved = await found(sponsor.PATCH("/api/v1/sponsors/profile", { body: profile }));
  assert.deepEqual(saved.profile, profile);
  assert.deepEqual((await found(sponsor.GET("/api/v1/sponsors/me"))).profile, profile);
  const wrong = { name: "", website: "ftp://tools.example.com" };
  const problems = await refused(400, "invalid_request", sponsor.PATCH("/api/v1/sponsors/profile", { body: wrong }));
  assert.deepEqual(problems.fields?.map((each) => each.name), ["name", "website"]);

  const creative = {
    name: "Autumn",
    headline: "Tools that work",
    body: "Try them for a week.",
    cta: "Try now",
    targetUrl: "https://tools.example.com/autumn",
    logoText: "ET",
  };
  const { campaign } = await found(sponsor.POST("/api/v1/sponsors/campaigns", { body: creative }));
  const campaigns = await found(sponsor.GET("/api/v1/sponsors/campaigns"));
  assert.ok(campaigns.items.some((each) => each.id === campaign.id));

  const weekStart = (await found(reader.GET("/api/v1/sponsors/inventory"))).weekEnd;
  const inventory = await found(reader.GET("/api/v1/sponsors/inventory", { params: { query: { weekStart } } }));
  const slot = inventory.slots.find((each) => each.available);
  assert.ok(slot);
  const body = { campaignId: campaign.id, slotId: slot.id, weekStart, idempotencyKey: randomUUID() };
  const { booking } = await found(sponsor.POST("/api/v1/sponsors/bookings", { body }));
  const repeated = await found(sponsor.POST("/api/v1/sponsors/bookings", { body }));
  assert.equal(repeated.booking.id, booking.id);
  const other = { body: { ...body, idempotencyKey: randomUUID() } };
  await refused(409, "slot_unavailable", sponsor.POST("/api/v1/sponsors/bookings", other));
  const own = { params: { path: { id: booking.id } } };
  assert.equal((await found(sponsor.GET("/api/v1/sponsors/bookings/{id}", own))).booking.status, "reserved");
  const event = { bookingId: booking.id, kind: "impression" as const, visitorId: randomUUID() };
  assert.equal((await found(reader.POST("/api/v1/sponsors/events", { body: event }))).recorded, false);
  const cancelled = await found(sponsor.POST("/api/v1/sponsors/bookings/{id}/cancel", own));
  assert.equal(cancelled.booking.status, "cancelled");
  assert.ok(Array.isArray((await found(reader.GET("/api/v1/sponsors/placements"))).placements));
}

// Give a program a key that can only read, and take it back.
async function shares(): Promise<void> {
  const request = { name: "reports", scopes: ["sponsor:read" as const] };
  const issued = await found(sponsor.POST("/api/v1/sponsors/keys", { body: request }));
  const scoped = clientOf(issued.apiKey);
  await found(scoped.GET("/api/v1/sponsors/bookings"));
  const body = { name: "Other Tools", website: "https://tools.example.com" };
  await refused(403, "insufficient_scope", scoped.PATCH("/api/v1/sponsors/profile", { body }));
  const keys = await found(sponsor.GET("/api/v1/sponsors/keys"));
  assert.ok(keys.items.some((each) => each.id === issued.id));
  await found(sponsor.DELETE("/api/v1/sponsors/keys/{id}", { params: { path: { id: issued.id } } }));
}

for (const part of [reads, signsIn, sells, shares]) await part();
