-- Mails that tell more than a code: what happened, to which key or booking, and the link that undoes it.

alter table outbox add column facts json not null default '{}';
comment on column outbox.facts is 'The values of the template''s placeholders, an object of strings.';
