update campaigns set submitted_ms = 1763000000010,
    pending = '{"headline": "New", "body": "Body", "cta": "Go", "target_url": "https://example.com", "logo_text": "A"}';
