insert into mail_choices values ('ann@example.com', true, false, true);
update review_digest set mailed_ms = 1763000000013;
