update campaigns set submitted_ms = 1763000000010,
    pending = '{"headline": "New", "body": "Body", "cta": "Go", "target_url": "https://example.com", "logo_text": "A"}';
update bookings set refund_requested_ms = 1763000000011, refund_reason = 'A mistake', refund_note = 'Shown', refund_requests = 1,
    refund_cents = 5000, next_step_ms = 1763000000012;
insert into mail_choices values ('ann@example.com', true, false, true);
update review_digest set mailed_ms = 1763000000013;
