-- Sign-in codes that belong to one browser, letters counted by network, and operators' sign-in links. Times are UTC epoch
-- milliseconds. Nodes of the previous version go on using `sign_ins`.

create table sign_in_codes (
    email text not null,
    browser bytea not null check (length(browser) = 32),
    proof bytea not null,
    code_expires_ms bigint not null,
    attempts integer not null check (attempts between 0 and 100),
    primary key (email, browser)
) with (fillfactor = 70);
create index sign_in_codes_by_end on sign_in_codes (code_expires_ms);
comment on table sign_in_codes is 'The code that was last sent to an email for one browser.';
comment on column sign_in_codes.browser is 'SHA-256 of the cookie of the browser that asked; only this browser may use the code.';
comment on column sign_in_codes.code_expires_ms is '0 once the code has been used.';

create table letter_counts (
    id bytea primary key check (length(id) = 32),
    sent_ms bigint not null,
    sent_day integer not null,
    sent_today integer not null check (sent_today >= 0),
    known_until_ms bigint not null
) with (fillfactor = 70);
create index letter_counts_by_end on letter_counts (greatest(sent_ms, known_until_ms));
comment on table letter_counts is 'Letters with codes to a mailbox, by the network that asked for them, and in total.';
comment on column letter_counts.id is 'A keyed hash of what is counted. Without the server secret it names neither mailbox nor network.';
comment on column letter_counts.known_until_ms is 'Until when the network is known, because it used a code of this mailbox.';

create table sign_in_links (
    token_hash bytea primary key check (length(token_hash) = 32),
    email text not null,
    created_ms bigint not null,
    expires_ms bigint not null,
    used_ms bigint
);
create index sign_in_links_by_end on sign_in_links (expires_ms);
comment on table sign_in_links is 'Links by which an operator lets somebody sign in without a mail. Each works once.';
