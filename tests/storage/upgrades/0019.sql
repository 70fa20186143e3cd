update accounts set suspended_ms = 1763000000001, suspension_reason = 'Not ours.' where email = 'ann@example.com';
