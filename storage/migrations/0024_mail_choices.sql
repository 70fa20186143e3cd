-- Which mails people get, and when administrators were last mailed about reviews.
-- works with: 14

create table mail_choices (
    -- The last release deletes accounts and does not know this table.
    email text primary key references accounts (email) on delete cascade,
    reviews boolean not null,
    bookings boolean not null,
    reports boolean not null
);
comment on table mail_choices is 'The topics that people want mails about. An account without a row gets all mails.';

create table review_digest (
    id boolean primary key default true check (id),
    mailed_ms bigint not null
);
comment on table review_digest is 'One row: when administrators were last mailed about campaigns that wait for review.';
insert into review_digest (mailed_ms) values (0);
