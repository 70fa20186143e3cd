-- The topics of mails that people chose.
-- works with: 14

create table mail_choices (
    email text primary key references accounts (email) on delete cascade,
    reviews boolean not null,
    bookings boolean not null,
    reports boolean not null
);
comment on table mail_choices is 'The topics that people want mails about. An account without a row gets all mails.';
